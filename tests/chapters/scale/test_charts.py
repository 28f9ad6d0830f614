"""Charts on size, where the hours go and requirements, by their specification."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

from computed.chapters import ANY_SIZE, AS_IT_IS, ONE, USUAL, answer, presets_and_extremes, scenario, table
from ettr import evidence
from ettr.chapters import scale
from ettr.chapters.common import theme, time_budget
from ettr.core.errors import InputError

CHARTS, TABLES, REQUIREMENTS = scale.charts, scale.tables, scale.requirement_tables
EXTREMES = (AS_IT_IS, "no failures", "one node")
TARGET, SIZES = 0.9, (16_384, 100_000, 1_000_000)


def map_frames(*run: str) -> list[pd.DataFrame]:
    regions = table(TABLES.recovery_regions, *run, tuple(CHARTS.levels(TARGET)), 30)
    return [regions, table(TABLES.recovery_map, *run, 12)]


FRAMES = {
    "time_budget": lambda *run: [answer(*run).budget_as_given.to_frame()],
    "parts": lambda *run: [table(TABLES.parts_by_size, *run)],
    "by_size": lambda *run: [table(TABLES.by_size, *run), evidence.published_ettr()],
    "size_with_bands": lambda *run: [table(TABLES.size_with_bands, *run)],
    "band_by_size": lambda *run: [table(TABLES.band_by_size, *run, 9)],
    "recovery_map": map_frames,
    "frontiers": lambda *run: [
        table(REQUIREMENTS.frontiers, *run, TARGET, SIZES, 8),
        REQUIREMENTS.rates_and_restarts(),
    ],
}
NEEDED = {
    "time_budget": ["part hours share"],
    "parts": ["n_gpus part share"],
    "by_size": ["n_gpus interval formula interval_min job_mttf_h ettr", "bound"],
    "size_with_bands": ["n_gpus ettr low_50 high_50 low_95 high_95"],
    "band_by_size": ["n_gpus interval_min low_min high_min low_95_min high_95_min"],
    "recovery_map": ["", "n_gpus n_gpus_end restart_min restart_min_end ettr"],
    "frontiers": ["n_gpus rate restart_min interval_min", "restart_is"],
}


def draw(kind: str, frames: list, *run: str):
    texts = "A title", scenario(*run).title
    if kind == "time_budget":
        return time_budget.time_budget(*frames, *texts)
    if kind == "parts":
        return time_budget.parts(*frames, "n_gpus", *texts)
    if kind == "band_by_size":
        return CHARTS.band_by_size(*frames, *texts)
    if kind == "frontiers":
        return scale.requirement_charts.frontiers(*frames, scenario(*run), *texts)
    return getattr(CHARTS, kind)(*frames, TARGET, *texts)


@cache
def spec(kind: str, name: str = ONE, extreme: str = AS_IT_IS) -> dict:
    return draw(kind, FRAMES[kind](name, extreme), name, extreme).to_dict()


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(("name", "extreme"), presets_and_extremes(["rsc-1"], EXTREMES, ANY_SIZE))
def test_a_chart_holds_what_a_page_needs_and_no_layer_is_blank(kind, name, extreme, check_chart, layers_of):
    check_chart(spec(kind, name, extreme), scenario(name).title)
    assert all(layer["rows"] for layer in layers_of(spec(kind, name, extreme)))


@pytest.mark.parametrize("kind", NEEDED)
def test_a_missing_column_is_an_error(kind, check_columns):
    check_columns(lambda *frames: draw(kind, frames), FRAMES[kind](*USUAL), *NEEDED[kind])


def test_the_budget_has_bars_from_zero_in_the_colours_of_the_parts(encoding_of, chart_values):
    chart = spec("time_budget")
    bars = encoding_of(chart, "bar")
    assert bars["x"]["scale"]["zero"] is True
    colours = bars["color"]["scale"]
    assert all(theme.PART_COLOURS[part] == c for part, c in zip(colours["domain"], colours["range"], strict=True))
    drawn = [row["part"] for row in chart_values(chart)]
    assert "productive" not in drawn and "degraded" not in drawn
    assert set(drawn) == set(colours["domain"]) and bars["y"]["sort"] == colours["domain"]
    assert f"productive {answer().budget_as_given.ettr:.1%}" in chart["description"]


def test_a_budget_without_losses_is_still_a_chart():
    frame = pd.DataFrame({"part": ["productive", "rework"], "hours": [5.0, 0.0], "share": [1.0, 0.0]})
    chart = time_budget.time_budget(frame, "Nothing is lost").to_dict()
    assert chart["description"].endswith("All parts: productive 100.0%.")


def test_lost_parts_are_stacked_in_one_order_and_their_colours(encoding_of):
    area = encoding_of(spec("parts"), "area")
    colours, order = area["color"]["scale"], list(theme.PART_COLOURS)
    assert colours["domain"] == sorted(colours["domain"], key=order.index) and "productive" not in colours["domain"]
    assert colours["range"] == [theme.PART_COLOURS[part] for part in colours["domain"]]
    assert area["y"]["stack"] == "zero" and area["y"].get("scale", {}).get("domain", [0])[0] == 0
    assert area["x"]["scale"]["type"] == "log"


def test_parts_tell_what_is_lost_at_both_ends():
    frame = table(TABLES.parts_by_size)
    lost = 1 - frame[frame["part"] == "productive"].set_index("n_gpus")["share"]
    description = spec("parts")["description"]
    assert f"In all {lost.iloc[0]:.0%} are lost at 128" in description
    assert f"{lost.iloc[-1]:.0%} at 1e+06" in description


def test_size_has_a_target_line_and_the_reported_figures(layer_of):
    chart = spec("by_size")
    assert [row["ettr"] for row in layer_of(chart, "rule")["rows"]] == [TARGET]
    dots = layer_of(chart, "point", "run")
    assert dots["mark"]["color"] == theme.MODEL_COLOURS["published"]
    assert {row["run"] for row in dots["rows"]} == set(evidence.published_ettr()["run"])
    assert "Llama 3 405B more than 90% on 16,384" in chart["description"]


def test_bands_are_drawn_where_the_rate_is_known_and_only_there(layers_of):
    known, unknown = spec("size_with_bands"), spec("size_with_bands", "rsc-1")
    assert [area["encoding"]["y2"]["field"] for area in layers_of(known, "area")] == ["high_95", "high_50"]
    assert "with 95% probability" in known["description"]
    assert not layers_of(unknown, "area")
    assert "nothing is known of the rate's uncertainty" in unknown["description"]


@pytest.mark.parametrize(
    ("name", "names"), [(ONE, ["half a point lost", "rate, 95%"]), ("rsc-1", ["half a point lost"])]
)
def test_the_range_of_the_rate_is_named_only_where_it_is_known(name, names, layers_of):
    first, *_ = layers_of(spec("band_by_size", name), "area")
    assert first["encoding"]["color"]["scale"]["domain"] == names


# --------------------------------------------------------------------------- the map


@pytest.mark.parametrize("target", [0.5, 0.9, 0.99])
def test_the_map_lays_higher_classes_on_lower_ones(target, layers_of):
    regions = table(TABLES.recovery_regions, *USUAL, tuple(CHARTS.levels(target)), 30)
    chart = CHARTS.recovery_map(regions, table(TABLES.recovery_map, *USUAL, 12), target, "A title").to_dict()
    areas = layers_of(chart, "area")
    scale_of = areas[0]["encoding"]["color"]["scale"]
    drawn = [layer["rows"][0]["reach"] for layer in areas]
    assert drawn == scale_of["domain"][: len(drawn)] and all(layer["mark"]["opacity"] == 1 for layer in areas)
    assert len(scale_of["range"]) == len(scale_of["domain"]) == len(set(scale_of["range"]))
    assert any(name.startswith(f"{target:.0%} to") for name in scale_of["domain"])
    assert f"At least {target:.0%}" in chart["description"]
    widest = [max(row["n_gpus"] for row in layer["rows"]) for layer in areas]
    assert widest == sorted(widest, reverse=True)


def test_the_map_has_a_class_for_a_run_that_loses_nothing(layers_of):
    top = layers_of(spec("recovery_map", ONE, "nothing is lost"), "area")[-1]["rows"]
    assert top[0]["reach"] == "95% to 100%" and {row["high_min"] for row in top} == {30.0}


# --------------------------------------------------------------------------- requirements


def test_each_size_has_a_line_and_presets_say_what_is_assumed(layers_of):
    first, *others = layers_of(spec("frontiers"))
    assert first["encoding"]["color"]["scale"]["domain"] == ["16,384 GPUs", "100,000 GPUs", "1,000,000 GPUs"]
    dots = next(layer for layer in others if "shape" in layer["encoding"])
    assert dots["mark"]["color"] == theme.MODEL_COLOURS["published"]
    assert {row["restart_is"] for row in dots["rows"]} == {"published", "assumed"}


def test_without_a_line_the_presets_are_still_there(check_chart):
    nothing = table(REQUIREMENTS.frontiers, *USUAL, 0.995, SIZES, 4)
    chart = draw("frontiers", [nothing, REQUIREMENTS.rates_and_restarts()]).to_dict()
    check_chart(chart)
    assert "no size reaches it with any restart shown" in chart["description"]


def test_the_table_has_its_caption_and_needs_its_columns():
    cells = scale.requirement_words.cells(table(REQUIREMENTS.required_by_size, *USUAL, TARGET, SIZES))
    html = scale.requirement_charts.table(cells, "A caption")._repr_html_()
    assert "<caption>A caption</caption>" in html and html.count("<tr>") == len(cells) + 1
    with pytest.raises(InputError, match="the chart needs column given"):
        scale.requirement_charts.table(cells.drop(columns="given"), "A caption")
