"""What does my failure log say?"""

from ettr.chapters.failure_log import charts, tables, verdict_words, words

__all__ = ["charts", "tables", "verdict_words", "words"]
