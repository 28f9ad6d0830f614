"""The sentences of the chapter on the finishing date, for presets and extremes, and their numbers read back."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from computed.finishing_date import CASES, agreement, assumed, beyond, by_count, dates, forecasts, run
from ettr import simulate
from ettr.chapters import finishing_date
from ettr.chapters.finishing_date import tables
from ettr.core.sentences import Finding
from sentences_read import THREE_DIGITS, check_words, hours, numbers

SAY = finishing_date.words
LLAMA = "llama3-405b"
SENTENCES = {
    "answer": lambda *which: finishing_date.words.answer(dates(*which), assumed(*which)),
    "by_hand": lambda *which: finishing_date.words.by_hand(tables.by_hand(dates(*which)), dates(*which)),
    "days": lambda *which: finishing_date.words.days(
        tables.days_of_run(simulate(run(*which), 1, timeline=[0])), run(*which)
    ),
    "agreement": lambda *which: finishing_date.words.agreement(agreement(*which), dates(*which)),
    "rate": lambda *which: finishing_date.words.rate(by_count(*which), dates(*which)),
    "forecasts": lambda *_: finishing_date.words.forecasts(forecasts()),
    "beyond": lambda *which: finishing_date.words.beyond(beyond(*which)),
}


@pytest.mark.parametrize(
    "which",
    [("rsc-1",), ("glm-130b",), ("opt-175b",), ("byterobust",), *((LLAMA, case) for case in CASES)],
    ids=" ".join,
)
def test_sentences_are_sane_for_presets_and_extremes(which):
    for sentence, say in SENTENCES.items():
        finding = say(*which)
        assert isinstance(finding, Finding), sentence
        check_words(finding.title)
        for line in finding.text.splitlines():
            check_words(line)
        assert finding.text.endswith(".") and not finding.title.endswith("."), sentence
        assert len(finding.title) < 120, finding.title


def test_the_answer_has_the_dates_then_what_is_assumed_then_chance():
    text, known, open_dates = SENTENCES["answer"](LLAMA).text, dates(LLAMA), assumed(LLAMA)
    when = numbers(r"is done after # days, and nine times in ten after # to # days\.\*\*", text)
    low_h, middle_h, high_h = known.ends_h
    assert when == pytest.approx([middle_h / 24, low_h / 24, high_h / 24], abs=0.0501)
    ends = numbers("the ETTR is 90 to 93% and the mean date, with the best interval, anywhere from # to # days", text)
    assert ends == pytest.approx([open_dates.low_h / 24, open_dates.high_h / 24], abs=0.0501)
    spread = hours("nine dates in ten over @ if the failure rate is known, and over @ if it is known as well as", text)
    assert known.counted is not None
    wide_h = known.counted.quantile(0.95) - known.counted.quantile(0.05)
    assert spread == pytest.approx([high_h - low_h, wide_h], **THREE_DIGITS)
    assert numbers("as well as # failures tell", text) == [419]
    assert "The dates are exact. Detection and restart were chosen" in text
    assert text.index("What is assumed comes first") < text.index("Chance alone")


@pytest.mark.parametrize(
    ("which", "words"),
    [
        (("rsc-1",), "the failure rate taken as known."),
        ((LLAMA, "nothing seen"), "the failure rate taken as 0 because no failure was seen."),
        ((LLAMA, "nothing is lost"), "it does not move the date. Chance moves nothing."),
        ((LLAMA, "no end"), "It names no work: these are the dates of 365 days of training."),
        ((LLAMA, "hours"), "too few of it has published ranges to give one here."),
        ((LLAMA, "hours"), "is done after 3.3 h, and nine times in ten after 3.1 to 3.9 h."),
        (("byterobust",), "The values as they are assumed contradict that."),
        ((LLAMA, "spares"), "with the best interval and without what the exact form does not follow, anywhere from"),
        ((LLAMA, "spares"), "because the exact form does not follow spares that run out (spares, repair)."),
    ],
)
def test_the_answer_says_what_it_rests_on(which, words):
    assert words in SENTENCES["answer"](*which).text


def test_a_rate_that_may_never_end_is_no_range():
    endless = replace(dates(LLAMA), counted=tables.finishing.constant(math.inf))
    text = SAY.answer(endless, replace(assumed(LLAMA), leading="")).text
    assert "Nothing is assumed." in text and "as well as 419 failures tell it, the run may never end." in text


def test_by_hand_has_three_lines_that_can_be_reckoned():
    lines = SENTENCES["by_hand"](LLAMA).text.splitlines()
    assert len(lines) == 3
    work, ettr, mean = numbers("Mean: # days of training at an ETTR of #% take # days", lines[0])
    assert work / ettr * 100 == pytest.approx(mean, abs=0.1)
    n, each, stops, stop = numbers(r"√\(# × \(# min\)² \+ # × \(# min\)²\)", lines[1])
    (sd_h,) = hours(r"\)²\) = @;", lines[1])
    assert math.sqrt(n * each**2 + stops * stop**2) / 60 == pytest.approx(sd_h, **THREE_DIGITS)
    low, high = numbers("Nine in ten lie within 1.645 of that: # to # days", lines[2])
    assert (high - low) * 24 / 2 == pytest.approx(1.645 * sd_h, abs=2.5)  # tenths of days
    assert (low + high) / 2 == pytest.approx(mean, abs=0.1)


def test_runs_agree_within_what_chance_does_and_not_beyond():
    found = agreement(LLAMA)
    assert SENTENCES["agreement"](LLAMA).title == "400 simulated runs agree with the exact distribution"
    apart = SAY.agreement(replace(found, distance=2 * found.by_chance), dates(LLAMA))
    assert apart.title.startswith("400 simulated runs differ") and "which is more than the 6.7 points" in apart.text
    assert "In 32.1% of runs nothing strikes at all" in SENTENCES["agreement"](LLAMA, "hours").text
    assert "Both go without spares that run out" in SENTENCES["agreement"](LLAMA, "spares").text


def test_a_rate_is_told_for_a_few_failures_and_the_scenario_s_own():
    frame = by_count(LLAMA)
    known = frame["range_days"].iloc[0]
    counted = frame[frame["case"] == tables.COUNTED].set_index("n_events")["range_days"]
    title = SENTENCES["rate"](LLAMA).title
    times = numbers("from 3 failures makes the range # times as wide, one from 419 failures # times as wide", title)
    assert times == pytest.approx([counted[3] / known, counted[419] / known], **THREE_DIGITS)
    assert "does not follow from it" in SENTENCES["rate"]("rsc-1").text
    assert "beyond that no failure was seen." in SENTENCES["rate"](LLAMA, "nothing seen").text
    assert SENTENCES["rate"](LLAMA, "two nodes").title.endswith("hardly wider")


def test_published_runs_missed_their_dates():
    finding, frame = SENTENCES["forecasts"](), forecasts()
    late = (frame["came_days"] - frame["middle_days"]).tolist()
    assert finding.title.startswith("Published runs ended later than predicted: BLOOM-176B by")
    assert numbers("BLOOM-176B by # days and GLM-130B by # days", finding.title) == pytest.approx(late, abs=0.0501)
    told = numbers(r"predicted were # more days \(# to #\), # at the pace so far, and # came", finding.text)
    row = frame.iloc[0]
    expected = row[["middle_days", "low_days", "high_days", "pace_days", "came_days"]].to_numpy(float)
    assert told == pytest.approx(expected, abs=0.0501)
    right = SAY.forecasts(frame.assign(came_days=frame["middle_days"]))
    assert right.title == "2 of 2 published runs ended within the predicted range"
    nothing = SAY.forecasts(frame.assign(n_events=0, low_days=np.nan, middle_days=np.nan, high_days=np.nan))
    assert (
        "No failure in the 19.0 days" in nothing.text and "so nothing is predicted; 89.0 more days came" in nothing.text
    )
    check_words(nothing.text)


def row(cause: str, middle_h: float, error_h: float = 1.0) -> dict:
    return {"cause": cause, "p5_h": middle_h - 20, "p50_h": middle_h, "p95_h": middle_h + 20, "error_h": error_h}


def test_what_is_added_moves_the_date_beyond_three_errors_or_not():
    frame = pd.DataFrame(
        [row("Exact form", 1000, 0), row("Racks fail at once", 1048), row("Settled nodes, k = 2", 1002)]
    )
    finding = SAY.beyond(frame)
    assert finding.title == "Racks fail at once: 48 h later than the exact form says"
    assert "*racks fail at once* 48 h later (nine in ten after 42.8 to 44.5 days)" in finding.text
    assert "not move measurably with *settled nodes, k = 2*. Many nodes" in finding.text
    assert finding.text.endswith("All settings are assumed.")
    assert SAY.beyond(frame.iloc[[0, 2]]).title == "Nothing of this moves the date measurably"
    assert SAY.beyond(frame.iloc[:1]).title == "Nothing to compare the exact form with"
    early = pd.DataFrame([row("Exact form", 1000, 0), row("All that the scenario has", 900)])
    assert "4.17 days earlier" in SAY.beyond(early).title and "All settings but those of the" in SAY.beyond(early).text


def stretches(*rows: tuple[str, float]) -> pd.DataFrame:
    return pd.DataFrame({"day": 1, "state": [state for state, _ in rows], "lasts_min": [60 * h for _, h in rows]})


def test_a_stop_is_all_between_two_stretches_of_training(llama3):
    frame = stretches(("restart", 1), ("training", 9), ("rework", 1), ("detection", 1), ("restart", 2), ("training", 6))
    finding = SAY.days(frame, llama3)
    assert finding.title == "2 stops in day 1; the longest stretch without one lasts 10 h"
    assert "the middle one 8 h" in finding.text
    assert "Lost are rework 5.0%, detection 5.0% and restart 15.0% of these days." in finding.text
    assert "Stalls of 10 s" in finding.text
    assert "Stalls" not in SAY.days(frame, llama3.override({"checkpoint.stall_s": 61})).text
    assert SAY.days(stretches(("training", 24)), llama3).title == "No stop in day 1 of this run"
