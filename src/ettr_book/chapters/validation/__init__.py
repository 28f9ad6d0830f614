"""Validation"""

from ettr_book.chapters.validation import charts, tables, words

__all__ = ["charts", "tables", "words"]
