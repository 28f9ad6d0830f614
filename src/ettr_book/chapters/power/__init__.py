"""What does the grid see, and what does smoothing it cost?"""

from ettr_book.chapters.power import charts, tables, words

__all__ = ["charts", "tables", "words"]
