"""Limits of grids, and the spectrum"""

from ettr_book.chapters.grid_limits import charts, tables, words

__all__ = ["charts", "tables", "words"]
