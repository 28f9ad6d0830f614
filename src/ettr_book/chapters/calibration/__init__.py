"""Calibration against published runs"""

from ettr_book.chapters.calibration import charts, tables, words

__all__ = ["charts", "tables", "words"]
