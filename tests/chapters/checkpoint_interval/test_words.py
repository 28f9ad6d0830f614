"""Sentences on formulas, bands, changing rates and requirements: their numbers, read back from the results."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from ettr import Scenario, plan, validation
from ettr.budget import FORMULAS
from ettr.chapters import checkpoint_interval, scale
from ettr.core import sentences
from ettr.scenario.fields import name_of

NUMBER = r"\d[\d,]*(?:\.\d+)?"
TARGET, SIZES = 0.9, (16_384, 100_000, 1_000_000)
TENTH = {"abs": 0.0501}
THREE_DIGITS = {"rel": 5.1e-3}


def numbers(pattern: str, text: str) -> list[float]:
    match = re.search(pattern.replace("#", f"({NUMBER})"), text)
    assert match, f"{pattern!r} is not in {text!r}"
    return [float(group.replace(",", "")) for group in match.groups()]


def difference(run: Scenario, formula: str) -> sentences.Finding:
    frames = [
        checkpoint_interval.disagreement_tables.difference_cells(run, formula),
        checkpoint_interval.disagreement_tables.difference_regions(run, formula),
    ]
    return checkpoint_interval.disagreement_words.difference(
        run, formula, *frames, checkpoint_interval.disagreement_tables.difference_at_best(run, formula)
    )


@pytest.mark.parametrize(("name", "formula"), [("llama3-405b", "first_order"), ("rsc-2", "rsc")])
def test_up_to_the_size_told_a_formula_is_within_a_point_at_the_best_interval(name, formula):
    run = Scenario.load(name)
    text = difference(run, formula).text
    near, answered = numbers("within a point of the exact form up to # GPUs, and has an answer up to # GPUs", text)
    steady = run.override({"job.include_start": False, "maintenance": None})
    if formula == "rsc":
        steady = steady.override({"checkpoint.persist_s": 0})

    def apart(n_gpus: float) -> float:
        at = {"cluster.n_gpus": np.array([n_gpus])}
        at["checkpoint.interval_min"] = plan.best_interval_min(steady, at)
        return 100 * abs(float(FORMULAS[formula](steady, at).ettr[0] - FORMULAS["exact"](steady, at).ettr[0]))

    step = 1.17  # between two sizes of the curve
    assert apart(0.95 * near) <= 1 < apart(near * step)
    assert np.isfinite(apart(0.95 * answered))
    with pytest.warns(UserWarning, match="holds only for"):
        assert np.isnan(apart(answered * step))


def test_what_the_rsc_paper_prints_is_told_beside_both_forms():
    table = validation.rsc_beside_exact()
    text = checkpoint_interval.disagreement_words.rsc_points(table).text
    assert numbers("formula # of # printed", text) == [7, 8]
    apart = 100 * (table["exact"] - table["rsc"]).abs()[table["verdict"] == "reproduced"].max()
    assert numbers("at most # points from it", text) == pytest.approx([apart], **TENTH)
    assert numbers("beyond # GPUs", text) == pytest.approx([table["max_n_gpus"].min()], **THREE_DIGITS)
    odd = table[table["verdict"] == "not reproduced"].iloc[0]
    assert numbers("printed #%, by the formula #%, exact #%", text) == pytest.approx(
        [100 * odd["published"], 100 * odd["rsc"], 100 * odd["exact"]], **TENTH
    )


@pytest.mark.parametrize("name", ["llama3-405b", "glm-130b"])
def test_the_bands_of_a_plan_are_told(name):
    answer = plan.make(Scenario.load(name))
    finding = checkpoint_interval.words.interval_bands(answer)
    ettr = answer.bands.set_index("quantity").loc["ettr_at_best"]
    ends = numbers(r"interval between #% and #% \(with 50% between #% and #%\)", finding.text)
    expected = [100 * ettr[end] for end in ("low_95", "high_95", "low_50", "high_50")]
    assert ends == pytest.approx(expected, **TENTH)
    assert numbers("by # points? either way", finding.title) == pytest.approx([(ends[1] - ends[0]) / 2], abs=0.11)
    assert finding.text.endswith(f"The bands come {answer.band_source}.")


def test_a_band_beyond_the_flat_range_is_a_reason_to_count_longer():
    few = Scenario.load("rsc-1").override(
        {"failures.rate_gamma": {"shape": 2.0, "node_days": 2000 / 6.5}, "checkpoint.stall_s": 30}
    )
    text = checkpoint_interval.words.interval_bands(plan.make(few)).text
    assert "reach beyond the range" in text and "failures.rate_gamma" in text
    assert (
        "would not change the plan"
        in checkpoint_interval.words.interval_bands(plan.make(Scenario.load("megascale"))).text
    )


def test_without_knowledge_the_missing_field_is_named():
    finding = checkpoint_interval.words.interval_bands(plan.make(Scenario.load("rsc-1")))
    assert "failures.rate_gamma" in finding.text and finding.title == "How well the rate is known is not said"
    assert (
        "no bands" in scale.words.sizes_with_bands(scale.tables.size_with_bands(Scenario.load("rsc-1"), 20), 0.9).text
    )


def test_the_size_at_which_the_target_ends_has_the_ends_of_the_rate(llama3):
    finding = scale.words.sizes_with_bands(scale.tables.size_with_bands(llama3), TARGET).text
    at, low, high = numbers(
        "up to # GPUs. As far as the rate is known, that size lies between # GPUs and # GPUs", finding
    )
    known = llama3.failures.posterior
    steady = llama3.override({"job.include_start": False})
    for size, rate in ((at, llama3.failures.rate), (low, known.shape * 1099.2 / known.node_days)):
        reached = plan.required(
            steady.override({"failures.rate_per_1000_node_days": rate}), "cluster.n_gpus", TARGET
        ).value
        assert size == pytest.approx(reached, rel=0.02)  # between two sizes of the curve; 1.0992: 97.5% of the gamma
    assert low < at < high


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_the_band_by_size_is_told_at_both_ends(name):
    table = scale.tables.band_by_size(Scenario.load(name), 9)
    finding = scale.words.band_by_size(table)
    widths = (table["high_min"] / table["low_min"]).iloc[[0, -1]].tolist()
    assert numbers("factor of # at the small size and of # at the large one", finding.text) == pytest.approx(
        widths, **THREE_DIGITS
    )
    assert ("forgive less" in finding.text) == (widths[1] < widths[0])
    shorter = table["interval_min"].iloc[0] / table["interval_min"].iloc[-1]
    assert numbers("interval # times shorter", finding.title) == pytest.approx([shorter], **THREE_DIGITS)


@cache
def changing(name: str, factor: float = 5.0):
    runs = checkpoint_interval.changing_rate_tables.changing_cases(Scenario.load(name), factor, 20, 0.7)
    return checkpoint_interval.changing_rate_tables.rates_and_intervals(
        runs, 6
    ), checkpoint_interval.changing_rate_tables.one_interval(runs)


def test_the_cost_of_one_interval_is_told_by_case_and_by_factor():
    by_factor, by_case = (
        checkpoint_interval.changing_rate_tables.one_interval_by_factor(Scenario.load("rsc-1"), 20, 6),
        changing("rsc-1")[1],
    )
    finding = checkpoint_interval.changing_rate_words.one_interval(by_factor, by_case)
    losses = by_case.set_index(["case", "kept"])["loss_points"]
    values = numbers(
        "the burn-in # points if .* rate and # points if .* new # points if .* rate and # points", finding.text
    )
    expected = [losses[case, kept] for case in ("burn-in", "new nodes") for kept in ("settled rate", "mean rate")]
    assert values == pytest.approx(expected, **TENTH)
    costly = by_factor[(by_factor["kept"] == "settled rate") & (by_factor["loss_points"] > 0.5)]
    assert numbers("from about # times", finding.text) == pytest.approx([costly["factor"].min()], **THREE_DIGITS)
    assert "plan with the rate that the run will meet" in finding.text
    worst = by_factor.loc[by_factor["loss_points"].idxmax()]
    assert numbers(r"\(#% instead of #%\)", finding.text) == pytest.approx(
        [100 * worst["ettr"], 100 * worst["following"]], **TENTH
    )


def test_where_little_is_lost_the_interval_is_let_be_and_no_progress_is_said():
    calm = checkpoint_interval.changing_rate_tables.one_interval_by_factor(Scenario.load("byterobust"), 20, 5)
    assert (
        "one for the whole run will do"
        in checkpoint_interval.changing_rate_words.one_interval(calm, changing("byterobust")[1]).text
    )
    stuck = checkpoint_interval.changing_rate_words.one_interval(calm, changing("h100-100k", 60.0)[1]).text
    assert stuck.endswith(
        "With the burn-in and nodes that start new the run makes no progress at its start, so there is no answer."
    )
    badly = calm.assign(loss_points=[9.0] * len(calm))
    assert "Even that of the run's mean rate does, from about 1 times on" in (
        checkpoint_interval.changing_rate_words.one_interval(badly, changing("byterobust")[1]).text
    )


def test_rates_and_intervals_are_told_at_both_ends():
    frame = changing("llama3-405b")[0]
    rates, intervals = (
        checkpoint_interval.changing_rate_words.rates(frame),
        checkpoint_interval.changing_rate_words.intervals(frame),
    )
    for case, words in (("burn-in", "the burn-in"), ("new nodes", "nodes that start new")):
        rows = frame[frame["case"] == case].iloc[[0, -1]]
        ends = numbers(f"with {words} from # to # failures a day", rates.text)
        assert ends == pytest.approx(rows["per_day"].tolist(), **THREE_DIGITS)
        ends = numbers(f"with {words} from # min to # min", intervals.text)
        assert ends == pytest.approx(rows["interval_min"].tolist(), **THREE_DIGITS)


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_what_each_size_needs_is_told(name):
    frame = scale.requirement_tables.required_by_size(Scenario.load(name), TARGET, SIZES)
    finding = scale.requirement_words.answer(frame, TARGET)
    for n_gpus, rows in frame.groupby("n_gpus"):
        part = re.search(rf"On {n_gpus:,} GPUs .*?(?= On \d|$)", finding.text).group()
        if (rows["value"] >= rows["given"]).all():
            assert part == f"On {n_gpus:,} GPUs 90% is reached as it is."
            continue
        for row in rows[rows["value"].notna()].itertuples():
            values = numbers(rf"{scale.requirement_tables.field_name(row.field)} at most # \(now #\)", part)
            assert values == pytest.approx([row.value, row.given], rel=0.04)  # two decimals
        pair = rows.loc[rows["blocked_ettr"].idxmax()]
        assert ("are enough" in part) == (pair["blocked_ettr"] >= TARGET)
        assert numbers("(?:are enough|not enough either), at #%", part) == pytest.approx(
            [100 * pair["blocked_ettr"]], **TENTH
        )


def test_a_cell_says_the_value_or_what_blocks(llama3):
    frame = scale.requirement_tables.required_by_size(llama3, TARGET, SIZES)
    table = scale.requirement_words.cells(frame).set_index("field")
    assert table.columns.tolist() == ["given", "16,384 GPUs", "100,000 GPUs", "1,000,000 GPUs"]
    assert table.loc["Failure rate"].tolist() == ["3.79", "at most 4.5", "at most 0.738", "at most 0.0738"]
    row = frame[(frame["n_gpus"] == 1_000_000) & (frame["field"] == "recovery.restart_min")].iloc[0]
    cell = table.loc["Restart time [min]", "1,000,000 GPUs"]
    assert numbers("none: #% at best; with the background write ideal too #%", cell) == pytest.approx(
        [100 * row["best_ettr"], 100 * row["blocked_ettr"]], **TENTH
    )


def test_every_field_that_can_be_solved_for_has_a_name(llama3):
    rich = llama3.override(
        {
            "checkpoint.persist_s": 0,
            "checkpoint.store": {"n_parameters": 4e11, "write_gb_s": 100, "read_gb_s": 500, "node_gb_s": 5},
            "checkpoint.tiers": [{"name": "peers", "interval_s": 20, "load_s": 5, "survives": 0.8}],
            "prediction": {"recall": 0.6, "precision": 0.85, "lead_s": 120, "action_s": 30},
        }
    )
    aside = ("cluster.n_gpus", "job.productive_h", "checkpoint.interval_min", "checkpoint.tiers.peers.interval_s")
    names = [scale.requirement_tables.field_name(path) for path in plan.solvable(rich) if path not in aside]
    assert len(names) > 15 and len(set(names)) == len(names) and "the survival of peers" in names


def test_every_assumed_field_has_a_name():
    """Also those of sections that no preset has."""
    fields = Scenario.dictionary()["field"]
    named = [field for field in fields if "." in field and not field.startswith("evidence")]
    assert len(named) > 40 and not [field for field in named if name_of(field, Scenario) == field]


def test_the_frontier_is_told_at_the_scenario_s_own_restart(llama3):
    finding = scale.requirement_words.frontier(
        scale.requirement_tables.frontiers(llama3, TARGET, SIZES), llama3, TARGET
    )
    intervals = numbers("own of 5 min it allows # on 16,384, # on 100,000 and # on 1,000,000", finding.text)
    exact = [
        plan.required(llama3.override({"cluster.n_gpus": n}), "failures.rate_per_1000_node_days", TARGET).value
        for n in SIZES
    ]
    assert intervals == pytest.approx(exact, rel=0.01)  # between two restarts of the curve
    empty = scale.requirement_words.frontier(scale.requirement_tables.frontiers(llama3, 0.995, SIZES, 4), llama3, 0.995)
    assert "No restart time and no failure rate reach" in empty.title


def test_published_figures_are_told_with_the_computed_ones():
    results = validation.run()
    text = scale.requirement_words.published_stalls(results).text
    assert numbers("10 min: reported #%, computed #%", text) == [44, 43.6]
    assert numbers("3 min: reported #%, computed #%", text) == [80, 83.1]
    stall = checkpoint_interval.words.published_stall(results).text
    assert numbers("reported as # times, computed as #. .* by # times", stall) == pytest.approx(
        [23.62, 148.8 / 6.3, np.sqrt(148.8 / 6.3)], **THREE_DIGITS
    )
