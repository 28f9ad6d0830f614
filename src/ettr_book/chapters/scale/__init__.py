"""What ETTR can a run of N GPUs reach, and what would it take to reach 0.9?"""

from ettr_book.chapters.scale import charts, real_run_charts, real_run_tables, real_run_words, tables, words

__all__ = ["charts", "real_run_charts", "real_run_tables", "real_run_words", "tables", "words"]
