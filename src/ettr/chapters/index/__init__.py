"""What do failures cost a large training run?"""

from ettr.chapters.index import words

__all__ = ["words"]
