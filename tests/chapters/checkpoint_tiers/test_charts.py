"""Charts of the chapter on tiers, by their specification, for several presets and at the extremes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from computed.tiers import AS_IT_IS, LEAD_S, ONE, TABLES, n_bytes, scenario, table
from ettr import plan
from ettr.chapters import checkpoint_tiers
from ettr.core.errors import InputError

NEEDED = {
    "ladder": ["rung", "part", "share", "ettr", "interval_min", "from_store"],
    "placements": ["n_lost", "copies", "placement", "survival"],
    "intervals": ["tier", "choice", "interval_s", "ettr"],
    "by_bandwidth": [
        "write_gb_s",
        "n_gpus",
        "write_min",
        "interval_min",
        "stall_interval_min",
        "crossing_gb_s",
        "ettr",
    ],
    "announced": ["recall", "precision", "formula", "interval_min", "ettr"],
    "found_late": ["latency_h", "which", "ettr", "lost_points"],
    "to_keep": ["latency_h", "interval_min", "distribution", "n_kept"],
}


def draw(kind: str, rows: pd.DataFrame, *which: str) -> dict:
    run = scenario(*which)
    texts = "A title", run.title
    charts, of_predictions = checkpoint_tiers.charts, checkpoint_tiers.prediction_charts
    predictors = checkpoint_tiers.prediction_tables.predictors_here(run, LEAD_S)
    chart = {
        "ladder": lambda: charts.ladder(rows, *texts),
        "placements": lambda: charts.placements(rows, run.n_nodes, *texts),
        "intervals": lambda: charts.intervals(rows, *texts),
        "by_bandwidth": lambda: charts.by_bandwidth(
            rows, checkpoint_tiers.tables.published_stores(n_bytes(run)), *texts
        ),
        "announced": lambda: of_predictions.announced(rows, predictors, *texts),
        "found_late": lambda: of_predictions.found_late(rows, 0.1, *texts),
        "to_keep": lambda: of_predictions.to_keep(rows, *texts),
    }[kind]()
    return chart.to_dict()


@pytest.mark.parametrize(
    "which",
    [
        (ONE, AS_IT_IS),
        (ONE, "one node"),
        pytest.param((ONE, "no failures"), marks=pytest.mark.slow),
        pytest.param(("byterobust", AS_IT_IS), marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("kind", TABLES)
def test_a_chart_is_whole(kind, which, check_chart):
    check_chart(draw(kind, table(kind, *which), *which))


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_named(kind):
    for column in NEEDED[kind]:
        with pytest.raises(InputError, match=f"the chart needs column {column}; there are"):
            draw(kind, table(kind).drop(columns=column))


def test_the_ladder_stacks_what_is_lost_and_says_what_is_left(layer_of):
    rows = table("ladder")
    chart = draw("ladder", rows)
    bars, labels = layer_of(chart, "bar"), layer_of(chart, "text")
    assert bars["encoding"]["x"]["stack"] == "zero" and bars["encoding"]["x"]["scale"]["domain"][0] == 0
    assert "productive" not in {row["part"] for row in bars["rows"]}
    lost = pd.DataFrame(bars["rows"]).groupby("rung")["share"].sum()
    for row in labels["rows"]:
        assert lost[row["rung"]] == pytest.approx(row["lost"]) == pytest.approx(1 - row["ettr"])
        assert row["lost"] * 1.1 < bars["encoding"]["x"]["scale"]["domain"][1]  # room for the label
    assert bars["encoding"]["y"]["sort"] == list(dict.fromkeys(rows["rung"]))
    assert bars["encoding"]["y"]["sort"][0] == "Store only"


def test_the_bandwidth_has_a_dot_at_each_crossing_and_a_rule_at_each_published_store(layer_of):
    chart = draw("by_bandwidth", table("by_bandwidth"))
    dots = layer_of(chart, "point", "crossing_gb_s")["rows"]
    assert [row["n_gpus"] for row in dots] == [16_384, 100_000]
    assert [row["write_gb_s"] for row in layer_of(chart, "rule")["rows"]][:2] == [7000, 2000]
    far = table("by_bandwidth").assign(crossing_gb_s=1e9)
    with pytest.raises(ValueError, match="not enough values"):
        layer_of(draw("by_bandwidth", far), "point", "crossing_gb_s")


def test_published_predictors_are_marked_where_they_would_be(layer_of):
    chart = draw("announced", table("announced"))
    (row,) = layer_of(chart, "point", "predictor")["rows"]
    assert row["predictor"] == "Minder" and row["recall"] == pytest.approx(0.882, abs=5e-4)


def test_an_interval_without_an_answer_is_said(layer_of):
    rows = table("intervals").assign(ettr=np.nan)
    points = layer_of(draw("intervals", rows), "point")["rows"]
    assert {row["reached"] for row in points} == {"no answer"}


def test_every_line_answers_the_pointer(layer_of):
    for kind in ("placements", "announced", "found_late", "to_keep"):
        chart = draw(kind, table(kind))
        unseen = [one for one in chart["layer"] if one.get("encoding", {}).get("opacity") == {"value": 0}]
        nested = [two for one in chart["layer"] for two in one.get("layer", [])]
        unseen += [two for two in nested if two["encoding"].get("opacity") == {"value": 0}]
        assert len(unseen) == 1 and len(unseen[0]["encoding"]["tooltip"]) >= 4, kind


def test_checkpoints_kept_stand_by_distance():
    rows = table("to_keep")
    best = plan.best_interval_min(checkpoint_tiers.tables.store_only(scenario()))
    scale = draw("to_keep", rows)["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert scale == [f"{best:.3g} min", "60 min"]
