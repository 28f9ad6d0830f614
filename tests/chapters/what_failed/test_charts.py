"""Charts on failures, by their specification."""

from __future__ import annotations

from functools import cache

import pytest

from computed.chapters import claims, interruptions
from ettr import failures
from ettr.plots import theme
from ettr_book.chapters import sources, what_failed

FRAMES = {
    "interruptions": interruptions,
    "without_category": lambda: failures.without_each(interruptions(), 54 * 24.0),
    "shares": sources.tables.interruption_shares,
    "verdicts": claims,
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


def test_shares_name_the_row_that_is_odd(chart_values):
    chart = spec("shares")
    assert chart["description"].endswith("for Faulty GPU.")
    values = chart_values(chart)
    assert len(values) == 2 * 18
    faulty = {row["kind"]: row["share_pct"] for row in values if row["component"] == "Faulty GPU"}
    assert faulty["printed"] == 30.1 and faulty["implied by the count"] == pytest.approx(35.32, abs=0.005)
