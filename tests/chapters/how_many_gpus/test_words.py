"""Sentences and table cells on the number of GPUs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr_book.chapters.how_many_gpus import words


def test_each_limit_is_named_with_its_unit_and_a_size_or_why_there_is_none():
    kept = {"goal": "fastest", "why": "", "n_gpus": 4096, "n_gpus_low": 3900, "n_gpus_high": 4300}
    kept |= {"days": 61.2, "usd": 5e6, "t_co2": 900.0, "power_mw": 5.5}
    never = {"goal": "greenest", "why": "all take longer"} | dict.fromkeys(list(kept)[2:], np.nan)
    rows = [
        {"limit": "power", "value": 30.0, **kept},
        {"limit": "budget", "value": 5e6, **kept},
        {"limit": "deadline", "value": 10.0, **never},
    ]
    cells = words.limit_cells(pd.DataFrame(rows))
    assert [cell.split()[0] for cell in cells["Limit"]] == ["power", "budget", "deadline"]
    assert [cell.split()[-1] for cell in cells["Limit"]] == ["MW", "USD", "days"]
    assert cells["GPUs"].tolist() == [4096, 4096, "none"]
    assert cells["Why"].iloc[-1] == "All take longer"
