"""What about my cluster?"""

from ettr_book.chapters.what_if import charts, tables
from ettr_book.chapters.what_if.charts import calculator, show, whole_scenario

__all__ = ["calculator", "charts", "show", "tables", "whole_scenario"]
