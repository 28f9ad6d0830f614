"""Data and fields"""

from ettr_book.chapters.data import charts, tables

__all__ = ["charts", "tables"]
