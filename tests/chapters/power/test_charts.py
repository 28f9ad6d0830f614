"""Charts of the chapter on power, by their specification."""

from __future__ import annotations

import json
from functools import cache

import pandas as pd
import pytest

from ettr import Scenario, power, simulate
from ettr.chapters import power as power_chapter
from ettr.chapters.common import theme
from ettr.core.errors import InputError
from ettr.notebook import rendering

CASES = {
    "llama3-405b": ({}, "h100"),
    "rsc-1": ({"cluster.n_gpus": 8000}, "a100"),
    "glm-130b": ({"failures.rate_per_1000_node_days": 0, "maintenance": None}, "gb200"),
}
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


@cache
def of(name: str) -> dict:
    change, part = CASES[name]
    job = Scenario.load(name).override(change)
    profile = power.profile(job, part)
    timeline = simulate(job, 1, timeline=[0]).timeline
    window = power_chapter.tables.day_of_run(timeline)
    fine = power.series(timeline, profile, 0.2, window.start_h, window.start_h + 1, at="computers")
    sized = power_chapter.tables.sized_options(fine, power.Target(0.2))
    bill = power.bill(timeline, profile)
    return {
        "title": job.title,
        "events": power_chapter.tables.stops_of_day(timeline, window),
        "own": power_chapter.tables.own_step(profile, 0.9),
        "day": power_chapter.tables.power_of_day(power.series(timeline, profile, 1.0, window.start_h, window.end_h)),
        "moments": power_chapter.tables.moments(timeline, profile, window),
        "spectrum": power_chapter.tables.spectra(timeline, profile, window, 0.02),
        "floor_pairs": power_chapter.tables.floor_pairs(0.9, 0.105),
        "smoothed": power_chapter.tables.smoothed_moment(timeline, profile, window, sized),
        "costs": power.compare(fine, power.Target(0.2), job, sized),
        "bill": bill,
        "carbon": power.carbon_by_country(float(bill["facility_mwh"].sum())),
    }


def draw(kind: str, rows: pd.DataFrame, name: str = "llama3-405b"):
    texts = "A title", of(name)["title"]
    return {
        "day": lambda: power_chapter.charts.day(rows, of(name)["events"], *texts),
        "moments": lambda: power_chapter.charts.moments(rows, *texts),
        "spectrum": lambda: power_chapter.charts.spectrum(rows, 0.1, 20.0, *texts),
        "floor_pairs": lambda: power_chapter.smoothing_charts.floor_pairs(rows, of(name)["own"], *texts),
        "smoothed": lambda: power_chapter.smoothing_charts.moment(rows, *texts),
        "costs": lambda: power_chapter.smoothing_charts.costs(rows, *texts),
        "bill": lambda: power_chapter.smoothing_charts.bill(rows, *texts),
        "carbon": lambda: power_chapter.smoothing_charts.carbon(rows, *texts),
    }[kind]()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", NEEDED)
def test_a_chart_is_whole_and_small(kind, name, check_chart):
    spec = draw(kind, of(name)[kind], name).to_dict()
    check_chart(spec)
    assert rendering.svg(spec).startswith("<svg")
    assert len(json.dumps(spec)) < 250_000


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_named(kind):
    for column in NEEDED[kind]:
        with pytest.raises(InputError, match=f"the chart needs column {column}; there are"):
            draw(kind, of("llama3-405b")[kind].drop(columns=column))


def test_bars_and_powers_start_at_zero(layer_of):
    for kind, axis in (("costs", "x"), ("bill", "x"), ("carbon", "x")):
        spec = draw(kind, of("llama3-405b")[kind]).to_dict()
        assert spec["encoding"][axis]["scale"]["zero"] is True
    spec = draw("day", of("llama3-405b")["day"]).to_dict()
    assert layer_of(spec, "area")["encoding"]["y"]["scale"]["zero"] is True


def test_stops_keep_the_colours_of_their_parts(layer_of):
    spec = draw("day", of("llama3-405b")["day"]).to_dict()
    scale = layer_of(spec, "tick")["encoding"]["color"]["scale"]
    colours = dict(zip(scale["domain"], scale["range"], strict=True))
    assert colours["failure"] == theme.PART_COLOURS["rework"]
    assert len(layer_of(spec, "tick")["rows"]) == len(of("llama3-405b")["events"])


def test_an_option_that_misses_the_target_says_so(chart_values):
    rows = {row["option"] for row in chart_values(draw("costs", of("llama3-405b")["costs"]).to_dict())}
    assert "rack storage, misses the target" in rows and "battery" in rows


def test_the_band_is_shaded(layer_of):
    band = layer_of(draw("spectrum", of("llama3-405b")["spectrum"]).to_dict(), "rect")["rows"]
    assert band == [{"frequency_hz": 0.1, "to_hz": pytest.approx(20.0)}]


def test_the_table_of_limits_has_a_row_a_rule():
    table = pd.DataFrame(
        [("a", "swing", 1.0, 2.0, "MW", "broken"), ("a", "share", 0.1, 0.05, "1", "kept")],
        columns=["specification", "rule", "limit", "value", "unit", "verdict"],
    )
    html = power_chapter.smoothing_charts.limits(table)._repr_html_()
    assert html.count("<tr>") == 3 and "broken" in html and "MW" in html
    with pytest.raises(InputError, match="the chart needs column verdict"):
        power_chapter.smoothing_charts.limits(table.drop(columns="verdict"))
