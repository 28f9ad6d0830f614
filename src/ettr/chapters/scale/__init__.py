"""What ETTR can a run of N GPUs reach, and what would it take to reach 0.9?"""

from ettr.chapters.scale import charts, requirement_charts, requirement_tables, requirement_words, tables, words

__all__ = ["charts", "requirement_charts", "requirement_tables", "requirement_words", "tables", "words"]
