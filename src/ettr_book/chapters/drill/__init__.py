"""Drills"""

from ettr_book.chapters.drill import charts, tables, words

__all__ = ["charts", "tables", "words"]
