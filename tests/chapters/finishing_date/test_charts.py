"""Charts of the chapter on the finishing date, by their specification."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from computed.finishing_date import CASES, agreement, beyond, by_count, forecasts, run
from ettr import Scenario, simulate
from ettr.chapters.common import theme
from ettr.chapters.finishing_date import charts, tables
from ettr.core.errors import InputError
from ettr.notebook import rendering


def days(*which: str) -> pd.DataFrame:
    return tables.days_of_run(simulate(run(*which), 1, timeline=[0]))


def own_count(*which: str) -> int | None:
    return run(*which).failures.n_events


DRAW = {
    "days": lambda *which: charts.days(days(*which), "A title", run(*which).title),
    "agreement": lambda *which: charts.agreement(agreement(*which), "A title", run(*which).title),
    "rate": lambda *which: charts.rate(by_count(*which), own_count(*which), "A title", run(*which).title),
    "forecasts": lambda *which: charts.forecasts(forecasts(), "A title", run(*which).title),
    "beyond": lambda *which: charts.beyond(beyond(*which), "A title", run(*which).title),
}


@pytest.mark.parametrize("which", [("rsc-1",), *(("llama3-405b", case) for case in CASES)], ids=" ".join)
@pytest.mark.parametrize("kind", DRAW)
def test_a_chart_is_whole(kind, which, check_chart):
    spec = DRAW[kind](*which).to_dict()
    check_chart(spec, run(*which).title)
    assert rendering.svg(spec).startswith("<svg")


@pytest.mark.parametrize(
    ("draw", "frame", "columns"),
    [
        (charts.days, days, "day from_h to_h state lasts_min"),
        (
            lambda frame, title: charts.rate(frame, 419, title),
            lambda: by_count("llama3-405b"),
            "case n_events range_days",
        ),
        (charts.forecasts, forecasts, "run came_days low_days middle_days high_days pace_days"),
        (charts.beyond, lambda: beyond("llama3-405b"), "cause setting p5_h p50_h p95_h"),
    ],
)
def test_a_missing_column_is_named(draw, frame, columns):
    for column in columns.split():
        with pytest.raises(InputError, match=f"the chart needs column {column}; there are"):
            draw(frame().drop(columns=column), "A title")


def test_a_strip_a_day_keeps_the_colours_of_the_parts(chart_values):
    frame = days("llama3-405b")
    spec = charts.days(frame, "A title").to_dict()
    scale = spec["encoding"]["color"]["scale"]
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert colours["training"] == theme.PART_COLOURS["productive"]
    assert all(colours[part] == theme.PART_COLOURS[part] for part in colours if part != "training")
    rows = chart_values(spec)
    assert len(rows) == len(frame) < 3000
    assert spec["height"] == 18 * len({row["day"] for row in rows}) + 24


def test_a_dense_run_stays_small_enough_for_a_page():
    rows = tables.days_of_run(simulate(Scenario.load("h100-100k"), 1, timeline=[0]))
    assert len(json.dumps(charts.days(rows, "A title").to_dict())) < 300_000


def test_the_exact_distribution_lies_over_the_histogram(layer_of, layers_of):
    found = agreement("llama3-405b")
    spec = charts.agreement(found, "A title").to_dict()
    bars, line = layer_of(spec, "bar"), layer_of(spec, "line")
    assert sum(row["of_runs"] for row in bars["rows"]) == pytest.approx(found.bins["of_runs"].sum(), rel=1e-4)
    assert max(row["of_runs"] for row in line["rows"]) == pytest.approx(found.bins["exactly"].max(), rel=0.03)
    rules = [layer["rows"][0]["bin_day"] for layer in layers_of(spec, "rule")]
    assert rules == pytest.approx([hours / 24 for hours in found.ends_h])


def test_the_scenario_s_own_count_is_marked_where_there_is_one(layers_of):
    marked = layers_of(DRAW["rate"]("llama3-405b").to_dict(), "rule")
    assert [layer["rows"][0]["n_events"] for layer in marked] == [419]
    assert layers_of(DRAW["rate"]("rsc-1").to_dict(), "rule") == []


def test_a_forecast_has_a_range_and_what_came(layer_of):
    spec = DRAW["forecasts"]().to_dict()
    assert len(layer_of(spec, "bar")["rows"]) == 2
    marks = pd.DataFrame(layer_of(spec, "point")["rows"])
    assert (marks.loc[marks["who"] == "predicted", "off_days"] < 0).all()
    assert marks.groupby("run")["who"].nunique().tolist() == [2, 2]
    without = forecasts().assign(low_days=float("nan"), middle_days=float("nan"), high_days=float("nan"))
    marks = pd.DataFrame(layer_of(charts.forecasts(without, "A title").to_dict(), "point")["rows"])
    assert set(marks["who"]) == {"at the pace so far"}


def test_the_exact_form_is_the_line_and_the_first_row(layer_of):
    spec = DRAW["beyond"]("llama3-405b").to_dict()
    rows = layer_of(spec, "bar")["rows"]
    assert [row["who"] for row in rows] == ["exact", *["simulated"] * 4]
    assert layer_of(spec, "rule")["rows"][0]["day_50"] == pytest.approx(rows[0]["day_50"], rel=1e-6)
