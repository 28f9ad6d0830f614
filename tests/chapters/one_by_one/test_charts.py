"""Charts on mitigations, alone and together, by their specification."""

from __future__ import annotations

import itertools
import json
from functools import cache

import pandas as pd
import pytest

from computed import mitigations
from computed.mitigations import comparison, leading
from ettr.chapters import one_by_one, portfolio
from ettr.chapters.common import theme
from ettr.chapters.common.mitigations import both_names
from ettr.chapters.common.table import Table
from ettr.core.errors import InputError

ALONE, TOGETHER, SENSITIVITY = one_by_one.charts, portfolio.charts, portfolio.sensitivity_charts


@cache
def frames(case: str) -> dict[str, tuple]:
    compared = comparison(case)
    worth = mitigations.worth(case)
    return {
        "worth": (ALONE.worth, one_by_one.tables.savers(worth)),
        "others": (ALONE.worth, one_by_one.tables.other_worth(worth)),
        "closed": (ALONE.closed, one_by_one.tables.beside_closed_form(compared)),
        "money": (ALONE.money, one_by_one.tables.costs_and_savings(compared)),
        "hours": (ALONE.hours, one_by_one.tables.hours_given_back(compared, leading(case))),
        "by_size": (ALONE.by_size, mitigations.by_size(case), 16384),
        "lost_hours": (TOGETHER.lost_hours, mitigations.lost_hours(case)),
        "steps": (TOGETHER.steps, mitigations.taken(case)),
        "interactions": (TOGETHER.interactions, mitigations.interactions(case)),
        "shares": (TOGETHER.shares, mitigations.shared_gain(case).frame),
        "front": (TOGETHER.front, mitigations.choice(case).frame, 1e6),
    }


KINDS = ["worth", "others", "closed", "money", "hours", "by_size"]
KINDS += ["lost_hours", "steps", "interactions", "shares", "front"]


def drawn(kind: str, case: str = "usual"):
    chart, frame, *more = frames(case)[kind]
    return chart(frame, *more, "A title", "A run")


@pytest.mark.parametrize("case", ["usual", "quiet", pytest.param("tiny", marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_holds_what_a_page_needs_or_a_table_says_there_is_nothing(check_chart, kind, case):
    chart = drawn(kind, case)
    if isinstance(chart, Table):
        assert case != "usual" and "A title" in chart._repr_html_()
    else:
        check_chart(chart.to_dict())


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_table_is_said_and_a_missing_column_named(kind):
    chart, frame, *more = frames("usual")[kind]
    if kind != "lost_hours":
        assert isinstance(chart(frame.iloc[:0], *more, "A title"), Table)
    column = next(name for name in ("title", "part", "first_title", "names") if name in frame)
    with pytest.raises(InputError, match=f"the chart needs column.* {column}"):
        chart(frame.drop(columns=column), *more, "A title")


def test_evidence_and_basis_are_drawn_and_told(layer_of):
    spec = drawn("worth").to_dict()
    points = [layer for layer in spec["layer"] if layer["mark"]["type"] == "point"]
    assert [layer["mark"]["filled"] for layer in points] == [True, False]
    assert "hollow" in spec["title"]["subtitle"]
    assert points[0]["encoding"]["shape"]["scale"]["domain"] == ["secondary", "assumed"]
    tips = {tip["field"] for tip in points[0]["encoding"]["tooltip"]}
    assert {"basis", "evidence", "low", "high", "group", "mechanism"} <= tips


def test_names_have_a_short_and_a_whole_form():
    both = both_names("Failures predicted, with a checkpoint before them")
    short, whole = both.split("||")
    assert whole == "Failures predicted, with a checkpoint before them"
    lines = short.split("|")
    assert len(lines) == 2 and all(len(line) <= 15 for line in lines) and lines[-1].endswith("…")
    assert both_names("Short") == "Short||Short"


@pytest.mark.parametrize(("size", "short"), [(8, "8"), (1024, "1k"), (4096, "4.1k"), (16384, "16k"), (2**20, "1M")])
def test_sizes_are_short(size, short):
    assert ALONE.short_size(size) == short


def test_a_map_marks_what_does_not_pay_and_what_does_not_get_on(layer_of):
    frame = frames("usual")["by_size"][1].copy()
    frame.loc[0, ["state", "saved", "low", "high", "saved_usd"]] = ["no progress", None, None, None, None]
    frame.loc[1, "state"] = "costs more"
    rows = layer_of(ALONE.by_size(frame, 16384, "A title").to_dict(), "rect")["rows"]
    assert (rows[0]["kind"], rows[0]["told"]) == ("no progress", "×")
    assert rows[1]["kind"] == "does not pay"
    assert {row["size"] for row in rows} == {"1k", "16k*", "262k"}


def test_hours_are_stacked_from_zero_with_colours_of_their_parts(encoding_of):
    encoding = encoding_of(
        {"layer": [drawn("hours").to_dict()], "datasets": drawn("hours").to_dict()["datasets"]}, "bar"
    )
    assert encoding["x"]["stack"] == "zero"
    scale = encoding["color"]["scale"]
    assert scale["range"] == [theme.PART_COLOURS[part] for part in scale["domain"]]


def test_conflicts_are_marked_and_losses_graded(layer_of):
    rows = layer_of(drawn("interactions").to_dict(), "rect")["rows"]
    kinds = {(row["first"], row["second"]): row["kind"] for row in rows}
    assert kinds["shorter-stall", "other-stall"] == "not together"
    assert len(rows) == 6
    graded = TOGETHER._cell
    base = {"why": "", "beyond": -1.0, "low": -1.2, "high": -0.8}
    assert graded({**base, "share": -0.2}) == "up to a third is lost"
    assert graded({**base, "share": -0.9}) == "nearly all is lost"
    assert graded({**base, "share": float("nan")}) == "nearly all is lost"
    assert graded({**base, "high": 0.1, "share": -0.2}) == "no difference for certain"
    assert graded({"why": "", "beyond": 1.0, "low": 0.8, "high": 1.2, "share": 0.5}) == "more together"


def test_a_waterfall_hangs_each_bar_where_the_last_one_ended(layer_of):
    rows = layer_of(drawn("lost_hours").to_dict(), "bar")["rows"]
    for one, other in itertools.pairwise(rows[:-1]):
        assert other["start"] == pytest.approx(one["end"], rel=1e-3)
    assert rows[0]["start"] == rows[-1]["start"] == 0


def test_a_set_without_cost_has_no_place_on_a_logarithmic_axis(layer_of):
    rows = layer_of(drawn("front").to_dict(), "point")["rows"]
    assert all(row["musd"] > 0 for row in rows)
    assert "exact and greedy" in {row["kind"] for row in rows} | {"exact and greedy"}
    assert "dashed" in drawn("front").to_dict()["title"]["subtitle"]
    far = TOGETHER.front(frames("usual")["front"][1], 1e12, "A title").to_dict()
    assert "dashed" not in far["title"]["subtitle"]


def test_a_tornado_spans_both_ends_and_the_value_as_given(check_chart, layer_of):
    spec = SENSITIVITY.tornado(mitigations.sensitivity().tornado, "A title", "A run", n_inputs=4).to_dict()
    check_chart(spec)
    bars = layer_of(spec, "bar")["rows"]
    assert len({row["input"] for row in bars}) == 4 and len(bars) == 8
    assert all(row["least"] <= row["gain"] <= row["most"] for row in bars)
    assert isinstance(SENSITIVITY.tornado(mitigations.sensitivity().tornado.iloc[:0], "A title"), Table)


def test_indices_have_a_panel_an_answer_and_are_cut_where_they_are_noise():
    spec = SENSITIVITY.indices(mitigations.sensitivity().indices, "A title").to_dict()
    json.dumps(spec, allow_nan=False)
    assert spec["columns"] == 3 and spec["facet"]["sort"][-1] == "lead of the first"
    rows = spec["datasets"][spec["data"]["name"]]
    assert all(-0.25 <= row[f"{name}_drawn"] <= 1.25 for row in rows for name in ("value", "low", "high"))
    assert "cut at" in spec["title"]["subtitle"]
    assert isinstance(SENSITIVITY.indices(mitigations.sensitivity().indices.iloc[:0], "A title"), Table)


def test_tables_show_every_row():
    placed = one_by_one.evidence_tables.places(comparison())
    html = ALONE.table(one_by_one.evidence_words.place_cells(placed), "Places")._repr_html_()
    assert html.count("<tr>") == len(placed) + 1
    assert isinstance(placed, pd.DataFrame) and "nan" not in html
