"""How many spare nodes are worth holding?"""

from ettr_book.chapters.spares import charts, tables, words

__all__ = ["charts", "tables", "words"]
