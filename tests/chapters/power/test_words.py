"""Sentences of the chapter on power: sane for presets and extremes, with their numbers from the results."""

from __future__ import annotations

import numpy as np
import pytest

from computed.power import CASES, TARGETS, of, table
from ettr import power
from ettr.chapters import power as power_chapter
from ettr.core.sentences import Finding, number
from sentences_read import check_words


def sentences(case: str, target: str = "usual") -> dict[str, Finding]:
    own, costs = of(case), table("costs", case, target)
    measured, mwh = power.metrics(own.day), float(own.bill["facility_mwh"].sum())
    return {
        "answer": power_chapter.words.answer(own.day, measured, own.bill, costs),
        "day": power_chapter.words.day(own.day, measured, table("events", case)),
        "moment": power_chapter.words.moment(table("moments", case), own.window, own.profile),
        "spectrum": power_chapter.words.spectrum(table("spectrum", case), own.profile, 0.1, 20.0),
        "limits": power_chapter.words.limits(table("limits", case)),
        "floor": power_chapter.words.floor_pairs(table("floor_pairs", case), table("own_step", case), 0.9, 0.105),
        "smoothed": power_chapter.words.smoothed_moment(table("smoothed", case, target), TARGETS[target]),
        "options": power_chapter.words.options(costs, TARGETS[target], own.fine),
        "bill": power_chapter.words.bill(own.bill),
        "carbon": power_chapter.words.carbon(table("carbon", case), mwh, own.profile),
    }


TRIED = [(case, "usual") for case in CASES] + [("llama3-405b", "loose"), ("llama3-405b", "tight")]
SLOW = [(case, target) for case in ("bloom-176b", "glm-130b, no failures") for target in ("loose", "tight")]


@pytest.mark.parametrize(("case", "target"), [*TRIED, *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW)])
def test_sentences_are_sane(case, target):
    for name, finding in sentences(case, target).items():
        check_words(finding.title)
        check_words(finding.text, signed=target == "loose")  # a swing of 200%
        assert finding.text.endswith(".") and not finding.title.endswith("."), name
        assert len(finding.title) < 120, finding.title


def test_the_answer_says_what_the_series_does():
    own, text = of("llama3-405b"), sentences("llama3-405b")["answer"].text
    assert f"16,384 GPUs draw {number(own.day.mean_mw)} MW" in text
    assert f"from {number(own.day.power_mw.min())} MW to {number(own.day.power_mw.max())} MW" in text
    step_mw = 16384 * (696 - 350) * 1.05 / 1e6
    assert f"swings it by {number(step_mw)} MW, every 5 s" in text
    lost = own.bill[own.bill["wasted"]]
    assert power_chapter.words.usd(lost["gpu_usd"].sum()) in text


def test_the_cheapest_is_named_first_and_the_dearest_last():
    costs = table("costs")
    known = costs[costs["reached"]].sort_values("total_usd").dropna(subset="total_usd")
    text = sentences("llama3-405b")["answer"].text
    first, last = known.iloc[0], known.iloc[-1]
    assert f"{power_chapter.words.usd(first['total_usd'])} by a {first['option']}, a {last['option']}" in text
    assert text.index(first["option"]) < text.index(last["option"])


def test_a_run_without_failures_says_so():
    quiet = sentences("glm-130b, no failures")
    assert "No failure falls into this day" in quiet["moment"].text
    assert "meets no stop" in quiet["day"].text


def test_money_is_said_in_words():
    assert [power_chapter.words.usd(value) for value in (0, 1234.5, 999_600, 2.345e7, 3e9)] == [
        "0 USD",
        "1,230 USD",
        "1 million USD",
        "23.4 million USD",
        "3 billion USD",
    ]


def test_the_subtitle_tells_another_size():
    own = of("llama3-405b")
    assert power_chapter.words.subtitle(own.run, own.run, own.profile).startswith(
        "Llama 3 405B on 16,384 H100, powered as"
    )
    grown = power_chapter.tables.resized(own.run, 24576)
    assert power_chapter.words.subtitle(grown, own.run, own.profile).startswith("24,576 GPUs, all else as in Llama 3")


def test_shares_of_the_bill_are_those_of_the_table():
    own = of("llama3-405b")
    lost = own.bill[own.bill["wasted"]]
    text = sentences("llama3-405b")["bill"].text
    assert f"{100 * lost['facility_mwh'].sum() / own.bill['facility_mwh'].sum():.1f}% of its energy" in text
    assert np.isclose(own.bill["gpu_h"].sum(), 16384 * own.timeline["end_h"].iloc[-1])
