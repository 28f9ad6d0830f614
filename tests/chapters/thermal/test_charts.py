"""Charts on heat, by their specification."""

from __future__ import annotations

import pytest

from computed.thermal import run, table_of
from ettr.chapters import thermal
from ettr.core.errors import InputError

TABLES = {
    "afternoon": [thermal.tables.afternoon, thermal.tables.limits_of],
    "pace": [thermal.tables.pace],
    "swing_for_loss": [lambda _: thermal.tables.swing_for_loss(), thermal.tables.swing_here],
    "pace_by_size": [thermal.tables.pace_by_size],
    "by_climate": [thermal.tables.by_climate],
    "titan": [lambda _: thermal.failure_tables.titan_cages()],
    "by_warming": [thermal.failure_tables.by_warming],
    "step_response": [thermal.failure_tables.stop_and_restart],
}


def frames(kind: str, *which: str) -> list:
    return [table_of(function, *which) for function in TABLES[kind]]


@pytest.mark.parametrize(
    "which", [(), ("llama3-405b", "liquid"), pytest.param(("bloom-176b", "hot"), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("kind", TABLES)
def test_a_chart_holds_what_a_page_needs(check_chart, kind, which):
    check_chart(getattr(thermal.charts, kind)(*frames(kind, *which), "A title", run(*which).title).to_dict())


@pytest.mark.parametrize("kind", TABLES)
def test_a_missing_column_is_named(kind):
    first, *others = frames(kind)
    column = first.columns[0]
    with pytest.raises(InputError, match=f"the chart needs column.* {column}"):
        getattr(thermal.charts, kind)(first.drop(columns=column), *others, "A title")


def test_limits_stand_at_the_temperatures_of_the_part(layer_of):
    spec = thermal.charts.afternoon(*frames("afternoon"), "A title").to_dict()
    rows = layer_of(spec, "rule")["rows"]
    assert [row["temperature_c"] for row in rows] == [87, 95]


def test_a_line_of_each_plant_has_a_dash_of_its_own(layer_of):
    spec = thermal.charts.by_climate(*frames("by_climate"), "A title").to_dict()
    dashes = layer_of(spec, "line")["encoding"]["strokeDash"]["scale"]
    assert len(dashes["domain"]) == 4 and len({tuple(one) for one in dashes["range"]}) == 4


def test_bars_of_titan_begin_at_zero_and_carry_their_intervals(layer_of):
    spec = thermal.charts.titan(thermal.failure_tables.titan_cages(), "A title").to_dict()
    assert layer_of(spec, "bar")["encoding"]["x"].get("scale", {}).get("zero", True)
    assert layer_of(spec, "rule")["encoding"]["x2"]["field"] == "high"
