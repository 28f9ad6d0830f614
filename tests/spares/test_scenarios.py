"""Pools of a scenario: its demand, the closed form, and the same by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import Scenario, simulate, spares
from ettr.core.errors import InputError
from ettr.scenario.fleet import Repair


@pytest.fixture(scope="module")
def run() -> Scenario:
    return Scenario.load("llama3-405b").override({"spares": {"n_nodes": 17}, "repair": {"manual_h": 24.0}})


# --------------------------------------------------------------------------- demand


def test_321_failures_in_54_days_keep_6_nodes_in_repair_for_a_day_each(run):
    demand = spares.demand(run)
    assert demand.in_repair == pytest.approx(321 / 54, rel=1e-3)  # 98 of 419 take no node out
    assert demand.repair_h == pytest.approx(24)
    assert (demand.most_at_once, demand.n_crew) == (1, None)


def test_modes_have_their_own_nodes_and_repairs(run):
    at = "failures.modes."
    changed = run.override(
        {f"{at}CPU.n_out_nodes": 0, f"{at}Faulty GPU.n_out_nodes": 2, f"{at}Host Maintenance.repair_h": 6.0}
    )
    by_hand = 24 * (321 - 2 - 32 + 148) + 6 * 32
    assert spares.demand(changed).in_repair == pytest.approx(by_hand / 54 / 24, rel=1e-3)
    assert spares.demand(changed).leaves_per_h == pytest.approx((321 - 2) / 54 / 24, rel=1e-3)
    assert spares.demand(changed).most_at_once == 2


@pytest.mark.parametrize(
    ("stages", "hours"),
    [
        ({"manual_h": 24}, 24),
        ({"automatic_h": 2, "automatic_success": 0.5, "replacement_h": 100}, 2 + 0.5 * 100),
        ({"automatic_h": 2, "automatic_success": 0.5, "manual_h": 10, "replacement_h": 100}, 2 + 0.5 * 10),
    ],
)
def test_stages_add_up_to_a_mean(stages, hours):
    assert Repair.model_validate(stages).mean_h == pytest.approx(hours)


def test_crews_work_on_what_comes_to_them(run):
    demand = spares.demand(
        run.override({"repair": {"automatic_h": 2, "automatic_success": 0.5, "manual_h": 24, "n_crew": 9}})
    )
    assert demand.crew_load == pytest.approx(321 / 54 / 2, rel=1e-3)
    assert demand.n_crew == 9


# --------------------------------------------------------------------------- closed form and simulation


def by_closed_form(run: Scenario, n_spares: int) -> float:
    """ETTR of a pool that is full at the start, from that of a job that never waits."""
    demand = spares.demand(run)
    return float(demand.expected.ettr * (1 - spares.waiting_share(n_spares, demand.in_repair, demand.single_crew)))


@pytest.mark.parametrize(
    "repair", [{"manual_h": 24.0, "cv": 1.0}, {"automatic_h": 2.0, "automatic_success": 0.2, "manual_h": 27.5}]
)
def test_simulation_and_closed_form_agree_within_what_the_closed_form_leaves_out(run, repair):
    """Of the mean of a repair nothing else matters; the pool is full at the start, and pauses thin failures out."""
    changed = run.override({"repair": repair})
    sizes = [8, 12, 16, 20, 28]
    table = spares.by_pool_size(changed, sizes, n_runs=150)
    off = table["ettr"].to_numpy() - [by_closed_form(changed, size) for size in sizes]
    assert np.abs(off).max() < 0.012
    assert np.abs(off[-2:]).max() < 0.001


def test_intervals_are_those_of_paired_runs(run):
    row = spares.by_pool_size(run, [10], n_runs=60).iloc[0]
    # with 60 spares no run waits, as with any number that is enough: the same failures strike
    held, free = (simulate(run.override({"spares.n_nodes": size}), 60, 0).total_h for size in (10, 60))
    longer = held.sum() / free.sum()
    assert row["cost"] == pytest.approx(2058 / 2048 * longer)
    # the delta method by hand: each run moves the ratio
    error = 2058 / 2048 * ((held - longer * free) / free.mean()).std(ddof=1) / np.sqrt(60)
    assert (row["cost_high"] - row["cost_low"]) / 2 == pytest.approx(2.001 * error, rel=1e-3)
    ettr = 60 * 1166.4 / held.sum()
    error = ((1166.4 - ettr * held) / held.mean()).std(ddof=1) / np.sqrt(60)
    assert row["ettr"] == pytest.approx(ettr)
    assert (row["ettr_high"] - row["ettr_low"]) / 2 == pytest.approx(2.001 * error, rel=1e-3)


def test_the_cost_is_that_of_the_hours_and_the_nodes(run):
    table = spares.by_pool_size(run, [5, 17, 40], n_runs=60).set_index("n_spares")
    assert table.loc[40, "cost"] == pytest.approx(1 + 40 / 2048)  # never waits
    assert table["cost"].idxmin() == 17
    closed = spares.pool_cost(17, spares.demand(run).in_repair, 2048)
    assert table.loc[17, "cost_low"] - 1e-4 < closed < table.loc[17, "cost_high"] + 1e-4


# --------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda run: spares.demand(run.override({"spares": None, "repair": None})),
            "needs the sections spares and repair",
        ),
        (lambda run: spares.by_pool_size(run, [3], n_runs=1), "n_runs must be a whole number >= 2.*got 1"),
        (lambda run: spares.by_pool_size(run, [-3]), "sizes must be a whole number from 0"),
        (lambda run: spares.by_pool_size(run, []), "sizes must have at least one"),
        (lambda run: spares.by_pool_size(run, [2.5]), "sizes must be a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(run, call, message):
    with pytest.raises(InputError, match=message):
        call(run)
