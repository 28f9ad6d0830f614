"""Every sentence that a chapter shows, for every preset and at the extremes: sane words, numbers from the results."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from computed.chapters import (
    ANY_SIZE,
    PRESETS,
    answer,
    changing_rates,
    claims,
    differences,
    interruptions,
    one_interval,
    one_interval_by_factor,
    presets_and_extremes,
    printed,
    published,
    scenario,
    table,
)
from ettr import budget, evidence, failures, plan
from ettr.chapters import (
    checkpoint_interval,
    failure_log,
    failure_rates,
    index,
    scale,
    sources,
    what_failed,
)
from ettr.chapters import validation as validation_chapter
from ettr.core.sentences import Finding
from ettr.plan.details import plan_lines
from sentences_read import NUMBER, TENTH, THREE_DIGITS, TWO_DECIMALS, check_words, hours, numbers

REPOSITORY = Path(__file__).parents[2]
CALL = r"\b(\w+\.(?:\w+_)?words\.\w+)\("
FAILED, SOURCES, RATES = what_failed.words, sources.words, failure_rates.words
INTERVAL, SCALE, NEEDS = checkpoint_interval.words, scale.words, scale.requirement_words
CHANGING, APART = checkpoint_interval.changing_rate_words, checkpoint_interval.disagreement_words
TARGET, N_GPUS, SIZES = 0.9, 100_000, (16_384, 100_000, 1_000_000)


@cache
def projected(*run: str) -> pd.DataFrame:
    return failure_rates.tables.projections(table(failure_rates.tables.rates, *run), [100_000, 1_000_000])


def difference(formula: str, *run: str) -> Finding:
    return APART.difference(scenario(*run), formula, **differences(formula, *run))


@cache
def needs(*run: str) -> list[plan.Required]:
    return plan.requirements(scenario(*run).override({"cluster.n_gpus": N_GPUS}), TARGET)


def ages(*run: str) -> Finding:
    first, by_age = failure_rates.tables.first_failures, failure_rates.tables.by_age
    return RATES.ages(scenario(*run), table(first, *run, 54), table(by_age, *run), 54)


SENTENCES = {
    "index.words.headline": lambda *run: index.words.headline(answer(*run)),
    "index.words.time_budget": lambda *run: index.words.time_budget(answer(*run)),
    "checkpoint_interval.words.answer": lambda *run: INTERVAL.answer(answer(*run)),
    "checkpoint_interval.words.wrong": lambda *run: INTERVAL.wrong(answer(*run)),
    "checkpoint_interval.words.parts": lambda *run: INTERVAL.parts(answer(*run)),
    "checkpoint_interval.words.assumptions": lambda *run: INTERVAL.assumptions(answer(*run)),
    "checkpoint_interval.words.rules": lambda *run: INTERVAL.rules(
        table(checkpoint_interval.tables.interval_rules, *run, 40), scenario(*run).cluster.n_gpus
    ),
    "checkpoint_interval.words.interval_bands": lambda *run: INTERVAL.interval_bands(answer(*run)),
    "checkpoint_interval.disagreement_words.difference of first_order": lambda *run: difference("first_order", *run),
    "checkpoint_interval.disagreement_words.difference of rsc": lambda *run: difference("rsc", *run),
    "checkpoint_interval.changing_rate_words.rates": lambda *run: CHANGING.rates(changing_rates(*run)),
    "checkpoint_interval.changing_rate_words.intervals": lambda *run: CHANGING.intervals(changing_rates(*run)),
    "checkpoint_interval.changing_rate_words.one_interval": lambda *run: CHANGING.one_interval(
        one_interval_by_factor(*run), one_interval(*run)
    ),
    "scale.words.answer": lambda *run: SCALE.answer(answer(*run), table(scale.tables.by_size, *run), TARGET),
    "scale.words.curve": lambda *run: SCALE.curve(scenario(*run)),
    "scale.words.parts": lambda *run: SCALE.parts(table(scale.tables.parts_by_size, *run)),
    "scale.words.sizes_with_bands": lambda *run: SCALE.sizes_with_bands(
        table(scale.tables.size_with_bands, *run), TARGET
    ),
    "scale.words.band_by_size": lambda *run: SCALE.band_by_size(table(scale.tables.band_by_size, *run, 9)),
    "failure_rates.words.answer": lambda *run: RATES.answer(table(failure_rates.tables.rates, *run), projected(*run)),
    "failure_rates.words.side_by_side": lambda *run: RATES.side_by_side(table(failure_rates.tables.rates, *run)),
    "failure_rates.words.ratios": lambda *run: RATES.ratios(
        failure_rates.tables.ratios(table(failure_rates.tables.rates, *run))
    ),
    "failure_rates.words.by_size": lambda *run: RATES.by_size(
        failure_rates.tables.rsc_points(), table(failure_rates.tables.mttf_by_size, *run, 20)
    ),
    "failure_rates.words.projections": lambda *run: RATES.projections(projected(*run)),
    "failure_rates.words.ages": ages,
    "what_failed.words.of_scenario": lambda *run: FAILED.of_scenario(scenario(*run), answer(*run)),
    "sources.words.origins": lambda *run: SOURCES.origins(scenario(*run)),
}
OF_ROUND_SIZES = {
    "scale.requirement_words.requirements": lambda *run: NEEDS.requirements(needs(*run), N_GPUS),
    "scale.requirement_words.recovery": lambda *run: NEEDS.recovery(scenario(*run), needs(*run), N_GPUS),
    "scale.requirement_words.answer": lambda *run: NEEDS.answer(
        table(scale.requirement_tables.required_by_size, *run, TARGET, SIZES), TARGET
    ),
    "scale.requirement_words.frontier": lambda *run: NEEDS.frontier(
        table(scale.requirement_tables.frontiers, *run, TARGET, SIZES, 8), scenario(*run), TARGET
    ),
}
PUBLISHED = {
    "checkpoint_interval.words.published_stall": lambda: INTERVAL.published_stall(published()),
    "checkpoint_interval.disagreement_words.rsc_points": lambda: APART.rsc_points(printed()),
    "scale.requirement_words.published_stalls": lambda: NEEDS.published_stalls(published()),
    "what_failed.words.answer": lambda: FAILED.answer(interruptions(), 54 * 24.0, 16_384),
    "what_failed.words.components": lambda: FAILED.components(interruptions()),
    "what_failed.words.perfect_category": lambda: FAILED.perfect_category(
        failures.without_each(interruptions(), 54 * 24.0)
    ),
    "what_failed.words.rates": lambda: FAILED.rates(failures.rate_intervals(evidence.published_rates())),
    "sources.words.audit": lambda: SOURCES.audit(claims()),
    "sources.words.worst_document": lambda: SOURCES.worst_document(claims()),
    "sources.words.odd_row": lambda: SOURCES.odd_row(sources.tables.interruption_shares()),
    "sources.words.readings": lambda: SOURCES.readings(sources.tables.readings()),
    "validation.words.validation": lambda: validation_chapter.words.validation(published()),
    "failure_log.published_run_words.against_model": lambda: failure_log.published_run_words.against_model(
        failure_log.tables.against_model()
    ),
    **{
        f"failure_log.published_run_words.losses of {name}": lambda name=name: failure_log.published_run_words.losses(
            failure_log.tables.published_run(name)
        )
        for name in ("bloom-176b", "glm-130b")
    },
}


def spelled_out(code: str) -> str:
    """Code without short names for modules, as ``SAY, DRAW = scale.words, scale.charts`` gives them."""
    for names, modules in re.findall(r"^([A-Z_]+(?:, [A-Z_]+)*) = (\w+\.\w+(?:, \w+\.\w+)*)$", code, re.MULTILINE):
        for name, module in zip(names.split(", "), modules.split(", "), strict=True):
            code = re.sub(rf"\b{name}\.", f"{module}.", code)
    return code.replace("_chapter.", ".")


def test_every_sentence_of_the_chapters_is_tested_here():
    called = set()
    for path in (REPOSITORY / "book").rglob("*.ipynb"):
        code = "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")
        called |= set(re.findall(CALL, code))
    assert len(called) > 15
    tested = {name.partition(" ")[0] for name in (*SENTENCES, *OF_ROUND_SIZES, *PUBLISHED)}
    for path in Path(__file__).parent.rglob("test_*.py"):
        tested |= set(re.findall(CALL, spelled_out(path.read_text(encoding="utf-8"))))
    assert called <= tested


@pytest.mark.parametrize(("name", "extreme"), presets_and_extremes())
def test_sentences_are_sane_for_every_preset_and_extreme(name, extreme):
    for sentence, say in (SENTENCES | OF_ROUND_SIZES if name in ANY_SIZE else SENTENCES).items():
        finding = say(name, extreme)
        assert isinstance(finding, Finding), sentence
        check_words(finding.title)
        check_words(finding.text)
        assert finding.text.endswith((".", ".*", ".**")) and not finding.title.endswith("."), sentence
        assert len(finding.title) < 120, sentence
    lines = plan_lines(answer(name, extreme))  # of the terminal
    assert len(lines) == 3
    for line in lines:
        check_words(line)


@pytest.mark.parametrize("sentence", PUBLISHED)
def test_a_sentence_on_the_published_tables_is_sane(sentence):
    finding = PUBLISHED[sentence]()
    check_words(finding.title.replace("...", ""))
    check_words(finding.text)


# --------------------------------------------------------------------------- numbers read back, of one run


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_the_headline_tells_the_plan(name):
    told = answer(name)
    text, given = index.words.headline(told).text, told.budget_as_given
    assert text.startswith(f"**{told.scenario.title}: ")
    # by the wall clock, detection and queue included, as an operator counts
    assert hours("a failure every @;", text) == pytest.approx([given.total_h / given.n_failures], **THREE_DIGITS)
    assert numbers("#% of the wall clock is useful", text) == pytest.approx([100 * given.ettr], **TENTH)
    named = re.findall(rf"(\w+) ({NUMBER})%", text.partition("largest losses are ")[2].partition(". ")[0])
    lost = {part: 100 * share for part, share in index.words.largest_losses(given)}
    assert [part for part, _ in named] == list(lost)
    assert [float(share) for _, share in named] == pytest.approx(list(lost.values()), **TENTH)
    better = name == "rsc-1"  # its own interval lies outside the flat range
    assert ("instead of every" in text) == ("it would be" in text) == better
    if better:
        assert hours("every @ instead of every @ it", text) == pytest.approx(
            [told.best.interval_h, told.scenario.interval_h], **THREE_DIGITS
        )
        assert numbers("it would be #%", text) == pytest.approx([100 * told.budget.ettr], **TENTH)


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_the_time_budget_is_told_as_it_is(name):
    told = answer(name).budget_as_given
    text = index.words.time_budget(answer(name)).text
    lost_h = told.total_h - told.productive_h
    assert hours("Of @ of wall clock @ are lost", text) == pytest.approx([told.total_h, lost_h], **THREE_DIGITS)
    (gpu_h,) = numbers("which is # GPU-hours", text)
    assert gpu_h == pytest.approx(lost_h * scenario(name).cluster.n_gpus, abs=500)  # told in thousands
    named = [(part, float(share)) for part, share in re.findall(rf"(\w+) ({NUMBER})%", text)]
    assert len(named) == 3 and named == sorted(named, key=lambda part: -part[1])
    for part, share in named:
        assert share == pytest.approx(100 * getattr(told, f"{part}_h") / told.total_h, **TENTH)
    (n_failures,) = numbers("meets # failures", text)
    assert n_failures == pytest.approx(told.n_failures, abs=0.5)


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])
def test_a_failure_costs_what_the_steady_state_without_maintenance_says(name):
    """A start and a stop for maintenance restart the job too, but no failure is to blame for them."""
    (each_h,) = hours("failures; each costs @ of rework", index.words.time_budget(answer(name)).text)
    steady = budget.exact(scenario(name).override({"job.include_start": False, "maintenance": None}))
    recovery_h = steady.rework_h + steady.detection_h + steady.queue_h + steady.restart_h
    assert each_h == pytest.approx(recovery_h / steady.n_failures, **THREE_DIGITS)
    told = answer(name).budget_as_given
    all_h = told.rework_h + told.detection_h + told.queue_h + told.restart_h
    assert all_h / told.n_failures > 0.97 * recovery_h / steady.n_failures


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1"])  # with an interval and without
def test_the_scenario_s_own_failures_are_told(name):
    run, told = scenario(name), answer(name)
    text = FAILED.of_scenario(run, told).text
    assert numbers("has # failures per 1000", text) == pytest.approx([run.failure_rate], **THREE_DIGITS)
    assert hours("that is one every @", text) == pytest.approx([told.job_mttf_h], **THREE_DIGITS)
    assert numbers("and # a day of wall clock", text) == pytest.approx([told.failures_per_day], **TWO_DECIMALS)
    assert bool(told.job_mttf_95_h) == ("interval" in text) == (name == "llama3-405b")
    if told.job_mttf_95_h:
        assert hours(r"95% interval @ to @\)", text) == pytest.approx(list(told.job_mttf_95_h), **THREE_DIGITS)


@pytest.mark.parametrize("name", PRESETS)
def test_origins_sum_to_the_values_in_force(name):
    text = SOURCES.origins(scenario(name)).text
    total, *parts = [
        int(number) for number in re.findall(r"\b\d+(?= values| (?:is|are) read| derived| assumed| given)", text)
    ]
    assert total == sum(parts) == len(scenario(name).to_frame())
    assert parts[2] == len(plan.assumed_fields(scenario(name)))


# --------------------------------------------------------------------------- numbers read back, of published tables


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
    ranked = sorted(interruptions()["n_events"], reverse=True)
    assert sum(ranked[: int(first)]) > 419 / 2 >= sum(ranked[: int(first) - 1])
    assert of == 18 and rare == sum(count <= 3 for count in ranked)


def test_a_perfect_category_is_a_subtraction():
    text = PUBLISHED["what_failed.words.perfect_category"]().text
    assert hours("grow from @ to @", text) == pytest.approx([54 * 24 / 419, 54 * 24 / 151], **THREE_DIGITS)
    assert numbers(", # times as long", text) == pytest.approx([419 / 151], **THREE_DIGITS)


def test_the_rates_are_compared_by_their_interruptions():
    text = PUBLISHED["what_failed.words.rates"]().text
    ratio = failures.rate_ratio(419, 2048 * 54, 175, 108_000)
    assert numbers("has # times as many failures .* interval # to #", text) == pytest.approx(
        [ratio.ratio, ratio.low, ratio.high], **THREE_DIGITS
    )


def test_the_audit_adds_up():
    total, documents, agree, disagree = numbers(
        "Of # statements in # documents # agree with .* and # do not",
        PUBLISHED["sources.words.audit"]().text,
    )
    (judged,) = numbers("# more cannot be computed", PUBLISHED["sources.words.audit"]().text)
    assert total == agree + disagree + judged == len(claims())
    assert documents == claims()["source"].nunique()
    assert disagree == (claims()["verdict"] == "disagrees").sum()


def test_the_odd_row_is_faulty_gpu():
    finding = PUBLISHED["sources.words.odd_row"]()
    assert finding.title == "1 of 18 printed shares contradicts its own count"
    assert "Faulty GPU (printed 30.1%, but 148 of 419 is 35.3%)" in finding.text
    assert "sum to 94.9%" in finding.text
    assert PUBLISHED["sources.words.readings"]().title == "GPU share: 64.0% if the counts are right, 58.7% if not"


def test_the_validation_is_counted():
    results = published()
    text = PUBLISHED["validation.words.validation"]().text
    assert numbers("# of # published results", text) == [(results["verdict"] == "reproduced").sum(), len(results)]
    off = results.loc[results["verdict"] == "not reproduced", "quantity"]
    assert all(quantity in text for quantity in off)
