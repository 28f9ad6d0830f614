"""Charts on heat, by their specification."""

from __future__ import annotations

from functools import cache

import pytest

from ettr import Scenario
from ettr.chapters import thermal
from ettr.core.errors import InputError

RUNS = {
    "llama3-405b": {},
    "rsc-1": {"part": "gb200", "cooling": "cold_plate"},
    "bloom-176b": {"mean_c": 35.0, "part": "a100"},
}


@cache
def run(name: str) -> Scenario:
    return thermal.tables.warmed(Scenario.load(name), **RUNS[name])


@cache
def frames(kind: str, name: str) -> tuple:
    of = {
        "afternoon": lambda: (thermal.tables.afternoon(run(name)), thermal.tables.limits_of(run(name))),
        "pace": lambda: (thermal.tables.pace(run(name)),),
        "swing_for_loss": lambda: (thermal.tables.swing_for_loss(), thermal.tables.swing_here(run(name))),
        "pace_by_size": lambda: (thermal.tables.pace_by_size(run(name)),),
        "by_climate": lambda: (thermal.tables.by_climate(run(name)),),
        "titan": lambda: (thermal.failure_tables.titan_cages(),),
        "by_warming": lambda: (thermal.failure_tables.by_warming(run(name)),),
        "step_response": lambda: (thermal.failure_tables.stop_and_restart(run(name), 21),),
    }
    return of[kind]()


KINDS = (
    *("afternoon", "pace", "swing_for_loss", "pace_by_size", "by_climate", "titan", "by_warming", "step_response"),
)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_holds_what_a_page_needs(check_chart, kind, name):
    check_chart(getattr(thermal.charts, kind)(*frames(kind, name), "A title", run(name).title).to_dict())


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_column_is_named(kind):
    first, *others = frames(kind, "llama3-405b")
    column = first.columns[0]
    with pytest.raises(InputError, match=f"the chart needs column.* {column}"):
        getattr(thermal.charts, kind)(first.drop(columns=column), *others, "A title")


def test_limits_stand_at_the_temperatures_of_the_part(layer_of):
    spec = thermal.charts.afternoon(*frames("afternoon", "llama3-405b"), "A title").to_dict()
    rows = layer_of(spec, "rule")["rows"]
    assert [row["temperature_c"] for row in rows] == [87, 95]


def test_a_line_of_each_plant_has_a_dash_of_its_own(layer_of):
    spec = thermal.charts.by_climate(*frames("by_climate", "llama3-405b"), "A title").to_dict()
    dashes = layer_of(spec, "line")["encoding"]["strokeDash"]["scale"]
    assert len(dashes["domain"]) == 4 and len({tuple(one) for one in dashes["range"]}) == 4


def test_bars_of_titan_begin_at_zero_and_carry_their_intervals(layer_of):
    spec = thermal.charts.titan(thermal.failure_tables.titan_cages(), "A title").to_dict()
    assert layer_of(spec, "bar")["encoding"]["x"].get("scale", {}).get("zero", True)
    assert layer_of(spec, "rule")["encoding"]["x2"]["field"] == "high"
