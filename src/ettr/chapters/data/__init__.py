"""Which figures does it stand on, and which fields can I set?"""

from ettr.chapters.data import charts, tables

__all__ = ["charts", "tables"]
