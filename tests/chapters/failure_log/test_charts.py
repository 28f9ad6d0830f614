"""Charts on one failure log, by their specification."""

from __future__ import annotations

import itertools
import re
from functools import cache

import pandas as pd
import pytest

from computed.logs import fit
from ettr import failures
from ettr.plots import theme
from ettr_book.chapters import failure_log

FRAMES = {
    "components": lambda name: (fit(name).components.head(15),),
    "over_time": lambda name: (fit(name).trend.rates, fit(name).rate.per_1000_node_days),
    "nodes": lambda name: (failures.node_counts(fit(name)),),
    "after_repair": lambda name: (failures.since_repair(fit(name)),),
    "forecasts": lambda name: (failures.forecasts_made(fit(name)), 30.0),
}
EMPTY = {
    "2 failures": ("forecasts",),
    "no node names": ("nodes", "after_repair"),
    "0 failures": tuple(FRAMES),
}


def draw(chart: str, name: str, **options):
    return getattr(failure_log.charts, chart)(*FRAMES[chart](name), "A title.", **options)


@cache
def spec(chart: str, name: str) -> dict:
    return draw(chart, name, subtitle="Whose failures").to_dict()


def flat(spec: dict) -> dict:
    """A chart of panels as the chart that each panel is."""
    panel = spec.get("spec")
    return {**spec, **panel, "width": "container"} if panel else spec


def axis_titles(spec: dict) -> dict[str, str]:
    layers = flat(spec).get("layer", [flat(spec)])
    channels = [(name, channel) for layer in layers for name, channel in layer["encoding"].items()]
    return {name: channel["title"] for name, channel in channels if name in "xy" and channel.get("title")}


@pytest.mark.parametrize("chart", FRAMES)
@pytest.mark.parametrize("name", ["rich", *EMPTY, "one node of many", "a day"])
def test_a_chart_is_whole_or_says_why_there_is_none(chart, name, check_chart):
    if chart in EMPTY.get(name, ()):
        drawn = draw(chart, name)
        assert isinstance(drawn, theme.NoChart)
        assert drawn._repr_markdown_() == f"*No chart: {drawn.reason}*"
        assert re.fullmatch(r"[a-z].+\.", drawn.reason)
    else:
        chart_spec = spec(chart, name)
        check_chart(flat(chart_spec))
        assert chart_spec["title"]["text"] == "A title." and chart_spec["title"]["subtitle"] == "Whose failures"
        assert not re.search(r"e[+-]\d|\b1 components|\bnan\b", chart_spec["description"])


def test_components_have_bars_from_zero_in_the_order_of_their_failures(encoding_of, chart_values):
    chart_spec = spec("components", "rich")
    assert encoding_of(chart_spec, "bar")["x"]["scale"]["zero"] is True
    table = fit("rich").components
    assert encoding_of(chart_spec, "bar")["y"]["sort"] == table["group"].tolist()
    assert [row["rate"] for row in chart_values(chart_spec)] == table["rate"].tolist()
    whiskers = encoding_of(chart_spec, "rule")
    assert (whiskers["x"]["field"], whiskers["x2"]["field"]) == ("low", "high")
    first = table.iloc[0]
    assert f"Most failures: {first['group']} {first['n_events']}, " in chart_spec["description"]


def test_the_rate_over_time_has_bars_as_wide_as_their_time(layer_of, encoding_of):
    chart_spec = spec("over_time", "rich")
    rows = layer_of(chart_spec, "bar")["rows"]
    assert rows[0]["start_d"] == 0 and rows[-1]["end_d"] == pytest.approx(200)
    assert all(bar["end_d"] == pytest.approx(next_["start_d"]) for bar, next_ in itertools.pairwise(rows))
    bars = encoding_of(chart_spec, "bar")
    assert (bars["x"]["field"], bars["x2"]["field"], bars["y2"]["field"]) == ("start_d", "end_d", "zero")
    days = sum(row["n_events"] for row in rows)
    assert days == len(fit("rich").start_h)
    (mean,) = layer_of(chart_spec, "rule", "mean")["rows"]
    assert mean["mean"] == pytest.approx(fit("rich").rate.per_1000_node_days)


@pytest.mark.parametrize("name", ["rich", "one node of many", "2 failures"])
def test_nodes_seen_and_expected_are_all_nodes(name):
    chart_spec = spec("nodes", name)
    rows = pd.DataFrame(next(iter(chart_spec["datasets"].values())))
    assert rows.groupby(["log", "kind"])["nodes"].sum().tolist() == pytest.approx([200 if name == "rich" else 300] * 4)
    panel = chart_spec["spec"]["encoding"]
    assert panel["color"]["scale"]["domain"] == panel["xOffset"]["sort"] == ["seen", "equal nodes"]
    assert chart_spec["facet"]["sort"] == ["as logged", "repeats taken out"] and chart_spec["columns"] == 2
    never = rows.query("order == 0 and log == 'as logged' and kind == 'seen'")["nodes"].item()
    assert f"as logged {never:,.0f} of {200 if name == 'rich' else 300} nodes never failed" in chart_spec["description"]


def test_forecasts_have_both_bands_and_what_came(encoding_of, layer_of):
    chart_spec = spec("forecasts", "rich")
    wide, narrow = (layer for layer in chart_spec["layer"] if layer["mark"]["type"] == "area")
    assert (wide["encoding"]["y"]["field"], narrow["encoding"]["y"]["field"]) == ("low", "poisson_low")
    assert (wide["encoding"]["y2"]["field"], narrow["encoding"]["y2"]["field"]) == ("high", "poisson_high")
    rows = layer_of(chart_spec, "point")["rows"]
    assert all((row["low"] <= row["n_events"] <= row["high"]) == (row["came"] == "inside") for row in rows)
    inside = sum(row["came"] == "inside" for row in rows)
    assert f"{len(rows)} forecasts" in chart_spec["description"] and f"{inside} inside" in chart_spec["description"]
    colour = encoding_of(chart_spec, "point")["color"]["scale"]
    assert colour["domain"] == ["inside", "outside"] and len(set(colour["range"])) == 2


def test_a_forecast_of_hours_is_not_told_in_parts_of_a_day():
    frame = FRAMES["forecasts"]("rich")[0]
    chart_spec = failure_log.charts.forecasts(frame, 1 / 6, "A title.").to_dict()
    assert axis_titles(chart_spec)["y"] == "Failures in the next 4 h [count]"
