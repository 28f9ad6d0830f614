"""When will it be done, and how sure is that?"""

from ettr.chapters.finishing_date import charts, tables, words

__all__ = ["charts", "tables", "words"]
