"""Validation"""

from ettr.chapters.validation import charts, tables, words

__all__ = ["charts", "tables", "words"]
