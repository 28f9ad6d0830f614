"""What can I learn from my failure log?"""

from ettr_book.chapters.failure_log import charts, tables, words

__all__ = ["charts", "tables", "words"]
