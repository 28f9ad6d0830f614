"""The catalogue of mitigations"""

from ettr_book.chapters.catalogue import charts, tables, words

__all__ = ["charts", "tables", "words"]
