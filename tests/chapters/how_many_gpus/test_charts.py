"""Charts on the number of GPUs, by their specification."""

from __future__ import annotations

import pytest

from computed.how_many_gpus import TOKENS, answer, table
from ettr.chapters import how_many_gpus

CHARTS, OPTIONS = how_many_gpus.charts, how_many_gpus.scaling_option_charts
FRAMES = {
    "returns": lambda name: [table("returns", name), 16384, answer(name).turning_gpus],
    "step": lambda name: [table("step", name)],
    "cost": lambda name: [table("cost", name), table("marked", name)],
    "calibrated": lambda name: [table("calibrated")],
    "turning": lambda name: [table("turning", name)],
    "ways_out": lambda name: [table("ways_out", name), table("elastic", name)],
}


def drawn(kind: str, *frames) -> dict:
    charts = OPTIONS if kind in ("turning", "ways_out") else CHARTS
    return getattr(charts, kind)(*(frames or FRAMES[kind](TOKENS)), "A title", "A run").to_dict()


@pytest.mark.parametrize("name", [TOKENS, "tiny"])
@pytest.mark.parametrize("kind", FRAMES)
def test_a_chart_holds_what_a_page_needs(check_chart, kind, name):
    check_chart(drawn(kind, *FRAMES[kind](name)), "A run")


@pytest.mark.parametrize("kind", FRAMES)
def test_a_missing_column_is_named(check_columns, kind):
    first, *others = FRAMES[kind](TOKENS)
    needed = "measured_pct" if kind == "calibrated" else "n_gpus"
    check_columns(lambda frame: drawn(kind, frame, *others), [first], needed)


def test_sizes_are_marked_as_far_as_there_are(layer_of):
    both = layer_of(drawn("returns", table("returns"), 16384, 145_477), "text", "name")["rows"]
    assert [(row["name"], row["n_gpus"]) for row in both] == [("this job", 16384), ("turning point", 145_477)]
    assert len(layer_of(drawn("returns", table("returns"), 16384, None), "text", "name")["rows"]) == 1


def test_shares_of_a_step_are_stacked_over_the_whole_axis(encoding_of):
    up = encoding_of(drawn("step"), "area")["y"]
    assert (up["stack"], up["scale"]["domain"]) == ("zero", [0, 1])


def test_every_term_of_a_step_has_a_colour_of_its_own():
    assert set(CHARTS.TERM_COLOURS) == set(how_many_gpus.tables.TERMS.values())
    assert len(set(CHARTS.TERM_COLOURS.values())) == len(CHARTS.TERM_COLOURS)


@pytest.mark.parametrize(("name", "axis"), [("no prices", "Electricity [GWh]"), ("tiny", "Cost [million USD]")])
def test_without_prices_the_axis_is_electricity(encoding_of, name, axis):
    assert encoding_of(drawn("cost", *FRAMES["cost"](name)), "line")["y"]["title"] == axis


def test_rows_used_and_left_out_differ_in_shape_and_stems_begin_at_zero(layer_of):
    spec = drawn("calibrated")
    dots = layer_of(spec, "point")
    assert len(set(dots["encoding"]["shape"]["scale"]["range"])) == 2
    assert {row["run"] for row in dots["rows"]} >= {"MegaScale 256", "Llama 3.1 8B 128"}
    assert len({row["run"] for row in dots["rows"]}) == len(dots["rows"])
    assert all(row["zero"] == 0 for row in layer_of(spec, "rule", "zero")["rows"])


def test_points_where_the_batch_ends_are_ringed(layers_of):
    frame = table("turning")
    assert not frame["ends"].any()
    ended = drawn("turning", frame.assign(ends=frame["factor"] == 2))
    assert "rings" in ended["title"]["subtitle"] and "rings" not in drawn("turning")["title"]["subtitle"]
    (rings,) = [layer for layer in layers_of(ended, "point") if layer["mark"].get("size") == 140]
    assert {row["factor"] for row in rings["rows"]} == {2.0}


def test_a_chart_without_simulated_points_says_so():
    lines, points = table("ways_out"), table("elastic")
    assert "Simulated points" in drawn("ways_out")["description"]
    assert "Nothing is simulated" in drawn("ways_out", lines, points.iloc[:0])["description"]


def test_tables_show_every_row():
    cells = {
        "Limits": how_many_gpus.words.limit_cells(table("limits")),
        "Large": how_many_gpus.scaling_option_words.large_cells(table("large")),
    }
    tables = {caption: CHARTS.table(frame, caption)._repr_html_() for caption, frame in cells.items()}
    tables["calibrated"] = CHARTS.calibrated_table(table("calibrated"))._repr_html_()
    rows = {"Limits": table("limits"), "Large": table("large"), "calibrated": table("calibrated")}
    assert {name: html.count("<tr>") - 1 for name, html in tables.items()} == {n: len(rows[n]) for n in rows}
    assert "left out" in tables["calibrated"]
