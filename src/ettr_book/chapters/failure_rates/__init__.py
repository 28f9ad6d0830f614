"""How do failure rates compare between clusters, and how does MTTF fall with scale?"""

from ettr_book.chapters.failure_rates import charts, tables, words

__all__ = ["charts", "tables", "words"]
