"""When are the formulas wrong, and how uncertain is the finishing date?"""

from ettr.chapters.simulation import (
    charts,
    mechanism_charts,
    mechanism_tables,
    mechanism_words,
    replication_charts,
    replication_tables,
    replication_words,
    tables,
    words,
)

__all__ = [
    "charts",
    "mechanism_charts",
    "mechanism_tables",
    "mechanism_words",
    "replication_charts",
    "replication_tables",
    "replication_words",
    "tables",
    "words",
]
