"""Which mitigations together, and which assumption decides?"""

from ettr.chapters.portfolio import charts, tables, words

__all__ = ["charts", "tables", "words"]
