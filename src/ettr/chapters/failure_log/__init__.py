"""What does my failure log say?"""

from ettr.chapters.failure_log import (
    charts,
    published_run_charts,
    published_run_words,
    tables,
    verdict_words,
    words,
)

__all__ = ["charts", "published_run_charts", "published_run_words", "tables", "verdict_words", "words"]
