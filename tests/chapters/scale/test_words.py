"""Sentences on size, bands and requirements: their numbers, read back from the results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from computed.chapters import AS_IT_IS, USUAL, answer, published, scenario, table
from ettr import budget, plan
from ettr.chapters import scale
from sentences_read import NUMBER, TENTH, THREE_DIGITS, check_words, numbers

TARGET, N_GPUS, SIZES = 0.9, 100_000, (16_384, 100_000, 1_000_000)
RATE, RESTART = "failures.rate_per_1000_node_days", "recovery.restart_min"
CROWDED = {"maintenance": {"per_day": 0.5, "duration_min": 90}}


def lost_at(parts, size: float):
    """Shares of the losses at the point of a curve that is nearest to a size, the smallest first."""
    sizes = parts["n_gpus"].unique()
    here = parts[parts["n_gpus"] == sizes[np.abs(np.log(sizes / size)).argmin()]]
    return here.set_index("part")["share"].drop("productive").sort_values()


@pytest.mark.parametrize("name", ["llama3-405b", "h100-100k", "rsc-1"])
def test_scale_is_told_from_the_closed_form(name):
    run, told = scenario(name), answer(name)
    finding = scale.words.answer(told, table(scale.tables.by_size, name), TARGET)
    reached = {
        float(n_gpus.replace(",", "")): float(ettr)
        for ettr, n_gpus in re.findall(rf"({NUMBER})% on ({NUMBER})", finding.text)
    }
    own_size = run.cluster.n_gpus
    others = [size for size in (1e4, 1e5, 1e6) if size != own_size][-2:]
    assert list(reached) == sorted([own_size, *others])
    assert numbers("An ETTR of #% on # GPUs, #% on 1,000,000", finding.title) == [
        reached[own_size],
        own_size,
        reached[1_000_000],
    ]
    steady = run.override({"job.include_start": False})
    exact = {size: 100 * plan.ettr_at_best(steady.override({"cluster.n_gpus": size})) for size in others}
    exact[own_size] = 100 * told.budget.ettr
    assert reached == pytest.approx(exact, **TENTH)
    assert "has no answer" not in finding.text
    (reach,) = numbers("up to about # GPUs", finding.text)
    per_node = run.cluster.gpus_per_node
    for n_gpus, above in ((0.98 * reach, True), (1.02 * reach, False)):  # told with three digits, between two points
        size = {"cluster.n_gpus": per_node * round(n_gpus / per_node)}
        assert (plan.ettr_at_best(steady.override(size)) > TARGET) == above


def test_no_sentence_on_scale_speaks_of_sizes_beyond_the_curve():
    """With so much maintenance the closed form ends below a million GPUs, and the sentences end with it."""
    run = scenario("opt-175b").override({**CROWDED, "checkpoint.interval_min": 30})
    told, sizes, parts = plan.make(run), scale.tables.by_size(run), scale.tables.parts_by_size(run)
    end, end_of_parts = scale.tables.at_best(sizes)["n_gpus"].max(), parts["n_gpus"].max()
    assert 1000 < end < 1e5 and end_of_parts == end
    answered, of_parts = scale.words.answer(told, sizes, TARGET), scale.words.parts(parts)
    for text in (answered.title, answered.text, of_parts.text):
        check_words(text)
    (beyond,) = numbers("Beyond # GPUs the closed form has no answer", answered.text)
    assert beyond == pytest.approx(end, rel=0.051)  # told with two digits
    for n_gpus in re.findall(rf"% on ({NUMBER})", answered.title + answered.text):
        assert float(n_gpus.replace(",", "")) <= end
    for n_gpus in re.findall(rf"({NUMBER}) GPUs", of_parts.title + of_parts.text):
        assert float(n_gpus.replace(",", "")) == pytest.approx(end, **THREE_DIGITS)
    there = lost_at(parts, end)
    assert numbers(f"{there.index[-1]} takes #% of the wall clock and {there.index[-2]} #%", of_parts.text) == (
        pytest.approx([100 * there.iloc[-1], 100 * there.iloc[-2]], **TENTH)
    )


@pytest.mark.parametrize("name", ["llama3-405b", "opt-175b"])
def test_the_parts_at_scale_are_those_of_the_curve(name):
    parts = table(scale.tables.parts_by_size, name)
    finding, there, beyond = scale.words.parts(parts), lost_at(parts, 1e5), lost_at(parts, 1e6)
    assert finding.title == f"At 100,000 GPUs {there.index[-1]} is the largest loss"
    assert numbers(f"{there.index[-1]} takes #% of the wall clock and {there.index[-2]} #%", finding.text) == (
        pytest.approx([100 * there.iloc[-1], 100 * there.iloc[-2]], **TENTH)
    )
    shares = [100 * lost.reindex(["detection", "queue", "restart"]).sum() / lost.sum() for lost in (there, beyond)]
    assert numbers("restart are #% of the losses there, and #% at 1,000,000 GPUs", finding.text) == (
        pytest.approx(shares, abs=0.501)  # told in whole percent
    )


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_the_simple_formulas_end_where_it_is_said(name):
    text = scale.words.curve(scenario(name)).text
    formulas = {"first_order": "first-order form", "rsc": "RSC formula"}
    if name == "llama3-405b":  # whose write and maintenance the RSC formula has no term for
        assert formulas.pop("rsc") not in text
    for formula, words in formulas.items():
        told = numbers(f"{words} is within a point of the exact one up to # GPUs and has no answer beyond # GPUs", text)
        found = budget.validity(scenario(name).override({"job.include_start": False}), formula)
        assert told == pytest.approx([found.one_point_n_gpus, found.max_n_gpus], **THREE_DIGITS)


# --------------------------------------------------------------------------- bands


def test_without_knowledge_of_the_rate_there_are_no_bands():
    finding = scale.words.sizes_with_bands(table(scale.tables.size_with_bands, "rsc-1"), TARGET)
    assert "no bands" in finding.text


def test_the_size_at_which_the_target_ends_has_the_ends_of_the_rate(llama3):
    text = scale.words.sizes_with_bands(table(scale.tables.size_with_bands), TARGET).text
    at, low, high = numbers("up to # GPUs. As far as the rate is known, that size lies between # GPUs and # GPUs", text)
    known = llama3.failures.posterior
    steady = llama3.override({"job.include_start": False})
    for size, rate in ((at, llama3.failure_rate), (low, known.shape * 1099.2 / known.node_days)):
        reached = plan.required(steady.override({RATE: rate}), "cluster.n_gpus", TARGET).value
        assert size == pytest.approx(reached, rel=0.02)  # between two sizes of the curve; 1.0992: 97.5% of the gamma
    assert low < at < high


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_the_band_by_size_is_told_at_both_ends(name):
    frame = table(scale.tables.band_by_size, name, AS_IT_IS, 9)
    finding = scale.words.band_by_size(frame)
    widths = (frame["high_min"] / frame["low_min"]).iloc[[0, -1]].tolist()
    assert numbers("factor of # at the small size and of # at the large one", finding.text) == pytest.approx(
        widths, **THREE_DIGITS
    )
    assert ("forgive less" in finding.text) == (widths[1] < widths[0])
    shorter = frame["interval_min"].iloc[0] / frame["interval_min"].iloc[-1]
    assert numbers("interval # times shorter", finding.title) == pytest.approx([shorter], **THREE_DIGITS)


# --------------------------------------------------------------------------- requirements


def needs_of(name: str, target: float = TARGET) -> list[plan.Required]:
    return plan.requirements(scenario(name).override({"cluster.n_gpus": N_GPUS}), target)


@pytest.mark.parametrize("name", ["llama3-405b", "byterobust"])  # by the failure rate alone, and by detection too
def test_what_is_required_is_told_with_its_own_value(name):
    needs = needs_of(name)
    text = scale.requirement_words.requirements(needs, N_GPUS).text
    at_most, given = numbers("failure rate at most # failures per 1,000 node-days, instead of #", text)
    assert 0.99 * needs[0].value <= at_most <= needs[0].value and given == pytest.approx(needs[0].given, **THREE_DIGITS)
    failed = [need.best_ettr for need in needs if need.value is None]
    assert numbers(r"that leaves (?:at best )?#%", text) == pytest.approx([100 * max(failed)], **TENTH)
    assert text.count(" at most ") == sum(need.value is not None for need in needs)


def test_a_target_that_is_reached_already_leaves_room(llama3):
    needs = plan.requirements(llama3, TARGET)
    finding = scale.requirement_words.requirements(needs, 16_384)
    assert finding.title == "16,384 GPUs reach 90% as they are"
    assert "reached already" in finding.text
    text = scale.requirement_words.recovery(llama3, needs, 16_384).text
    (restart_min,) = numbers("restart of at most # min reaches 90%", text)
    assert plan.ettr_at_best(llama3.override({RESTART: restart_min})) == pytest.approx(TARGET, abs=1e-3)


def test_a_target_out_of_reach_says_so():
    needs = needs_of("opt-175b")
    finding = scale.requirement_words.requirements(needs_of("opt-175b", 0.999), N_GPUS)
    assert "no single change does it" in finding.text or "one change alone" in finding.text
    none = scale.requirement_words.recovery(scenario("opt-175b"), needs, N_GPUS).text
    (left,) = numbers("no restart time reaches 90%: even an instant restart leaves #%", none)
    (restart,) = [need for need in needs if need.field == RESTART]
    assert restart.value is None and left == pytest.approx(100 * restart.best_ettr, **TENTH)


@pytest.mark.parametrize(
    ("name", "able"), [("llama3-405b", ["failure rate"]), ("byterobust", ["failure rate", "detection time"])]
)
def test_what_else_reaches_the_target_is_told_where_no_restart_does(name, able):
    needs = needs_of(name)
    paths = {"failure rate": RATE, "stall": "checkpoint.stall_s", "detection time": "recovery.detection_min"}
    paths["queue time"] = "recovery.queue_min"
    assert {need.field for need in needs if need.value is not None} == {paths[words] for words in able}
    instead = scale.requirement_words.recovery(scenario(name), needs, N_GPUS).text.partition(";")[2]
    assert [words for words in paths if words in instead] == able


def test_where_no_field_reaches_the_target_alone_it_is_said():
    needs = [need for need in needs_of("opt-175b") if need.value is None]
    text = scale.requirement_words.recovery(scenario("opt-175b"), needs, N_GPUS).text
    assert "no field can do it alone" in text


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_what_each_size_needs_is_told(name):
    frame = table(scale.requirement_tables.required_by_size, name, AS_IT_IS, TARGET, SIZES)
    finding = scale.requirement_words.answer(frame, TARGET)
    assert finding.title == "For 90% on 1,000,000 GPUs only the failure rate can do it alone"
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


def test_a_cell_says_the_value_or_what_blocks():
    frame = table(scale.requirement_tables.required_by_size, *USUAL, TARGET, SIZES)
    cells = scale.requirement_words.cells(frame).set_index("field")
    assert cells.columns.tolist() == ["given", "16,384 GPUs", "100,000 GPUs", "1,000,000 GPUs"]
    assert cells.loc["Failure rate"].tolist() == ["3.79", "at most 4.5", "at most 0.738", "at most 0.0738"]
    row = frame[(frame["n_gpus"] == 1_000_000) & (frame["field"] == RESTART)].iloc[0]
    cell = cells.loc["Restart time [min]", "1,000,000 GPUs"]
    assert numbers("none: #% at best; with the background write ideal too #%", cell) == pytest.approx(
        [100 * row["best_ettr"], 100 * row["blocked_ettr"]], **TENTH
    )


def test_the_frontier_is_told_at_the_scenario_s_own_restart(llama3):
    frontiers = scale.requirement_tables.frontiers
    finding = scale.requirement_words.frontier(frontiers(llama3, TARGET, SIZES), llama3, TARGET)
    rates = numbers("own of 5 min it allows # on 16,384, # on 100,000 and # on 1,000,000", finding.text)
    exact = [plan.required(llama3.override({"cluster.n_gpus": n}), RATE, TARGET).value for n in SIZES]
    assert rates == pytest.approx(exact, rel=0.01)  # between two restarts of the curve
    empty = scale.requirement_words.frontier(frontiers(llama3, 0.995, SIZES, 4), llama3, 0.995)
    assert "No restart time and no failure rate reach" in empty.title


def test_published_figures_are_told_with_the_computed_ones():
    text = scale.requirement_words.published_stalls(published()).text
    assert numbers("10 min: reported #%, computed #%", text) == [44, 43.6]
    assert numbers("3 min: reported #%, computed #%", text) == [80, 83.1]
