"""What do failures cost a large training run?"""

from ettr_book.chapters.index import tables, words

__all__ = ["tables", "words"]
