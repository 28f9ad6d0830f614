"""What does my failure log say?"""

from ettr_book.chapters.failure_log import charts, tables, words

__all__ = ["charts", "tables", "words"]
