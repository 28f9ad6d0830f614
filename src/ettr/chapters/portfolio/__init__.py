"""Which few together, and which assumption decides the answer?"""

from ettr.chapters.portfolio import charts, tables, words

__all__ = ["charts", "tables", "words"]
