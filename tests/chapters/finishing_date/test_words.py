"""The sentences of the chapter on the finishing date, for presets and extremes, and their numbers read back."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from computed.finishing_date import CASES, budget, closed, run, simulated, table
from ettr.chapters import finishing_date
from ettr.chapters.finishing_date.tables import CHANCE, RATE
from ettr.core.sentences import Finding
from sentences_read import check_words

SENTENCES = {
    "answer": lambda *which: finishing_date.words.answer(
        run(*which), simulated(*which), closed(*which), table("difference_map", *which)
    ),
    "dates": lambda *which: finishing_date.words.dates(
        simulated(*which), closed(*which), budget.simplified(run(*which)).left_out
    ),
    "causes": lambda *which: finishing_date.words.causes(table("causes", *which)),
    "by_spares": lambda *which: finishing_date.words.by_spares(table("by_spares", *which)),
    "days": lambda *which: finishing_date.words.days(table("days", *which), run(*which)),
    "losses": lambda *which: finishing_date.words.losses(table("losses", *which), 60),
    "difference_map": lambda *which: finishing_date.beyond_formula_words.difference_map(
        table("difference_map", *which), run(*which)
    ),
    "errors": lambda *which: finishing_date.replication_words.errors(table("errors", *which)),
    "luck": lambda *which: finishing_date.replication_words.common_random_numbers(
        table("luck", *which),
        run(*which).checkpoint.interval_min,
        finishing_date.replication_tables.other_interval_min(run(*which)),
    ),
    "lengths": lambda *which: finishing_date.replication_words.lengths(table("lengths", *which)),
}


SAY, BEYOND, REPLICATIONS = finishing_date.words, finishing_date.beyond_formula_words, finishing_date.replication_words


@pytest.mark.parametrize(
    "which", [("rsc-1",), ("glm-130b",), ("opt-175b",), *(("llama3-405b", case) for case in CASES)], ids=" ".join
)
def test_sentences_are_sane_for_presets_and_extremes(which):
    for sentence, say in SENTENCES.items():
        finding = say(*which)
        assert isinstance(finding, Finding), sentence
        check_words(finding.title)
        check_words(finding.text)
        assert finding.text.endswith(".") and not finding.title.endswith("."), sentence
        assert len(finding.title) < 120, finding.title


def test_the_answer_is_the_range_of_the_runs_and_the_worst_mechanism():
    low, high = np.percentile(simulated("llama3-405b").total_h, [5, 95]) / 24
    text = SENTENCES["answer"]("llama3-405b").text
    assert f"are done between {low:.2f} and {high:.2f} days after submission; the closed form says 53.48.**" in text
    own = table("difference_map", "llama3-405b").query("n_gpus == 16384 and order > 0 and verdict == 'differs'")
    n_off, worst = (own["points"].abs() > 1).sum(), own.loc[own["points"].abs().idxmax()]
    assert f"of 13 assumed mechanisms that it has no term for, {n_off} move the ETTR by more than a point" in text
    assert f"most of all *silent failures*, {abs(worst['points']):.1f} points down" in text
    assert "Assumed, because no source gives them: number of GPUs" in text


def test_the_answer_says_what_the_closed_form_goes_without():
    text = SENTENCES["answer"]("llama3-405b", "elastic").text
    assert "the closed form, without jobs that go on without some replicas (elastic) and spares that run out" in text


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


LOSSES = pd.DataFrame(
    [
        ("rework", 5.0, 4.0, 0.1, 2.0, 7.0, 4.1),
        ("restart", 3.0, 3.0, 0.0, 3.0, 3.0, 3.0),
        ("lost", 8, 7, 0.1, 5, 10, 7.1),
    ],
    columns=["part", "this_h", "mean_h", "error_h", "low_h", "high_h", "closed_h"],
)


def test_losses_agree_within_three_errors_and_not_beyond():
    finding = SAY.losses(LOSSES, 100)
    assert finding.title == "This run loses 8 h; nine in ten lose 5 h to 10 h"
    assert "7 h on average (give or take 0.2 h), and the closed form expects 7.1 h: the two agree." in finding.text
    assert "Runs differ most in rework: 2 h to 7 h." in finding.text
    apart = SAY.losses(LOSSES.assign(closed_h=[4.5, 3.0, 7.5]), 100)
    assert "the two are 0.5 h apart, more than the simulation's error" in apart.text
    assert SAY.losses(LOSSES.iloc[:0], 9).title == "No run loses anything"


def test_a_date_is_told_with_its_error_and_beside_the_closed_form():
    runs = simulated("glm-130b")
    total = runs.budget_interval.set_index("part").loc["total"]
    text = SENTENCES["dates"]("glm-130b").text
    assert f"Half of the runs are done after {np.median(runs.total_h):,.1f} h" in text
    assert f"The mean is {total['mean']:,.1f} h (give or take" in text and "1,035.0 h is within the error" in text
    wrong = SimpleNamespace(total_h=total["mean"] - 50)
    text = SAY.dates(runs, wrong, ("a", "b")).text
    assert f"50 h more than the closed form's {wrong.total_h:,.1f} h" in text and "goes without a and b." in text


def cause(name: str, mean_h: float, width_h: float, ettr: float, error: float = 1e-4) -> dict:
    ends = {f"p{share}_h": mean_h + width_h * (share - 50) / 90 for share in (5, 25, 50, 75, 95)}
    return {"cause": name, "n_runs": 500, "mean_h": mean_h, "ettr": ettr, "error": error, **ends}


def test_causes_name_the_widest_the_latest_and_what_moves_nothing():
    frame = pd.DataFrame(
        [
            cause(CHANCE, 1000, 10, 0.9),
            cause(RATE, 1000, 14, 0.9),
            cause("Finite spares", 1010, 60, 0.891),
            cause("Settled nodes, k = 2", 1000.1, 11, 0.8999),
            cause("New nodes, k = 2", 1100, 12, 0.82),
            cause("Lemons stay", 1000.1, 14, 0.8999),
        ]
    )
    finding = SAY.causes(frame)
    text = finding.text
    assert finding.title == "Chance alone: 10 h; finite spares: 60 h"
    assert "nine in ten of 500 runs end within 10 h; if the rate is drawn" in text and "as well, within 14 h." in text
    assert "widest with *finite spares*: 60 h. Latest on average are runs with *new nodes, k = 2*, by 4.17 d" in text
    # lemons: 1.4 times as wide
    assert "moves measurably with *settled nodes, k = 2*: failures of many nodes" in text
    quiet = SAY.causes(frame.iloc[[0, 3]])
    assert quiet.title == "Nothing widens the range of 10 h by much" and "within 14 h" not in quiet.text


SPARES = finishing_date.beyond_formula_tables.with_interval(
    pd.DataFrame(
        {
            "failures": ["single nodes"] * 2 + ["racks too"] * 2,
            "n_spares": [4, 8] * 2,
            "in_repair": [4.0] * 2 + [5.2] * 2,
            "ettr": [0.8, 0.896, 0.7, 0.88],
            "error": 0.01,
            "p5_h": [100.0, 90, 110, 95],
            "p95_h": [120.0, 91, 150, 99],
            "closed_ettr": 0.9,
        }
    )
)


def test_spares_are_enough_within_half_a_point():
    finding = SAY.by_spares(SPARES)
    assert finding.title == "Enough hot spares: 8 if nodes fail one by one and more than 8 if racks fail at once too"
    assert "With 4 spares the ETTR is 80.0% (95%: 78.0% to 82.0%) if nodes fail one by one" in finding.text
    assert "within 20 h if nodes fail one by one and 40 h if racks fail at once too: too few" in finding.text
    plenty = SAY.by_spares(SPARES.assign(ettr=0.8951))
    assert plenty.title.startswith("Enough hot spares: 4 if") and "too few" not in plenty.text


def cells(**columns) -> pd.DataFrame:
    rows = [
        ("Nothing added", 0, 0.04),
        ("Finite spares", 1, -2.5),
        ("Lemons are retired", 2, 0.3),
        ("Lemons stay", 3, 0.1),
    ]
    frame = pd.DataFrame(rows, columns=["mechanism", "order", "points"]).assign(
        verdict=["within error", "differs", "differs", "within error"], over_time=np.nan, simulated=0.8
    )
    large = frame.assign(n_gpus=65_536, points=frame["points"] * [1, 0.1, 5, 1])
    return pd.concat([frame.assign(n_gpus=16_384), large], ignore_index=True).assign(**columns)


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        (
            {},
            [
                "the two agree at every size that is simulated, to within less than 0.1 points.",
                "On the scenario's own 16,384 GPUs the formula is too high for *finite spares* (2.5 points).",
                "It is too low for *lemons are retired* (0.3 points). No difference is to be seen for *lemons stay*.",
                "From 16,384 GPUs to 65,536 GPUs the difference grows for *lemons are retired*. It shrinks for *fini",
            ],
        ),
        (
            {"over_time": [np.nan, 0.801, *[np.nan] * 6]},
            ["over time, which gives *finite spares* 80.1% (simulated: 80.0%)."],
        ),
        (
            {"verdict": "differs"},
            ["are less than 0.1 points apart at most, and at some size more than three standard errors."],
        ),
        (
            {"points": [np.nan] * 4 + [0.1] * 4, "verdict": ["hopeless"] * 4 + ["within error"] * 4},
            ["At 1 of 2 sizes less than a tenth of the time is left"],
        ),
    ],
)
def test_the_map_says_which_way_the_formula_is_off_and_how_that_goes_with_size(llama3, changes, sentences):
    finding = BEYOND.difference_map(cells(**changes), llama3)
    assert all(sentence in finding.text for sentence in sentences), finding.text
    counted = "1 of 3 mechanisms moves the ETTR by more than a point here"
    assert finding.title == ("Hardly any training is left here" if "points" in changes else counted)


def test_errors_are_told_with_their_power():
    runs = np.array([10, 40, 160])
    frame = pd.DataFrame({"estimate": "plain means", "n_runs": runs, "error_points": 2 / runs**0.5, "runs_ratio": 1.0})
    text = REPLICATIONS.errors(frame).text
    assert "is 0.63 points with 10 runs and 0.16 points with 160" in text
    assert "with the power 0.5 of their number" in text
    assert "Control variates gain next to nothing here." in text
    helped = pd.concat([frame, frame.assign(estimate="control variates", runs_ratio=7.0)])
    assert "are worth 7 times the runs" in REPLICATIONS.errors(helped).text
    assert "one is enough" in REPLICATIONS.errors(frame.assign(error_points=1e-13)).text


def shared(saved_h: float, error_h: float, ratio: float) -> Finding:
    frame = pd.DataFrame(
        {
            "way": ["different seeds", "different seeds, control variates", "the same seed"],
            "saved_h": saved_h,
            "error_h": [0.2, 0.1, error_h],
            "n_runs": 50,
            "runs_ratio": [1.0, 4.0, ratio],
            "closed_h": saved_h,
        }
    )
    half = 2 * frame["error_h"]
    frame = frame.assign(low_h=frame["saved_h"] - half, high_h=frame["saved_h"] + half)
    return REPLICATIONS.common_random_numbers(frame, 10, 20)


def test_a_shared_seed_has_its_sign_and_its_worth():
    gained = shared(-1.0, 0.05, 16.0)
    assert gained.title == "The same seed for both intervals is worth 16 times the runs"
    assert "An interval of 20 min instead of 10 min costs 1 h (0.9 to 1.1 h with 95%)" in gained.text
    assert "control variates instead 4 times: both meet the same failures, and what they share cancels." in gained.text
    lost = shared(0.1, 0.2, 1.0)
    assert lost.title.endswith("is worth hardly anything") and "they share too little" in lost.text
    assert "(0.3 h lost to 0.5 h saved with 95%)" in lost.text


def test_a_short_run_flatters_only_if_it_does():
    text, frame = SENTENCES["lengths"]("opt-175b").text, table("lengths", "opt-175b")
    few = frame[frame["pool"] == "few spares"]["ettr"].to_numpy()
    assert f"a run of 12 h has an ETTR of {100 * few[0]:.1f}%, and one of 33.3 days {100 * few[1]:.1f}%" in text
    assert f"would be {100 * frame['excess'].iloc[0]:.1f} points higher for runs of 12 h" in text
    flat = REPLICATIONS.lengths(frame.assign(ettr=0.85, excess=0.0))
    assert flat.title == "The pool of spares does not flatter short runs here"
    assert "makes no difference here" in flat.text
