"""Charts on where the hours go, by their specification, for several presets and at the extremes."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

from ettr import Scenario, evidence, plan
from ettr.chapters import checkpoint_interval
from ettr.chapters import scale as scale_chapter
from ettr.chapters.common import theme, time_budget
from ettr.core.errors import InputError

RUNS = {
    "llama3-405b": {},
    "rsc-1": {},
    "byterobust": {},
    "h100-100k": {},
    "opt-175b": {"failures.rate_per_1000_node_days": 0},
    "rsc-2": {"cluster.n_gpus": 8},
}


@cache
def run(name: str) -> Scenario:
    return Scenario.load(name).override(RUNS[name])


@cache
def band(name: str) -> plan.Band:
    return plan.flat_band(run(name))


FRAMES = {
    "time_budget": lambda name: plan.make(run(name)).budget_as_given.to_frame(),
    "by_interval": lambda name: checkpoint_interval.tables.by_interval(run(name), 30),
    "parts over interval": lambda name: checkpoint_interval.tables.parts_by_interval(run(name), 30),
    "parts over size": lambda name: scale_chapter.tables.parts_by_size(run(name), 30),
    "interval_rules": lambda name: checkpoint_interval.tables.interval_rules(run(name), 30),
    "by_size": lambda name: scale_chapter.tables.by_size(run(name), 30),
    "recovery_map": lambda name: scale_chapter.tables.recovery_map(run(name), 12),
}
NEEDED = {
    "time_budget": ["part", "hours", "share"],
    "by_interval": ["interval_min", "formula", "ettr"],
    "parts over interval": ["interval_min", "part", "share"],
    "parts over size": ["n_gpus", "part", "share"],
    "interval_rules": ["n_gpus", "rule", "interval_min", "loss_points"],
    "by_size": ["n_gpus", "interval", "formula", "interval_min", "job_mttf_h", "ettr"],
    "recovery_map": ["n_gpus", "n_gpus_end", "restart_min", "restart_min_end", "ettr"],
}


def draw(kind: str, frame: pd.DataFrame, name: str = "llama3-405b", target: float = 0.9):
    texts = "A title", run(name).title
    if kind == "time_budget":
        return time_budget.time_budget(frame, *texts)
    if kind == "by_interval":
        return checkpoint_interval.charts.curve(frame, band(name), run(name).checkpoint.interval_min, *texts)
    if kind.startswith("parts"):
        return time_budget.parts(frame, "interval_min" if kind.endswith("interval") else "n_gpus", *texts)
    if kind == "interval_rules":
        return checkpoint_interval.charts.rules(frame, *texts)
    if kind == "by_size":
        return scale_chapter.charts.by_size(frame, evidence.published_ettr(), target, *texts)
    regions = scale_chapter.tables.recovery_regions(run(name), scale_chapter.charts.levels(target), 30)
    return scale_chapter.charts.recovery_map(regions, frame, target, *texts)


@cache
def spec(kind: str, name: str = "llama3-405b") -> dict:
    return draw(kind, FRAMES[kind](name), name).to_dict()


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", RUNS)
def test_a_chart_reads_only_fields_that_its_data_has(kind, name, check_chart):
    chart = spec(kind, name)
    check_chart(chart)
    assert run(name).title in chart["title"]["subtitle"]


@pytest.mark.parametrize(("kind", "column"), [(kind, column) for kind in NEEDED for column in NEEDED[kind]])
def test_a_missing_column_is_an_error(kind, column):
    frame = pd.DataFrame({name: [1.0] for name in NEEDED[kind] if name != column})
    with pytest.raises(InputError, match=f"the chart needs column {column}; there are: "):
        draw(kind, frame)


def test_published_figures_need_their_columns():
    with pytest.raises(InputError, match="the chart needs column bound"):
        scale_chapter.charts.by_size(
            FRAMES["by_size"]("rsc-1"), evidence.published_ettr().drop(columns="bound"), 0.9, "a"
        )


def test_the_budget_has_bars_from_zero_in_the_colours_of_the_parts(encoding_of, chart_values):
    chart = spec("time_budget")
    bars = encoding_of(chart, "bar")
    assert bars["x"]["scale"]["zero"] is True
    scale = bars["color"]["scale"]
    assert all(theme.PART_COLOURS[part] == colour for part, colour in zip(scale["domain"], scale["range"], strict=True))
    drawn = [row["part"] for row in chart_values(chart)]
    assert "productive" not in drawn and "degraded" not in drawn
    assert set(drawn) == set(scale["domain"]) and bars["y"]["sort"] == scale["domain"]
    told = plan.make(run("llama3-405b")).budget_as_given
    assert f"productive {told.ettr:.1%}" in chart["description"]


def test_the_curve_is_on_a_logarithmic_interval_with_its_top_in_view(encoding_of):
    lines = encoding_of(spec("by_interval"), "line")
    assert lines["x"]["scale"]["type"] == "log" and lines["x"]["title"] == "Checkpoint interval [min]"
    low, high = lines["y"]["scale"]["domain"]
    best = FRAMES["by_interval"]("llama3-405b")["ettr"].max()
    assert 0 <= low < best < high <= 1  # the top of the curve is on the page
    # told apart by more than colour
    assert lines["strokeDash"]["field"] == lines["color"]["field"] == "formula"
    scale = lines["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        "exact": theme.MODEL_COLOURS["exact"],
        "first order": theme.MODEL_COLOURS["first_order"],
    }


def test_the_curve_tells_the_band(layer_of):
    chart, told = spec("by_interval"), band("llama3-405b")
    assert f"highest at {told.interval_min:.1f} minutes" in chart["description"]
    assert f"from {told.low_min:.1f} to {told.high_min:.1f} minutes" in chart["description"]
    assert "own interval is 10 minutes" in chart["description"]
    area = layer_of(chart, "rect")
    assert (area["encoding"]["x"]["field"], area["encoding"]["x2"]["field"]) == ("low_min", "high_min")
    assert [(row["low_min"], row["high_min"]) for row in area["rows"]] == [(told.low_min, told.high_min)]
    marks = {row["what"]: row["at"] for row in layer_of(chart, "rule")["rows"]}
    assert marks == {"best": told.interval_min, "scenario": 10.0}


def test_formulas_that_have_no_term_are_not_in_the_legend(encoding_of):
    assert encoding_of(spec("by_interval", "rsc-1"), "line")["color"]["scale"]["domain"] == [
        "exact",
        "first order",
        "RSC formula",
    ]


@pytest.mark.parametrize("kind", ["parts over interval", "parts over size"])
def test_lost_parts_are_stacked_in_one_order_and_their_colours(kind, encoding_of):
    area = encoding_of(spec(kind), "area")
    scale, order = area["color"]["scale"], list(theme.PART_COLOURS)
    assert scale["domain"] == sorted(scale["domain"], key=order.index) and "productive" not in scale["domain"]
    assert scale["range"] == [theme.PART_COLOURS[part] for part in scale["domain"]]
    assert area["y"]["stack"] == "zero" and area["y"].get("scale", {}).get("domain", [0])[0] == 0
    assert area["x"]["scale"]["type"] == "log"


def test_parts_tell_what_is_lost_at_both_ends():
    frame = FRAMES["parts over size"]("llama3-405b")
    lost = 1 - frame[frame["part"] == "productive"].set_index("n_gpus")["share"]
    description = spec("parts over size")["description"]
    assert f"In all {lost.iloc[0]:.0%} are lost at 128" in description
    assert f"{lost.iloc[-1]:.0%} at 1e+06" in description


def test_the_four_rules_are_drawn_and_the_exact_one_is_their_zero(layer_of):
    lines = layer_of(spec("interval_rules"), "line")
    rules = {row["rule"] for row in lines["rows"]}
    assert rules == set(lines["encoding"]["color"]["scale"]["domain"]) and "Exact" not in rules
    assert lines["encoding"]["strokeDash"]["field"] == "rule"


def test_size_has_a_target_line_and_the_reported_figures(layer_of):
    chart = spec("by_size")
    assert [row["ettr"] for row in layer_of(chart, "rule")["rows"]] == [0.9]
    dots = layer_of(chart, "point", "run")
    assert dots["mark"]["color"] == theme.MODEL_COLOURS["published"]
    assert {row["run"] for row in dots["rows"]} == set(evidence.published_ettr()["run"])
    assert "Llama 3 405B more than 90% on 16,384" in chart["description"]


def areas_of(chart: dict) -> list[tuple[dict, list[dict]]]:
    found = [layer for layer in chart["layer"] if layer["mark"]["type"] == "area"]
    return [(layer, chart["datasets"][layer["data"]["name"]]) for layer in found]


@pytest.mark.parametrize("target", [0.5, 0.6, 0.9, 0.95, 0.99])
def test_the_map_lays_higher_classes_on_lower_ones(target):
    chart = draw("recovery_map", FRAMES["recovery_map"]("llama3-405b"), target=target).to_dict()
    areas = areas_of(chart)
    scale_of = areas[0][0]["encoding"]["color"]["scale"]
    drawn = [rows[0]["reach"] for _, rows in areas]
    assert drawn == scale_of["domain"][: len(drawn)] and all(layer["mark"]["opacity"] == 1 for layer, _ in areas)
    assert len(scale_of["range"]) == len(scale_of["domain"]) == len(set(scale_of["range"]))
    assert any(name.startswith(f"{target:.0%} to") for name in scale_of["domain"])
    assert f"At least {target:.0%}" in chart["description"]
    widest = [max(row["n_gpus"] for row in rows) for _, rows in areas]
    assert widest == sorted(widest, reverse=True)


def test_the_map_has_a_class_for_a_run_that_loses_nothing():
    calm = run("llama3-405b").override({"failures.rate_per_1000_node_days": 0, "maintenance": None})
    free = calm.override({"checkpoint.stall_s": 0, "checkpoint.persist_s": 0})
    regions = scale_chapter.tables.recovery_regions(free, scale_chapter.charts.levels(0.9), 10)
    top = areas_of(
        scale_chapter.charts.recovery_map(regions, scale_chapter.tables.recovery_map(free, 6), 0.9, "A title").to_dict()
    )[-1][1]
    assert top[0]["reach"] == "95% to 100%" and {row["high_min"] for row in top} == {30.0}


def test_a_budget_without_losses_is_still_a_chart(check_chart):
    frame = pd.DataFrame({"part": ["productive", "rework"], "hours": [5.0, 0.0], "share": [1.0, 0.0]})
    chart = time_budget.time_budget(frame, "Nothing is lost").to_dict()
    assert chart["description"].endswith("All parts: productive 100.0%.")
