"""Charts on failure rates of clusters, by their specification."""

from __future__ import annotations

from functools import cache

import pytest

from computed.chapters import AS_IT_IS, table
from ettr import evidence
from ettr.chapters import failure_rates

KNOWN, UNKNOWN = "glm-130b", "rsc-2"
"""With an interval of the rate and without."""
SIZES = [100_000, 1_000_000]
TABLES = failure_rates.tables
FRAMES = {
    "side_by_side": lambda name: [table(TABLES.rates, name)],
    "ratios": lambda name: [TABLES.ratios(table(TABLES.rates, name))],
    "mttf_by_size": lambda name: [table(TABLES.mttf_by_size, name, AS_IT_IS, 20), TABLES.rsc_points()],
    "projections": lambda name: [TABLES.projections(table(TABLES.rates, name), SIZES)],
    "by_age": lambda name: [table(TABLES.by_age, name)],
}
NEEDED = {
    "side_by_side": ["title rate low high counted scope status source"],
    "ratios": ["title ratio low high basis verdict"],
    "mttf_by_size": ["line n_gpus mttf_h low high", "n_gpus mttf_h low high kind rate status"],
    "projections": ["title counted n_gpus mttf_h mttf_low_h mttf_high_h"],
    "by_age": ["shape age_days age_end_days rate"],
}


def draw(kind: str, *frames):
    return getattr(failure_rates.charts, kind)(*frames, "A title.", "Whose counts")


@cache
def spec(kind: str, name: str = KNOWN) -> dict:
    return draw(kind, *FRAMES[kind](name)).to_dict()


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", [KNOWN, UNKNOWN])
def test_a_chart_reads_only_fields_that_its_data_has(kind, name, check_chart):
    check_chart(spec(kind, name), "Whose counts")


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_an_error(kind, check_columns):
    check_columns(lambda *frames: draw(kind, *frames), FRAMES[kind](KNOWN), *NEEDED[kind])


def test_what_is_counted_has_a_colour_and_a_shape(encoding_of):
    dots = encoding_of(spec("side_by_side"), "point")
    assert dots["x"]["scale"]["type"] == "log"
    assert dots["color"]["field"] == dots["shape"]["field"] == "counted"
    assert dots["color"]["scale"]["domain"] == dots["shape"]["scale"]["domain"]
    assert set(dots["color"]["scale"]["domain"]) == set(table(TABLES.rates, KNOWN)["counted"])
    for channel in ("color", "shape"):
        assert len(set(dots[channel]["scale"]["range"])) == len(dots[channel]["scale"]["domain"])
    assert encoding_of(spec("side_by_side"), "rule")["x"]["field"] == "low"


def test_this_scenario_is_shown_first_and_all_rates_are_there(encoding_of, chart_values):
    chart = spec("side_by_side")
    order = encoding_of(chart, "point")["y"]["sort"]
    assert order[0] == "This scenario: GLM-130B on 768 A100" and sorted(order) == sorted(
        table(TABLES.rates, KNOWN)["title"]
    )
    assert len(chart_values(chart)) == len(evidence.published_rates()) + 1
    assert "this scenario from 2.09 to 2.09" in chart["description"]


def test_ratios_have_a_line_at_one(layer_of, encoding_of):
    chart = spec("ratios")
    assert layer_of(chart, "rule", "ratio")["rows"] == [{"ratio": 1.0}]
    dots = encoding_of(chart, "point")
    assert dots["shape"]["field"] == dots["color"]["field"] == "verdict"
    assert set(dots["color"]["scale"]["domain"]) == set(FRAMES["ratios"](KNOWN)[0]["verdict"])
    assert "OPT-175B, manual restarts 1.22 (0.84 to 1.73)" in chart["description"]


def test_mttf_is_on_two_logarithmic_axes_with_powers_of_ten(encoding_of, layer_of):
    chart = spec("mttf_by_size")
    lines = encoding_of(chart, "line")
    assert lines["x"]["scale"]["type"] == lines["y"]["scale"]["type"] == "log"
    assert lines["y"]["axis"]["values"] == [0.1, 1, 10, 100, 1000, 10000]
    assert lines["color"]["field"] == lines["strokeDash"]["field"] == "line"
    assert encoding_of(chart, "point", "kind")["shape"]["scale"]["domain"] == ["observed", "projected"]
    assert len(layer_of(chart, "point", "kind")["rows"]) == 5
    area = layer_of(chart, "area")
    assert {row["line"] for row in area["rows"]} == {"this scenario"}
    assert "1,024 GPUs observed 7.9 h" in chart["description"]


def test_without_an_interval_there_is_no_band(layers_of):
    assert not layers_of(spec("mttf_by_size", UNKNOWN), "area")


def test_projections_are_in_the_unit_of_their_size(encoding_of):
    assert encoding_of(spec("projections"), "rule")["x"]["field"] == "mttf_low"
    small = draw("projections", TABLES.projections(table(TABLES.rates, KNOWN), [1000, 2000])).to_dict()
    titles = [chart["layer"][1]["encoding"]["x"]["title"] for chart in (spec("projections"), small)]
    assert titles == ["Mean time to failure [min]", "Mean time to failure [h]"]


def test_projections_that_count_something_else_are_hollow():
    chart = spec("projections")
    rows = {}
    for layer in chart["layer"][1:]:
        rows[layer["mark"].get("filled", True)] = chart["datasets"][layer["data"]["name"]]
    assert {row["counted"] for row in rows[False]} == {TABLES.MEMORY, TABLES.OTHER}
    assert {row["counted"] for row in rows[True]} == {
        TABLES.STOPS,
        TABLES.HARDWARE,
        TABLES.OWN,
    }
    assert len(rows[True]) + len(rows[False]) == len(SIZES) * len(table(TABLES.rates, KNOWN))
    by_hand = {row["mttf"] for row in rows[True] if row["title"] == "RSC-1"}
    assert sorted(by_hand) == pytest.approx([24_000 * 60 / (6.5 * 125_000), 24_000 * 60 / (6.5 * 12_500)])


def test_age_starts_at_zero_and_each_shape_has_its_dash(encoding_of):
    chart = spec("by_age")
    lines = encoding_of(chart, "line")
    assert lines["y"]["scale"]["zero"] is True
    assert lines["strokeDash"]["scale"]["domain"] == ["shape 0.7", "shape 1", "shape 1.5"]
    assert len({tuple(dash) for dash in lines["strokeDash"]["scale"]["range"]}) == 3
    assert "within 364 days" in chart["description"]
