"""Charts of the chapter on power, by their specification."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from computed.power import of, table
from ettr.chapters.common import theme
from ettr.chapters.power import charts, smoothing_charts
from ettr.core.errors import InputError
from ettr.notebook import rendering

NEEDED = {
    "day": ["hour", "low_mw", "mean_mw", "high_mw"],
    "moments": ["moment", "since_s", "power_mw"],
    "spectrum": ["nodes", "frequency_hz", "psd_mw2_per_hz", "band_share"],
    "floor_pairs": ["trough", "compute_share"],
    "smoothed": ["option", "reached", "since_s", "power_mw"],
    "costs": ["option", "reached", "energy_usd", "throughput_usd", "capital_usd", "total_usd"],
    "bill": ["part", "wasted", "hours", "electricity_usd", "gpu_usd"],
    "carbon": ["title", "intensity_g_per_kwh", "t_co2"],
}


def draw(kind: str, rows: pd.DataFrame, case: str = "llama3-405b") -> dict:
    texts = "A title", of(case).job.title
    chart = {
        "day": lambda: charts.day(rows, table("events", case), *texts),
        "moments": lambda: charts.moments(rows, *texts),
        "spectrum": lambda: charts.spectrum(rows, 0.1, 20.0, *texts),
        "floor_pairs": lambda: smoothing_charts.floor_pairs(rows, table("own_step", case), *texts),
        "smoothed": lambda: smoothing_charts.moment(rows, *texts),
        "costs": lambda: smoothing_charts.costs(rows, *texts),
        "bill": lambda: smoothing_charts.bill(rows, *texts),
        "carbon": lambda: smoothing_charts.carbon(rows, *texts),
    }[kind]()
    return chart.to_dict()


@pytest.mark.parametrize(
    "case", ["llama3-405b", "glm-130b, no failures", pytest.param("rsc-1", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kind", NEEDED)
def test_a_chart_is_whole_and_small(kind, case, check_chart):
    spec = draw(kind, table(kind, case), case)
    check_chart(spec)
    assert rendering.svg(spec).startswith("<svg")
    assert len(json.dumps(spec)) < 250_000


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_named(kind):
    for column in NEEDED[kind]:
        with pytest.raises(InputError, match=f"the chart needs column {column}; there are"):
            draw(kind, table(kind).drop(columns=column))


def test_bars_and_powers_start_at_zero(layer_of):
    for kind, axis in (("costs", "x"), ("bill", "x"), ("carbon", "x")):
        spec = draw(kind, table(kind))
        assert spec["encoding"][axis]["scale"]["zero"] is True
    spec = draw("day", table("day"))
    assert layer_of(spec, "area")["encoding"]["y"]["scale"]["zero"] is True


def test_stops_keep_the_colours_of_their_parts(layer_of):
    spec = draw("day", table("day"))
    scale = layer_of(spec, "tick")["encoding"]["color"]["scale"]
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert colours["failure"] == theme.PART_COLOURS["rework"]
    assert len(layer_of(spec, "tick")["rows"]) == len(table("events"))


def test_an_option_that_misses_the_target_says_so(chart_values):
    rows = {row["option"] for row in chart_values(draw("costs", table("costs")))}
    assert "rack storage, misses the target" in rows and "battery" in rows


def test_the_band_is_shaded(layer_of):
    band = layer_of(draw("spectrum", table("spectrum")), "rect")["rows"]
    assert band == [{"frequency_hz": 0.1, "to_hz": pytest.approx(20.0)}]


def test_the_table_of_limits_has_a_row_a_rule():
    checked = pd.DataFrame(
        [("a", "swing", 1.0, 2.0, "MW", "broken"), ("a", "share", 0.1, 0.05, "1", "kept")],
        columns=["specification", "rule", "limit", "value", "unit", "verdict"],
    )
    html = smoothing_charts.limits(checked)._repr_html_()
    assert html.count("<tr>") == 3 and "broken" in html and "MW" in html
    with pytest.raises(InputError, match="the chart needs column verdict"):
        smoothing_charts.limits(checked.drop(columns="verdict"))
