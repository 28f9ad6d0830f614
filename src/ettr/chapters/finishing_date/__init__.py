"""When will it be done, and how sure is that?"""

from ettr.chapters.finishing_date import (
    beyond_formula_charts,
    beyond_formula_tables,
    beyond_formula_words,
    charts,
    replication_charts,
    replication_tables,
    replication_words,
    tables,
    words,
)

__all__ = [
    "beyond_formula_charts",
    "beyond_formula_tables",
    "beyond_formula_words",
    "charts",
    "replication_charts",
    "replication_tables",
    "replication_words",
    "tables",
    "words",
]
