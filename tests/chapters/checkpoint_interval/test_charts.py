"""Charts on formulas, bands, changing rates and requirements, by their specification."""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest

from ettr import Scenario, plan, validation
from ettr.chapters import checkpoint_interval
from ettr.chapters import scale as scale_chapter
from ettr.chapters.common import theme
from ettr.core.errors import InputError

NAMES = ("llama3-405b", "rsc-1", "opt-175b", "calm")
SIZES = (16_384, 100_000, 1_000_000)


@cache
def run(name: str) -> Scenario:
    calm = {"failures.rate_per_1000_node_days": 0}
    return Scenario.load("opt-175b").override(calm) if name == "calm" else Scenario.load(name)


printed = cache(validation.rsc_beside_exact)


@cache
def moving(name: str) -> pd.DataFrame:
    return checkpoint_interval.changing_rate_tables.rates_and_intervals(
        checkpoint_interval.changing_rate_tables.changing_cases(run(name), 5, 20, 0.7), 5
    )


@cache
def frames(kind: str, name: str) -> tuple[pd.DataFrame, ...]:
    scenario = run(name)
    if kind in ("first_order", "rsc"):
        regions = checkpoint_interval.disagreement_tables.difference_regions(scenario, kind, 30)
        return (
            regions,
            checkpoint_interval.disagreement_tables.difference_cells(scenario, kind, 5),
            checkpoint_interval.disagreement_tables.difference_at_best(scenario, kind, 10),
        )
    one = {
        "rsc_beside_exact": printed,
        "interval_with_bands": lambda: checkpoint_interval.tables.interval_with_bands(scenario, 9),
        "size_with_bands": lambda: scale_chapter.tables.size_with_bands(scenario, 9),
        "band_by_size": lambda: scale_chapter.tables.band_by_size(scenario, 5),
        "rates": lambda: moving(name),
        "intervals": lambda: moving(name),
        "one_interval": lambda: checkpoint_interval.changing_rate_tables.one_interval_by_factor(scenario, 20, 4),
    }
    if kind == "frontiers":
        return scale_chapter.requirement_tables.frontiers(
            scenario, 0.9, SIZES, 6
        ), scale_chapter.requirement_tables.rates_and_restarts()
    return (one[kind](),)


def draw(kind: str, name: str, *given: pd.DataFrame):
    texts = "A title", run(name).title
    data = given or frames(kind, name)
    if kind in ("first_order", "rsc"):
        return checkpoint_interval.disagreement_charts.difference(*data, kind.replace("_", " "), *texts)
    if kind == "rsc_beside_exact":
        return checkpoint_interval.disagreement_charts.rsc_beside_exact(*data, *texts)
    if kind == "interval_with_bands":
        return checkpoint_interval.charts.interval_with_bands(*data, plan.flat_band(run(name)), *texts)
    if kind == "size_with_bands":
        return scale_chapter.charts.size_with_bands(*data, 0.9, *texts)
    if kind == "band_by_size":
        return scale_chapter.charts.band_by_size(*data, *texts)
    if kind == "frontiers":
        return scale_chapter.requirement_charts.frontiers(*data, run(name), *texts)
    return getattr(checkpoint_interval.changing_rate_charts, kind)(*data, *texts)


@cache
def spec(kind: str, name: str = "llama3-405b") -> dict:
    return draw(kind, name).to_dict()


KINDS = [
    *("first_order", "rsc", "rsc_beside_exact", "interval_with_bands", "size_with_bands", "band_by_size"),
    *("rates", "intervals", "one_interval", "frontiers"),
]


def layers(part: dict, data: dict | None = None) -> list[dict]:
    """The single charts of a specification, each with the data that it reads."""
    data = part.get("data", data)
    if "layer" in part:
        return [leaf for child in part["layer"] for leaf in layers(child, data)]
    return [{**part, "data": data}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_chart_reads_only_fields_that_its_data_has(kind, name, check_chart):
    check_chart(spec(kind, name))
    assert run(name).title in spec(kind, name)["title"]["subtitle"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_no_layer_is_blank(kind, name):
    """Where nothing fails there is still a line to see."""
    chart = spec(kind, name)
    drawn = [layer["mark"]["type"] for layer in layers(chart)]
    assert {"line", "point", "area"} & set(drawn)
    assert all(chart["datasets"][layer["data"]["name"]] for layer in layers(chart))


NEEDED = {
    "rsc_beside_exact": "quantity published relation rsc exact max_n_gpus",
    "interval_with_bands": "interval_min ettr low_50 high_50 low_95 high_95",
    "size_with_bands": "n_gpus ettr low_50 high_50 low_95 high_95",
    "band_by_size": "n_gpus interval_min low_min high_min low_95_min high_95_min",
    "rates": "case exposed_d per_day interval_min",
    "intervals": "case exposed_d per_day interval_min",
    "one_interval": "factor kept interval_min ettr following loss_points",
    "first_order": "layer within n_gpus low_min high_min",
    "frontiers": "n_gpus rate restart_min interval_min",
}


@pytest.mark.parametrize(("kind", "column"), [(kind, column) for kind in NEEDED for column in NEEDED[kind].split()])
def test_a_missing_column_is_an_error(kind, column):
    first, *others = frames(kind, "llama3-405b")
    with pytest.raises(InputError, match=f"the chart needs column {column}; there are: "):
        draw(kind, "llama3-405b", first.drop(columns=column), *others)


@pytest.mark.parametrize(
    ("kind", "which", "column"),
    [("rsc", 1, "exact"), ("rsc", 2, "interval_min"), ("frontiers", 1, "restart_is")],
)
def test_other_frames_need_their_columns_too(kind, which, column):
    data = list(frames(kind, "llama3-405b"))
    data[which] = data[which].drop(columns=column)
    with pytest.raises(InputError, match=f"the chart needs column {column}; there are: "):
        draw(kind, "llama3-405b", *data)


# --------------------------------------------------------------------------- the map


def test_where_there_is_no_answer_the_map_says_so_and_nothing_shines_through():
    chart = spec("first_order")
    ground = layers(chart)[0]
    assert ground["mark"]["type"] == "rect" and chart["datasets"][ground["data"]["name"]][0]["apart"] == "no answer"
    opaque = [layer for layer in layers(chart) if layer["mark"]["type"] in ("rect", "area")][:-1]
    assert all(layer["mark"]["opacity"] == 1 for layer in opaque)  # smooth areas on each other: no seams
    scale = ground["encoding"]["color"]["scale"]
    assert len(set(scale["range"])) == len(scale["domain"]) == 5


def test_the_areas_lie_on_each_other_from_wide_to_narrow():
    chart = spec("first_order")
    areas = [layer for layer in layers(chart) if layer["mark"]["type"] == "area"]
    classes = [{row["apart"] for row in chart["datasets"][layer["data"]["name"]]} for layer in areas]
    assert classes == [{"over 20 points"}, {"5 to 20"}, {"1 to 5"}, {"within 1 point"}]
    widest = [max(row["n_gpus"] for row in chart["datasets"][layer["data"]["name"]]) for layer in areas]
    assert widest == sorted(widest, reverse=True)


def test_the_contour_is_one_path_around_the_region_without_the_frame():
    chart = spec("first_order")
    path = next(
        layer for layer in layers(chart) if layer["mark"].get("color") == "white" and layer["mark"]["type"] == "line"
    )
    rows = chart["datasets"][path["data"]["name"]]
    steps = [row["step"] for row in rows]
    assert steps == sorted(steps) and path["encoding"]["order"]["field"] == "step"
    cells = frames("first_order", "llama3-405b")[1]
    assert max(row["at_min"] for row in rows) < cells["interval_min_end"].max()


def test_every_cell_of_the_map_answers_the_pointer():
    chart = spec("rsc", "rsc-1")
    touched = next(layer for layer in layers(chart) if layer["encoding"].get("opacity") == {"value": 0})
    rows = chart["datasets"][touched["data"]["name"]]
    assert len(rows) == 25 and {row["says"] for row in rows} >= {"no answer"}
    assert [tip["title"] for tip in touched["encoding"]["tooltip"]][-1] == "Apart [points]"


# --------------------------------------------------------------------------- published, bands, rates, requirements


def test_each_published_result_has_three_marks_of_their_own_shape(encoding_of, layer_of):
    chart = spec("rsc_beside_exact")
    rows = layer_of(chart, "point")["rows"] if "layer" in chart else next(iter(chart["datasets"].values()))
    assert len(rows) == 3 * len(printed())
    encoding = chart["encoding"] if "encoding" in chart else encoding_of(chart, "point")
    assert encoding["shape"]["field"] == encoding["color"]["field"] == encoding["yOffset"]["field"] == "way"
    assert "at least 90%" in {row["what"] for row in rows}
    assert min(row["ettr"] for row in rows) > encoding["x"]["scale"]["domain"][0]


@pytest.mark.parametrize("kind", ["interval_with_bands", "size_with_bands"])
def test_bands_are_drawn_where_the_rate_is_known_and_only_there(kind):
    areas = [layer for layer in layers(spec(kind)) if layer["mark"]["type"] == "area"]
    assert [layer["encoding"]["y2"]["field"] for layer in areas] == ["high_95", "high_50"]
    assert "with 95% probability" in spec(kind)["description"]
    assert not [layer for layer in layers(spec(kind, "rsc-1")) if layer["mark"]["type"] == "area"]
    assert "nothing is known of the rate's uncertainty" in spec(kind, "rsc-1")["description"]


def test_the_range_of_the_rate_is_named_only_where_it_is_known():
    def names(name: str) -> list[str]:
        area = next(layer for layer in layers(spec("band_by_size", name)) if layer["mark"]["type"] == "area")
        return area["encoding"]["color"]["scale"]["domain"]

    assert names("llama3-405b") == ["half a point lost", "rate, 95%"] and names("rsc-1") == ["half a point lost"]


def test_rates_are_on_a_logarithmic_axis_unless_they_are_all_zero(encoding_of):
    assert encoding_of(spec("rates"), "line")["y"]["scale"]["type"] == "log"
    assert encoding_of(spec("rates", "calm"), "line")["y"]["scale"] == {"zero": True}
    assert "burn-in 38.6 to 10.7" in spec("rates")["description"]


def test_the_cost_of_one_interval_starts_at_zero(encoding_of):
    lines = encoding_of(spec("one_interval"), "line")
    assert lines["y"]["scale"]["zero"] is True and lines["strokeDash"]["field"] == "kept"


def test_each_size_has_a_line_and_presets_say_what_is_assumed():
    chart = spec("frontiers")
    first, *_ = layers(chart)
    assert first["encoding"]["color"]["scale"]["domain"] == ["16,384 GPUs", "100,000 GPUs", "1,000,000 GPUs"]
    dots = next(layer for layer in layers(chart) if "shape" in layer["encoding"])
    assert dots["mark"]["color"] == theme.MODEL_COLOURS["published"]
    assert {row["restart_is"] for row in chart["datasets"][dots["data"]["name"]]} == {"published", "assumed"}


def test_without_a_line_the_presets_are_still_there(check_chart):
    nothing = scale_chapter.requirement_tables.frontiers(run("llama3-405b"), 0.995, SIZES, 4)
    chart = draw("frontiers", "llama3-405b", nothing, scale_chapter.requirement_tables.rates_and_restarts()).to_dict()
    check_chart(chart)
    assert "no size reaches it with any restart shown" in chart["description"]


def test_the_table_names_what_blocks():
    frame = scale_chapter.requirement_tables.required_by_size(run("llama3-405b"), 0.9, SIZES)
    drawn = scale_chapter.requirement_charts.table(scale_chapter.requirement_words.cells(frame), "A caption")
    html = drawn._repr_html_()
    assert "1,000,000 GPUs" in html and "at most 0.738" in html and "<caption>A caption</caption>" in html
    assert "none: 83.3% at best; with the checkpoint stall ideal too enough" in html
    with pytest.raises(InputError, match="the chart needs column given"):
        scale_chapter.requirement_charts.table(pd.DataFrame({"field": ["a"]}), "A caption")
