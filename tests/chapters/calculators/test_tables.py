"""Maps of the distance between formulas: every edge and every cell is that of the closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from ettr.chapters.formulas import tables

from computed.chapters import differences, some_presets
from ettr import Scenario, budget
from ettr.chapters.common import steady_state
from ettr.core.errors import OutsideValidity

FORMULAS = ("first_order", "rsc")
TIERED = {
    "checkpoint.tiers": [{"name": "peers", "interval_s": 20, "stall_s": 0.1, "write_s": 2, "load_s": 5, "copies": 2}],
    "maintenance": None,
}


def points_at(run: Scenario, formula: str, n_gpus, interval_min) -> np.ndarray:
    at = {"cluster.n_gpus": np.atleast_1d(n_gpus), "checkpoint.interval_min": np.atleast_1d(interval_min)}
    with np.errstate(all="ignore"):
        both = [steady_state.ettr_at(run, at, name) for name in (formula, "exact")]
    return 100 * (both[0] - both[1])


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_edges_of_a_region_are_where_the_difference_passes_its_level(name, formula):
    run = tables.comparable(Scenario.load(name), formula)
    regions = tables.difference_regions(Scenario.load(name), formula, 12)
    low, high = tables._ends_min(run)
    step = (high / low) ** (1 / 699)
    for row in regions[(regions["layer"] < 4) & np.isfinite(regions["within"])].itertuples():
        inside = np.abs(points_at(run, formula, row.n_gpus, [row.low_min, row.high_min]))
        assert (inside <= row.within).all()
        beyond = [row.low_min / step, row.high_min * step]
        for edge in beyond:
            if low * 0.999 < edge < high * 1.001:
                outside = abs(points_at(run, formula, row.n_gpus, edge)[0])
                assert np.isnan(outside) or outside > row.within


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("name", some_presets("llama3-405b", "rsc-1"))
def test_laying_the_regions_on_each_other_gives_the_class_of_each_cell(name, formula):
    """Also where the formula is within a point on both sides of a stretch where it is not."""
    scenario = Scenario.load(name)
    regions, run = differences(formula, name)["regions"], tables.comparable(scenario, formula)
    ends = tables._ends_min(run)
    rng = np.random.default_rng(5)
    for n_gpus in regions["n_gpus"].unique()[::9]:
        here = regions[regions["n_gpus"] == n_gpus].sort_values("layer")
        for interval in np.exp(rng.uniform(*np.log(ends), size=12)):
            covering = here[(here["low_min"] <= interval) & (interval <= here["high_min"])]
            near_edge = np.abs(np.log(here[["low_min", "high_min"]] / interval)).min(axis=None) < 0.02
            if near_edge:
                continue
            apart = abs(points_at(run, formula, n_gpus, interval)[0])
            if covering.empty:
                assert np.isnan(apart)
            else:
                level = covering["within"].iloc[-1]
                smaller = [0.0, *tables.LEVELS, np.inf]
                assert smaller[smaller.index(level) - 1] < apart <= level


def test_a_hole_is_drawn_where_the_rsc_formula_is_too_high_between_two_stretches():
    regions = differences("rsc", "rsc-1")["regions"]
    hole = regions[regions["layer"] == 4]
    assert len(hole) and (hole["within"] == 5.0).all()
    assert differences("first_order")["regions"]["layer"].max() == 3


def test_cells_are_the_closed_forms_at_their_middle(llama3):
    cells = tables.difference_cells(llama3, "first_order", 6)
    assert len(cells) == 36
    run = llama3.override({"job.include_start": False, "maintenance": None})
    for row in cells.iloc[::7].itertuples():
        size = 8 * round(np.sqrt(row.n_gpus * row.n_gpus_end) / 8)
        here = run.override(
            {
                "cluster.n_gpus": size,
                "checkpoint.interval_min": float(np.sqrt(row.interval_min * row.interval_min_end)),
            }
        )
        assert budget.exact(here).ettr == pytest.approx(row.exact, abs=0.005)
        if np.isnan(row.ettr):
            with pytest.raises(OutsideValidity):
                budget.first_order(here)
        else:
            assert budget.first_order(here).ettr == pytest.approx(row.ettr, abs=0.005)
            assert row.points == pytest.approx(100 * (row.ettr - row.exact))


def test_what_a_formula_has_no_term_for_is_set_aside_and_said(llama3):
    assert tables.set_aside(llama3, "first_order") == ["maintenance"]
    assert tables.set_aside(llama3, "rsc") == ["the background write", "maintenance"]
    assert tables.set_aside(Scenario.load("rsc-1"), "rsc") == []
    tiered = llama3.override(TIERED)
    assert tables.set_aside(tiered, "rsc") == ["the background write", "faster tiers"]
    assert tables.set_aside(tiered, "first_order") == []
    silent = Scenario.load("rsc-1").override({"failures.modes": [{"name": "bits", "share": 1, "latency_h": 2}]})
    assert tables.set_aside(silent, "rsc") == ["silence"]
    assert np.isfinite(tables.difference_at_best(silent, "rsc", 5)["ettr"]).any()


@pytest.mark.parametrize("formula", FORMULAS)
def test_at_the_best_interval_the_difference_is_that_of_a_single_run(formula):
    scenario = Scenario.load("rsc-2")
    best = tables.difference_at_best(scenario, formula, 12)
    assert best["ettr"].isna().any() and best["ettr"].notna().any()  # it ends before a million GPUs
    row = best.iloc[3]
    run = tables.comparable(scenario, formula)
    assert row["points"] == pytest.approx(points_at(run, formula, row["n_gpus"], row["interval_min"])[0])
    alone = {"cluster.n_gpus": row["n_gpus"], "checkpoint.interval_min": row["interval_min"]}
    assert row["points"] == pytest.approx(100 * (row["ettr"] - float(budget.exact(run, alone).ettr)))


def test_a_formula_without_any_answer_is_an_error():
    run = Scenario.load("rsc-1").override({"recovery.restart_min": 1e7})
    with pytest.raises(OutsideValidity, match="budget.rsc has no answer at any size and interval of rsc-1"):
        tables.difference_regions(run, "rsc", 5)


def test_sizes_begin_where_each_copy_has_a_node(llama3):
    many = llama3.override({**TIERED, "checkpoint.tiers.peers.copies": 40})
    assert tables.difference_at_best(many, "first_order", 4)["n_gpus"].iloc[0] == pytest.approx(320)
