"""Drills"""

from ettr.chapters.drill import charts, tables, words

__all__ = ["charts", "tables", "words"]
