"""How often should a run checkpoint, and how much does a wrong choice cost?"""

from ettr_book.chapters.checkpoint_interval import charts, tables, words

__all__ = ["charts", "tables", "words"]
