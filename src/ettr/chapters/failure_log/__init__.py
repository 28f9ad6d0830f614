"""What does my failure log say?"""

from ettr.chapters.failure_log import (
    charts,
    log_words,
    published_run_charts,
    published_run_words,
    tables,
    verdict_words,
    words,
)

__all__ = ["charts", "log_words", "published_run_charts", "published_run_words", "tables", "verdict_words", "words"]
