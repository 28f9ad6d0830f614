"""When will it be done, and how sure is that?"""

from ettr_book.chapters.finishing_date import charts, forecast_tables, one_run_tables, tables, words

__all__ = ["charts", "forecast_tables", "one_run_tables", "tables", "words"]
