"""Which mitigations together, and which assumption decides?"""

from ettr_book.chapters.portfolio import charts, tables, words

__all__ = ["charts", "tables", "words"]
