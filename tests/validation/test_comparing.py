"""The referee: what is drawn, and that a summary says what its errors are."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import Scenario, budget
from ettr.core.errors import InputError, NotModelled
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE
from ettr_book.validation import CALCULATORS, beside, referee
from ettr_book.validation.comparing import answers, draw, first_order_loss, ranges, set_aside, steady


@pytest.fixture(scope="module")
def summary():
    return referee().set_index("calculator")


def test_a_draw_stays_in_its_ranges_and_is_the_same_again():
    run, ends = draw(5000), ranges()
    for values, path, unit in (
        (8 * run.n_nodes, N_GPUS, 1),
        (60 * run.tau, INTERVAL, 1),
        (3600 * run.stall, "checkpoint.stall_s", 1),
        (60 * run.detection, "recovery.detection_min", 1),
        (24_000 * run.rate / run.n_nodes, RATE, 1),
    ):
        low, high = ends[path]
        assert low <= values.min() * unit * 1.0000001 and values.max() * unit <= high * 1.0000001
        assert values.max() > 0.9 * high
    assert (draw(5000).tau == run.tau).all() and (draw(5000, 1).tau != run.tau).all()
    assert not run.include_start and not run.tiers and not np.any(run.stops_per_h) and not np.any(run.silent)
    with pytest.raises(InputError, match="n must be >= 1 run, got 0"):
        draw(0)


def test_a_summary_counts_the_errors_of_its_draw(summary):
    run = draw()
    exact = budget.exact(run).ettr
    assert list(summary.index) == list(CALCULATORS)
    for name, ettr in answers(run).items():
        points, row = 100 * (ettr - exact), summary.loc[name]
        answered = points[np.isfinite(points)]
        assert row["within"] == pytest.approx(np.sum(np.abs(answered) <= 1) / points.size)
        assert [row["low"], row["median"], row["high"]] == pytest.approx(np.quantile(answered, [0.05, 0.5, 0.95]))
        assert row["no_answer"] == pytest.approx(np.isnan(points).mean())
        safe = first_order_loss(run) <= row["safe_loss"]
        if row["safe_loss"]:
            assert (np.abs(points[safe]) <= 1).mean() >= 0.95


def test_what_leaves_losses_out_says_too_much_and_never_too_little(summary):
    """Of the forms that the exact one contains, with less counted."""
    for name in ("daly", "netcap", "ubc", "airesim", "mlsysim_checkpoint"):
        assert summary.loc[name, "too_much"] > 0.98
    assert summary.loc["young", "low"] < -5 and summary.loc["rsc", "low"] < -5
    assert summary.loc["airesim", "within"] < 0.2
    assert summary.loc["young", "within"] > 0.6
    assert summary.loc["daly", "within"] == summary["within"].max()


def test_a_summary_holds_for_other_seeds(summary):
    again = referee(seed=7).set_index("calculator")
    assert np.abs(again["within"] - summary["within"]).max() < 0.01
    assert np.abs(again["median"] - summary["median"]).max() < 0.1


def test_beside_puts_all_next_to_the_exact_form():
    scenario = Scenario.load("llama3-405b")
    frame = beside(scenario).set_index("calculator")
    assert (frame["exact"] == budget.exact(steady(scenario)).ettr).all()
    assert frame["points"].to_numpy() == pytest.approx((100 * (frame["ettr"] - frame["exact"])).to_numpy())
    assert frame.loc["airesim", "points"] > 4 and abs(frame.loc["young", "points"]) < 1
    hopeless = beside(scenario.override({"recovery.restart_min": 400})).set_index("calculator")
    assert np.isnan(hopeless.loc["young", "ettr"]) and np.isfinite(hopeless.loc["daly", "ettr"])


def test_what_no_calculator_knows_is_set_aside_and_said():
    scenario = Scenario.load("llama3-405b")
    assert set_aside(scenario) == ["maintenance"]
    tiers = [{"name": "peers", "interval_s": 20, "stall_s": 0.1, "write_s": 2, "load_s": 5, "copies": 2}]
    assert set_aside(scenario.override({"checkpoint.tiers": tiers, "maintenance": None})) == ["faster tiers"]
    silent = Scenario.load("rsc-1").override({"failures.modes": [{"name": "bits", "share": 1, "latency_h": 2}]})
    assert set_aside(silent) == ["silence"] and set_aside(steady(silent)) == []
    with pytest.raises(NotModelled, match="slow nodes"):
        beside(scenario.override({"slow_nodes": {"per_1000_node_days": 1, "loss": 0.1, "detection_h": 2}}))
