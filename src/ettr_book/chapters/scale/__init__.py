"""What ETTR can a run of N GPUs reach, and what would it take to reach 0.9?"""

from ettr_book.chapters.scale import charts, tables, words

__all__ = ["charts", "tables", "words"]
