"""What a target needs at several sizes: put back, each value gives the target."""

from __future__ import annotations

import numpy as np
import pytest

from computed.chapters import ONE, table
from ettr import budget, plan
from ettr_book.chapters import scale
from ettr_book.chapters.what_if import tables as what_if_tables

REQUIREMENTS = scale.tables
SIZES, TARGET = (16_384, 100_000, 1_000_000), 0.9
RATE, RESTART = "failures.rate_per_1000_node_days", "recovery.restart_min"


def test_on_the_frontier_the_target_is_just_reached(llama3):
    frame = table(REQUIREMENTS.frontiers, ONE, TARGET, SIZES, 8)
    assert set(frame["n_gpus"]) == set(SIZES)
    for row in frame.itertuples():
        here = llama3.override({"cluster.n_gpus": row.n_gpus, RATE: row.rate, RESTART: row.restart_min})
        assert plan.ettr_at_best(here) == pytest.approx(TARGET, abs=1e-4)
        assert budget.best_interval_min(here) == pytest.approx(row.interval_min, rel=1e-4)
    for _, line in frame.groupby("n_gpus"):
        assert (np.diff(line["restart_min"]) > 0).all() and (np.diff(line["rate"]) < 0).all()


def test_a_target_beyond_every_restart_leaves_no_line():
    assert table(REQUIREMENTS.frontiers, ONE, 0.995, SIZES, 4).empty  # maintenance alone costs more


def test_the_reach_is_the_size_at_which_the_target_is_met(llama3):
    steady = llama3.override({"job.include_start": False})
    found = REQUIREMENTS.reach_gpus(llama3, TARGET)
    at_reach = steady.override({"cluster.n_gpus": llama3.cluster.nearest_n_gpus(found["reach"])})
    assert plan.ettr_at_best(at_reach) == pytest.approx(TARGET, abs=1e-3)
    assert found["low"] < found["reach"] < found["high"]


def test_the_sizes_have_two_ranges_and_the_published_run(llama3):
    rows = scale.tables.ettr_of_sizes(llama3, [100_000]).set_index("n_gpus")
    grown, own = rows.loc[100_000], rows.loc[16_384]
    assert grown["clusters_low"] < grown["low"] < grown["ettr"] < grown["high"] < grown["clusters_high"]
    assert np.isnan(own["clusters_low"]) and own["published"] == ""
    answer = scale.words.answer(llama3, rows.reset_index(), scale.tables.reach_gpus(llama3, TARGET), TARGET)
    assert grown["published"] in answer.title and grown["published"] in answer.text


@pytest.mark.parametrize("n_gpus", [16_384, 100_000])
def test_the_chart_shows_the_range_and_the_published_value(llama3, n_gpus):
    drawn = what_if_tables.scale(llama3.override({"cluster.n_gpus": n_gpus}))
    (here,) = drawn["here"].itertuples()
    assert here.low < here.ettr < here.high
    assert drawn["lines"]["n_gpus"].max() > 131_072
    values = drawn["published"][drawn["published"]["bound"] == what_if_tables.VALUE]
    assert values[["n_gpus", "ettr"]].to_numpy().tolist() == [[100_000, 0.44]]
