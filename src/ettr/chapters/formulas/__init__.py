"""Where do the formulas for ETTR part?"""

from ettr.chapters.formulas import charts, tables, words

__all__ = ["charts", "tables", "words"]
