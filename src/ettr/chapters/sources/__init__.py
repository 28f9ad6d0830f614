"""Which of the published figures agree with each other?"""

from ettr.chapters.sources import charts, tables, words

__all__ = ["charts", "tables", "words"]
