"""Which few together, and which assumption decides the answer?"""

from ettr.chapters.portfolio import charts, sensitivity_charts, tables, words

__all__ = ["charts", "sensitivity_charts", "tables", "words"]
