"""What a target needs at several sizes: put back, each value gives the target."""

from __future__ import annotations

import numpy as np
import pytest

from computed.chapters import AS_IT_IS, PRESETS, USUAL, scenario, table
from ettr import plan
from ettr.chapters import scale

REQUIREMENTS = scale.requirement_tables
SIZES, TARGET = (16_384, 100_000, 1_000_000), 0.9
RATE, RESTART = "failures.rate_per_1000_node_days", "recovery.restart_min"


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_a_required_value_gives_the_target(name):
    run, frame = scenario(name), table(REQUIREMENTS.required_by_size, name, AS_IT_IS, TARGET, SIZES)
    assert set(frame["n_gpus"]) == set(SIZES) and (frame["given"] > 0).all()
    for row in frame.itertuples():
        grown = run.override({"cluster.n_gpus": row.n_gpus})
        if np.isnan(row.value):
            assert row.best_ettr < TARGET
            assert plan.required(grown, row.field, TARGET).value is None
        elif np.isfinite(row.value):
            assert plan.ettr_at_best(grown.override({row.field: row.value})) == pytest.approx(
                TARGET, abs=1e-4
            )  # it moves by one stall


def test_the_blocker_is_the_field_that_helps_most_beside_the_failures(llama3):
    frame = table(REQUIREMENTS.required_by_size, *USUAL, TARGET, SIZES)
    fields = frame[frame["n_gpus"] == 100_000].set_index("field")
    row = fields.loc[RESTART]
    grown = llama3.override({"cluster.n_gpus": 100_000, RESTART: 0})
    others = [field for field in fields.index if field not in (RESTART, RATE)]
    both = {field: plan.ettr_at_best(grown.override({field: 0})) for field in others}
    assert row["blocker"] == max(both, key=both.get)
    assert row["blocked_ettr"] == pytest.approx(both[row["blocker"]], abs=1e-6)
    assert fields.loc[RATE, "blocker"] == ""


def test_costs_that_are_nothing_already_are_left_out():
    fields = set(table(REQUIREMENTS.required_by_size, *USUAL, TARGET, SIZES)["field"])
    assert "recovery.queue_min" not in fields and "checkpoint.persist_slowdown" not in fields
    assert not fields & {"cluster.n_gpus", "job.productive_h", "checkpoint.interval_min"}


def test_on_the_frontier_the_target_is_just_reached(llama3):
    frame = table(REQUIREMENTS.frontiers, *USUAL, TARGET, SIZES, 8)
    assert set(frame["n_gpus"]) == set(SIZES)
    for row in frame.itertuples():
        here = llama3.override({"cluster.n_gpus": row.n_gpus, RATE: row.rate, RESTART: row.restart_min})
        assert plan.ettr_at_best(here) == pytest.approx(TARGET, abs=1e-4)
        assert plan.best_interval_min(here) == pytest.approx(row.interval_min, rel=1e-4)
    for _, line in frame.groupby("n_gpus"):
        assert (np.diff(line["restart_min"]) > 0).all() and (np.diff(line["rate"]) < 0).all()


def test_a_target_beyond_every_restart_leaves_no_line():
    assert table(REQUIREMENTS.frontiers, *USUAL, 0.995, SIZES, 4).empty  # maintenance alone costs more


def test_presets_say_whether_their_restart_is_published():
    frame = REQUIREMENTS.rates_and_restarts().set_index("run")
    assert len(frame) == len(PRESETS)
    for run in map(scenario, PRESETS):
        row = frame.loc[run.title]
        assert (row["rate"], row["restart_min"]) == (run.failure_rate, run.recovery.restart_min)
        known = {"rsc-2": "published", "llama3-405b": "assumed"}.get(run.name, row["restart_is"])
        assert row["restart_is"] == known
