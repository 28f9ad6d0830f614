"""Charts of the chapter on spares, by their specification."""

from __future__ import annotations

from functools import cache

import pytest

from ettr import Scenario
from ettr.chapters import spares
from ettr.core.errors import InputError
from ettr.notebook import rendering

RUNS = {
    "llama3-405b": {},
    "bloom-176b": {},
    "rsc-1": {"failures.rate_per_1000_node_days": 0},
}


@cache
def run(name: str) -> spares.tables.PooledRun:
    return spares.tables.pooled_run(Scenario.load(name).override(RUNS[name]))


@cache
def frame(kind: str, name: str):
    of = {
        "shares": lambda: spares.tables.shares_by_size(run(name), 20),
        "cost": lambda: spares.tables.cost_by_pool(run(name)),
        "simulated": lambda: spares.tables.simulated_pools(run(name), n_runs=6),
        "money": lambda: spares.tables.paid_by_pool(frame("simulated", name)),
        "repair": lambda: spares.tables.cost_by_repair(run(name), 12),
        "racks": lambda: spares.option_tables.rack_choices(run(name)).frame,
        "losses": lambda: spares.option_tables.domain_losses(8),
        "elastic": lambda: spares.option_tables.elastic_pools(run(name), n_runs=6),
        "shared": lambda: spares.option_tables.shared_options(run(name)),
    }
    return of[kind]()


def draw(kind: str, rows, name: str = "llama3-405b") -> dict:
    texts = "A title", "A run"
    unavailable = spares.option_tables.rack_choices(run(name)).unavailable
    options, pools = spares.option_charts, spares.charts
    chart = {
        "shares": lambda: pools.shares(rows, run(name).scenario.n_nodes, 0.05, *texts),
        "cost": lambda: pools.cost(rows, frame("simulated", name), *texts),
        "money": lambda: pools.money(rows, *texts),
        "repair": lambda: pools.repair(rows, run(name).asked.repair_h, 40.4, *texts),
        "racks": lambda: options.racks(rows, *texts),
        "losses": lambda: options.losses(rows, max(unavailable, 1e-5), (0.001, 0.1), *texts),
        "elastic": lambda: options.elastic(rows, *texts),
        "shared": lambda: options.shared(rows, *texts),
    }[kind]()
    return chart.to_dict()


NEEDED = {
    "shares": ["way", "n_nodes", "share", "level"],
    "cost": ["n_spares", "extra", "extra_low", "is_flat"],
    "money": ["n_spares", "held_usd", "waited_gpu_h"],
    "repair": ["pool", "repair_h", "extra"],
    "racks": ["way", "held", "short"],
    "losses": ["way", "unavailable", "lost"],
    "elastic": ["n_spares", "more", "ettr_waits_low", "ettr_shrinks"],
    "shared": ["option", "large_more", "total_more_high"],
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("kind", NEEDED)
def test_a_chart_is_whole(kind, name, check_chart):
    spec = draw(kind, frame(kind, name), name)
    for panel in spec.get("hconcat", [spec]):
        check_chart({**spec, **panel, "width": "container", "height": panel.get("height", spec.get("height"))})
    assert rendering.svg(spec).startswith("<svg")


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_named(kind):
    for column in NEEDED[kind]:
        with pytest.raises(InputError, match=f"the chart needs column.* {column}"):
            draw(kind, frame(kind, "llama3-405b").drop(columns=column))


def test_simulated_pools_are_told_apart_by_colour_and_shape_and_have_ranges(layer_of):
    spec = draw("cost", frame("cost", "llama3-405b"))
    dots = [layer for layer in spec["layer"] if layer.get("mark", {}).get("type") == "point"]
    (encoding,) = [layer["encoding"] for layer in dots if "shape" in layer["encoding"]]
    assert len(set(encoding["shape"]["scale"]["range"])) == len(encoding["shape"]["scale"]["domain"]) == 3
    assert layer_of(spec, "rule", "extra_low")["rows"]
    band = layer_of(spec, "area")["rows"]
    assert all(row["extra_low"] <= row["extra"] <= row["extra_high"] for row in band)


def test_bars_of_money_begin_at_zero_in_a_fixed_order(encoding_of):
    encoding = draw("money", frame("money", "llama3-405b"))["encoding"]
    assert encoding["y"]["stack"] == "zero"
    assert encoding["order"]["type"] == "quantitative"


def test_what_is_nothing_has_a_place_on_a_logarithmic_axis(chart_values):
    spec = draw("cost", frame("cost", "rsc-1"), "rsc-1")
    for rows in spec["datasets"].values():
        assert all(row["extra"] > 0 for row in rows if "extra" in row)


def test_the_second_panel_shows_where_the_difference_vanishes():
    spec = draw("elastic", frame("elastic", "llama3-405b"))
    left, right = spec["hconcat"]
    data = spec["datasets"][right["layer"][1]["data"]["name"]]
    assert all(row["more_low"] <= 2.0 for row in data)
    assert left["layer"][1]["encoding"]["y"]["scale"]["domain"] == [0, 1]


def test_options_keep_their_order_and_the_first_is_in_the_subtitle():
    rows = frame("shared", "llama3-405b")
    spec = draw("shared", rows)
    assert spec["layer"][0]["encoding"]["y"]["sort"] == rows["option"].tolist()[1:]
    assert rows["option"][0] in spec["title"]["subtitle"]


def test_a_table_of_levels_has_a_row_a_level_and_the_cheapest():
    table = spares.tables.pools_by_level(run("llama3-405b"))
    html = spares.charts.levels(table, "Levels")._repr_html_()
    assert html.count("<tr>") == 5 and "cheapest" in html
    with pytest.raises(InputError, match="the chart needs column"):
        spares.charts.levels(table.drop(columns="n_spares"), "Levels")
