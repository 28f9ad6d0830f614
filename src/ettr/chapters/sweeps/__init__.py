"""How do I run a chapter over a whole grid?"""

from ettr.chapters.sweeps import charts, words

__all__ = ["charts", "words"]
