"""Charts of the chapter on spares, by their specification."""

from __future__ import annotations

import pytest

from computed.chapters import ONE
from computed.spares import AS_IT_IS, run, table
from ettr.chapters import spares
from ettr.core.errors import InputError
from ettr.notebook import rendering


def draw(kind: str, rows, *which: str) -> dict:
    texts = "A title", "A run"
    unavailable = spares.option_tables.rack_choices(run(*which)).unavailable
    options, pools = spares.option_charts, spares.charts
    chart = {
        "shares": lambda: pools.shares(rows, run(*which).scenario.n_nodes, 0.05, *texts),
        "cost": lambda: pools.cost(rows, table("simulated", *which), *texts),
        "money": lambda: pools.money(rows, *texts),
        "repair": lambda: pools.repair(rows, run(*which).asked.repair_h, 40.4, *texts),
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


@pytest.mark.parametrize(
    "which",
    [
        (ONE, AS_IT_IS),
        (ONE, "no failures"),
        pytest.param(("bloom-176b", AS_IT_IS), marks=pytest.mark.slow),
        pytest.param(("rsc-1", "no failures"), marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("kind", NEEDED)
def test_a_chart_is_whole(kind, which, check_chart):
    spec = draw(kind, table(kind, *which), *which)
    for panel in spec.get("hconcat", [spec]):
        check_chart({**spec, **panel, "width": "container", "height": panel.get("height", spec.get("height"))})
    assert rendering.svg(spec).startswith("<svg")


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_named(kind):
    for column in NEEDED[kind]:
        with pytest.raises(InputError, match=f"the chart needs column.* {column}"):
            draw(kind, table(kind).drop(columns=column))


def test_simulated_pools_are_told_apart_by_colour_and_shape_and_have_ranges(layer_of):
    spec = draw("cost", table("cost"))
    dots = [layer for layer in spec["layer"] if layer.get("mark", {}).get("type") == "point"]
    (encoding,) = [layer["encoding"] for layer in dots if "shape" in layer["encoding"]]
    assert len(set(encoding["shape"]["scale"]["range"])) == len(encoding["shape"]["scale"]["domain"]) == 3
    assert layer_of(spec, "rule", "extra_low")["rows"]
    band = layer_of(spec, "area")["rows"]
    assert all(row["extra_low"] <= row["extra"] <= row["extra_high"] for row in band)


def test_bars_of_money_begin_at_zero_in_a_fixed_order(encoding_of):
    encoding = draw("money", table("money"))["encoding"]
    assert encoding["y"]["stack"] == "zero"
    assert encoding["order"]["type"] == "quantitative"


def test_what_is_nothing_has_a_place_on_a_logarithmic_axis(chart_values):
    spec = draw("cost", table("cost", ONE, "no failures"), ONE, "no failures")
    for rows in spec["datasets"].values():
        assert all(row["extra"] > 0 for row in rows if "extra" in row)


def test_the_second_panel_shows_where_the_difference_vanishes():
    spec = draw("elastic", table("elastic"))
    left, right = spec["hconcat"]
    data = spec["datasets"][right["layer"][1]["data"]["name"]]
    assert all(row["more_low"] <= 2.0 for row in data)
    assert left["layer"][1]["encoding"]["y"]["scale"]["domain"] == [0, 1]


def test_options_keep_their_order_and_the_first_is_in_the_subtitle():
    rows = table("shared")
    spec = draw("shared", rows)
    assert spec["layer"][0]["encoding"]["y"]["sort"] == rows["option"].tolist()[1:]
    assert rows["option"][0] in spec["title"]["subtitle"]


def test_a_table_of_levels_has_a_row_a_level_and_the_cheapest_in_per_cent():
    levels = table("levels")
    shown = spares.charts.levels(levels, "Levels")
    html = shown._repr_html_()
    assert html.count("<tr>") == 5 and "cheapest" in html
    assert shown.frame["Spares"].tolist() == levels["n_spares"].tolist()
    assert shown.frame["Extra cost [%]"].to_numpy() == pytest.approx(100 * (levels["cost"].to_numpy() - 1))
    with pytest.raises(InputError, match="the chart needs column"):
        spares.charts.levels(levels.drop(columns="n_spares"), "Levels")
