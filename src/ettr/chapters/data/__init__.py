"""Data and fields"""

from ettr.chapters.data import charts, tables

__all__ = ["charts", "tables"]
