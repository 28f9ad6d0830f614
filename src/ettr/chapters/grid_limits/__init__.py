"""Limits of grids, and the spectrum"""

from ettr.chapters.grid_limits import charts, tables, words

__all__ = ["charts", "tables", "words"]
