"""Charts on the interval, formulas, bands and changing rates, by their specification."""

from __future__ import annotations

from functools import cache

import pytest

from computed.chapters import (
    AS_IT_IS,
    ONE,
    USUAL,
    answer,
    changing_rates,
    differences,
    one_interval_by_factor,
    presets_and_extremes,
    printed,
    scenario,
    table,
)
from ettr.chapters import checkpoint_interval
from ettr.chapters.common import theme, time_budget

CHARTS, TABLES = checkpoint_interval.charts, checkpoint_interval.tables
APART, CHANGING = checkpoint_interval.disagreement_charts, checkpoint_interval.changing_rate_charts
FRAMES = {
    "curve": lambda *run: [table(TABLES.by_interval, *run, 30)],
    "parts": lambda *run: [table(TABLES.parts_by_interval, *run, 30)],
    "rules": lambda *run: [table(TABLES.interval_rules, *run, 40)],
    "interval_with_bands": lambda *run: [table(TABLES.interval_with_bands, *run, 9)],
    "first order": lambda *run: [differences("first_order", *run)[name] for name in ("regions", "cells", "best")],
    "rsc": lambda *run: [differences("rsc", *run)[name] for name in ("regions", "cells", "best")],
    "rsc_beside_exact": lambda *run: [printed()],
    "rates": lambda *run: [changing_rates(*run)],
    "intervals": lambda *run: [changing_rates(*run)],
    "one_interval": lambda *run: [one_interval_by_factor(*run)],
}
NEEDED = {
    "curve": ["interval_min formula ettr"],
    "parts": ["interval_min part share"],
    "rules": ["n_gpus rule interval_min loss_points"],
    "interval_with_bands": ["interval_min ettr low_50 high_50 low_95 high_95"],
    "first order": ["layer within n_gpus low_min high_min"],
    "rsc": ["", "exact", "interval_min"],
    "rsc_beside_exact": ["quantity published relation rsc exact max_n_gpus"],
    "rates": ["case exposed_d per_day interval_min"],
    "intervals": ["case exposed_d per_day interval_min"],
    "one_interval": ["factor kept interval_min ettr following loss_points"],
}


def draw(kind: str, frames: list, *run: str):
    title, band = scenario(*run).title, answer(*run).band
    if kind == "curve":
        return CHARTS.curve(*frames, band, scenario(*run).checkpoint.interval_min, "A title", title)
    if kind == "parts":
        return time_budget.parts(*frames, "interval_min", "A title", title)
    if kind == "interval_with_bands":
        return CHARTS.interval_with_bands(*frames, band, "A title", title)
    if kind in ("first order", "rsc"):
        return APART.difference(*frames, kind, "A title", title)
    room = {"rules": CHARTS, "rsc_beside_exact": APART}.get(kind, CHANGING)
    return getattr(room, kind)(*frames, "A title", title)


@cache
def spec(kind: str, name: str = ONE, extreme: str = AS_IT_IS) -> dict:
    return draw(kind, FRAMES[kind](name, extreme), name, extreme).to_dict()


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(("name", "extreme"), presets_and_extremes(["rsc-1"], [AS_IT_IS, "no failures", "one node"]))
def test_a_chart_holds_what_a_page_needs_and_no_layer_is_blank(kind, name, extreme, check_chart, layers_of):
    """Where nothing fails there is still a line to see."""
    check_chart(spec(kind, name, extreme), scenario(name).title)
    layers = layers_of(spec(kind, name, extreme))
    assert {"line", "point", "area"} & {layer["mark"]["type"] for layer in layers}
    assert all(layer["rows"] for layer in layers)


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_an_error(kind, check_columns):
    check_columns(lambda *frames: draw(kind, frames), FRAMES[kind](*USUAL), *NEEDED[kind])


def test_the_curve_is_on_a_logarithmic_interval_with_its_top_in_view(encoding_of):
    lines = encoding_of(spec("curve"), "line")
    assert lines["x"]["scale"]["type"] == "log" and lines["x"]["title"] == "Checkpoint interval [min]"
    low, high = lines["y"]["scale"]["domain"]
    best = FRAMES["curve"](*USUAL)[0]["ettr"].max()
    assert 0 <= low < best < high <= 1  # the top of the curve is on the page
    # told apart by more than colour
    assert lines["strokeDash"]["field"] == lines["color"]["field"] == "formula"
    scale = lines["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {
        "exact": theme.MODEL_COLOURS["exact"],
        "first order": theme.MODEL_COLOURS["first_order"],
    }


def test_the_curve_tells_the_band(layer_of):
    chart, told = spec("curve"), answer().band
    assert f"highest at {told.interval_min:.1f} minutes" in chart["description"]
    assert f"from {told.low_min:.1f} to {told.high_min:.1f} minutes" in chart["description"]
    assert "own interval is 10 minutes" in chart["description"]
    area = layer_of(chart, "rect")
    assert (area["encoding"]["x"]["field"], area["encoding"]["x2"]["field"]) == ("low_min", "high_min")
    assert [(row["low_min"], row["high_min"]) for row in area["rows"]] == [(told.low_min, told.high_min)]
    marks = {row["what"]: row["at"] for row in layer_of(chart, "rule")["rows"]}
    assert marks == {"best": told.interval_min, "scenario": 10.0}


def test_formulas_that_have_a_term_are_in_the_legend(encoding_of):
    legend = encoding_of(spec("curve", "rsc-1"), "line")["color"]["scale"]["domain"]
    assert legend == ["exact", "first order", "RSC formula"]


def test_the_four_rules_are_drawn_and_the_exact_one_is_their_zero(layer_of):
    lines = layer_of(spec("rules"), "line")
    rules = {row["rule"] for row in lines["rows"]}
    assert rules == set(lines["encoding"]["color"]["scale"]["domain"]) and "Exact" not in rules
    assert lines["encoding"]["strokeDash"]["field"] == "rule"


# --------------------------------------------------------------------------- the map


def test_where_there_is_no_answer_the_map_says_so_and_nothing_shines_through(layers_of):
    layers = layers_of(spec("first order"))
    ground = layers[0]
    assert ground["mark"]["type"] == "rect" and ground["rows"][0]["apart"] == "no answer"
    opaque = [layer for layer in layers if layer["mark"]["type"] in ("rect", "area")][:-1]
    assert all(layer["mark"]["opacity"] == 1 for layer in opaque)  # smooth areas on each other: no seams
    scale = ground["encoding"]["color"]["scale"]
    assert len(set(scale["range"])) == len(scale["domain"]) == 5


def test_the_areas_lie_on_each_other_from_wide_to_narrow(layers_of):
    areas = layers_of(spec("first order"), "area")
    classes = [{row["apart"] for row in layer["rows"]} for layer in areas]
    assert classes == [{"over 20 points"}, {"5 to 20"}, {"1 to 5"}, {"within 1 point"}]
    widest = [max(row["n_gpus"] for row in layer["rows"]) for layer in areas]
    assert widest == sorted(widest, reverse=True)


def test_the_contour_is_one_path_around_the_region_without_the_frame(layers_of):
    (path,) = [layer for layer in layers_of(spec("first order"), "line") if "step" in layer["rows"][0]]
    steps = [row["step"] for row in path["rows"]]
    assert path["mark"]["color"] == "white"
    assert steps == sorted(steps) and path["encoding"]["order"]["field"] == "step"
    cells = differences("first_order")["cells"]
    assert max(row["at_min"] for row in path["rows"]) < cells["interval_min_end"].max()


def test_every_cell_of_the_map_answers_the_pointer(layers_of):
    layers = layers_of(spec("rsc", "rsc-1"))
    touched = next(layer for layer in layers if layer["encoding"].get("opacity") == {"value": 0})
    cells = differences("rsc", "rsc-1")["cells"]
    assert len(touched["rows"]) == len(cells) and {row["says"] for row in touched["rows"]} >= {"no answer"}
    assert [tip["title"] for tip in touched["encoding"]["tooltip"]][-1] == "Apart [points]"


# --------------------------------------------------------------------------- published, bands, rates


def test_each_published_result_has_three_marks_of_their_own_shape(layer_of):
    dots = layer_of(spec("rsc_beside_exact"), "point")
    assert len(dots["rows"]) == 3 * len(printed())
    encoding = dots["encoding"]
    assert encoding["shape"]["field"] == encoding["color"]["field"] == encoding["yOffset"]["field"] == "way"
    assert "at least 90%" in {row["what"] for row in dots["rows"]}
    assert min(row["ettr"] for row in dots["rows"]) > encoding["x"]["scale"]["domain"][0]


def test_bands_are_drawn_where_the_rate_is_known_and_only_there(layers_of):
    known, unknown = spec("interval_with_bands"), spec("interval_with_bands", "rsc-1")
    assert [area["encoding"]["y2"]["field"] for area in layers_of(known, "area")] == ["high_95", "high_50"]
    assert "with 95% probability" in known["description"]
    assert not layers_of(unknown, "area")
    assert "nothing is known of the rate's uncertainty" in unknown["description"]


def test_rates_are_on_a_logarithmic_axis_unless_they_are_all_zero(encoding_of):
    assert encoding_of(spec("rates"), "line")["y"]["scale"]["type"] == "log"
    assert encoding_of(spec("rates", ONE, "no failures"), "line")["y"]["scale"] == {"zero": True}
    assert "burn-in 38.6 to 10.7" in spec("rates")["description"]


def test_the_cost_of_one_interval_starts_at_zero(encoding_of):
    lines = encoding_of(spec("one_interval"), "line")
    assert lines["y"]["scale"]["zero"] is True and lines["strokeDash"]["field"] == "kept"
