"""Each page of the book: what it says, draws and names, for the book's own run, for others, and at extremes."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import book_pages as pages
from ettr import Scenario, budget, evidence, plan, simulate
from ettr.core.sentences import plain
from ettr.core.validity import ValidityWarning
from ettr_book import validation
from ettr_book.chapters import checkpoint_interval
from ettr_book.chapters.what_if.tables import ALL as WHAT_IF
from ettr_book.publish.chapters import REFUSALS

PRESET = "llama3-405b"
RUNS = ("", "h100-100k", "opt-175b")
"""Scenarios of whole books; nothing stands for what the notebooks themselves name."""
MADE: dict[str, Any] = {
    "cluster": {"n_gpus": 4096},
    "job": {"productive_h": 1000},
    "failures": {"rate_per_1000_node_days": 5},
    "checkpoint": {"interval_min": 30, "stall_s": 30},
    "recovery": {"detection_min": 3, "queue_min": 2, "restart_min": 6},
}
ODD_TITLE = "A_b *c* | <b>d</b> $x^2$ [l](z) `e` & #1"
EXTREMES: dict[str, dict[str, Any]] = {
    "one GPU": {"cluster": {"n_gpus": 1, "gpus_per_node": 1}},
    "no failures": {"failures": {"rate_per_1000_node_days": 0}},
    "hopeless": {
        "cluster": {"n_gpus": 1_000_000},
        "failures": {"rate_per_1000_node_days": 50},
        "recovery": {"detection_min": 3, "queue_min": 2, "restart_min": 60},
    },
    "no price": {"cost": {"usd_per_gpu_h": 0, "usd_per_kwh": 0}},
    "no spares": {"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}},
    "one mode": {"failures": {"n_events": 419, "node_days": 110592, "modes": [{"name": "all", "n_events": 419}]}},
    "odd title": {"title": ODD_TITLE},
    "an hour on a node": {"cluster": {"n_gpus": 8}, "job": {"productive_h": 1}},
    "a failure a minute": {
        "job": {"productive_h": 10},
        "failures": {"job_mttf_h": 1 / 60, "rate_clock": "exposed"},
        "checkpoint": {"stall_s": 1},
        "recovery": {"detection_min": 0, "restart_min": 0.2},
    },
    "a million GPUs": {"cluster": {"n_gpus": 1_000_000}, "checkpoint": {}, "recovery": {}},
    "an interval longer than the job": {"job": {"productive_h": 1}, "checkpoint": {"interval_min": 600}},
    "nothing takes time": {"checkpoint": {"stall_s": 0}, "recovery": {"detection_min": 0, "restart_min": 0}},
}
MOST_WORDS, MOST_CHARTS = 1400, 6
GUIDES = ("book/your_cluster/failure_log", "book/your_cluster/sweeps")
"""Pages with instructions, which are shorter."""
MOST_WORDS_OF_A_GUIDE = 1000
ASIDE = ("exercise", "solution", "sources", "happened")
"""Beginnings of the ids of cells that the limit of words does not count."""


@pytest.fixture(scope="module")
def file_of(tmp_path_factory) -> Callable[[str], str]:
    """A scenario file of an extreme."""
    folder = tmp_path_factory.mktemp("scenarios")

    def write(extreme: str) -> str:
        path = folder / f"{extreme.replace(' ', '-')}.yml"
        if not path.is_file():
            path.write_text(Scenario.of({"name": "made", "title": "Made", **MADE, **EXTREMES[extreme]}).to_yaml())
        return str(path)

    return write


# ------------------------------------------------------------------ what any page of any run keeps to


@pytest.mark.parametrize("page", pages.NOTEBOOKS)
@pytest.mark.parametrize("scenario", RUNS)
def test_a_page_speaks_and_draws(page, scenario):
    if not scenario or page in pages.OF_A_RUN:
        pages.check(page, scenario)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [name for name in evidence.scenario_names() if name not in RUNS])
@pytest.mark.parametrize("page", pages.OF_A_RUN)
def test_a_page_speaks_of_every_preset(page, scenario):
    pages.check(page, scenario, quickly=True)


NO_ANSWER = {
    "hopeless": (
        "index",
        "what_failed",
        "checkpoint_interval",
        "checkpoint_tiers",
        "what_if",
        "finishing_date",
        "power",
        "one_by_one",
        "portfolio",
        "spares",
        "calculators",
        "catalogue",
    ),
    "a million GPUs": ("one_by_one", "portfolio", "catalogue"),
    "no failures": ("checkpoint_interval", "failure_rates", "scale", "portfolio"),
}
"""Pages that give their answer, or only a reason, for a run that never ends or never fails."""


@pytest.mark.parametrize(
    "extreme", [pytest.param(name, marks=[] if name == "hopeless" else pytest.mark.slow) for name in EXTREMES]
)
@pytest.mark.parametrize("page", pages.OF_A_RUN)
def test_a_page_speaks_at_an_extreme(page, extreme, file_of):
    """Where there is no answer the build keeps the question of the page, and the reason."""
    if page.endswith(NO_ANSWER.get(extreme, ("nothing",))):
        with pytest.raises(REFUSALS, match=r"no progress|practically|has no failures"):
            pages.check(page, file_of(extreme), quickly=True)
    else:
        pages.check(page, file_of(extreme), quickly=True)
        assert not any(ODD_TITLE in finding.text for finding in pages.findings(page, file_of(extreme), quickly=True)), (
            "as Markdown"
        )


# ------------------------------------------------------------------ the form of a chapter


WORD = re.compile(r"\w[\w'.,%-]*")


def words_of(page: str) -> int:
    """Words of a page's own text and sentences, exercises, incident and sources apart."""
    texts = [
        plain(output.value.text)
        for output in pages.outputs(page)
        if not output.cell.startswith(ASIDE) and hasattr(output.value, "text")
    ]
    marked = [
        "".join(cell["source"])
        for cell in pages.cells(page)
        if cell["cell_type"] == "markdown" and not cell["id"].startswith(ASIDE)
    ]
    return len(WORD.findall(" ".join([*texts, *marked])))


@pytest.mark.parametrize("page", GUIDES)
def test_a_guide_is_shorter(page):
    markdown = pages.ROOT / f"{page}.md"
    text = re.sub(r"```.*?```", "", markdown.read_text(encoding="utf-8"), flags=re.DOTALL) if markdown.is_file() else ""
    assert (len(WORD.findall(text)) or words_of(page)) <= MOST_WORDS_OF_A_GUIDE


@pytest.mark.parametrize("page", pages.NOTEBOOKS)
def test_a_page_is_short(page):
    assert words_of(page) <= MOST_WORDS
    assert len(pages.charts(page)) <= MOST_CHARTS


@pytest.mark.parametrize(
    "page", [name for name in pages.NOTEBOOKS if "/reference/" not in name and "index" not in name]
)
def test_a_chapter_answers_first_and_ends_with_limits_and_sources(page):
    ids = [cell["id"] for cell in pages.cells(page)]
    texts = ["".join(cell["source"]) for cell in pages.cells(page) if cell["cell_type"] == "markdown"]
    assert ids[:4] == ["title", "parameters", "setup", "answer"]
    assert texts[0].startswith("# ") and texts[0].splitlines()[0].endswith("?")
    headings = [line for text in texts for line in text.splitlines() if line.startswith("## ")]
    assert headings[-1] == "## Sources" and "## Limits" in headings
    if "what_if" not in page:
        assert {"## The model", "## What to do", "## Exercises"} <= set(headings)


def test_one_parameter_has_one_default():
    defaults: dict[str, set[str]] = {}
    for page in pages.NOTEBOOKS:
        for cell in pages.cells(page):
            if "parameters" in cell["metadata"].get("tags", []):
                for name, value in re.findall(r"^(\w+) = (.*?)  #", "".join(cell["source"]), re.MULTILINE):
                    defaults.setdefault(name, set()).add(value)
    of_the_page = {"scenario", "n_runs", "seed", "sizes", "n_gpus"}  # what a chapter is about, and how hard it works
    assert {name: values for name, values in defaults.items() if len(values) > 1 and name not in of_the_page} == {}


# ------------------------------------------------------------------ named numbers


@pytest.mark.parametrize("page", pages.NOTEBOOKS)
def test_a_name_is_given_to_one_number_of_a_page(page):
    """It becomes an id of the page."""
    names = re.findall(r"\{#(q-[\w-]+)\}", " ".join(finding.text for finding in pages.findings(page)))
    assert len(names) == len(set(names))


@pytest.mark.parametrize("scenario", RUNS)
def test_one_number_has_one_value_on_all_pages(scenario):
    pages_of: dict[str, dict[str, str]] = {}
    places: dict[str, set[str]] = {}
    for page in pages.NOTEBOOKS if not scenario else pages.OF_A_RUN:
        if "how_many" in page and not scenario:
            continue  # of the same run by its tokens
        for name, values in pages.numbers(page, scenario).items():
            places.setdefault(name, set()).add(page)
            for value in values:
                pages_of.setdefault(name, {})[value] = page
    assert {name: values for name, values in pages_of.items() if len(values) > 1} == {}
    assert len(pages_of) >= 20
    assert {name for name in REPEATED if len(places[name]) < 2} == set()


REPEATED = ("ettr", "best-ettr", "mttf")
"""Numbers that several pages say."""
CHARTED: dict[str, dict[str, Callable[[Scenario], Any]]] = {
    "best-ettr": {
        "scale": lambda run: WHAT_IF["scale"](run)["here"]["ettr"].iloc[0],
        "interval": lambda run: WHAT_IF["checkpoint_interval"](run)["lines"]["ettr"].max(),
        "parts": lambda run: productive(checkpoint_interval.parts_by_interval(run)).max(),
    },
    "best-interval": {"mark": lambda run: WHAT_IF["checkpoint_interval"](run)["marks"]["interval_min"].iloc[0] / 60},
    "flat": {"band": lambda run: WHAT_IF["checkpoint_interval"](run)["band"].iloc[0] / 60},
    "done-after": {"point": lambda run: 24 * WHAT_IF["finishing_date"](run)["points"]["days"].iloc[0]},
    "done-by-90": {"point": lambda run: 24 * WHAT_IF["finishing_date"](run)["points"]["days"].iloc[1]},
    "missing-without": {"curve": lambda run: 1 - WHAT_IF["spares"](run)["lines"]["chance"].iloc[0]},
    "rate": {"count": lambda run: WHAT_IF["failure_rates"](run)["yours"]["rate"].iloc[0]},
}
"""Numbers that a chart shows as well; the script of the pages begins with those of the charts with inputs."""


TWO_DIGITS = 0.025
"""By how much rounding to two digits may move a number that does not begin with a one."""


def productive(parts: pd.DataFrame) -> pd.Series:
    return parts.loc[parts["part"] == "productive", "share"]


@pytest.mark.parametrize("name", CHARTED)
def test_a_chart_begins_with_the_number_that_its_page_says(name):
    said = {text for page in pages.NOTEBOOKS for text in pages.numbers(page).get(name, ())}
    (text,) = said
    for chart, value in CHARTED[name].items():
        expected = np.atleast_1d(np.asarray(value(Scenario.load(PRESET)), dtype=float)).tolist()
        assert [read(part) for part in spans(text)] == pytest.approx(expected, rel=TWO_DIGITS), chart


def spans(text: str) -> list[str]:
    """A number with its unit, or both ends of a span with theirs."""
    first, to, last = text.partition(" to ")
    if to:
        return [first, last]
    low, dash, high = text.partition("-")
    return [f"{low} {high.partition(' ')[2]}", high] if dash and low else [text]


def test_a_validated_number_is_the_one_that_its_chapter_says():
    table = evidence.table("validation").query("result_id == 'llama3-diurnal'")
    (text,) = pages.numbers("book/heat_and_power/thermal")["hot-afternoon"]
    assert read(text) == pytest.approx(validation.run(table)["computed"].iloc[0], abs=0.0005)


UNITS = {
    "%": 0.01,
    "min": 1 / 60,
    "s": 1 / 3600,
    "million USD": 1e6,
    "points": 0.01,
    "MW": 1.0,
    "kW": 1e-3,
    "days": 24.0,
}
"""Of named numbers; every other unit counts as 1."""


def read(text: str) -> float:
    """A number of a page as hours, shares, USD, megawatts or a plain number."""
    digits, unit = re.fullmatch(r"([\d.,]+) ?(.*)", text).groups()
    return float(digits.replace(",", "")) * UNITS.get(unit, 1.0)


def best(run: Scenario) -> Any:
    """The largest ETTR over a fine grid of intervals, in the exact form."""
    return float(np.nanmax(ettr_of(run, np.geomspace(0.2, 2000, 5001))))


def ettr_of(run: Scenario, minutes: np.ndarray) -> np.ndarray:
    """At each interval, where the exact form holds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        return np.asarray(budget.exact(run, {"checkpoint.interval_min": minutes}).ettr, dtype=float)


def best_interval_h(run: Scenario) -> float:
    """The same of the steady state, and where it is."""
    steady = run.override({"job.include_start": False, "maintenance": None})
    hours = np.geomspace(1 / 600, 40, 20_001)
    ettr = ettr_of(steady, 60 * hours)
    return float(hours[int(np.nan_to_num(ettr).argmax())])


def largest(run: Scenario) -> float:
    """The largest size with an ETTR of 0.9, by halving."""
    low, high = 8.0, 2e6
    for _ in range(25):
        middle = math.sqrt(low * high)
        low, high = (
            (middle, high) if best(run.override({"cluster.n_gpus": 8 * round(middle / 8)})) > 0.9 else (low, middle)
        )
    return low


def counts() -> int:
    return int(evidence.table("llama3_interruptions")["n_events"].sum())


def lost_over_modelled() -> float:
    """From the ETTRs that diaries imply and those of the presets."""
    realised = evidence.table("validation").query("result_id.str.endswith('-realised')")
    rows = validation.run(realised).set_index("result_id")
    lost = [(1 - rows.loc[f"{name}-realised", "published"], name) for name in ("glm", "bloom")]
    hours = {"glm": 1185.7, "bloom": 2592.0}  # of wall clock in the diaries
    modelled = sum((1 - rows.loc[f"{name}-realised", "computed"]) * hours[name] for name in hours)
    return float(sum(share * hours[name] for share, name in lost) / modelled)


NAMED: dict[str, tuple[str, Callable[[Scenario], float], float]] = {
    "ettr": ("book/index", lambda run: float(simulate(run, 400, seed=5).budget.ettr), 0.01),
    "mttf": ("book/index", lambda run: float(simulate(run, 400, seed=5).budget.total_h / simulated(run)), 0.04),
    "best-ettr": ("book/index", best, 0.006),
    "best-interval": ("book/ettr/checkpoint_interval", best_interval_h, 0.03),
    "done-after": ("book/ettr/finishing_date", lambda run: done_by(run, 0.5), 0.01),
    "done-by-90": ("book/ettr/finishing_date", lambda run: done_by(run, 0.9), 0.02),
    "reach": ("book/ettr/scale", largest, 0.03),
    "mtbf-larger": ("book/ettr/scale", lambda run: mtbf_at(run, 100_000), 0.04),
    "lost-usd-year": ("book/heat_and_power/power", lambda run: 12 * plan.make(run).losses.total.usd_per_month, 0.03),
    "n-stops": ("book/failures/what_failed", lambda _: counts(), 0.0),
    "stop-every": ("book/failures/what_failed", lambda _: 54 * 24 / counts(), 0.02),
    "unexplained": ("book/ettr/two_diaries", lambda _: lost_over_modelled(), 0.03),
}
"""By name: the page that says a number first, the same by another road, and how much rounding and chance may take."""


def at_best(run: Scenario) -> Scenario:
    return run.override({"checkpoint.interval_min": 60 * best_interval_h(run)})


def done_by(run: Scenario, probability: float) -> float:
    """When so many runs at the best interval are done, each at one of the rates that its count leaves open. [h]"""
    posterior, best_run = run.failures.posterior, at_best(run)
    if posterior is None:
        return float(np.quantile(simulate(best_run, 400, seed=5).total_h, probability))
    rates = 1000 * stats.gamma.ppf((np.arange(8) + 0.5) / 8, posterior.shape, scale=1 / posterior.node_days)
    runs = [simulate(best_run.override({"failures.rate_per_1000_node_days": rate}), 60, seed=5) for rate in rates]
    return float(np.quantile(np.concatenate([each.total_h for each in runs]), probability))


def mtbf_at(run: Scenario, n_gpus: int) -> float:
    """Wall clock over failures of runs on so many GPUs. [h]"""
    hours = run.override({"job.productive_h": 200, "job.tokens": None}) if run.job.tokens else run
    grown = at_best(hours.override({"cluster.n_gpus": n_gpus, "job.productive_h": 200}))
    budget_of_runs = simulate(grown, 100, seed=5).budget
    return float(budget_of_runs.total_h / budget_of_runs.n_failures)


def simulated(run: Scenario) -> float:
    return float(simulate(run, 400, seed=5).budget.n_failures)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("scenario", RUNS)
def test_a_named_number_is_that_of_another_road(name, scenario):
    page, again, off = NAMED[name]
    (text,) = pages.numbers(page, scenario)[name]
    assert read(text) == pytest.approx(again(Scenario.load(scenario or PRESET)), rel=off)
