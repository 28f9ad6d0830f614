"""Formulas compared"""

from ettr.chapters.formulas import charts, tables, words

__all__ = ["charts", "tables", "words"]
