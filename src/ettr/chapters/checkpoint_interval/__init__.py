"""How often should a run checkpoint, and how much does a wrong choice cost?"""

from ettr.chapters.checkpoint_interval import (
    changing_rate_charts,
    changing_rate_tables,
    changing_rate_words,
    charts,
    disagreement_charts,
    disagreement_tables,
    disagreement_words,
    tables,
    words,
)

__all__ = [
    "changing_rate_charts",
    "changing_rate_tables",
    "changing_rate_words",
    "charts",
    "disagreement_charts",
    "disagreement_tables",
    "disagreement_words",
    "tables",
    "words",
]
