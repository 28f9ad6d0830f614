"""What is each mitigation worth, alone, on this cluster?"""

from ettr_book.chapters.one_by_one import charts, tables, words

__all__ = ["charts", "tables", "words"]
