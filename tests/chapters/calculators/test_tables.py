"""Maps of signed errors, and the tables beside them."""

from __future__ import annotations

import numpy as np
import pytest

from computed.chapters import some_presets
from ettr import Scenario, budget
from ettr.core.validity import ValidityWarning
from ettr_book import validation
from ettr_book.chapters.calculators import tables
from ettr_book.chapters.common import steady_state
from ettr_book.validation import CALCULATORS
from ettr_book.validation.comparing import answers, steady


def error_at(run: Scenario, name: str, n_gpus: float, interval_min: float) -> str:
    """The class of an error by one run of its own."""
    at = {"cluster.n_gpus": np.array([n_gpus]), "checkpoint.interval_min": np.array([interval_min])}
    exact = np.nan_to_num(steady_state.ettr_at(run, at))  # a run that would never end trains no part of its time
    points = 100 * (float(np.ravel(answers(budget.accepted(run, at))[name])[0]) - float(exact[0]))
    if np.isnan(points):
        return tables.NO_ANSWER
    size = next((i for i, level in enumerate(tables.LEVELS) if abs(points) <= level), 3)
    return tables.CLASSES[3 + int(np.sign(points)) * size]


@pytest.mark.parametrize("name", some_presets("llama3-405b", "rsc-1"))
def test_a_map_has_the_class_of_each_of_its_points(name):
    scenario = budget.simplified(Scenario.load(name)).scenario
    regions, run = tables.regions(scenario, 8), steady(scenario)
    low, high = regions["interval_min"].min(), regions["interval_min_end"].max()
    step = (high / low) ** (1 / 160)
    assert set(regions["calculator"]) == {formula.title for formula in CALCULATORS.values()}
    for calculator in CALCULATORS:
        of = regions[regions["calculator"] == CALCULATORS[calculator].title]
        for row in of.iloc[:: max(1, len(of) // 12)].itertuples():
            middle = np.sqrt(row.n_gpus * row.n_gpus_end)
            for interval in (row.interval_min * step**0.5, row.interval_min_end / step**0.5):
                assert error_at(run, calculator, middle, interval) == row.error


def test_a_map_is_filled_without_overlap():
    regions = tables.regions(Scenario.load("llama3-405b"), 10)
    for _, column in regions.groupby(["calculator", "n_gpus"]):
        assert (column["interval_min_end"].to_numpy()[:-1] == column["interval_min"].to_numpy()[1:]).all()
        assert column["interval_min"].iloc[0] == regions["interval_min"].min()
        assert column["interval_min_end"].iloc[-1] == regions["interval_min_end"].max()
        assert (column["error"].to_numpy()[:-1] != column["error"].to_numpy()[1:]).all()
    assert regions["n_gpus"].nunique() == 10


def test_maps_begin_at_half_a_minute_or_where_the_write_lets_an_interval_begin():
    llama3, free = Scenario.load("llama3-405b"), Scenario.load("rsc-1")
    assert tables.regions(free, 3)["interval_min"].min() == pytest.approx(0.5)
    assert tables.regions(llama3, 3)["interval_min"].min() == pytest.approx(llama3.least_interval_min, rel=1e-6)


def test_the_line_of_best_intervals_is_that_of_the_steady_state():
    line = tables.best_line(Scenario.load("rsc-1"), 5)
    run = steady(Scenario.load("rsc-1"))
    for row in line.iloc[:3].itertuples():
        around = {"checkpoint.interval_min": row.interval_min * np.array([0.9, 1.0, 1.1])}
        ettr = budget.exact(run, {"cluster.n_gpus": np.full(3, row.n_gpus), **around}).ettr
        assert ettr.argmax() == 1


def test_the_tables_of_the_page_have_a_row_a_formula():
    with pytest.warns(ValidityWarning):
        CALCULATORS["young"].ettr(steady(Scenario.load("rsc-1")).in_hours({"cluster.n_gpus": np.array([8, 1e6])}))
    refereed = validation.referee(2000)
    summary = tables.summary(refereed).frame
    assert len(summary) == len(tables.facts().frame) == len(CALCULATORS)
    best = refereed.loc[refereed["within"].idxmax()]
    assert summary["Formula"].iloc[0] == best["title"]
    assert summary["Within a point"].iloc[0] == f"{best['within']:.0%}"


@pytest.mark.parametrize("name", some_presets("llama3-405b", "rsc-1"))
def test_simulated_runs_have_the_exact_ettr(name):
    exact, runs = tables.simulated(tables.comparable(Scenario.load(name)), n_runs=200)
    assert 0 < runs.ettr_error < 0.01
    assert abs(runs.ettr - exact.ettr) < 4 * runs.ettr_error
