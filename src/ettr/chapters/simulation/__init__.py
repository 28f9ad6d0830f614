"""When are the formulas wrong, and how uncertain is the finishing date?"""

from ettr.chapters.simulation import (
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
