"""Source audit"""

from ettr_book.chapters.sources import charts, tables, words

__all__ = ["charts", "tables", "words"]
