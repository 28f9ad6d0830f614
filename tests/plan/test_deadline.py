"""Whether a run is done by a date: the probability, the interval, and values of fields that really give nine in ten."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from ettr import Scenario, budget, mitigation, plan, simulate
from ettr.core.errors import InputError
from ettr.core.sentences import usd
from ettr.core.units import H_PER_DAY
from ettr.plan.deadline import WANTED, deadline_of, share
from ettr.scenario.paths import RATE

NEAR = 0.01
"""Probabilities of the levers rest on fewer terms and rates than those of a plan."""


@cache
def due(name: str = "llama3-405b", by: str = "2027-03-08", changes: str = "{}", done: str = "0") -> plan.Plan:
    run = Scenario.load(name).override(json.loads(changes))
    return plan.make(run, calendar=plan.calendar_of("2027-01-15", by, done=done))


COUNTED = due
"""Its rate is known from 419 failures."""


def exact_rate() -> plan.Plan:
    return due("bloom-176b", "2027-04-26 00:00")


def chance(answer: plan.Plan, changes: dict[str, float]) -> float:
    """Of being done in time with other values and the best interval there, by the full distribution."""
    run = answer.due.dates.scenario
    if (rate := changes.get(RATE)) and answer.due.dates.counted:  # another rate, known as well as this one
        shape = run.failures.posterior.shape
        changes = {**changes, "failures.rate_gamma": {"shape": shape, "node_days": 1000 * shape / rate}}
    run = run.override({**changes, "failures.modes": []})
    run = run.override({"checkpoint.interval_min": budget.best_interval_min(run)})
    return float(budget.finishing(run, rate_known=answer.due.dates.counted is None).cdf(answer.due.hours))


# --------------------------------------------------------------------------- the probability


@pytest.mark.parametrize("answer", [COUNTED, exact_rate], ids=["counted", "exact"])
def test_the_probability_is_that_of_the_distribution_at_the_deadline_and_a_day_around(answer):
    deadline, finish = answer().due, answer().dates.finishing
    for probability, days in ((deadline.probability, 0), (deadline.day_earlier, -1), (deadline.day_later, 1)):
        assert probability == finish.cdf(deadline.hours + days * H_PER_DAY)
    assert deadline.day_earlier < deadline.probability < deadline.day_later
    assert deadline.usd_per_day == pytest.approx(24 * 2 * answer().original.cluster.n_gpus, rel=1e-12)


@pytest.mark.parametrize("answer", [COUNTED, exact_rate, lambda: due("glm-130b", "2027-02-26 12:00")])
def test_the_interval_it_names_is_at_least_as_likely_as_any_other(answer):
    deadline = answer().due
    scenario = deadline.dates.scenario
    run = budget.accepted(scenario, formula="finishing")
    rates = None if deadline.dates.counted is None else budget.posterior_rates(scenario, run)
    tried_h = answer().best.interval_h * np.geomspace(0.5, 2, 13)
    on_grid = budget.chance(replace(run, tau=tried_h), deadline.hours, rates)
    assert deadline.at_interval >= deadline.probability
    assert deadline.at_interval >= on_grid.max() - 0.003  # it looks at 25 intervals, and at fewer rates
    named = budget.chance(replace(run, tau=deadline.interval_min / 60), deadline.hours, rates)
    assert named == pytest.approx(deadline.at_interval, abs=0.005)


# --------------------------------------------------------------------------- what it would take


@pytest.mark.parametrize("answer", [COUNTED, exact_rate], ids=["counted", "exact"])
def test_each_value_really_gives_nine_in_ten_and_its_neighbour_less(answer):
    levers = [lever for lever in answer().due.levers if lever.value is not None]
    assert len(levers) >= 2
    for lever in levers:
        assert chance(answer(), {lever.field: lever.value}) == pytest.approx(WANTED, abs=NEAR), lever.field
        worse = lever.value + 0.1 * (lever.given - lever.value)
        assert chance(answer(), {lever.field: worse}) < WANTED - NEAR / 10, lever.field
        assert (lever.value < lever.given) == (lever.sense == "at most")


@pytest.mark.parametrize("answer", [COUNTED, exact_rate], ids=["counted", "exact"])
def test_where_no_value_is_enough_the_best_one_is_not(answer):
    none = [lever for lever in answer().due.levers if lever.value is None]
    assert none
    for lever in none:
        best = 0.0 if lever.sense == "at most" else 1.0
        if lever.field != "checkpoint.persist_s":
            assert chance(answer(), {lever.field: best}) < WANTED + NEAR, lever.field


def test_what_changes_the_work_or_is_asked_elsewhere_is_no_lever():
    for answer in (COUNTED(), exact_rate()):
        paths = {lever.field for lever in answer.due.levers}
        assert not paths & {"job.productive_h", "checkpoint.interval_min", "cluster.n_gpus", "spares.n_nodes"}
        assert "failures.rate_per_1000_node_days" in paths


def test_a_deadline_that_is_kept_with_nine_in_ten_needs_nothing():
    kept = due(by="2027-03-09").due
    assert kept.probability > WANTED and kept.levers == ()
    assert len(kept.report()) == 1


def test_the_recommended_set_is_applied_at_its_best_interval():
    deadline = COUNTED().due
    assert deadline.recommendation.ids == COUNTED().recommendation.ids
    steps = tuple(step for step in deadline.recommendation.steps if step.id != "just-in-time-checkpoint")
    without_tiers = replace(deadline.recommendation, steps=steps)
    better = mitigation.apply(deadline.dates.scenario, without_tiers.ids)
    better = better.override({"checkpoint.interval_min": budget.best_interval_min(better)})
    exact = float(budget.finishing(better, rate_known=False).cdf(deadline.hours))
    of_these = deadline_of(deadline.dates, without_tiers)
    assert of_these.with_all == pytest.approx(exact, abs=NEAR) and of_these.with_all_error is None
    assert f" for {usd(without_tiers.price_usd)}: {share(exact)}." in of_these.words
    alone = deadline_of(deadline.dates)
    assert alone.recommendation is None and alone.with_all is None and "With " not in alone.words


def test_a_recommended_set_with_a_tier_is_simulated():
    deadline = due(by="2027-03-06").due
    assert "just-in-time-checkpoint" in deadline.recommendation.ids
    better = mitigation.apply(deadline.dates.scenario, deadline.recommendation.ids)
    better = better.override({"checkpoint.interval_min": budget.best_interval_min(better)})
    better = better.override({"checkpoint.interval_min": budget.whole_interval_min(better, better.interval_min)})
    seen = np.mean(simulate(better, 2000, seed=3).total_h <= deadline.hours)
    assert deadline.probability < 0.01 and deadline.with_all == pytest.approx(seen, abs=0.03)
    assert deadline.with_all_error == pytest.approx(
        math.sqrt(deadline.with_all * (1 - deadline.with_all) / 4000), rel=1e-9
    )
    assert f": {share(deadline.with_all)} (simulated)." in deadline.words
    quick = deadline_of(deadline.dates, deadline.recommendation, simulate=False)
    assert quick.with_all is None and quick.words.endswith(": leave out `simulate=False`.")


# --------------------------------------------------------------------------- words


def test_the_sentence_has_the_probability_what_a_day_changes_and_what_it_costs():
    words, headline = COUNTED().due.words, COUNTED().due.headline
    assert all(part in words for part in ("8 March 2027: 5%", "earlier less than 1%", "later 99%", " 790,000 USD."))
    assert headline.endswith("by 8 March 2027: 5%")


def test_what_is_certain_is_said_as_more_than_99():
    deadline = due(by="2027-06-01").due
    assert "more than 99%" in deadline.words and "a day earlier" not in deadline.words
    assert deadline.levers == ()


def lever(value: float | None) -> plan.Lever:
    return plan.Lever("recovery.restart_min", "the restart time", "min", 5.0, value, "at most")


def test_values_that_are_all_enough_or_never():
    any_will_do = replace(COUNTED().due, levers=(lever(math.inf), lever(2.0)))
    _, table = any_will_do.report()
    assert [row[1] for row in table.rows] == ["any", "<= 2"]
    _, note = replace(COUNTED().due, levers=(lever(None),)).report()
    assert note.text.endswith(": restart time.")


def test_for_machines():
    record = json.loads(json.dumps(COUNTED().due.to_dict(), allow_nan=False))
    assert (
        record["with"] == list(COUNTED().recommendation.ids) and record["wanted"] == 0.9 and record["simulated"] is None
    )
    assert {"field", "name", "unit", "given", "value", "sense"} == record["levers"][0].keys()
    unlimited = replace(COUNTED().due, levers=(lever(math.inf),)).to_dict()
    assert unlimited["levers"][0]["value"] is None


# --------------------------------------------------------------------------- what is left out, and refused


def test_spares_that_run_out_have_a_probability_of_their_own():
    pool = json.dumps({"spares": {"n_nodes": 6}, "repair": {"manual_h": 24}})
    deadline = due(by="2027-03-20", changes=pool).due
    seen = float(np.mean(deadline.dates.simulation.total_h <= deadline.hours))
    assert deadline.probability == deadline.simulated < 0.9 and deadline.simulated == pytest.approx(seen, abs=0.01)
    assert deadline.dates.finishing.cdf(deadline.hours) > 0.99, "with enough spares"
    assert (deadline.levers, deadline.recommendation) == ((), None), "what would help is known with enough spares only"
    assert share(deadline.simulated) in deadline.words and "more than 99%" not in deadline.words


def test_simulated_dates_give_a_probability_and_no_more():
    silent = {
        "failures.modes": [{"name": "Silent", "share": 1, "latency_h": 5}],
        "checkpoint.persist_s": 0,
        "job.productive_h": 50,
    }
    answer = due("rsc-1", "2027-01-24", json.dumps(silent))
    deadline = answer.due
    assert deadline.dates.is_simulated and 0 < deadline.probability < 1
    assert (deadline.levers, deadline.recommendation, deadline.at_interval) == ((), None, deadline.probability)


def test_no_failures_are_certain_but_for_maintenance():
    never = due(by="2027-03-06", changes=json.dumps({"failures.rate_per_1000_node_days": 0, "failures.modes": []})).due
    assert never.probability > 0.99 and never.recommendation is None


@pytest.mark.parametrize(
    ("start", "by", "done", "message"),
    [
        (
            "2027-01-15",
            "2027-03-01",
            0,
            "the deadline must be at least 48.6 days after the start, .*, got 46 days",
        ),
        (
            "2027-01-15",
            "2027-01-20",
            "80%",
            "the deadline must be at least 9.72 days after the start, .*, got 6 days",
        ),
        ("2027-01-15", "2027-01-01", 0, "deadline must be after the start 2027-01-15 00:00, got 2027-01-01"),
    ],
)
def test_a_deadline_before_the_work_can_be_done_is_refused(start, by, done, message):
    with pytest.raises(InputError) as error:
        plan.make("llama3-405b", calendar=plan.calendar_of(start, by, done=done))
    assert re.match(message, str(error.value))


def test_dates_without_a_deadline_have_no_chance():
    with pytest.raises(InputError, match="the calendar has no deadline"):
        deadline_of(plan.make("bloom-176b").dates)
