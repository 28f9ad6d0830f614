"""A time budget adds up, as numbers, arrays and tables."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from ettr import TimeBudget, budget
from ettr.core.results import PARTS


def test_totals_and_ratio():
    """40 h of work, 5 h of stalls, 5 h of rework: 80% of 50 h; what is counted beside the clock is not in it."""
    spent = TimeBudget(40.0, checkpoint_h=5.0, rework_h=5.0, n_failures=7.0, spare_gpu_h=1e9)
    assert (spent.total_h, spent.ettr) == (50.0, 0.8)


def test_the_table_of_arrays_has_a_row_a_point(llama3):
    at = {"checkpoint.interval_min": [[5.0], [10.0]], "cluster.n_gpus": [8192, 16_384, 32_768]}
    spent = budget.exact(llama3, at)
    table = spent.to_frame()
    assert list(table) == ["point", *at, *PARTS, "total_h", "ettr", "n_failures"]
    assert table["point"].tolist() == list(range(6))
    for name in ("ettr", "total_h", "n_failures", "rework_h"):
        assert table[name].to_numpy().reshape(2, 3).tolist() == getattr(spent, name).tolist(), name
    assert table[list(PARTS)].sum(axis=1).tolist() == pytest.approx(table["total_h"].tolist())


def test_the_table_has_a_row_a_part(llama3):
    spent = budget.exact(llama3)
    table = spent.to_frame()
    assert table["part"].tolist() == [part.removesuffix("_h") for part in PARTS]
    assert table["hours"].sum() == pytest.approx(spent.total_h)
    assert table["share"].sum() == pytest.approx(1)
    assert table.set_index("part").loc["productive", "share"] == pytest.approx(spent.ettr)


def test_the_numbers_for_json_are_all_there(llama3):
    numbers = json.loads(json.dumps(budget.exact(llama3).to_dict(), allow_nan=False))
    assert [field.name for field in dataclasses.fields(TimeBudget)] == [*PARTS, "n_failures", "spare_gpu_h"]
    assert set(numbers) == {*PARTS, "n_failures", "spare_gpu_h", "total_h", "ettr"}
    assert numbers["productive_h"] / numbers["total_h"] == pytest.approx(numbers["ettr"])


def test_the_time_between_failures_counts_downtime_and_has_no_end_without_failures():
    n_failures = np.array([0.0, 4.0])
    spent = TimeBudget(np.array([40.0, 40.0]), restart_h=np.array([0.0, 8.0]), n_failures=n_failures)
    assert spent.mtbf_h.tolist() == [np.inf, 12.0]
    assert TimeBudget(40.0).mtbf_h == np.inf
