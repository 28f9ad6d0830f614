"""Charts and sentences on one failure log."""

from __future__ import annotations

import itertools
import re
from functools import cache

import pandas as pd
import pytest

from computed.logs import fit, fitted
from ettr import plots
from ettr.core.errors import NotModelled
from ettr.plots import theme
from ettr_book.chapters import failure_log

CHARTS = ("failure_rate_over_time", "failures_by_node", "failures_after_repair", "failure_forecasts")
EMPTY = {
    "2 failures": ("failure_forecasts",),
    "no node names": ("failures_by_node", "failures_after_repair"),
    "0 failures": CHARTS,
}


@cache
def spec(chart: str, name: str) -> dict:
    return getattr(plots, chart)(fit(name)).to_dict()


def flat(spec: dict) -> dict:
    """A chart of panels as the chart that each panel is."""
    panel = spec.get("spec")
    return {**spec, **panel, "width": "container"} if panel else spec


@pytest.mark.parametrize("chart", CHARTS)
@pytest.mark.parametrize("name", ["rich", *EMPTY, "one node of many", "a day"])
def test_a_chart_is_whole_or_says_why_there_is_none(chart, name, check_chart):
    if chart in EMPTY.get(name, ()):
        drawn = getattr(plots, chart)(fit(name))
        assert isinstance(drawn, theme.NoChart) and re.fullmatch(r"[a-z].+\.", drawn.reason)
    else:
        check_chart(flat(spec(chart, name)), "my/faults.csv")
        assert not re.search(r"e[+-]\d|\bnan\b", spec(chart, name)["description"])


@pytest.mark.parametrize("chart", CHARTS)
def test_a_chart_takes_another_title_and_subtitle(chart):
    title = getattr(plots, chart)(fit("rich"), title="Mine", subtitle="Whose failures").to_dict()["title"]
    assert title["text"] == "Mine" and title["subtitle"].startswith("Whose failures")


def test_the_rate_over_time_has_bars_as_wide_as_their_time(layer_of):
    chart = spec("failure_rate_over_time", "rich")
    rows = layer_of(chart, "bar")["rows"]
    assert rows[0]["start_d"] == 0 and rows[-1]["end_d"] == pytest.approx(200)
    assert all(bar["end_d"] == pytest.approx(next_["start_d"]) for bar, next_ in itertools.pairwise(rows))
    assert sum(row["n_events"] for row in rows) == len(fit("rich").start_h)
    (mean,) = layer_of(chart, "rule", "mean")["rows"]
    assert mean["mean"] == pytest.approx(fit("rich").rate.per_1000_node_days)


@pytest.mark.parametrize("name", ["rich", "one node of many", "2 failures"])
def test_nodes_observed_and_expected_are_all_nodes(name):
    chart, n_nodes = spec("failures_by_node", name), 200 if name == "rich" else 300
    rows = pd.DataFrame(next(iter(chart["datasets"].values())))
    assert rows.groupby(["log", "kind"])["nodes"].sum().tolist() == pytest.approx([n_nodes] * 4)
    panel = chart["spec"]["encoding"]
    assert panel["color"]["scale"]["domain"] == panel["xOffset"]["sort"]
    assert set(chart["facet"]["sort"]) == set(rows["log"]) and chart["columns"] == 2
    never = rows.query("order == 0 and log == 'all failures' and kind == 'observed'")["nodes"].item()
    assert f"all failures: {never:,.0f} nodes never failed" in chart["description"]


def test_forecasts_have_both_bands_and_actual_numbers(layer_of):
    chart = spec("failure_forecasts", "rich")
    wide, narrow = (layer for layer in chart["layer"] if layer["mark"]["type"] == "area")
    assert (wide["encoding"]["y"]["field"], narrow["encoding"]["y"]["field"]) == ("low", "poisson_low")
    rows = layer_of(chart, "point")["rows"]
    assert all((row["low"] <= row["n_events"] <= row["high"]) == (row["came"] == "inside") for row in rows)
    inside = sum(row["came"] == "inside" for row in rows)
    assert f"{len(rows)} forecasts" in chart["description"] and f"{inside} inside" in chart["description"]


def test_a_forecast_of_hours_has_no_fraction_of_a_day():
    titles = [layer["encoding"]["y"].get("title", "") for layer in spec("failure_forecasts", "a day")["layer"]]
    assert "Failures in the next 4 h [count]" in titles


def test_the_answer_names_the_interval_and_the_assumed_scenario():
    text = failure_log.answer(fitted("rich"), "llama3-405b").text
    assert text.endswith("assuming the checkpoint and recovery times of Llama 3 405B on 16,384 H100.")
    with pytest.raises(NotModelled, match="the log has no failures"):
        failure_log.with_failures(fit("0 failures"))
