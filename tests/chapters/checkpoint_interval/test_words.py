"""Sentences on the interval, formulas, bands and changing rates: their numbers, read back from the results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from computed.chapters import (
    answer,
    changing_rates,
    differences,
    one_interval,
    one_interval_by_factor,
    printed,
    published,
    scenario,
)
from ettr import Scenario, budget, plan
from ettr.chapters import checkpoint_interval
from ettr.plan import assumed
from ettr.scenario.fields import name_of
from ettr.scenario.job_in_hours import SHORTEST_MIN
from sentences_read import NUMBER, TENTH, THREE_DIGITS, check_words, hours, numbers

RATE = "failures.rate_per_1000_node_days"
STEADY = {"job.include_start": False, "maintenance": None}
FACTORS = {"a quarter of": 0.25, "half": 0.5, "twice": 2.0, "four times": 4.0}


def ettr_at(run: Scenario, intervals_min) -> np.ndarray:
    at = {"checkpoint.interval_min": np.array(intervals_min)}
    return budget.exact(run.override(STEADY), at).ettr


@pytest.mark.parametrize("name", ["llama3-405b", "opt-175b"])
def test_the_answer_on_the_interval_holds_when_it_is_followed(name):
    told, run = answer(name), scenario(name)
    text = checkpoint_interval.words.answer(told).text
    best_h, low_h, high_h = hours("should checkpoint every @; anything between @ and @ costs", text)
    assert best_h == pytest.approx(told.best.interval_h, **THREE_DIGITS)
    ettr = ettr_at(run, [best_h * 60, low_h * 60, high_h * 60])
    assert (ettr[0] - ettr[1:] < 0.0051).all()  # the ends are printed with three digits
    outside = name == "opt-175b"
    assert ("lies outside" in text) == (not low_h <= run.interval_h <= high_h) == outside
    if outside:
        (cost,) = numbers("costs # point", text.split("outside")[1])
        assert cost == pytest.approx(100 * (told.budget.ettr - told.budget_as_given.ettr), **TENTH)


def test_where_even_no_checkpoint_will_do_it_is_said():
    told = answer("rsc-2", "one node")
    text = checkpoint_interval.words.answer(told).text
    low_h = hours("anything longer than @, even no checkpoint before the end, costs", text)
    assert low_h == pytest.approx([told.band.low_min / 60], **THREE_DIGITS) and told.band.ends_job


def costs_told(text: str) -> dict[str, float]:
    """ETTR points that a text tells for each wrong interval; 0 for less than a tenth."""
    told = re.findall(rf"({'|'.join(FACTORS)}) the best interval costs (less than )?({NUMBER}) points?", text, re.I)
    return {name.lower(): 0.0 if less else float(cost) for name, less, cost in told}


@pytest.mark.parametrize(
    ("name", "extreme"),
    [
        ("opt-175b", "as it is"),
        ("rsc-2", "one node"),
        *(("llama3-405b", extreme) for extreme in ("as it is", "free checkpoint", "one node", "no failures")),
    ],
)
def test_a_wrong_interval_costs_what_is_said(name, extreme):
    told, run = answer(name, extreme), scenario(name, extreme)
    finding, best = checkpoint_interval.words.wrong(told), told.band.interval_min
    shortest = max(SHORTEST_MIN, run.least_interval_min)
    possible = {
        words: factor
        for words, factor in FACTORS.items()
        if shortest <= factor * best <= run.productive_h * 60  # no interval is longer than the work
    }
    costs = costs_told(finding.text)
    assert list(costs) == list(possible) and possible
    ettr = ettr_at(run, [best, *(best * factor for factor in possible.values())])
    assert list(costs.values()) == pytest.approx(100 * (ettr[0] - ettr[1:]), **TENTH)
    longest = list(possible)[-1]
    assert costs_told(finding.title) == {longest: costs[longest]}


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1", "byterobust"])
def test_a_failure_rate_that_is_four_times_wrong_costs_what_is_said(name):
    told, run = answer(name), scenario(name)
    steady = run.override(STEADY)
    wrong = [plan.best_interval_min(steady.override({RATE: run.failure_rate * k})) for k in (4, 0.25)]
    ettr = ettr_at(run, [told.band.interval_min, *wrong])
    worst, text = 100 * (ettr[0] - ettr[1:].min()), checkpoint_interval.words.wrong(told).text
    assert ("factor of four" in text) == (worst > 0.05) == (name != "byterobust")
    if worst > 0.05:
        assert numbers("by a factor of four costs # point", text) == pytest.approx([worst], **TENTH)


def test_where_no_other_interval_is_possible_none_is_told(plain_run):
    """The write takes the whole interval, and the work is not twice as long."""
    short = plain_run.override({"job.productive_h": 1.5, "checkpoint.persist_s": 3600, "checkpoint.stall_s": 0})
    finding = checkpoint_interval.words.wrong(plan.make(short))
    assert finding.title == "One interval is possible" and not costs_told(finding.text)


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_the_parts_at_the_interval_sum_to_what_is_lost(name):
    text = checkpoint_interval.words.parts(answer(name)).text
    shares = numbers("take #% and rework #%. The other losses, #% together", text)
    assert sum(shares) == pytest.approx(100 * (1 - answer(name).budget.ettr), abs=0.16)


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_four_times_the_stall_is_about_twice_the_interval(name):
    run, stall_s = scenario(name), scenario(name).checkpoint.stall_s
    text = checkpoint_interval.words.assumptions(answer(name)).text
    base, longer, rarer = hours(
        "interval is @; it would be @ with a stall of .* and @ with a quarter of the failures", text
    )
    assert base == pytest.approx(answer(name).best.interval_h, **THREE_DIGITS)
    stalls = numbers("with a stall of # s instead of # s", text)
    assert stalls == pytest.approx([4 * stall_s, stall_s], **THREE_DIGITS)
    changes = {"checkpoint.stall_s": 4 * stall_s}, {RATE: run.failure_rate / 4}
    moved_h = [plan.best_interval_min(run.override(change)) / 60 for change in changes]
    assert [longer, rarer] == pytest.approx(moved_h, **THREE_DIGITS)
    assert 1.7 < longer / base < 2.2 and 1.8 < rarer / base < 2.2


@pytest.mark.parametrize(("extreme", "missing"), [("no failures", "failures"), ("free checkpoint", "stall of")])
def test_what_is_nothing_is_not_multiplied_by_four(extreme, missing):
    told = answer("llama3-405b", extreme)
    text = checkpoint_interval.words.assumptions(told).text
    assert missing not in text.partition("The best interval is ")[2]
    assert hours("interval is @", text) == pytest.approx([told.best.interval_h], **THREE_DIGITS)


def test_nothing_assumed_is_not_mentioned(plain_run):
    known = {path: {"status": "primary", "source": "dubey2024"} for path, value in plain_run.flat().items()}
    sourced = plain_run.override({"evidence": known})
    assert assumed.assumptions(sourced) == ""
    check_words(checkpoint_interval.words.assumptions(plan.make(sourced)).text)


def test_every_assumed_field_has_a_name():
    """Also those of sections that no preset has."""
    fields = Scenario.dictionary()["field"]
    named = [field for field in fields if "." in field and not field.startswith("evidence")]
    assert len(named) > 40 and not [field for field in named if name_of(field, Scenario) == field]


# --------------------------------------------------------------------------- formulas


@pytest.mark.parametrize(("name", "formula"), [("llama3-405b", "first_order"), ("rsc-2", "rsc")])
def test_up_to_the_size_told_a_formula_is_within_a_point_at_the_best_interval(name, formula):
    run = scenario(name)
    finding = checkpoint_interval.disagreement_words.difference(run, formula, **differences(formula, name))
    near, answered = numbers(
        "within a point of the exact form up to # GPUs, and has an answer up to # GPUs", finding.text
    )
    steady = run.override(STEADY)
    if formula == "rsc":
        steady = steady.override({"checkpoint.persist_s": 0})

    def apart(n_gpus: float) -> float:
        at = {"cluster.n_gpus": np.array([n_gpus])}
        at["checkpoint.interval_min"] = plan.best_interval_min(steady, at)
        return 100 * abs(float(budget.FORMULAS[formula](steady, at).ettr[0] - budget.exact(steady, at).ettr[0]))

    step = 1.17  # between two sizes of the curve
    assert apart(0.95 * near) <= 1 < apart(near * step)
    assert np.isfinite(apart(0.95 * answered))
    with pytest.warns(UserWarning, match="holds only for"):
        assert np.isnan(apart(answered * step))


def test_what_the_rsc_paper_prints_is_told_beside_both_forms():
    rows = printed()
    text = checkpoint_interval.disagreement_words.rsc_points(rows).text
    assert numbers("formula # of # printed", text) == [7, 8]
    apart = 100 * (rows["exact"] - rows["rsc"]).abs()[rows["verdict"] == "reproduced"].max()
    assert numbers("at most # points from it", text) == pytest.approx([apart], **TENTH)
    assert numbers("beyond # GPUs", text) == pytest.approx([rows["max_n_gpus"].min()], **THREE_DIGITS)
    odd = rows[rows["verdict"] == "not reproduced"].iloc[0]
    assert numbers("printed #%, by the formula #%, exact #%", text) == pytest.approx(
        [100 * odd["published"], 100 * odd["rsc"], 100 * odd["exact"]], **TENTH
    )


# --------------------------------------------------------------------------- bands


@pytest.mark.parametrize("name", ["llama3-405b", "glm-130b"])
def test_the_bands_of_a_plan_are_told(name):
    told = answer(name)
    finding = checkpoint_interval.words.interval_bands(told)
    ettr = told.bands.set_index("quantity").loc["ettr_at_best"]
    ends = numbers(r"interval between #% and #% \(with 50% between #% and #%\)", finding.text)
    expected = [100 * ettr[end] for end in ("low_95", "high_95", "low_50", "high_50")]
    assert ends == pytest.approx(expected, **TENTH)
    assert numbers("by # points? either way", finding.title) == pytest.approx([(ends[1] - ends[0]) / 2], abs=0.11)
    assert finding.text.endswith(f"The bands come {told.band_source}.")


def test_a_band_beyond_the_flat_range_is_a_reason_to_count_longer():
    few = scenario("rsc-1").override(
        {"failures.rate_gamma": {"shape": 2.0, "node_days": 2000 / 6.5}, "checkpoint.stall_s": 30}
    )
    text = checkpoint_interval.words.interval_bands(plan.make(few)).text
    assert "reach beyond the range" in text and "failures.rate_gamma" in text
    known = checkpoint_interval.words.interval_bands(answer("megascale")).text
    assert "would not change the plan" in known


def test_without_knowledge_the_missing_field_is_named():
    finding = checkpoint_interval.words.interval_bands(answer("rsc-1"))
    assert "failures.rate_gamma" in finding.text and finding.title == "How well the rate is known is not said"


# --------------------------------------------------------------------------- changing rates


def test_the_cost_of_one_interval_is_told_by_case_and_by_factor():
    by_factor, by_case = one_interval_by_factor("rsc-1"), one_interval("rsc-1")
    text = checkpoint_interval.changing_rate_words.one_interval(by_factor, by_case).text
    losses = by_case.set_index(["case", "kept"])["loss_points"]
    values = numbers("the burn-in # points if .* rate and # points if .* new # points if .* rate and # points", text)
    expected = [losses[case, kept] for case in ("burn-in", "new nodes") for kept in ("settled rate", "mean rate")]
    assert values == pytest.approx(expected, **TENTH)
    costly = by_factor[(by_factor["kept"] == "settled rate") & (by_factor["loss_points"] > 0.5)]
    assert numbers("from about # times", text) == pytest.approx([costly["factor"].min()], **THREE_DIGITS)
    assert "plan with the rate that the run will meet" in text
    worst = by_factor.loc[by_factor["loss_points"].idxmax()]
    assert numbers(r"\(#% instead of #%\)", text) == pytest.approx(
        [100 * worst["ettr"], 100 * worst["following"]], **TENTH
    )


def test_where_little_is_lost_the_interval_is_let_be_and_no_progress_is_said():
    say, tables = checkpoint_interval.changing_rate_words.one_interval, checkpoint_interval.changing_rate_tables
    calm, by_case = one_interval_by_factor("byterobust"), one_interval("byterobust")
    assert "one for the whole run will do" in say(calm, by_case).text
    badly = calm.assign(loss_points=[9.0] * len(calm))
    assert "Even that of the run's mean rate does, from about 1 times on" in say(badly, by_case).text
    fast = tables.changing_cases(scenario("h100-100k"), 60.0, 20, 0.7)
    assert say(calm, tables.one_interval(fast)).text.endswith(
        "With the burn-in and nodes that start new the run makes no progress at its start, so there is no answer."
    )


@pytest.mark.parametrize(("case", "words"), [("burn-in", "the burn-in"), ("new nodes", "nodes that start new")])
def test_rates_and_intervals_are_told_at_both_ends(case, words):
    frame = changing_rates("llama3-405b")
    ends = frame[frame["case"] == case].iloc[[0, -1]]
    text = checkpoint_interval.changing_rate_words.rates(frame).text
    rates = numbers(f"with {words} from # to # failures a day", text)
    assert rates == pytest.approx(ends["per_day"].tolist(), **THREE_DIGITS)
    text = checkpoint_interval.changing_rate_words.intervals(frame).text
    intervals = numbers(f"with {words} from # min to # min", text)
    assert intervals == pytest.approx(ends["interval_min"].tolist(), **THREE_DIGITS)


def test_the_published_stall_is_told_with_the_computed_one():
    stall = checkpoint_interval.words.published_stall(published()).text
    assert numbers("reported as # times, computed as #. .* by # times", stall) == pytest.approx(
        [23.62, 148.8 / 6.3, np.sqrt(148.8 / 6.3)], **THREE_DIGITS
    )
