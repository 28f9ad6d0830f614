"""Which formula for ETTR is accurate enough?"""

from ettr_book.chapters.calculators import charts, tables, words

__all__ = ["charts", "tables", "words"]
