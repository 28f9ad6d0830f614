"""Sentences of the chapter on power: sane for presets and extremes, with their numbers from the results."""

from __future__ import annotations

import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from ettr import Scenario, power, simulate
from ettr.chapters import power as power_chapter
from ettr.core.sentences import Finding, number

CASES = {
    "llama3-405b": {},
    "rsc-1": {},
    "bloom-176b": {},
    "glm-130b, no failures": {"failures.rate_per_1000_node_days": 0, "maintenance": None},
    "llama3-405b, short": {"job.productive_h": 2},
    "llama3-405b, one node": {"cluster.n_gpus": 8},
    "llama3-405b, no jitter": {"power.jitter_s": 0, "power.step_s": 1},
    "llama3-405b, free": {"cost.usd_per_kwh": 0, "cost.usd_per_gpu_h": 0},
}
TARGETS = {"loose": power.Target(2.0), "usual": power.Target(0.2), "tight": power.Target(0.02)}


@cache
def of(case: str) -> SimpleNamespace:
    name = case.split(",", maxsplit=1)[0]
    run = Scenario.load(name)
    job = run.override(CASES[case])
    part = {"rsc-1": "a100", "bloom-176b": "gb200"}.get(name)
    profile = power.profile(job, part)
    timeline = simulate(job, 1, timeline=[0]).timeline
    window = power_chapter.tables.day_of_run(timeline)
    day = power.series(timeline, profile, 1.0, window.start_h, window.end_h)
    middle_h = window.start_h if window.failure_h is None else max(window.failure_h - 0.2, 0.0)
    end_h = min(middle_h + 0.5, window.end_h)
    fine = power.series(timeline, profile, profile.waveform.shortest_s / 5, middle_h, end_h, at="computers")
    return SimpleNamespace(
        run=run,
        job=job,
        profile=profile,
        timeline=timeline,
        window=window,
        day=day,
        fine=fine,
        bill=power.bill(timeline, profile, job),
        measured=power.metrics(day),
    )


@cache
def compared(case: str, target: str):
    own = of(case)
    sized = power_chapter.tables.sized_options(own.fine, TARGETS[target])
    return power.compare(own.fine, TARGETS[target], own.job, sized), sized


def sentences(case: str, target: str = "usual") -> dict[str, Finding]:
    own, (table, sized) = of(case), compared(case, target)
    mwh = float(own.bill["facility_mwh"].sum())
    moments = power_chapter.tables.moments(own.timeline, own.profile, own.window)
    return {
        "answer": power_chapter.words.answer(own.day, own.measured, own.bill, table),
        "day": power_chapter.words.day(
            own.day, own.measured, power_chapter.tables.stops_of_day(own.timeline, own.window)
        ),
        "moment": power_chapter.words.moment(moments, own.window, own.profile),
        "spectrum": power_chapter.words.spectrum(
            power_chapter.tables.spectra(own.timeline, own.profile, own.window, 0.02), own.profile, 0.1, 20.0
        ),
        "limits": power_chapter.words.limits(
            power_chapter.tables.limits_kept(own.timeline, own.profile, own.window, own.day)
        ),
        "floor": power_chapter.words.floor_pairs(
            power_chapter.tables.floor_pairs(0.9, 0.105), power_chapter.tables.own_step(own.profile, 0.9), 0.9, 0.105
        ),
        "smoothed": power_chapter.words.smoothed_moment(
            power_chapter.tables.smoothed_moment(own.timeline, own.profile, own.window, sized), TARGETS[target]
        ),
        "options": power_chapter.words.options(table, TARGETS[target], own.fine),
        "bill": power_chapter.words.bill(own.bill),
        "carbon": power_chapter.words.carbon(power.carbon_by_country(mwh), mwh, own.profile),
    }


def check_words(text: str) -> None:
    assert text and text == text.strip()
    assert not re.search(r"\b(nan|inf|None|NaN|Series|dtype|np)\b|[{}\[\]]|\d[eE][+-]?\d|  | [.,;]|\.\.", text), text
    assert not re.search(r"\b(\w+) \1\b|(?<![\w.])-\d", text), text
    assert text.count("(") == text.count(")") and text.count("**") % 2 == 0


TRIED = [(case, "usual") for case in CASES]
TRIED += [
    (case, target) for case in ("llama3-405b", "bloom-176b", "glm-130b, no failures") for target in ("loose", "tight")
]


@pytest.mark.parametrize(("case", "target"), TRIED)
def test_sentences_are_sane(case, target):
    for name, finding in sentences(case, target).items():
        check_words(finding.title)
        check_words(finding.text)
        assert finding.text.endswith(".") and not finding.title.endswith("."), name
        assert len(finding.title) < 120, finding.title


def test_the_answer_says_what_the_series_does():
    own, text = of("llama3-405b"), sentences("llama3-405b")["answer"].text
    words = number
    assert f"16,384 GPUs draw {words(own.day.mean_mw)} MW" in text
    assert f"from {words(own.day.power_mw.min())} MW to {words(own.day.power_mw.max())} MW" in text
    step_mw = 16384 * (696 - 350) * 1.05 / 1e6
    assert f"swings it by {words(step_mw)} MW, every 5 s" in text
    lost = own.bill[own.bill["wasted"]]
    assert power_chapter.words.usd(lost["gpu_usd"].sum()) in text


def test_the_cheapest_is_named_first_and_the_dearest_last():
    table, _ = compared("llama3-405b", "usual")
    known = table[table["reached"]].sort_values("total_usd").dropna(subset="total_usd")
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
