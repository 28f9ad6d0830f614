"""What a target needs at several sizes: put back, each value gives the target."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import plan
from ettr.plots.size import VALUE, size_data
from ettr_book.chapters import scale

TARGET = 0.9


def test_the_reach_is_the_size_at_which_the_target_is_met(llama3):
    steady = llama3.override({"job.include_start": False})
    reach = scale.tables.reach_gpus(llama3, TARGET)
    at_reach = steady.override({"cluster.n_gpus": llama3.cluster.nearest_n_gpus(reach["reach"])})
    assert plan.ettr_at_best(at_reach) == pytest.approx(TARGET, abs=1e-3)
    assert reach["low"] < reach["reach"] < reach["high"]


def test_the_sizes_have_two_ranges_and_the_published_run(llama3):
    rows = scale.tables.ettr_of_sizes(llama3, [100_000]).set_index("n_gpus")
    grown, current = rows.loc[100_000], rows.loc[16_384]
    assert grown["clusters_low"] < grown["low"] < grown["ettr"] < grown["high"] < grown["clusters_high"]
    assert np.isnan(current["clusters_low"]) and current["published"] == ""
    answer = scale.words.answer(llama3, rows.reset_index(), scale.tables.reach_gpus(llama3, TARGET), TARGET)
    assert grown["published"] in answer.title and grown["published"] in answer.text


@pytest.mark.parametrize("n_gpus", [16_384, 100_000])
def test_the_chart_shows_the_range_and_the_published_value(llama3, n_gpus):
    drawn = size_data(llama3.override({"cluster.n_gpus": n_gpus}))
    (here,) = drawn["here"].itertuples()
    assert here.low < here.ettr < here.high
    assert drawn["lines"]["n_gpus"].max() > 131_072
    values = drawn["published"][drawn["published"]["bound"] == VALUE]
    assert values[["n_gpus", "ettr"]].to_numpy().tolist() == [[100_000, 0.44]]
