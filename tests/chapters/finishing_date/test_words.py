"""Sentences on finishing dates."""

from __future__ import annotations

import pandas as pd
import pytest

from ettr_book.chapters.finishing_date import words
from ettr_book.chapters.finishing_date.tables import EXACT


@pytest.mark.parametrize(("late_h", "way"), [(96.0, "4 days later"), (-96.0, "4 days earlier")])
def test_what_moves_the_date_is_said_to_move_it_that_way(late_h, way):
    exact = {"cause": EXACT, "p50_h": 1000.0, "error_h": 0.0}
    moved = {"cause": "Spares", "p50_h": 1000 + late_h, "error_h": 1.0}
    each = [row | {"setting": "", "p5_h": row["p50_h"] - 50, "p95_h": row["p50_h"] + 50} for row in (exact, moved)]
    told = words.beyond(pd.DataFrame(each))
    assert told.title == f"Spares: {way} than the exact form says"
    assert f"*spares* {way} (" in told.text
