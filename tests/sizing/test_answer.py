"""The best sizes, their limits, their bands, and the curve."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest

from ettr import plan, sizing
from ettr.core.errors import InputError, UnknownName
from ettr.scaling import calibration

COLUMN = {"fastest": "days", "cheapest": "usd", "greenest": "t_co2"}


def best(scenario, goal: str, **limits: float) -> sizing.BestSize:
    """One goal, with few draws for its bands."""
    return sizing.best(scenario, goal, sizing.SizingLimits(**limits), sizing.draws(scenario, 2))


def test_no_size_of_the_curve_is_better(run, answer):
    """Best among whole replicas: within a thousandth of the best of 1,000 continuous sizes."""
    curve = sizing.curve(run, np.geomspace(112, 2e5, 1000), n_draws=0)
    for goal, column in COLUMN.items():
        size = answer.best[goal]
        assert getattr(size.yields, column) <= curve[column].min() * 1.002
        assert size.n_gpus % 8 == 0 and size.yields.n_gpus == size.n_gpus
        scenario = run.override({"cluster.n_gpus": size.n_gpus})  # a job that can be had
        assert str(scenario.layout_of_job) == size.layout
    assert answer.best["cheapest"].n_gpus < answer.best["fastest"].n_gpus
    assert answer.turning_gpus == pytest.approx(answer.best["fastest"].n_gpus, rel=0.01)
    assert not answer.unanswered
    # the last segment is cut off in the plan
    assert answer.at_current.days * 24 == pytest.approx(plan.make(run).budget.total_h, rel=5e-4)


LIMITS = [
    {"most_gpus": 20_000},
    {"power_mw": 40, "deadline_days": 60},
    {"most_gpus": 30_000, "budget_usd": 1e8},
    *(pytest.param(limit, marks=pytest.mark.slow) for limit in ({"power_mw": 30}, {"budget_usd": 7e7})),
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_limits_are_kept_and_cost_what_they_cost(run, answer, limits):
    kept = sizing.make(run, sizing.SizingLimits(**limits))
    at = {"power_mw": "power_mw", "budget_usd": "usd", "deadline_days": "days", "most_gpus": "n_gpus"}
    for goal, column in COLUMN.items():
        within = kept.best[goal].yields
        used = {name: getattr(within, at[name]) / limit for name, limit in limits.items()}
        assert max(used.values()) <= 1
        assert getattr(within, column) >= getattr(answer.best[goal].yields, column) * 0.999
        if goal == "fastest":
            assert max(share for name, share in used.items() if name != "deadline_days") > 0.975
    assert kept.to_dict()["limits"] == limits


LIMITED = {"power_mw": "MW", "budget_usd": "USD", "deadline_days": "days", "most_gpus": "GPUs"}


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_is_above_zero(name):
    for value in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match=f"^{name} must be > 0 {LIMITED[name]} and finite, got {value:g}$"):
            sizing.SizingLimits(**{name: value})


@pytest.mark.parametrize(
    ("limits", "pattern"),
    [
        ({"deadline_days": 5}, r"deadline_days must be at least 3\d\.\d+ days, got 5 days"),
        (
            {"power_mw": 30, "deadline_days": 40},
            r"each can be met alone, but not all together: where power_mw is met, deadline_days is at least "
            r"4\d\.\d+ days, not 40",
        ),
    ],
    ids=str,
)
def test_limits_that_nothing_keeps_say_what_the_nearest_takes(run, limits, pattern):
    with pytest.raises(InputError, match=f"^no size meets the limits: {pattern}"):
        best(run, "fastest", **limits)


def test_without_a_price_every_size_is_the_cheapest(run):
    free = sizing.make(run.override({"cost": {"usd_per_gpu_h": 0, "usd_per_kwh": 0}, "power.g_per_kwh": 0}))
    assert set(free.best) == {"fastest"}
    assert set(free.unanswered) == {"cheapest", "greenest"}
    assert "cost.usd_per_gpu_h must be > 0" in free.unanswered["cheapest"]
    assert "power.g_per_kwh must be > 0" in free.unanswered["greenest"]


def test_an_unknown_goal_is_answered_with_the_known(run):
    with pytest.raises(UnknownName, match="unknown goal 'cheap'; did you mean 'cheapest'"):
        best(run, "cheap")


# --------------------------------------------------------------------------- bands


def test_bands_hold_the_values_that_they_are_of(answer, run):
    for size in answer.best.values():
        assert size.n_gpus_low <= size.n_gpus <= size.n_gpus_high
        for name in ("days", "usd", "t_co2", "ettr", "mfu", "useful_tokens_per_day"):
            assert getattr(size.low, name) < getattr(size.yields, name) < getattr(size.high, name)
    curve = sizing.curve(run, [1024, 16384, 100_000])
    for name in ("useful_tokens_per_day", "days", "usd", "mwh", "t_co2", "ettr", "mfu"):
        assert (curve[f"{name}_low"] < curve[name]).all() and (curve[name] < curve[f"{name}_high"]).all()


def width(scenario, name="mfu"):
    row = sizing.curve(scenario, [16384]).iloc[0]
    return row[f"{name}_high"] - row[f"{name}_low"]


def test_bands_shrink_with_what_is_known(run):
    counted = {"failures.n_events": 41_900, "failures.node_days": 11_059_200}
    assert width(run.override(counted), "ettr") < 0.6 * width(run, "ettr")
    constants = {f"scaling.{name}": getattr(run.throughput.constants, name) for name in ("jitter", "overlap")}
    assert width(run.override(constants)) < width(run)
    # a study with more rows is surer: four of MegaScale over 256 to 12,288 GPUs, two of Llama 3 over twofold
    assert width(run.override({"scaling.like": "megascale"})) < width(run)


def test_draws_are_as_uncertain_as_what_they_are_drawn_from(run):
    drawn, fitted = sizing.draws(run, 4000, seed=1), calibration.fit("llama3")
    assert drawn.rate_per_1000_node_days.mean() == pytest.approx(run.failure_rate, rel=5e-3)
    spread = drawn.rate_per_1000_node_days.std() / drawn.rate_per_1000_node_days.mean()
    assert spread == pytest.approx(419**-0.5, rel=0.02)
    error = 4 * fitted.sd.kernel_efficiency / 4000**0.5
    assert abs(drawn.constants.kernel_efficiency.mean() - fitted.constants.kernel_efficiency) < error
    assert "study 'llama3'" in drawn.source and "failure rate" in drawn.source
    again, other = sizing.draws(run, 4000, seed=1), sizing.draws(run, 4000, seed=2)
    assert np.array_equal(drawn.constants.jitter, again.constants.jitter)
    assert not np.array_equal(drawn.constants.jitter, other.constants.jitter)


def test_a_rate_that_nobody_counted_is_taken_as_exact(run):
    drawn = sizing.draws(run.override({"failures.rate_per_1000_node_days": 3.8}), 10)
    assert drawn.rate_per_1000_node_days is None and drawn.source.endswith("failure rate is treated as exact")
    assert sizing.draws(run.override({"failures.rate_per_1000_node_days": 0}), 10).rate_per_1000_node_days is None


# --------------------------------------------------------------------------- the curve and the answer as a whole


def test_the_curve_by_hand(run):
    table = sizing.curve(run, [8, 1024, 16384], n_draws=0)
    assert table["layout"].tolist()[0] == "" and table.loc[0, "useful_tokens_per_day"] == 0
    row = table.loc[2]
    assert row["usd_per_million_tokens"] == row["usd"] / 15.6e6
    assert row["kwh_per_million_tokens"] == row["mwh"] * 1e3 / 15.6e6
    assert row["g_per_million_tokens"] == pytest.approx(row["t_co2"] * 1e6 / 15.6e6)
    assert row["marginal_tokens_per_day"] == pytest.approx(sizing.next_gpu(run).marginal_tokens_per_day)
    assert not any(name.endswith(("_low", "_high")) for name in table)
    names = {field.name for field in fields(sizing.Yields)}
    assert names <= set(table)


def test_the_curve_goes_over_all_sizes_by_default(run):
    table = sizing.curve(run, n_draws=20)
    assert len(table) == 60 and table["n_gpus"].iloc[0] == 112 and (table["useful_tokens_per_day"] > 0)[:50].all()
    assert (table.filter(regex="_low$").to_numpy() <= table.filter(regex="_high$").to_numpy()).all()
    assert len(sizing.curve(run, 16384, n_draws=0)) == 1 and len(sizing.curve(run, [])) == 0


def test_the_batch_is_of_whole_micro_batches(run):
    odd = run.override({"model.batch_tokens": 2**24 + 5 * 8192, "layout": {"tensor": 8, "pipeline": 16}})
    assert sizing.make(odd).batch_tokens == 2**24


def test_a_job_without_failures_has_an_answer(run, answer):
    safe = sizing.make(run.override({"failures.rate_per_1000_node_days": 0, "maintenance": None}))
    assert safe.at_current.ettr > 0.999
    assert safe.best["fastest"].n_gpus >= answer.best["fastest"].n_gpus


def test_twice_the_tokens_take_twice_as_long_anywhere(run, answer):
    double = run.override({"job.tokens": 31.2e12})
    for goal in ("fastest", "cheapest"):
        now, then = answer.best[goal], best(double, goal)
        assert then.yields.gpu_h == pytest.approx(2 * now.yields.gpu_h, rel=5e-3)
        assert then.n_gpus == pytest.approx(now.n_gpus, rel=0.05)
    assert sizing.turning_point(double) == answer.turning_gpus


def test_a_job_that_ends_only_on_fewer_gpus_is_answered_with_them(run):
    broken = sizing.make(run.override({"failures.rate_per_1000_node_days": 300, "cluster.n_gpus": 131_072}))
    record = json.loads(json.dumps(broken.to_dict(), allow_nan=False))
    assert broken.best["fastest"].n_gpus < 131_072
    assert record["next_gpu"]["share"] is None or record["next_gpu"]["share"] < 0
