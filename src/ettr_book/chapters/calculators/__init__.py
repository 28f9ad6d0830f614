"""Which formula for ETTR is near enough?"""

from ettr_book.chapters.calculators import charts, tables, words

__all__ = ["charts", "tables", "words"]
