"""What is said of rates, sizes and ages: the numbers in the sentences are those of the results."""

from __future__ import annotations

import re
from functools import cache

import pytest

from ettr import Scenario, evidence
from ettr.chapters import failure_rates
from sentences_read import NUMBER, numbers

TABLES = failure_rates.tables
DIGITS = {"rel": 5.1e-3, "abs": 5.1e-3}  # three digits, at most two decimals
USERS = """
name: mine
title: Our 1,024 GPUs
cluster: {n_gpus: 1024}
job: {productive_h: 500}
failures: {n_events: 2, node_days: 5120, rate_clock: wall}
checkpoint: {interval_min: 60, stall_s: 45}
recovery: {detection_min: 5, restart_min: 12}
"""
RUN_NAMES = ("llama3-405b", "glm-130b", "rsc-1", "mine")
"""Another reference and itself, with an interval of few failures, without one, and a user's own."""


@cache
def run(name: str) -> Scenario:
    return Scenario.parse(USERS) if name == "mine" else Scenario.load(name)


@cache
def rates(name: str):
    return TABLES.rates(run(name))


def minutes(text: str) -> list[float]:
    """All durations of a text. [min]"""
    units = {"s": 1 / 60, "min": 1.0, "h": 60.0, "days": 1440.0}
    return [
        float(value.replace(",", "")) * units[unit] for value, unit in re.findall(rf"({NUMBER}) (s|min|h|days)\b", text)
    ]


def comparable(frame, *also: str):
    return frame[frame["counted"].isin((TABLES.STOPS, TABLES.HARDWARE, *also))]


@pytest.mark.parametrize("name", RUN_NAMES)
def test_the_answer_tells_the_range_and_the_own_rate(name):
    projected = TABLES.projections(rates(name), [100_000, 1_000_000])
    text = failure_rates.words.answer(rates(name), projected).text
    known = comparable(rates(name))["rate"]
    assert numbers("The # published rates .* between # and # per 1000 .* between # and #\\.", text) == pytest.approx(
        [len(known), known.min(), known.max(), *known.quantile([0.25, 0.75])], **DIGITS
    )
    own = rates(name).iloc[-1]
    assert f"*{run(name).title}*, has" in text
    if own["low"] < own["high"]:
        assert numbers(r"has # \(95% interval # to #\)", text) == pytest.approx(
            [own["rate"], own["low"], own["high"]], **DIGITS
        )
    else:
        assert numbers("has #, given without an interval", text) == pytest.approx([own["rate"]], **DIGITS)
    times = [
        60 * end
        for _, rows in comparable(projected).groupby("n_gpus")
        for end in (rows["mttf_h"].min(), rows["mttf_h"].max())
    ]
    assert minutes(text.partition("at these rates")[2]) == pytest.approx(times, **DIGITS)


def test_the_answer_under_llama3_in_numbers():
    """14 of 19 published rows count stops or hardware; OPT's 105 restarts on 124 nodes in 61 days are the most."""
    frame = rates("llama3-405b")
    text = failure_rates.words.answer(frame, TABLES.projections(frame, [100_000])).text
    assert numbers("The # published rates .* between # and # per", text) == [14, 1.44, 13.9]
    assert minutes(text) == pytest.approx([24_000 * 60 / (12_500 * rate) for rate in (13.8815, 1.43519)], rel=5e-3)


def test_no_failures_are_told_as_such(llama3):
    never = llama3.override({"failures.rate_per_1000_node_days": 0})
    frame = TABLES.rates(never)
    assert "has no failures" in failure_rates.words.answer(frame, TABLES.projections(frame, [1e5])).text
    ages = failure_rates.words.ages(never, TABLES.first_failures(never, 54), TABLES.by_age(never), 54)
    assert "no failures" in ages.title and not re.search(NUMBER, ages.text)
    by_size = failure_rates.words.by_size(TABLES.rsc_points(), TABLES.mttf_by_size(never))
    assert "this book's scenario" not in by_size.text


def test_what_is_counted_is_told_by_kind():
    text = failure_rates.words.side_by_side(rates("rsc-1")).text
    for kind in (TABLES.STOPS, TABLES.HARDWARE, TABLES.MEMORY):
        of = evidence.published_rates()
        of = of[of["scope"].map(TABLES.COUNTED) == kind]["rate"]
        assert numbers(f"{kind} from # to #", text) == pytest.approx([of.min(), of.max()], **DIGITS)
    counts = evidence.table("failure_rates")["n_events"].notna()
    assert numbers("# of the # figures .* the other # only", text) == [counts.sum(), counts.size, (~counts).sum()]


@pytest.mark.parametrize("name", RUN_NAMES)
def test_each_cluster_gets_its_verdict_in_words(name):
    compared = TABLES.ratios(rates(name))
    finding = failure_rates.words.ratios(compared)
    same, other = finding.text.split("They cannot for ")
    different, untold = other.split("It cannot be told for ")
    for row in compared.itertuples():
        place = {
            TABLES.COMPATIBLE: same,
            TABLES.DIFFERENT: different,
            TABLES.UNTOLD: untold,
        }[row.verdict]
        assert f"*{row.title}*" in place, row.title
        if row.verdict == TABLES.DIFFERENT:
            high = "any" if row.at_least else "just under #" if 0.995 < row.high < 1 else "#"
            pattern = rf"\*{re.escape(row.title)}\* \(# times, # to {high}\)"
            wanted = [row.ratio, row.low] + ([] if row.at_least else [row.high])
            assert numbers(pattern, different) == pytest.approx(wanted, **DIGITS)
    assert numbers("# of # rates", finding.title) == [
        (compared["verdict"] == TABLES.COMPATIBLE).sum(),
        len(compared),
    ]


def test_the_points_are_told_with_the_rates_that_they_imply():
    finding = failure_rates.words.by_size(TABLES.rsc_points(), TABLES.mttf_by_size(run("rsc-1")))
    assert numbers("rate: # at 8 GPUs, # at 1,024 GPUs and # at 4,096", finding.text) == [21, 23.7, 4.69]
    assert numbers(r"RSC-1 is #\. The projected points \(# and #\)", finding.text) == [6.5, 6.51, 6.37]
    assert numbers("At # GPUs .* implies # times", finding.title) == [1024, 3.65]
    assert "100,000 GPUs fails every 17.7 min" in finding.text


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("llama3-405b", (2000, 2000)), ("glm-130b", (64, 512)), *((name, (100_000, 1_000_000)) for name in RUN_NAMES)],
)
def test_projections_tell_both_ends_and_the_middle(name, sizes):
    projected = TABLES.projections(rates(name), sizes)
    text = failure_rates.words.projections(projected).text
    alike = comparable(projected, TABLES.OWN)
    wanted = [
        60 * value
        for _, rows in alike.groupby("n_gpus")
        for value in (rows["mttf_h"].min(), rows["mttf_h"].max(), rows["mttf_h"].median())
    ]
    assert minutes(text) == pytest.approx(wanted, rel=5.1e-3)
    spread, widest = numbers("by a factor of #; .* a factor of #\\.", text)
    largest = alike[alike["n_gpus"] == max(sizes)]
    assert spread == pytest.approx(largest["mttf_h"].max() / largest["mttf_h"].min(), **DIGITS)
    assert widest == pytest.approx((largest["mttf_high_h"] / largest["mttf_low_h"]).max(), **DIGITS)
    assert ("matters more than chance" in text) == (spread > widest)


def test_few_failures_leave_chance_the_larger_part():
    """One failure spans a factor of 220, more than the clusters differ."""
    frame = TABLES.rates(run("mine").override({"failures.n_events": 1}))
    text = failure_rates.words.projections(TABLES.projections(frame, [1e5])).text
    assert numbers("spans a factor of #\\.", text) == pytest.approx([5.5716 / 0.025318], rel=0.01)
    assert "matters more than chance" not in text


@pytest.mark.parametrize("name", RUN_NAMES)
def test_ages_are_told_from_the_renewal_function(name):
    first, weekly = TABLES.first_failures(run(name), 54), TABLES.by_age(run(name))
    finding = failure_rates.words.ages(run(name), first, weekly, 54)
    by_shape = first.set_index("shape")["n_failures"]
    assert numbers("meet # failures at a shape of 0.7 and # at 1.5, against # once", finding.text) == pytest.approx(
        [by_shape[0.7], by_shape[1.5], first["settled"].iloc[0]], rel=5.1e-3, abs=0.0051
    )
    ratio = weekly[weekly["shape"] == 0.7]["rate"].iloc[-1] / run(name).failure_rate
    assert ratio > 1
    assert numbers("still #% above the settled one", finding.text) == pytest.approx([100 * (ratio - 1)], abs=0.0501)
    assert "The shapes are assumed." in finding.text


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (1.0001, "within a thousandth of the settled one"),
        (0.9, "10.0% below the settled one"),
        (1.25, "25.0% above the settled one"),
        (3.0, "3 times the settled one"),
    ],
)
def test_a_distance_from_the_settled_rate(ratio, words):
    assert failure_rates.words._off(ratio) == words
