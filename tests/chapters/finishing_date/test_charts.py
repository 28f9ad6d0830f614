"""Charts of the chapter on the finishing date, by their specification."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from computed.finishing_date import TABLES, closed, run, simulated, table
from ettr import Scenario, simulate
from ettr.chapters import finishing_date
from ettr.chapters.common import theme
from ettr.core.errors import InputError
from ettr.notebook import rendering

CELL = ["mechanism", "setting", "order", "n_gpus", "closed", "simulated", "points", "half_points", "verdict"]
NEEDED = {
    "days": ["day", "from_h", "to_h", "state", "lasts_min"],
    "losses": ["part", "this_h", "mean_h", "low_h", "high_h", "closed_h"],
    "dates": ["done", "finish_h", "bin_day", "height"],
    "difference_map": CELL,
    "settings": CELL,
    "causes": ["cause", "setting", "ettr", "low", "high", "p5_h", "p25_h", "p50_h", "p75_h", "p95_h"],
    "by_spares": ["failures", "n_spares", "ettr", "low", "high", "waiting_h", "p5_h", "p50_h", "p95_h", "closed_ettr"],
    "errors": ["estimate", "n_runs", "n_groups", "error_points", "low_points", "high_points", "expected_points"],
    "luck": ["way", "saved_h", "low_h", "high_h", "runs_ratio", "closed_h"],
    "lengths": ["pool", "productive_days", "n_spares", "n_runs", "ettr", "low", "high", "closed_ettr"],
}


def draw(kind: str, rows: pd.DataFrame, *which: str):
    texts = "A title", run(*which).title
    percentiles = {share: simulated(*which).finish_h(share) for share in (5, 50, 95)}
    return {
        "days": lambda: finishing_date.charts.days(rows, *texts),
        "losses": lambda: finishing_date.charts.losses(rows, *texts),
        "dates": lambda: finishing_date.charts.dates(rows, percentiles, closed(*which).total_h, *texts),
        "difference_map": lambda: finishing_date.beyond_formula_charts.difference_map(rows, *texts),
        "settings": lambda: finishing_date.beyond_formula_charts.settings(rows, run(*which).cluster.n_gpus),
        "causes": lambda: finishing_date.charts.causes(rows, closed(*which).total_h, *texts),
        "by_spares": lambda: finishing_date.charts.by_spares(rows, *texts),
        "errors": lambda: finishing_date.replication_charts.errors(rows, *texts),
        "luck": lambda: finishing_date.replication_charts.common_random_numbers(rows, *texts),
        "lengths": lambda: finishing_date.replication_charts.lengths(rows, *texts),
    }[kind]()


def spec_of(kind: str, *which: str) -> dict:
    return draw(kind, table(kind, *which), *which).to_dict()


@pytest.mark.parametrize(
    "which",
    [
        (),
        ("llama3-405b", "no failures"),
        pytest.param(("rsc-1",), marks=pytest.mark.slow),
        pytest.param(("glm-130b", "no failures"), marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", TABLES)
def test_a_chart_is_whole(kind, which, check_chart):
    spec = spec_of(kind, *which)
    for panel in spec.get("hconcat", [spec]):
        check_chart({**spec, **panel, "width": "container", "height": panel.get("height", spec.get("height"))})
    assert rendering.svg(spec).startswith("<svg")


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_named(kind):
    rows = table("difference_map" if kind == "settings" else kind)
    for column in NEEDED[kind]:
        with pytest.raises(InputError, match=f"the chart needs column {column}; there are"):
            draw(kind, rows.drop(columns=column))


def test_a_strip_a_day_keeps_the_colours_of_the_parts(chart_values):
    spec = spec_of("days")
    scale = spec["encoding"]["color"]["scale"]
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert colours["training"] == theme.PART_COLOURS["productive"]
    assert all(colours[part] == theme.PART_COLOURS[part] for part in colours if part != "training")
    rows = chart_values(spec)
    assert len(rows) == len(table("days")) < 3000
    assert spec["height"] == 18 * len({row["day"] for row in rows}) + 24


def test_a_dense_run_stays_small_enough_for_a_page():
    rows = finishing_date.tables.days_of_run(simulate(Scenario.load("h100-100k"), 1, timeline=[0]))
    assert len(json.dumps(draw("days", rows).to_dict())) < 300_000


def test_losses_have_a_range_and_three_marks_a_part(layer_of):
    rows = table("losses")
    spec = spec_of("losses")
    assert len(layer_of(spec, "bar")["rows"]) == len(rows)
    form, runs = (layer for layer in spec["layer"] if layer["mark"]["type"] == "point")
    marks = pd.DataFrame(spec["datasets"][form["data"]["name"]])
    assert form["data"] == runs["data"] and (marks.groupby("part")["who"].nunique() == 3).all()
    assert form["mark"]["size"] > 2 * runs["mark"]["size"] and form["mark"]["filled"] is False  # seen around a mark
    assert layer_of(spec, "bar")["encoding"]["x"]["scale"]["zero"] is True


def test_dates_have_a_line_at_each_percentile_and_at_the_closed_form(layer_of):
    spec = spec_of("dates")
    lines = pd.DataFrame(layer_of(spec, "rule")["rows"])
    assert lines["what"].tolist() == ["5, 50 and 95 in 100 runs are done"] * 3 + ["closed form"]
    assert lines["bin_day"].iloc[-1] == pytest.approx(closed("llama3-405b").total_h / 24)
    low, high = layer_of(spec, "circle")["encoding"]["x"]["scale"]["domain"]
    assert low < lines["bin_day"].min() and lines["bin_day"].max() < high


CELLS = pd.DataFrame(
    [
        ("a", "nothing", 0, 1024, 0.9, 0.9001, 0.01, 0.0392, "within error"),
        ("b", "much", 1, 1024, 0.9, 0.82, -8.0, 0.196, "differs"),
        ("c", "little", 2, 1024, 0.9, 0.895, -0.5, 0.196, "differs"),
        ("d", "more", 3, 1024, 0.9, 0.915, 1.5, 0.196, "differs"),
        ("e", "none left", 4, 1024, np.nan, np.nan, np.nan, np.nan, "hopeless"),
        ("f", "some", 5, 1024, 0.9, 0.88, -2.0, 0.196, "differs"),
    ],
    columns=CELL,
)


def test_a_cell_says_how_far_off_the_formula_is_or_that_nobody_knows(layer_of):
    spec = finishing_date.beyond_formula_charts.difference_map(CELLS, "A title").to_dict()
    rows = {row["mechanism"]: row for row in layer_of(spec, "rect")["rows"]}
    assert [rows[name]["told"] for name in "abcdef"] == ["≈", "−8.0", "−0.5", "+1.5", "–", "−2.0"]
    assert [rows[name]["kind"] for name in "abcdef"] == [
        "within the error",
        "over 5 points too high",
        "up to 1 too high",
        "over 1 too low",
        "hardly any training",
        "1 to 5 too high",
    ]
    assert rows["e"]["simulated"] == "not simulated" and rows["b"]["apart"] == "-8.00 ± 0.20"
    scale = layer_of(spec, "rect")["encoding"]["color"]["scale"]
    assert set(scale["domain"]) == {row["kind"] for row in rows.values()}
    assert layer_of(spec, "rect")["encoding"]["y"]["sort"] == list("abcdef")
    assert "4 of 6 cells differ" in spec["description"] and "b at 1,024 GPUs, -8.0 points" in spec["description"]


def luminance(colour: str) -> float:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_the_numbers_in_the_cells_can_be_read():
    for background, ink in finishing_date.beyond_formula_charts._CLASSES.values():
        light, dark = sorted((luminance(background), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, background


def test_the_table_of_settings_is_for_one_size():
    html = finishing_date.beyond_formula_charts.settings(CELLS, 1024)._repr_html_()
    assert "Settings on 1,024 GPUs" in html and "82.00% ± 0.20" in html and "Nothing" in html
    assert html.count("<tr>") == 1 + len(CELLS)
    assert not re.search(r"nan", html)


def test_causes_stand_in_order_with_room_for_their_labels(layer_of):
    rows = table("causes")
    spec = spec_of("causes")
    text = layer_of(spec, "text")
    assert text["encoding"]["y"]["sort"] == rows["cause"].tolist()
    assert all(row["label"].endswith("%") and "(" in row["ettr"] for row in text["rows"])
    last = max(row["p95"] for row in text["rows"])
    low, high = text["encoding"]["x"]["scale"]["domain"]
    assert high > last + 0.2 * (last - low)


def test_spares_have_an_interval_and_a_range_in_two_panels():
    spec = spec_of("by_spares")
    left, right = spec["hconcat"]
    assert [layer["mark"]["type"] for layer in left["layer"]] == ["rule", "rule", "line", "point"]
    assert [layer["mark"]["type"] for layer in right["layer"]] == ["rule", "area", "line", "point"]
    assert left["width"] == right["width"] and left["height"] == 260
    assert left["layer"][3]["encoding"]["color"]["scale"]["domain"] == ["single nodes", "racks too"]


def test_errors_stand_on_logarithmic_axes_unless_there_are_none(encoding_of):
    axes = encoding_of(spec_of("errors"), "point")
    assert axes["x"]["scale"]["type"] == axes["y"]["scale"]["type"] == "log"
    none = table("errors").assign(error_points=0.0, low_points=0.0, high_points=0.0, expected_points=0.0)
    assert encoding_of(draw("errors", none).to_dict(), "point")["y"]["scale"]["type"] == "linear"


def test_seeds_and_length_stand_beside_the_closed_form(layer_of):
    spec = spec_of("luck")
    (row,) = layer_of(spec, "rule")["rows"]
    assert row["saved_h"] == pytest.approx(table("luck")["closed_h"][0])
    spec = spec_of("lengths")
    lines = [layer for layer in spec["layer"] if layer["mark"]["type"] == "rule"]
    assert lines[0]["encoding"]["y"]["field"] == "ettr" and len(lines) == 2
