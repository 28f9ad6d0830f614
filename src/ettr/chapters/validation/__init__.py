"""Which published results does this reproduce, and how?"""

from ettr.chapters.validation import charts, words

__all__ = ["charts", "words"]
