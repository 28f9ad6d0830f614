"""What does the grid see, and what does smoothing it cost?"""

from ettr.chapters.power import charts, smoothing_charts, tables, words

__all__ = ["charts", "smoothing_charts", "tables", "words"]
