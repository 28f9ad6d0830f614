"""What stopped a 16,384-GPU run, and how often?"""

from ettr_book.chapters.what_failed import charts, tables, words

__all__ = ["charts", "tables", "words"]
