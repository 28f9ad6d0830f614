"""Sources, audited"""

from ettr.chapters.sources import charts, tables, words

__all__ = ["charts", "tables", "words"]
