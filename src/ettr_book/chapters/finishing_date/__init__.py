"""When will it be done, and how sure is that?"""

from ettr_book.chapters.finishing_date import charts, run_tables, tables, words

__all__ = ["charts", "run_tables", "tables", "words"]
