"""Charts on failures, by their specification."""

from __future__ import annotations

from functools import cache

import pytest

from computed.chapters import claims, interruptions
from ettr import evidence, failures
from ettr.plots import theme
from ettr_book.chapters import sources, what_failed

FRAMES = {
    "interruptions": interruptions,
    "without_category": lambda: failures.without_each(interruptions(), 54 * 24.0),
    "shares": sources.tables.interruption_shares,
    "verdicts": claims,
    "readings": sources.tables.readings,
}


def draw(kind: str, frame):
    charts = what_failed if hasattr(what_failed, kind) else sources.charts
    return getattr(charts, kind)(frame, "A title.", "Whose counts")


@cache
def spec(kind: str) -> dict:
    return draw(kind, FRAMES[kind]()).to_dict()


@pytest.mark.parametrize("kind", FRAMES)
def test_a_chart_reads_only_fields_that_its_data_has(kind, check_chart):
    check_chart(spec(kind), "Whose counts")


def test_interruptions_have_bars_from_zero_and_exact_intervals(encoding_of):
    chart = spec("interruptions")
    bars = encoding_of(chart, "bar")
    assert bars["x"]["scale"]["zero"] is True
    assert bars["color"]["scale"] == {
        "domain": list(theme.CATEGORY_COLOURS),
        "range": list(theme.CATEGORY_COLOURS.values()),
    }
    whiskers = encoding_of(chart, "rule")
    assert (whiskers["x"]["field"], whiskers["x2"]["field"]) == ("low", "high")
    assert chart["description"].endswith("Longest: Faulty GPU 148, GPU HBM3 Memory 72, Software Bug 54.")
    assert "18 components" in chart["description"]
    assert set(interruptions()["category"]) <= set(theme.CATEGORY_COLOURS)


def test_without_a_category_the_colours_stay_those_of_the_categories(encoding_of):
    chart = spec("without_category")
    scale = encoding_of(chart, "bar")["color"]["scale"]
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert {name: colours[name] for name in theme.CATEGORY_COLOURS} == theme.CATEGORY_COLOURS
    assert (
        encoding_of(chart, "bar")["y"]["sort"][0] == "nothing" and encoding_of(chart, "bar")["y"]["sort"][-1] == "GPU"
    )
    assert "without nothing 3.1 h" in chart["description"] and "without GPU 8.6 h" in chart["description"]


def test_shares_name_the_row_that_is_odd(chart_values):
    chart = spec("shares")
    assert chart["description"].endswith("they part visibly for Faulty GPU.")
    values = chart_values(chart)
    assert len(values) == 2 * 18
    faulty = {row["kind"]: row["share_pct"] for row in values if row["component"] == "Faulty GPU"}
    assert faulty["printed"] == 30.1 and faulty["implied by the count"] == pytest.approx(35.32, abs=0.005)


def test_every_verdict_has_a_colour(encoding_of, chart_values):
    chart = spec("verdicts")
    scale = encoding_of(chart, "square")["color"]["scale"]
    assert set(scale["domain"]) == set(claims()["verdict"])
    assert len(set(scale["range"])) == len(scale["domain"])
    values = chart_values(chart)
    assert len(values) == len(claims())
    # the squares of a document stand side by side, none upon another
    assert len({(row["document"], row["place"]) for row in values}) == len(values)


def test_readings_are_both_there(chart_values, encoding_of):
    chart = spec("readings")
    shares = {(row["group"], row["reading"]): round(row["share_pct"], 1) for row in chart_values(chart)}
    assert shares["GPU", "Count is right"] == 64.0 and shares["GPU", "Printed share is right"] == 58.7
    assert encoding_of(chart, "bar")["x"]["scale"]["domain"] == [0, 100]


def test_causes_elsewhere_stand_by_cluster_from_the_largest():
    shown = what_failed.elsewhere(evidence.table("failure_causes")).frame
    assert shown.iloc[0][["Cluster", "Cause", "Share [%]"]].tolist() == ["Crusoe, H200", "GPU host replacement", 41.5]
    for _, rows in shown.groupby("Cluster"):
        assert rows["Share [%]"].is_monotonic_decreasing
