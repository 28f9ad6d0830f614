"""The tables behind the charts are the closed forms, point by point, and never silently empty."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from computed.chapters import AS_IT_IS, PRESETS, USUAL, answer, table
from ettr import Scenario, budget, checkpoint, evidence, plan
from ettr.chapters import checkpoint_interval, scale
from ettr.core.errors import OutsideValidity
from ettr.core.validity import ValidityWarning

EXTREMES = {
    "no failures": {"failures.rate_per_1000_node_days": 0},
    "one node": {"cluster.n_gpus": 8},
    "no maintenance": {"maintenance": None},
    "free checkpoint": {"checkpoint.stall_s": 0, "checkpoint.persist_s": 0},
    "long write": {"checkpoint.persist_s": 590, "checkpoint.interval_min": 10},
    "short work": {"job.productive_h": 0.5, "checkpoint.persist_s": 0},
}
CURVES = [
    checkpoint_interval.tables.by_interval,
    checkpoint_interval.tables.parts_by_interval,
    checkpoint_interval.tables.interval_rules,
    scale.tables.by_size,
    scale.tables.parts_by_size,
    scale.tables.recovery_map,
]


def steady(scenario: Scenario, **changes) -> Scenario:
    return scenario.override({"job.include_start": False, **changes})


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.__name__)
@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("name", ["llama3-405b", pytest.param("opt-175b", marks=pytest.mark.slow)])
def test_a_curve_has_finite_points_at_every_extreme(curve, extreme, name):
    frame = curve(Scenario.load(name).override(EXTREMES[extreme]), n_points=12)
    numbers = frame.drop(columns="job_mttf_h", errors="ignore").select_dtypes("number")
    assert len(frame) > 4 and np.isfinite(numbers.to_numpy()).all()
    assert frame.index.tolist() == list(range(len(frame)))
    for column in {"ettr", "share"} & set(frame.columns):
        assert frame[column].between(0, 1 + 1e-12).all()


@pytest.mark.parametrize(
    ("name", "formulas"), [("llama3-405b", {"exact", "first_order"}), ("rsc-1", {"exact", "first_order", "rsc"})]
)
def test_curves_over_the_interval_are_the_closed_forms(name, formulas):
    scenario, frame = Scenario.load(name), table(checkpoint_interval.tables.by_interval, name, AS_IT_IS, 30)
    assert set(frame["formula"]) == formulas
    assert frame["interval_min"].min() <= scenario.checkpoint.interval_min <= frame["interval_min"].max() * (1 + 1e-9)
    for row in frame.iloc[::19].itertuples():
        single = steady(scenario, **{"checkpoint.interval_min": row.interval_min})
        assert getattr(budget, row.formula)(single).ettr == pytest.approx(row.ettr, rel=1e-9)


def test_parts_over_the_interval_sum_to_one():
    frame = table(checkpoint_interval.tables.parts_by_interval, *USUAL, 30)
    assert frame.groupby("interval_min")["share"].sum().to_numpy() == pytest.approx(1)
    assert set(frame["part"]) == {"productive", "checkpoint", "rework", "detection", "restart", "maintenance"}
    whole = table(checkpoint_interval.tables.by_interval, *USUAL, 30)
    productive = frame[frame["part"] == "productive"].set_index("interval_min")["share"]
    exact = whole[whole["formula"] == "exact"].set_index("interval_min")["ettr"]
    pd.testing.assert_series_equal(productive, exact, check_names=False)


@pytest.mark.parametrize("name", ["llama3-405b", "opt-175b", "rsc-1"])
def test_no_rule_beats_the_exact_optimum(name):
    frame = table(checkpoint_interval.tables.interval_rules, name, AS_IT_IS, 40)
    assert set(frame["rule"]) == {"Young", "Daly, first order", "Daly, higher order", "Availability", "Exact"}
    assert (frame["loss_points"] > -1e-9).all()
    assert (frame.loc[frame["rule"] == "Exact", "loss_points"] == 0).all()


def test_rules_are_those_of_the_literature(llama3):
    frame = table(checkpoint_interval.tables.interval_rules, *USUAL, 40)
    size = frame["n_gpus"].iloc[3]
    here = frame[frame["n_gpus"] == size].set_index("rule")["interval_min"]
    mttf_h = llama3.job_mttf_h * 16_384 / size
    assert here["Young"] == pytest.approx(60 * checkpoint.young_interval(llama3.stall_h, mttf_h))
    assert here["Availability"] == pytest.approx(
        60 * checkpoint.availability_interval(llama3.stall_h, mttf_h, llama3.detection_h + llama3.restart_h)
    )


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1", "byterobust"])
def test_curves_over_the_size_are_the_closed_forms_at_each_size(name):
    scenario = Scenario.load(name)
    frame = table(scale.tables.by_size, name)
    assert frame["n_gpus"].min() == pytest.approx(128) and frame["n_gpus"].max() == pytest.approx(1e6)
    assert {1e4, 1e5} <= set(frame["n_gpus"])  # sentences speak of them
    for row in frame.iloc[::60].itertuples():
        # sizes on a curve need not be whole nodes, so the same rate is put on one GPU a node
        per_gpu = {"cluster": {"n_gpus": 8 * round(row.n_gpus / 8)}, "checkpoint.interval_min": row.interval_min}
        single = getattr(budget, row.formula)(steady(scenario, **per_gpu)).ettr
        assert single == pytest.approx(row.ettr, abs=0.005)
    best = frame[frame["interval"] == "best"].set_index("n_gpus")["ettr"]
    given = frame[(frame["interval"] == "as given") & (frame["formula"] == "exact")].set_index("n_gpus")["ettr"]
    assert (best.loc[given.index] >= given - 1e-12).all()
    assert best.is_monotonic_decreasing


def test_no_size_is_dropped_because_the_write_sets_the_interval(llama3):
    """The best interval then is the write itself, and rounding must not put it below."""
    slow = llama3.override({"checkpoint.persist_s": 590, "checkpoint.stall_s": 0.1, "maintenance": None})
    frame = scale.tables.by_size(slow, n_points=40)
    best = frame[frame["interval"] == "best"]
    assert best["n_gpus"].tolist() == frame["n_gpus"].unique().tolist() and len(best) == 42  # and 10^4 and 10^5
    assert (best["interval_min"] >= 590 / 60).all()
    assert best["interval_min"].iloc[-10:].to_numpy() == pytest.approx(590 / 60, rel=1e-9)


def test_parts_over_the_size_sum_to_one_and_end_in_recovery():
    frame = table(scale.tables.parts_by_size)
    assert frame.groupby("n_gpus")["share"].sum().to_numpy() == pytest.approx(1)
    largest = frame[frame["n_gpus"] == frame["n_gpus"].max()].set_index("part")["share"]
    assert largest.idxmax() == "restart"


def test_the_map_is_the_closed_form_at_the_middle_of_each_cell(llama3):
    frame = scale.tables.recovery_map(llama3, n_points=10)
    run = steady(llama3)
    sizes, restarts = np.geomspace(1000, 1e6, 11), np.geomspace(0.1, 30, 6)
    n_gpus = np.sqrt(sizes[1:] * sizes[:-1])
    at = {
        "cluster.n_gpus": n_gpus[:, None],
        "checkpoint.interval_min": plan.best_interval_min(run, {"cluster.n_gpus": n_gpus})[:, None],
        "recovery.restart_min": np.sqrt(restarts[1:] * restarts[:-1]),
    }
    with pytest.warns(ValidityWarning, match="maintenance so rare .*: 1 of 50 points are NaN"):
        whole = budget.exact(run, at).ettr
    # cells without an answer are left out, and no other
    assert frame["ettr"].tolist() == pytest.approx(whole[np.isfinite(whole)].tolist())
    shown = np.isfinite(whole)
    for column, ends, axis in (("n_gpus", sizes, 0), ("restart_min", restarts, 1)):
        assert frame[column].tolist() == pytest.approx(ends[np.indices(whole.shape)[axis]][shown].tolist())
        assert frame[f"{column}_end"].tolist() == pytest.approx(ends[np.indices(whole.shape)[axis] + 1][shown].tolist())
    still = scale.tables.recovery_map(llama3.override({"maintenance": None}), n_points=10)
    assert len(still) == 10 * 5
    assert (frame["n_gpus_end"] > frame["n_gpus"]).all() and (frame["restart_min_end"] > frame["restart_min"]).all()
    by_restart = frame[frame["n_gpus"] == frame["n_gpus"].iloc[0]].sort_values("restart_min")["ettr"]
    assert by_restart.is_monotonic_decreasing


def test_a_curve_without_a_single_point_is_an_error():
    hopeless = Scenario.load("opt-175b").override({"cluster.n_gpus": 80_000_000})
    for curve in (checkpoint_interval.tables.by_interval, checkpoint_interval.tables.parts_by_interval):
        with pytest.raises(OutsideValidity, match="no formula holds anywhere on this curve of opt-175b"):
            curve(hopeless, n_points=8)


def test_published_figures_have_source_and_status():
    frame = evidence.published_ettr().set_index("run")
    assert frame.loc["Llama 3 405B", ["n_gpus", "ettr", "bound"]].tolist() == [16_384, 0.9, "more than"]
    assert set(frame["source"]) <= set(evidence.bibliography()["key"])
    assert set(frame["status"]) <= set(evidence.STATUSES)


def test_presets_side_by_side():
    frame = plan.presets().set_index("name")
    assert tuple(frame.index) == PRESETS
    llama3 = Scenario.load("llama3-405b")
    assert frame.loc["llama3-405b", "ettr"] == budget.exact(llama3).ettr
    assert frame.loc["llama3-405b", "best_interval_min"] == answer().band.interval_min
    assert frame.loc["llama3-405b", "n_assumed"] == len(plan.assumed_fields(llama3))
    assert frame.loc["rsc-1", "rate_per_1000_node_days"] == 6.5


def test_the_edge_of_a_region_is_the_longest_restart_that_reaches_the_level(llama3):
    frame = scale.tables.recovery_regions(llama3, [0.0, 0.7, 0.9], 7)
    run = steady(llama3)
    step = 300 ** (1 / 599)
    for row in frame[frame["at_least"] > 0].itertuples():
        interval = plan.best_interval_min(run, {"cluster.n_gpus": [row.n_gpus]})
        at = {"cluster.n_gpus": np.array([row.n_gpus]), "checkpoint.interval_min": interval}
        at["recovery.restart_min"] = np.array([row.high_min, row.high_min * step])
        inside, beyond = budget.exact(run, at).ettr
        assert inside >= row.at_least and (beyond < row.at_least or row.high_min == 30.0)
    widths = frame.pivot_table(index="n_gpus", columns="at_least", values="high_min").fillna(0)
    assert (widths[0.0] >= widths[0.7]).all() and (widths[0.7] >= widths[0.9]).all()
