"""By when a run is done: the exact distribution at the interval of the plan, and words for every kind of run."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from ettr import Scenario, budget, plan, simulate
from ettr.core.errors import InputError
from ettr.core.finishing import Finishing, table
from mechanisms import PEER, WARNED

START = plan.calendar_of("2027-01-15")
POOL = {"spares": {"n_nodes": 8}, "repair": {"manual_h": 24}}
ENDLESS = {
    "name": "large",
    "cluster": {"n_gpus": 400_000},
    "job": {"productive_h": 100},
    "failures": {"job_mttf_h": 0.12},
}
"""Trains for less than one in a hundred of the time, by what is assumed."""


@cache
def answered(name: str = "llama3-405b", changes: str = "{}", simulate: bool = True, start: bool = True) -> plan.Plan:
    run = Scenario.load(name).override(json.loads(changes))
    return plan.make(run, simulate, START if start else None)


def of(changes: dict[str, object] | None = None, **more: object) -> plan.Plan:
    return answered(changes=json.dumps(changes or {}), **more)


def at(answer: plan.Plan) -> Scenario:
    return answer.original.override({"checkpoint.interval_min": answer.band.interval_min})


# --------------------------------------------------------------------------- the numbers


def test_dates_are_those_of_the_exact_distribution_mixed_over_the_count():
    answer = of()
    exact = budget.finishing(at(answer), rate_known=False)
    assert answer.dates.counted == 419
    for p in (0.05, 0.5, 0.9, 0.99):
        assert answer.dates.finishing.quantile(p) == exact.quantile(p)
    fixed_rate = budget.finishing(at(answer))
    assert answer.dates.finishing.sd_h > 1.2 * fixed_rate.sd_h  # chance alone is less than what the count leaves open
    assert answer.dates.finishing.mean_h == pytest.approx(fixed_rate.mean_h, rel=1e-3)


def test_half_of_the_runs_over_what_is_assumed_follow_the_range_of_the_ettr():
    dates = of().dates
    (low, high), ettr = dates.assumptions.range, dates.assumptions.ettr
    middle_h = dates.finishing.quantile(0.5)
    assert dates.plausible_median_h == pytest.approx((middle_h * ettr / high, middle_h * ettr / low), rel=1e-12)
    assert dates.plausible_median_h[0] < middle_h < dates.plausible_median_h[1]


@pytest.mark.parametrize(
    "changes",
    [
        {"failures.rate_per_1000_node_days": 0},
        {"failures.rate_per_1000_node_days": 6},
    ],
    ids=["no failures", "a rate that nobody counted"],
)
def test_what_has_a_transform_is_followed_in_full(changes):
    answer = of({**changes, "failures.modes": []} if "failures.rate_per_1000_node_days" in changes else changes)
    dates = answer.dates
    assert not dates.left_out and not dates.is_simulated and dates.simulated is None
    assert "simulated" not in dates.words
    whole_min = budget.whole_interval_min(answer.original, answer.band.interval_min)
    exact = budget.finishing(
        answer.original.override({"checkpoint.interval_min": whole_min}), rate_known=dates.counted is None
    )
    assert dates.finishing.quantile(0.9) == pytest.approx(exact.quantile(0.9), rel=1e-12)


def test_nodes_with_a_memory_fail_at_their_mean_rate():
    answer = of({"failures.lifetime": {"shape": 0.7}})
    assert answer.dates.left_out == ("nodes whose failure rate depends on age, at their mean rate",)
    assert answer.dates.finishing.mean_h == pytest.approx(of().dates.finishing.mean_h, rel=0.01)


def test_spares_that_run_out_are_left_out_and_simulated_beside():
    answer = of(POOL)
    dates = answer.dates
    assert dates.left_out == ("spares that run out (spares, repair)",) and not dates.is_simulated
    assert dates.simulation is answer.single_runs
    assert dates.simulated.quantile(0.9) > dates.finishing.quantile(0.9)
    simulated, analytical = (dates.calendar.when(of.quantile(0.9)) for of in (dates.simulated, dates.finishing))
    assert simulated in dates.words and analytical not in dates.words
    quick = of(POOL, simulate=False).dates
    assert quick.simulation is None and quick.simulated is None and "simulated" not in quick.words


def test_of_a_run_under_way_the_rest_is_simulated():
    run = Scenario.load("llama3-405b").override({**POOL, "job.productive_h": 200})
    whole = plan.make(run, calendar=START).dates
    rest = plan.make(run, calendar=plan.calendar_of("2027-01-15", done="75%")).dates
    # the pool is full at the beginning, so that the rest waits for fewer nodes than its share
    assert rest.simulated.quantile(0.5) < 0.4 * whole.simulated.quantile(0.5)
    assert rest.finishing.mean_h == pytest.approx(0.25 * whole.finishing.mean_h, rel=0.01)


def test_the_rest_of_a_run_under_way_waits_for_no_first_queue():
    run = Scenario.load("llama3-405b").override({**POOL, "job.productive_h": 4, "recovery.queue_min": 600})
    free = run.override({"failures.rate_per_1000_node_days": 1e-6, "failures.modes": [], "maintenance": None})
    whole, rest = (plan.make(free, calendar=plan.calendar_of("2027-01-15", done=done)).dates for done in (0, "50%"))
    assert whole.simulated.quantile(0.5) > 10 + 4
    assert 2 < rest.simulated.quantile(0.5) < 3


SHORT = {"job.productive_h": 50, "maintenance": None}
SIMULATED = {
    "tiers": {"checkpoint.tiers": [PEER], "checkpoint.persist_s": 5},
    "warnings": {"prediction": WARNED},
    "burn-in": {"failures.burn_in": {"factor": 3, "decay_days": 5}},
    "silent": {"failures.modes": [{"name": "Silent", "share": 1, "latency_h": 5}], "checkpoint.persist_s": 0},
}


@pytest.mark.parametrize("name", SIMULATED)
def test_without_a_transform_the_dates_are_those_of_simulated_runs(name):
    changes = json.dumps(SHORT | SIMULATED[name])
    answer = answered("rsc-1", changes)
    dates = answer.dates
    assert dates.is_simulated and not dates.left_out and dates.simulated is None
    again = simulate(dates.scenario, 2000, seed=7)
    for p in (0.5, 0.9):
        error_h = math.hypot(dates.error_h(p), again.finish_error_h(p))
        assert dates.finishing.quantile(p) == pytest.approx(again.finish_h(p), abs=4 * error_h)
    assert "simulated in 4,000 runs (standard error " in dates.words
    record = dates.to_dict()
    assert record["is_simulated"] and record["errors_h"]["0.9"] == dates.simulation.finish_error_h(0.9) > 0


@pytest.mark.parametrize("name", SIMULATED)
def test_a_plan_that_simulates_nothing_keeps_the_mean_date(name):
    changes = json.dumps(SHORT | SIMULATED[name])
    quick = answered("rsc-1", changes, simulate=False)
    assert quick.dates is None and quick.to_dict()["dates"] is None
    mean_h = (quick.budget_over_time or quick.budget).total_h
    mean_day = START.day(mean_h)
    words = quick.without_dates
    assert mean_day in words and words.endswith("leave out `simulate=False`.")
    assert quick.to_dict()["without_dates"] == words and words in str(quick.report())
    dates = answered("rsc-1", changes).dates
    # a run of 50 h ends within an interval, and silent failures of its last hours are not noticed any more
    assert dates.finishing.mean_h == pytest.approx(mean_h, rel=0.1)


def test_without_the_simulator_the_mean_date_names_the_extra(monkeypatch):
    monkeypatch.setattr("ettr.plan.dates.find_spec", lambda name: None)
    changes = json.dumps(SHORT | SIMULATED["tiers"])
    assert answered("rsc-1", changes, simulate=False).without_dates.endswith("pip install 'ettr[simulate]'.")


def test_of_no_failures_seen_the_rate_is_the_most_that_fits():
    run = Scenario.of(
        {
            "name": "quiet",
            "cluster": {"n_gpus": 512},
            "job": {"productive_h": 1000},
            "failures": {"n_events": 0, "node_days": 1920},
        }
    )
    answer = plan.make(run)
    assert answer.is_bound and answer.dates.counted is None
    assert answer.dates.finishing.mean_h == pytest.approx(float(answer.budget.total_h), rel=1e-6)


def test_a_job_without_an_end_has_no_dates():
    run = Scenario.load("llama3-405b").override({"job.productive_h": None})
    answer = plan.make(run)
    assert answer.dates is None and answer.due is None
    assert answer.to_dict()["dates"] is None and "runs finish" not in str(answer.report())
    for calendar in (START, plan.calendar_of(done="40%"), plan.calendar_of("2027-01-15", "2027-03-08")):
        with pytest.raises(InputError, match=r"has no end.*job\.productive_h"):
            plan.make(run, calendar=calendar)


def test_a_share_done_shortens_the_rest_and_leaves_the_start_out():
    run = Scenario.load("bloom-176b")
    rest = plan.make(run, calendar=plan.calendar_of(done="40%")).dates.finishing
    best = plan.make(run).best
    assert rest.mean_h == budget.finishing(best, done=0.4).mean_h
    assert "from now" in plan.make(run, calendar=plan.calendar_of(done="40%")).dates.words


# --------------------------------------------------------------------------- the words


def test_the_sentence_names_both_dates_what_they_rest_on_and_what_is_assumed():
    dates = of().dates
    assert all(part in dates.words for part in ("90%", "99%", " by 9 March 2027", " 419 failures"))
    assert dates.words.endswith(" between 8 and 9 March 2027.") and dates.words.startswith(dates.headline)
    assert all(part in dates.headline for part in ("90%", "99%", " by 9 March 2027"))


def ending(share: float) -> Finishing:
    """Runs of which a share is done within 1,000 h, at any of them alike, and the others never."""
    below = np.linspace(0.0, share, 64)
    hours = {"first_h": 0.0, "step_h": 1000 / 63, "mean_h": math.inf, "sd_h": math.inf}
    return table(below, np.full(64, share / 1000), never=1 - share, **hours)


def test_what_never_ends_has_no_date():
    dates = replace(of().dates, assumptions=None)
    never = replace(dates, finishing=ending(0.5))
    assert never.words == "Fewer than 90% of runs ever finish (failure rate estimated from 419 failures)."
    rarely = replace(dates, finishing=ending(0.98))
    assert "by 22 February 2027" in rarely.words and "fewer than 99% ever" in rarely.words
    assert never.to_dict()["quantiles_h"]["0.9"] is None and never.to_dict()["dates"]["0.9"] is None
    assert never.calendar.when(math.inf) == "never"


@pytest.mark.parametrize(
    ("start", "hours", "text"),
    [
        ("2027-01-15", (240, 300), "between 25 and 27 January 2027"),
        ("2027-01-15", (240, 800), "between 25 January and 17 February 2027"),
        ("2027-01-15", (240, math.inf), "by 25 January 2027 at best; at worst the job never ends"),
        (None, (60, 100), "after 60 h to 4.17 days"),
    ],
)
def test_a_range_of_dates_says_its_month_year_and_unit_once(monkeypatch, start, hours, text):
    dates = replace(of().dates, calendar=plan.calendar_of(start))
    monkeypatch.setattr(plan.Dates, "plausible_median_h", hours)
    assert dates.words.endswith(f" {text}.")


def test_for_machines():
    dates = of().dates
    record = json.loads(json.dumps(dates.to_dict(), allow_nan=False))
    assert not record["is_simulated"] and set(record["errors_h"].values()) == {0}
    assert record["start"] == "2027-01-15T00:00:00+00:00" and record["deadline"] is None
    assert record["quantiles_h"]["0.9"] == dates.finishing.quantile(0.9)
    assert record["dates"]["0.9"].startswith("2027-03-09T") and record["rate_known_from"] == 419
    undated = of(start=False).dates.to_dict()
    assert set(undated["dates"].values()) == {None} and undated["start"] is None


# --------------------------------------------------------------------------- runs that never end


def test_a_hopeless_run_says_that_its_chance_is_nothing():
    hopeless = plan.make(Scenario.of(ENDLESS), calendar=plan.calendar_of("2027-01-15", "2027-03-08"))
    assert hopeless.budget.ettr < 0.01
    assert hopeless.report()[-1].text.endswith("deadline is 0.")
    record = json.loads(json.dumps(hopeless.to_dict(), allow_nan=False))
    assert record["deadline"] is None or record["deadline"]["probability"] == 0
