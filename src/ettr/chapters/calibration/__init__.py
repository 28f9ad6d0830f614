"""Calibration against published runs"""

from ettr.chapters.calibration import charts, tables, words

__all__ = ["charts", "tables", "words"]
