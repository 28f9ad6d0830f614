"""Charts of the chapter on tiers, by their specification, for several presets and at the extremes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, plan
from ettr.chapters import checkpoint_tiers
from ettr.core.errors import InputError

RUNS = {
    "llama3-405b": {},
    "byterobust": {},
    "opt-175b": {"failures.rate_per_1000_node_days": 0},
    "rsc-2": {"cluster.n_gpus": 8},
}


@cache
def run(name: str) -> Scenario:
    return Scenario.load(name).override(RUNS[name])


def n_bytes(name: str) -> float:
    return checkpoint_tiers.tables.stored_bytes(run(name), 405e9, 12)


FRAMES = {
    "ladder": lambda name: checkpoint_tiers.tables.ladder(run(name), 0.01, 32),
    "placements": lambda name: checkpoint_tiers.tables.placements(run(name).n_nodes, 2, 12),
    "intervals": lambda name: checkpoint_tiers.tables.interval_choices(run(name), 0.01, 32),
    "by_bandwidth": lambda name: checkpoint_tiers.tables.by_bandwidth(run(name), n_bytes(name), 100_000, 12),
    "announced": lambda name: checkpoint_tiers.prediction_tables.announced(run(name), 600, [0.1], 8),
    "found_late": lambda name: checkpoint_tiers.prediction_tables.found_late(run(name), 0.1, 24, 8),
    "to_keep": lambda name: checkpoint_tiers.prediction_tables.kept_checkpoints(run(name), 60, 0.01, 24, 8),
}
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


@cache
def frame(kind: str, name: str) -> pd.DataFrame:
    return FRAMES[kind](name)


def draw(kind: str, rows: pd.DataFrame, name: str = "llama3-405b"):
    texts = "A title", run(name).title
    return {
        "ladder": lambda: checkpoint_tiers.charts.ladder(rows, *texts),
        "placements": lambda: checkpoint_tiers.charts.placements(rows, run(name).n_nodes, *texts),
        "intervals": lambda: checkpoint_tiers.charts.intervals(rows, *texts),
        "by_bandwidth": lambda: checkpoint_tiers.charts.by_bandwidth(
            rows, checkpoint_tiers.tables.published_stores(n_bytes(name)), *texts
        ),
        "announced": lambda: checkpoint_tiers.prediction_charts.announced(
            rows, checkpoint_tiers.prediction_tables.predictors_here(run(name), 600), *texts
        ),
        "found_late": lambda: checkpoint_tiers.prediction_charts.found_late(rows, 0.1, *texts),
        "to_keep": lambda: checkpoint_tiers.prediction_charts.to_keep(rows, *texts),
    }[kind]()


CASES = [(kind, name) for kind in FRAMES for name in RUNS if kind != "intervals" or name in ("llama3-405b", "rsc-2")]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_chart_is_whole(kind, name, check_chart):
    check_chart(draw(kind, frame(kind, name), name).to_dict())


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_named(kind):
    for column in NEEDED[kind]:
        with pytest.raises(InputError, match=f"the chart needs column {column}; there are"):
            draw(kind, frame(kind, "llama3-405b").drop(columns=column))


def test_the_ladder_stacks_what_is_lost_and_says_what_is_left(layer_of):
    rows = frame("ladder", "llama3-405b")
    chart = draw("ladder", rows).to_dict()
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
    chart = draw("by_bandwidth", frame("by_bandwidth", "llama3-405b")).to_dict()
    dots = layer_of(chart, "point", "crossing_gb_s")["rows"]
    assert [row["n_gpus"] for row in dots] == [16_384, 100_000]
    assert [row["write_gb_s"] for row in layer_of(chart, "rule")["rows"]][:2] == [7000, 2000]
    far = frame("by_bandwidth", "llama3-405b").assign(crossing_gb_s=1e9)
    with pytest.raises(ValueError, match="not enough values"):
        layer_of(draw("by_bandwidth", far).to_dict(), "point", "crossing_gb_s")


def test_published_predictors_are_marked_where_they_would_be(layer_of):
    chart = draw("announced", frame("announced", "llama3-405b")).to_dict()
    (row,) = layer_of(chart, "point", "predictor")["rows"]
    assert row["predictor"] == "Minder" and row["recall"] == pytest.approx(0.882, abs=5e-4)


def test_an_interval_without_an_answer_is_said(layer_of):
    rows = frame("intervals", "llama3-405b").assign(ettr=np.nan)
    points = layer_of(draw("intervals", rows).to_dict(), "point")["rows"]
    assert {row["reached"] for row in points} == {"no answer"}


def test_every_line_answers_the_pointer(layer_of):
    for kind in ("placements", "announced", "found_late", "to_keep"):
        chart = draw(kind, frame(kind, "llama3-405b")).to_dict()
        unseen = [one for one in chart["layer"] if one.get("encoding", {}).get("opacity") == {"value": 0}]
        nested = [two for one in chart["layer"] for two in one.get("layer", [])]
        unseen += [two for two in nested if two["encoding"].get("opacity") == {"value": 0}]
        assert len(unseen) == 1 and len(unseen[0]["encoding"]["tooltip"]) >= 4, kind


def test_checkpoints_kept_stand_by_distance():
    rows = frame("to_keep", "llama3-405b")
    best = plan.best_interval_min(checkpoint_tiers.tables.store_only(run("llama3-405b")))
    scale = draw("to_keep", rows).to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert scale == [f"{best:.3g} min", "60 min"]
