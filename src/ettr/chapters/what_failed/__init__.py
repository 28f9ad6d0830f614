"""What stopped a 16,384-GPU run, and how often?"""

from ettr.chapters.what_failed import charts, words

__all__ = ["charts", "words"]
