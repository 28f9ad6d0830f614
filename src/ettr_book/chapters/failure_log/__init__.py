"""What does my failure log say?"""

from ettr_book.chapters.failure_log import charts, made_log, tables, words

__all__ = ["charts", "made_log", "tables", "words"]
