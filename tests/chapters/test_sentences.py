"""Every sentence that a chapter shows, for every preset and at the extremes: sane words, numbers from the results."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest

from ettr import Scenario, budget, evidence, failures, plan, validation
from ettr.chapters import (
    checkpoint_interval,
    failure_log,
    failure_rates,
    index,
    reading_the_sources,
    scale,
    what_failed,
)
from ettr.chapters import validation as validation_chapter
from ettr.core.sentences import Finding
from ettr.plan import assumed as assumptions
from ettr.plan.report import plan_lines

REPOSITORY = Path(__file__).parents[2]
CALL = r"\b(\w+\.(?:\w+_)?words\.\w+)\("
FAILED, SOURCES, RATES = what_failed.words, reading_the_sources.words, failure_rates.words
INTERVAL, SCALE, NEEDS = checkpoint_interval.words, scale.words, scale.requirement_words
PRESETS = evidence.scenario_names()
ANY_SIZE = tuple(name for name in PRESETS if Scenario.load(name).job.tokens is None)
"""Those whose job is not tied to sizes that a model fits."""
EXTREMES = {
    "as it is": {},
    "no failures": {"failures.rate_per_1000_node_days": 0},
    "one node": {"cluster.n_gpus": 8},
    "a million GPUs": {"cluster.n_gpus": 1_000_000},
    "no maintenance": {"maintenance": None},
    "free checkpoint": {"checkpoint.stall_s": 0, "checkpoint.persist_s": 0},
    "nothing is lost": {
        "failures.rate_per_1000_node_days": 0,
        "checkpoint.stall_s": 0,
        "checkpoint.persist_s": 0,
        "recovery.detection_min": 0,
        "recovery.queue_min": 0,
        "recovery.restart_min": 0,
        "maintenance": None,
    },
}
TARGET, N_GPUS, NEAR_IT = 0.9, 100_000, 100_352
"""A size, and one near it that replicas of Llama 3 divide."""
NUMBER = r"\d[\d,]*(?:\.\d+)?"


@cache
def scenario(name: str, extreme: str = "as it is") -> Scenario:
    return Scenario.load(name).override(EXTREMES[extreme])


@cache
def answer(name: str, extreme: str = "as it is") -> plan.Plan:
    return plan.make(scenario(name, extreme))


@cache
def grown(name: str, extreme: str = "as it is") -> Scenario:
    return scenario(name, extreme).override({"cluster.n_gpus": N_GPUS if name in ANY_SIZE else NEAR_IT})


@cache
def rates(name: str, extreme: str = "as it is"):
    return failure_rates.tables.rates(scenario(name, extreme))


@cache
def projected(name: str, extreme: str = "as it is"):
    return failure_rates.tables.projections(rates(name, extreme), [100_000, 1_000_000])


SIZES = (16_384, 100_000, 1_000_000)


@cache
def cases(name: str, extreme: str = "as it is") -> dict[str, Scenario]:
    return checkpoint_interval.changing_rate_tables.changing_cases(scenario(name, extreme), 5, 20, 0.7)


@cache
def moving(name: str, extreme: str = "as it is"):
    return checkpoint_interval.changing_rate_tables.rates_and_intervals(cases(name, extreme), 6)


@cache
def required(name: str, extreme: str = "as it is"):
    return scale.requirement_tables.required_by_size(scenario(name, extreme), TARGET, SIZES)


@cache
def needs(name: str, extreme: str = "as it is"):
    return plan.requirements(grown(name, extreme), TARGET)


@cache
def published():
    return validation.run()


@cache
def printed():
    return validation.rsc_beside_exact()


def difference(run: Scenario, formula: str) -> Finding:
    frames = (
        checkpoint_interval.disagreement_tables.difference_cells(run, formula, 8),
        checkpoint_interval.disagreement_tables.difference_regions(run, formula, 60),
    )
    return checkpoint_interval.disagreement_words.difference(
        run, formula, *frames, checkpoint_interval.disagreement_tables.difference_at_best(run, formula, 30)
    )


SENTENCES = {
    "index.words.headline": lambda *run: index.words.headline(answer(*run)),
    "index.words.time_budget": lambda *run: index.words.time_budget(answer(*run)),
    "checkpoint_interval.words.answer": lambda *run: INTERVAL.answer(answer(*run)),
    "checkpoint_interval.words.wrong": lambda *run: INTERVAL.wrong(answer(*run)),
    "checkpoint_interval.words.parts": lambda *run: INTERVAL.parts(answer(*run)),
    "checkpoint_interval.words.assumptions": lambda *run: INTERVAL.assumptions(answer(*run)),
    "checkpoint_interval.words.rules": lambda *run: INTERVAL.rules(
        checkpoint_interval.tables.interval_rules(scenario(*run), 40), scenario(*run).cluster.n_gpus
    ),
    "scale.words.answer": lambda *run: SCALE.answer(answer(*run), scale.tables.by_size(scenario(*run), 40), TARGET),
    "scale.words.curve": lambda *run: SCALE.curve(scenario(*run)),
    "scale.words.parts": lambda *run: SCALE.parts(scale.tables.parts_by_size(scenario(*run), 40)),
    "scale.requirement_words.requirements": lambda *run: scale.requirement_words.requirements(
        plan.requirements(grown(*run), TARGET), N_GPUS
    ),
    "scale.requirement_words.recovery": lambda *run: scale.requirement_words.recovery(
        scenario(*run), plan.requirements(grown(*run), TARGET), N_GPUS
    ),
    "checkpoint_interval.words.published_stall": lambda *run: INTERVAL.published_stall(published()),
    "checkpoint_interval.words.interval_bands": lambda *run: checkpoint_interval.words.interval_bands(answer(*run)),
    "scale.words.sizes_with_bands": lambda *run: scale.words.sizes_with_bands(
        scale.tables.size_with_bands(scenario(*run), 20), TARGET
    ),
    "scale.words.band_by_size": lambda *run: scale.words.band_by_size(scale.tables.band_by_size(scenario(*run), 8)),
    "checkpoint_interval.disagreement_words.difference of first_order": lambda *run: difference(
        scenario(*run), "first_order"
    ),
    "checkpoint_interval.disagreement_words.difference of rsc": lambda *run: difference(scenario(*run), "rsc"),
    "checkpoint_interval.disagreement_words.rsc_points": lambda *run: checkpoint_interval.disagreement_words.rsc_points(
        printed()
    ),
    "checkpoint_interval.changing_rate_words.rates": lambda *run: checkpoint_interval.changing_rate_words.rates(
        moving(*run)
    ),
    "checkpoint_interval.changing_rate_words.intervals": lambda *run: checkpoint_interval.changing_rate_words.intervals(
        moving(*run)
    ),
    "checkpoint_interval.changing_rate_words.one_interval": lambda *run: (
        checkpoint_interval.changing_rate_words.one_interval(
            checkpoint_interval.changing_rate_tables.one_interval_by_factor(scenario(*run), 20, 4),
            checkpoint_interval.changing_rate_tables.one_interval(cases(*run)),
        )
    ),
    "scale.requirement_words.answer": lambda *run: scale.requirement_words.answer(required(*run), TARGET),
    "scale.requirement_words.frontier": lambda *run: scale.requirement_words.frontier(
        scale.requirement_tables.frontiers(scenario(*run), TARGET, SIZES, 8), scenario(*run), TARGET
    ),
    "scale.requirement_words.published_stalls": lambda *run: scale.requirement_words.published_stalls(published()),
    "failure_rates.words.answer": lambda *run: RATES.answer(rates(*run), projected(*run)),
    "failure_rates.words.side_by_side": lambda *run: RATES.side_by_side(rates(*run)),
    "failure_rates.words.ratios": lambda *run: RATES.ratios(failure_rates.tables.ratios(rates(*run))),
    "failure_rates.words.by_size": lambda *run: RATES.by_size(
        failure_rates.tables.rsc_points(), failure_rates.tables.mttf_by_size(scenario(*run), 20)
    ),
    "failure_rates.words.projections": lambda *run: RATES.projections(projected(*run)),
    "failure_rates.words.ages": lambda *run: RATES.ages(
        scenario(*run),
        failure_rates.tables.first_failures(scenario(*run), 54),
        failure_rates.tables.by_age(scenario(*run)),
        54,
    ),
    "what_failed.words.of_scenario": lambda *run: FAILED.of_scenario(scenario(*run), answer(*run)),
    "reading_the_sources.words.origins": lambda *run: SOURCES.origins(scenario(*run)),
}


@cache
def claims():
    titles = evidence.bibliography().set_index("key")["title"].rename("document")
    return reading_the_sources.tables.audit().join(titles, on="source")


@cache
def counts():
    return failures.count_intervals(reading_the_sources.tables.interruption_shares())


PUBLISHED = {
    "what_failed.words.answer": lambda: FAILED.answer(counts(), 54 * 24.0, 16_384),
    "what_failed.words.components": lambda: FAILED.components(counts()),
    "what_failed.words.perfect_category": lambda: FAILED.perfect_category(failures.without_each(counts(), 54 * 24.0)),
    "what_failed.words.rates": lambda: FAILED.rates(failures.rate_intervals(evidence.published_rates())),
    "reading_the_sources.words.audit": lambda: SOURCES.audit(claims()),
    "reading_the_sources.words.worst_document": lambda: SOURCES.worst_document(claims()),
    "reading_the_sources.words.odd_row": lambda: SOURCES.odd_row(reading_the_sources.tables.interruption_shares()),
    "reading_the_sources.words.readings": lambda: SOURCES.readings(reading_the_sources.tables.readings()),
    "validation.words.validation": lambda: validation_chapter.words.validation(validation.run()),
    "failure_log.published_run_words.against_model": lambda: failure_log.published_run_words.against_model(
        failure_log.tables.against_model()
    ),
    "real_runs.losses of bloom-176b": lambda: failure_log.published_run_words.losses(
        failure_log.tables.published_run("bloom-176b")
    ),
    "real_runs.losses of glm-130b": lambda: failure_log.published_run_words.losses(
        failure_log.tables.published_run("glm-130b")
    ),
}


def check_words(text: str) -> None:
    assert text and text == text.strip()
    assert not re.search(r"\b(nan|inf|None|ever|NaN|Series|dtype|0x)\b", text), text
    assert not re.search(
        r"every (every|never)|[{}\[\]]|\b(\w+) \1\b|\d[eE][+-]?\d|(?<!\*)\*{3}|  | [.,;]|\.\.", text
    ), text
    assert not re.search(r"-\d", re.sub(r"[\w.]*[A-Za-z]-\d[\w.]*", "", text)), text  # no share or loss is negative
    for share in re.findall(rf"({NUMBER})%", text):
        assert float(share.replace(",", "")) <= 100
    assert text.count("(") == text.count(")") and text.count("**") % 2 == 0


def test_every_sentence_of_the_chapters_is_tested_here():
    called = set()
    for path in (REPOSITORY / "book").rglob("*.ipynb"):
        code = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")
        called |= set(re.findall(CALL, code))
    assert len(called) > 15
    beside = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
    tested = {name.partition(" ")[0] for name in (*SENTENCES, *PUBLISHED)}
    assert called <= tested | set(re.findall(CALL, beside.replace("_chapter.", ".")))


SIZE_ONLY = ("one node", "a million GPUs")
LONG = (
    "checkpoint_interval.changing_rate_words.",
    "checkpoint_interval.disagreement_words.",
    "scale.requirement_words.answer",
    "scale.requirement_words.frontier",
)
FEW = ("llama3-405b", "rsc-1")


@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("name", PRESETS)
def test_sentences_are_sane_for_every_preset_and_extreme(name, extreme):
    if extreme in SIZE_ONLY and name not in ANY_SIZE:
        return  # refused, and tested where it is
    for sentence, say in SENTENCES.items():
        if sentence.startswith("scale.words.curve") and extreme in SIZE_ONLY:
            continue  # it takes the scenario to all sizes, and takes long
        if sentence.startswith("scale.requirement_words.") and name not in ANY_SIZE:
            continue  # its sizes are round numbers
        if sentence.startswith(LONG) and name not in FEW and extreme != "as it is":
            continue
        finding = say(name, extreme)
        assert isinstance(finding, Finding), sentence
        check_words(finding.title)
        check_words(finding.text)
        assert finding.text.endswith((".", ".*", ".**")) and not finding.title.endswith("."), sentence
        assert len(finding.title) < 120, sentence


@pytest.mark.parametrize("extreme", EXTREMES)
@pytest.mark.parametrize("name", PRESETS)
def test_the_lines_of_the_terminal_are_sane(name, extreme):
    if extreme in SIZE_ONLY and name not in ANY_SIZE:
        return
    lines = plan_lines(answer(name, extreme))
    assert len(lines) == 3
    for line in lines:
        check_words(line)


@pytest.mark.parametrize("sentence", PUBLISHED)
def test_a_sentence_on_the_published_tables_is_sane(sentence):
    finding = PUBLISHED[sentence]()
    check_words(finding.title.replace("...", ""))
    check_words(finding.text)


# --------------------------------------------------------------------------- numbers read back


def numbers(pattern: str, text: str) -> list[float]:
    """The numbers that stand in the groups of a pattern."""
    found = re.search(pattern.replace("#", f"({NUMBER})"), text)
    assert found, f"{pattern!r} is not in {text!r}"
    return [float(group.replace(",", "")) for group in found.groups()]


def hours(pattern: str, text: str) -> list[float]:
    """The durations that stand in the groups of a pattern, where ``@`` is one. [h]"""
    units = {"s": 1 / 3600, "min": 1 / 60, "h": 1.0, "days": 24.0}
    found = re.search(pattern.replace("@", rf"({NUMBER} (?:s|min|h|days))\b"), text)
    assert found, f"{pattern!r} is not in {text!r}"
    pairs = (group.split() for group in found.groups())
    return [float(value.replace(",", "")) * units[unit] for value, unit in pairs]


TENTH = {"abs": 0.0501}
THREE_DIGITS = {"rel": 5.1e-3}
TWO_DECIMALS = {"rel": 5.1e-3, "abs": 5.1e-3}  # of numbers between 0.1 and 1


@pytest.mark.parametrize("name", PRESETS)
def test_the_headline_tells_the_plan(name):
    text, told = index.words.headline(answer(name)).text, answer(name)
    given = told.budget_as_given
    assert text.startswith(f"**{told.scenario.title}: ")
    # by the wall clock, detection and queue included, as an operator counts
    assert hours("a failure every @;", text) == pytest.approx([given.total_h / given.n_failures], **THREE_DIGITS)
    assert numbers("#% of the wall clock is useful", text) == pytest.approx([100 * given.ettr], **TENTH)
    named = re.findall(rf"(\w+) ({NUMBER})%", text.partition("largest losses are ")[2].partition(". ")[0])
    lost = {part: 100 * share for part, share in index.words.largest_losses(given)}
    assert [part for part, _ in named] == list(lost)
    assert [float(share) for _, share in named] == pytest.approx(list(lost.values()), **TENTH)
    outside = not told.band.low_min <= told.scenario.checkpoint.interval_min <= told.band.high_min
    assert ("instead of every" in text) == ("it would be" in text) == outside
    if outside:
        assert hours("every @ instead of every @ it", text) == pytest.approx(
            [told.best.interval_h, told.scenario.interval_h], **THREE_DIGITS
        )
        assert numbers("it would be #%", text) == pytest.approx([100 * told.budget.ettr], **TENTH)


def test_a_better_interval_is_told_to_some_presets_only():
    """Both kinds of headline are among those that the test above reads."""
    better = {name for name in PRESETS if "instead of every" in index.words.headline(answer(name)).text}
    assert {"opt-175b", "rsc-1"} <= better and not {"llama3-405b", "bloom-176b"} & better


@pytest.mark.parametrize("name", PRESETS)
def test_the_time_budget_is_told_as_it_is(name):
    told = answer(name).budget_as_given
    text = index.words.time_budget(answer(name)).text
    total_h, lost_h = hours("Of @ of wall clock @ are lost", text)
    assert total_h == pytest.approx(told.total_h, **THREE_DIGITS)
    assert lost_h == pytest.approx(told.total_h - told.productive_h, **THREE_DIGITS)
    (gpu_h,) = numbers("which is # GPU-hours", text)
    lost_gpu_h = (told.total_h - told.productive_h) * scenario(name).cluster.n_gpus
    assert gpu_h == pytest.approx(lost_gpu_h, abs=500)  # told in thousands
    named = re.findall(rf"(\w+) ({NUMBER})%", text)
    assert len(named) == 3 and [float(share) for _, share in named] == sorted(
        (float(s) for _, s in named), reverse=True
    )
    for part, share in named:
        assert float(share) == pytest.approx(100 * getattr(told, f"{part}_h") / told.total_h, **TENTH)
    (n_failures,) = numbers("meets # failures", text)
    assert n_failures == pytest.approx(told.n_failures, abs=0.5)


@pytest.mark.parametrize("name", PRESETS)
def test_a_failure_costs_what_the_steady_state_without_maintenance_says(name):
    """A start and a stop for maintenance restart the job too, but no failure is to blame for them."""
    (each_h,) = hours("failures; each costs @ of rework", index.words.time_budget(answer(name)).text)
    steady = budget.exact(scenario(name).override({"job.include_start": False, "maintenance": None}))
    recovery_h = steady.rework_h + steady.detection_h + steady.queue_h + steady.restart_h
    assert each_h == pytest.approx(recovery_h / steady.n_failures, **THREE_DIGITS)
    told = answer(name).budget_as_given
    all_h = told.rework_h + told.detection_h + told.queue_h + told.restart_h
    assert all_h / told.n_failures > 0.97 * recovery_h / steady.n_failures


@pytest.mark.parametrize("name", PRESETS)
def test_the_answer_on_the_interval_holds_when_it_is_followed(name):
    told, run = answer(name), scenario(name)
    text = INTERVAL.answer(told).text
    best_h, low_h, high_h = hours("should checkpoint every @; anything between @ and @ costs", text)
    assert best_h == pytest.approx(told.best.interval_h, **THREE_DIGITS)
    steady = run.override({"job.include_start": False, "maintenance": None})
    shortest_h = run.persist_h * (1 - run.checkpoint.persist_slowdown)
    at = np.maximum([best_h, low_h, high_h], max(shortest_h, 1e-4))
    ettr = budget.exact(steady, {"checkpoint.interval_min": at * 60}).ettr
    assert (ettr[0] - ettr[1:] < 0.0051).all()  # the ends are printed with three digits
    outside = not low_h <= run.interval_h <= high_h
    assert ("lies outside" in text) == outside
    if outside:
        (cost,) = numbers("costs # point", text.split("outside")[1])
        assert cost == pytest.approx(100 * (told.budget.ettr - told.budget_as_given.ettr), **TENTH)


FACTORS = {"a quarter of": 0.25, "half": 0.5, "twice": 2.0, "four times": 4.0}


def costs_told(text: str) -> dict[str, float]:
    """ETTR points that a text tells for each wrong interval; 0 for less than a tenth."""
    told = re.findall(rf"({'|'.join(FACTORS)}) the best interval costs (less than )?({NUMBER}) points?", text, re.I)
    return {name.lower(): 0.0 if less else float(cost) for name, less, cost in told}


@pytest.mark.parametrize("extreme", ["as it is", "free checkpoint", "one node", "no failures"])
@pytest.mark.parametrize("name", PRESETS)
def test_a_wrong_interval_costs_what_is_said(name, extreme):
    if extreme in SIZE_ONLY and name not in ANY_SIZE:
        return
    told, run = answer(name, extreme), scenario(name, extreme)
    finding, best = INTERVAL.wrong(told), told.band.interval_min
    steady = run.override({"job.include_start": False, "maintenance": None})
    shortest = max(plan.SHORTEST_MIN, run.least_interval_min)
    possible = {
        words: factor
        for words, factor in FACTORS.items()
        if shortest <= factor * best <= run.productive_h * 60  # no interval is longer than the work
    }
    costs = costs_told(finding.text)
    assert list(costs) == list(possible) and possible
    ettr = budget.exact(steady, {"checkpoint.interval_min": best * np.array([1, *possible.values()])}).ettr
    assert list(costs.values()) == pytest.approx(100 * (ettr[0] - ettr[1:]), **TENTH)
    longest = list(possible)[-1]
    assert costs_told(finding.title) == {longest: costs[longest]}


@pytest.mark.parametrize("name", PRESETS)
def test_a_failure_rate_that_is_four_times_wrong_costs_what_is_said(name):
    told, run = answer(name), scenario(name)
    steady = run.override({"job.include_start": False, "maintenance": None})
    rate = "failures.rate_per_1000_node_days"
    wrong = [plan.best_interval_min(steady.override({rate: run.failures.rate * k})) for k in (4, 0.25)]
    at = np.array([told.band.interval_min, *wrong])
    ettr = budget.exact(steady, {"checkpoint.interval_min": at}).ettr
    worst, text = 100 * (ettr[0] - ettr[1:].min()), INTERVAL.wrong(told).text
    if worst > 0.05:
        assert numbers("by a factor of four costs # point", text) == pytest.approx([worst], **TENTH)
    else:
        assert "factor of four" not in text


def test_where_no_other_interval_is_possible_none_is_told(plain_run):
    """The write takes the whole interval, and the work is not twice as long."""
    short = plain_run.override({"job.productive_h": 1.5, "checkpoint.persist_s": 3600, "checkpoint.stall_s": 0})
    finding = INTERVAL.wrong(plan.make(short))
    assert finding.title == "One interval is possible" and not costs_told(finding.text)


@pytest.mark.parametrize("name", PRESETS)
def test_the_parts_at_the_interval_sum_to_what_is_lost(name):
    told = answer(name).budget
    shares = numbers("take #% and rework #%. The other losses, #% together", INTERVAL.parts(answer(name)).text)
    assert sum(shares) == pytest.approx(100 * (1 - told.ettr), abs=0.16)


@pytest.mark.parametrize("name", PRESETS)
def test_four_times_the_stall_is_about_twice_the_interval(name):
    run = scenario(name)
    text = INTERVAL.assumptions(answer(name)).text
    base, longer, rarer = hours(
        "interval is @; it would be @ with a stall of .* and @ with a quarter of the failures", text
    )
    assert base == pytest.approx(answer(name).best.interval_h, **THREE_DIGITS)
    stalls = numbers("with a stall of # s instead of # s", text)
    assert stalls == pytest.approx([4 * run.checkpoint.stall_s, run.checkpoint.stall_s], **THREE_DIGITS)
    four = run.override({"checkpoint.stall_s": 4 * run.checkpoint.stall_s})
    assert longer == pytest.approx(plan.best_interval_min(four) / 60, **THREE_DIGITS)
    quarter = run.override({"failures.rate_per_1000_node_days": run.failures.rate / 4})
    assert rarer == pytest.approx(plan.best_interval_min(quarter) / 60, **THREE_DIGITS)
    assert 1.7 < longer / base < 2.2 and 1.8 < rarer / base < 2.2


@pytest.mark.parametrize(("extreme", "missing"), [("no failures", "failures"), ("free checkpoint", "stall of")])
def test_what_is_nothing_is_not_multiplied_by_four(extreme, missing):
    text = INTERVAL.assumptions(answer("llama3-405b", extreme)).text
    told = text.partition("The best interval is ")[2]
    assert told and missing not in told
    assert hours("interval is @", text) == pytest.approx(
        [answer("llama3-405b", extreme).best.interval_h], **THREE_DIGITS
    )


@pytest.mark.parametrize("name", ANY_SIZE)
def test_scale_is_told_from_the_closed_form(name):
    run, told = scenario(name), answer(name)
    sizes = scale.tables.by_size(run)
    finding = SCALE.answer(told, sizes, TARGET)
    reached = [
        (float(n_gpus.replace(",", "")), float(ettr))
        for ettr, n_gpus in re.findall(rf"({NUMBER})% on ({NUMBER})", finding.text)
    ]
    own_size = run.cluster.n_gpus
    others = [size for size in (1e4, 1e5, 1e6) if size != own_size][-2:]
    assert [n_gpus for n_gpus, _ in reached] == sorted([own_size, *others])
    assert numbers("An ETTR of #% on # GPUs, #% on 1,000,000", finding.title) == [
        dict(reached)[own_size],
        own_size,
        dict(reached)[1_000_000],
    ]
    steady = run.override({"job.include_start": False})
    for n_gpus, ettr in reached:
        if n_gpus == own_size:
            assert ettr == pytest.approx(100 * told.budget.ettr, **TENTH)
        else:
            at = steady.override({"cluster.n_gpus": n_gpus})
            exact = budget.exact(at.override({"checkpoint.interval_min": plan.best_interval_min(at)}))
            assert ettr == pytest.approx(100 * exact.ettr, **TENTH)
    assert "has no answer" not in finding.text
    (reach,) = numbers("up to about # GPUs", finding.text)
    per_node = run.cluster.gpus_per_node
    for n_gpus, above in ((0.98 * reach, True), (1.02 * reach, False)):  # told with three digits, between two points
        size = {"cluster.n_gpus": per_node * round(n_gpus / per_node)}
        assert (plan.ettr_at_best(steady.override(size)) > TARGET) == above


CROWDED = {"maintenance": {"per_day": 0.5, "duration_min": 90}}


def test_no_sentence_on_scale_speaks_of_sizes_beyond_the_curve():
    """With so much maintenance the closed form ends below a million GPUs, and the sentences end with it."""
    run = scenario("opt-175b").override({**CROWDED, "checkpoint.interval_min": 30})
    told, sizes, parts = plan.make(run), scale.tables.by_size(run), scale.tables.parts_by_size(run)
    best = sizes[(sizes["formula"] == "exact") & (sizes["interval"] == "best")]
    end, end_of_parts = best["n_gpus"].max(), parts["n_gpus"].max()
    assert 1000 < end < 1e5 and end_of_parts == end
    answered = SCALE.answer(told, sizes, TARGET)
    check_words(answered.title)
    check_words(answered.text)
    (beyond,) = numbers("Beyond # GPUs the closed form has no answer", answered.text)
    assert beyond == pytest.approx(end, rel=0.051)  # told with two digits
    for n_gpus in re.findall(rf"% on ({NUMBER})", answered.title + answered.text):
        assert float(n_gpus.replace(",", "")) <= end
    of_parts = SCALE.parts(parts)
    check_words(of_parts.text)
    for n_gpus in re.findall(rf"({NUMBER}) GPUs", of_parts.title + of_parts.text):
        assert float(n_gpus.replace(",", "")) == pytest.approx(end, **THREE_DIGITS)
    at_end = parts[parts["n_gpus"] == end].set_index("part")["share"].drop("productive").sort_values()
    assert numbers(f"{at_end.index[-1]} takes #% of the wall clock and {at_end.index[-2]} #%", of_parts.text) == (
        pytest.approx([100 * at_end.iloc[-1], 100 * at_end.iloc[-2]], **TENTH)
    )


@pytest.mark.parametrize("name", PRESETS)
def test_the_parts_at_scale_are_those_of_the_curve(name):
    parts = scale.tables.parts_by_size(scenario(name))
    finding = SCALE.parts(parts)
    sizes = parts["n_gpus"].unique()

    def lost_near(size: float):
        nearest = sizes[np.abs(np.log(sizes / size)).argmin()]
        return parts[parts["n_gpus"] == nearest].set_index("part")["share"].drop("productive").sort_values()

    there, beyond = lost_near(1e5), lost_near(1e6)
    assert finding.title == f"At 100,000 GPUs {there.index[-1]} is the largest loss"
    assert numbers(f"{there.index[-1]} takes #% of the wall clock and {there.index[-2]} #%", finding.text) == (
        pytest.approx([100 * there.iloc[-1], 100 * there.iloc[-2]], **TENTH)
    )
    shares = [100 * lost.reindex(["detection", "queue", "restart"]).sum() / lost.sum() for lost in (there, beyond)]
    assert numbers("restart are #% of the losses there, and #% at 1,000,000 GPUs", finding.text) == (
        pytest.approx(shares, abs=0.501)  # told in whole percent
    )


@pytest.mark.parametrize("name", PRESETS)
def test_the_simple_formulas_end_where_it_is_said(name):
    run = scenario(name).override({"job.include_start": False})
    text = SCALE.curve(scenario(name)).text
    unmodelled = run.checkpoint.persist_s > 0 or run.maintenance_rate_per_h > 0
    assert ("RSC formula" in text) != unmodelled
    for formula, words in (("first_order", "first-order form"), ("rsc", "RSC formula"))[: 1 if unmodelled else 2]:
        near, end = numbers(
            f"{words} is within a point of the exact one up to # GPUs and has no answer beyond # GPUs", text
        )
        found = budget.validity(run, formula)
        assert near == pytest.approx(found.one_point_n_gpus, **THREE_DIGITS)
        assert end == pytest.approx(found.max_n_gpus, **THREE_DIGITS)


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_required_is_told_with_its_own_value(name):
    needs = plan.requirements(grown(name), TARGET)
    text = NEEDS.requirements(needs, N_GPUS).text
    rate = needs[0]
    at_most, given = numbers("failure rate at most # failures per 1000 node-days, instead of #", text)
    assert 0.99 * rate.value <= at_most <= rate.value and given == pytest.approx(rate.given, **THREE_DIGITS)
    failed = [need.best_ettr for need in needs if need.value is None]
    if failed:
        assert numbers(r"that leaves (?:at best )?#%", text) == pytest.approx([100 * max(failed)], **TENTH)
    assert text.count(" at most ") == sum(need.value is not None for need in needs)


@pytest.mark.parametrize("name", PRESETS)
def test_the_scenario_s_own_failures_are_told(name):
    run, told = scenario(name), answer(name)
    text = FAILED.of_scenario(run, told).text
    assert numbers("has # failures per 1000", text) == pytest.approx([run.failures.rate], **THREE_DIGITS)
    assert hours("that is one every @", text) == pytest.approx([told.job_mttf_h], **THREE_DIGITS)
    assert numbers("and # a day of wall clock", text) == pytest.approx([told.failures_per_day], **TWO_DECIMALS)
    if told.job_mttf_95_h:
        assert hours(r"95% interval @ to @\)", text) == pytest.approx(list(told.job_mttf_95_h), **THREE_DIGITS)
    else:
        assert "interval" not in text


@pytest.mark.parametrize("name", PRESETS)
def test_origins_sum_to_the_values_in_force(name):
    text = SOURCES.origins(scenario(name)).text
    total, *parts = [
        int(number) for number in re.findall(r"\b\d+(?= values| (?:is|are) read| derived| assumed| given)", text)
    ]
    assert total == sum(parts) == len(scenario(name).to_frame())
    assert parts[2] == len(plan.assumed_fields(scenario(name)))


def test_llama3_in_its_own_words():
    """Dubey et al. (2024), Table 5, as the README and the first chapter tell it."""
    answered = PUBLISHED["what_failed.words.answer"]()
    assert answered.title == "One unexpected interruption every 3.09 h"
    assert numbers("interrupted unexpectedly # times", answered.text) == [419]
    assert numbers(
        "#% of the interruptions are put down to the GPU category, #% to Dependency, and #% to all", answered.text
    ) == [64.0, 13.4, 22.7]
    low, high = failures.poisson_interval(419)
    ends = numbers(r"95% interval # to # h\)", answered.text)
    assert ends == pytest.approx([54 * 24 / high, 54 * 24 / low], **THREE_DIGITS)


def test_the_components_are_counted():
    text = PUBLISHED["what_failed.words.components"]().text
    first, of, rare = numbers("first # of # components .* other end # components", text)
    ranked = sorted(counts()["n_events"], reverse=True)
    assert sum(ranked[: int(first)]) > 419 / 2 >= sum(ranked[: int(first) - 1])
    assert of == 18 and rare == sum(count <= 3 for count in ranked)


def test_a_perfect_category_is_a_subtraction():
    text = PUBLISHED["what_failed.words.perfect_category"]().text
    assert hours("grow from @ to @", text) == pytest.approx([54 * 24 / 419, 54 * 24 / 151], **THREE_DIGITS)
    assert numbers(", # times as long", text) == pytest.approx([419 / 151], **THREE_DIGITS)


def test_the_rates_are_compared_by_their_counts():
    text = PUBLISHED["what_failed.words.rates"]().text
    ratio = failures.rate_ratio(419, 2048 * 54, 175, 108_000)
    assert numbers("has # times as many failures .* interval # to #", text) == pytest.approx(
        [ratio.ratio, ratio.low, ratio.high], **THREE_DIGITS
    )


def test_the_audit_adds_up():
    total, documents, agree, disagree = numbers(
        "Of # statements in # documents # agree with .* and # do not",
        PUBLISHED["reading_the_sources.words.audit"]().text,
    )
    (judged,) = numbers("# more cannot be computed", PUBLISHED["reading_the_sources.words.audit"]().text)
    assert total == agree + disagree + judged == len(claims())
    assert documents == claims()["source"].nunique()
    assert disagree == (claims()["verdict"] == "disagrees").sum()


def test_the_odd_row_is_faulty_gpu():
    finding = PUBLISHED["reading_the_sources.words.odd_row"]()
    assert finding.title == "1 of 18 printed shares contradicts its own count"
    assert "Faulty GPU (printed 30.1%, but 148 of 419 is 35.3%)" in finding.text
    assert "sum to 94.9%" in finding.text
    assert (
        PUBLISHED["reading_the_sources.words.readings"]().title
        == "GPU share: 64.0% if the counts are right, 58.7% if not"
    )


def test_the_validation_is_counted():
    results = validation.run()
    text = PUBLISHED["validation.words.validation"]().text
    assert numbers("# of # published results", text) == [(results["verdict"] == "reproduced").sum(), len(results)]
    off = results.loc[results["verdict"] == "not reproduced", "quantity"]
    assert all(quantity in text for quantity in off)


def test_a_target_that_is_reached_already_leaves_room():
    finding = scale.requirement_words.requirements(plan.requirements(scenario("llama3-405b"), 0.9), 16_384)
    assert finding.title == "16,384 GPUs reach 90% as they are"
    assert "reached already" in finding.text
    text = scale.requirement_words.recovery(
        scenario("llama3-405b"), plan.requirements(scenario("llama3-405b"), 0.9), 16_384
    ).text
    (restart,) = hours("restart of at most @ reaches 90%", text)
    run = scenario("llama3-405b").override({"recovery.restart_min": restart * 60})
    assert plan.ettr_at_best(run) == pytest.approx(0.9, abs=1e-3)


def test_a_target_out_of_reach_says_so():
    finding = scale.requirement_words.requirements(plan.requirements(grown("opt-175b"), 0.999), N_GPUS)
    assert "no single change does it" in finding.text or "one change alone" in finding.text
    needs = plan.requirements(grown("opt-175b"), 0.9)
    none = NEEDS.recovery(scenario("opt-175b"), needs, N_GPUS).text
    (left,) = numbers("no restart time reaches 90%: even an instant restart leaves #%", none)
    (restart,) = [need for need in needs if need.field == "recovery.restart_min"]
    assert restart.value is None and left == pytest.approx(100 * restart.best_ettr, **TENTH)


@pytest.mark.parametrize("name", PRESETS)
def test_what_else_reaches_the_target_is_told_where_no_restart_does(name):
    needs = plan.requirements(grown(name), TARGET)
    text = NEEDS.recovery(scenario(name), needs, N_GPUS).text
    able = {need.field for need in needs if need.value is not None}
    if "recovery.restart_min" in able:
        assert "alone" not in text
        return
    for field, words in (
        ("failures.rate_per_1000_node_days", "failure rate"),
        ("checkpoint.stall_s", "stall"),
        ("recovery.detection_min", "detection time"),
        ("recovery.queue_min", "queue time"),
    ):
        assert (words in text.partition(";")[2]) == (field in able), field
    assert ("no field can do it alone" in text) == (not able)


def test_nothing_assumed_is_not_mentioned(plain_run):
    known = {path: {"status": "primary", "source": "dubey2024"} for path, value in plain_run.flat().items()}
    assert assumptions.assumptions(plain_run.override({"evidence": known})) == ""
    told = INTERVAL.assumptions(plan.make(plain_run.override({"evidence": known})))
    check_words(told.text)
    assert math.isfinite(plan.make(plain_run).job_mttf_h)
