"""What did two open training diaries go through?"""

from ettr_book.chapters.two_diaries.forecast import (
    ENDS,
    forecasts,
    published_forecasts,
)
from ettr_book.chapters.two_diaries.runs import (
    CHECKPOINT,
    EVALUATION,
    HANG,
    MODELLED,
    NOT_MODELLED,
    NOT_STATED,
    UNNAMED,
    PublishedRun,
    against_model,
    answer,
    losses,
    lost_so_far,
    measured,
    published_run,
    published_run_names,
    timeline,
)

__all__ = [
    "CHECKPOINT",
    "ENDS",
    "EVALUATION",
    "HANG",
    "MODELLED",
    "NOT_MODELLED",
    "NOT_STATED",
    "UNNAMED",
    "PublishedRun",
    "against_model",
    "answer",
    "forecasts",
    "losses",
    "lost_so_far",
    "measured",
    "published_forecasts",
    "published_run",
    "published_run_names",
    "timeline",
]
