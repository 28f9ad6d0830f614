"""The catalogue of mitigations"""

from ettr.chapters.catalogue import charts, tables, words

__all__ = ["charts", "tables", "words"]
