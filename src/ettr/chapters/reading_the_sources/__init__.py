"""Which of the published figures agree with each other?"""

from ettr.chapters.reading_the_sources import charts, tables, words

__all__ = ["charts", "tables", "words"]
