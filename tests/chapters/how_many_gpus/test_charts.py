"""Charts on the number of GPUs, by their specification."""

from __future__ import annotations

from functools import cache

import pytest

from ettr import Scenario, sizing
from ettr.chapters import how_many_gpus
from ettr.core.errors import InputError

RUNS = {"llama3-405b-tokens": {}, "rsc-1": {"cluster.n_gpus": 64}}
FREE = {"cost": {"usd_per_gpu_h": 0, "usd_per_kwh": 0}}


@cache
def run(name: str) -> Scenario:
    return how_many_gpus.tables.given_by_tokens(Scenario.load(name).override(RUNS[name])).scenario


@cache
def answer(name: str) -> sizing.Sizing:
    return sizing.make(run(name))


@cache
def frames(kind: str, name: str) -> tuple:
    scenario = run(name)
    of = {
        "returns": lambda: (how_many_gpus.tables.returns_by_size(scenario, 20), 16384, answer(name).turning_gpus),
        "step": lambda: (how_many_gpus.tables.step_by_size(scenario, n_sizes=12),),
        "cost": lambda: (
            how_many_gpus.tables.cost_by_size(scenario),
            how_many_gpus.tables.marked_sizes(answer(name), None, "USD"),
        ),
        "calibrated": lambda: (how_many_gpus.tables.calibrated_runs(),),
        "turning": lambda: (how_many_gpus.scaling_option_tables.turning_by_factor(scenario, (0.125, 1.0, 8.0)),),
        "ways_out": lambda: (
            how_many_gpus.scaling_option_tables.ways_out(
                scenario, how_many_gpus.scaling_option_tables.ways(), n_sizes=12
            ),
            how_many_gpus.scaling_option_tables.elastic_by_size(scenario, 8192, n_runs=2),
        ),
    }
    return of[kind]()


ROOMS = {
    **dict.fromkeys(("returns", "step", "cost", "calibrated"), how_many_gpus.charts),
    **dict.fromkeys(("turning", "ways_out"), how_many_gpus.scaling_option_charts),
}


def drawn(kind: str, *args) -> dict:
    return getattr(ROOMS[kind], kind)(*args, "A title", "A run").to_dict()


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("kind", ROOMS)
def test_a_chart_holds_what_a_page_needs(check_chart, kind, name):
    check_chart(drawn(kind, *frames(kind, name)))


@pytest.mark.parametrize("kind", ROOMS)
def test_a_missing_column_is_named(kind):
    first, *others = frames(kind, "llama3-405b-tokens")
    column = "measured_pct" if kind == "calibrated" else "n_gpus"
    with pytest.raises(InputError, match=f"the chart needs column.* {column}"):
        drawn(kind, first.drop(columns=column), *others)


def test_sizes_are_marked_as_far_as_there_are(layer_of):
    frame, *_ = frames("returns", "llama3-405b-tokens")
    both = layer_of(drawn("returns", frame, 16384, 145_477), "text", "name")["rows"]
    assert [(row["name"], row["n_gpus"]) for row in both] == [("this job", 16384), ("turning point", 145_477)]
    assert len(layer_of(drawn("returns", frame, 16384, None), "text", "name")["rows"]) == 1


def test_shares_of_a_step_are_stacked_over_the_whole_axis(encoding_of):
    up = encoding_of(drawn("step", *frames("step", "llama3-405b-tokens")), "area")["y"]
    assert up["stack"] == "zero"
    assert up["scale"]["domain"] == [0, 1]


def test_every_term_of_a_step_has_a_colour_of_its_own():
    assert set(how_many_gpus.charts.TERM_COLOURS) == set(how_many_gpus.tables.TERMS.values())
    assert len(set(how_many_gpus.charts.TERM_COLOURS.values())) == len(how_many_gpus.charts.TERM_COLOURS)


def test_without_prices_the_axis_is_electricity(layer_of):
    free = run("llama3-405b-tokens").override(FREE)
    sizes = sizing.make(free)
    spec = drawn("cost", how_many_gpus.tables.cost_by_size(free), how_many_gpus.tables.marked_sizes(sizes, None, "MWh"))
    assert layer_of(spec, "line")["encoding"]["y"]["title"] == "Electricity [GWh]"
    assert layer_of(drawn("cost", *frames("cost", "rsc-1")), "line")["encoding"]["y"]["title"] == "Cost [million USD]"


def test_rows_used_and_left_out_differ_in_shape_and_stems_begin_at_zero(layer_of):
    spec = drawn("calibrated", *frames("calibrated", "rsc-1"))
    dots = layer_of(spec, "point")
    assert len(set(dots["encoding"]["shape"]["scale"]["range"])) == 2
    assert {row["run"] for row in dots["rows"]} >= {"MegaScale 256", "Llama 3.1 8B 128"}
    assert len({row["run"] for row in dots["rows"]}) == len(dots["rows"])
    stems = layer_of(spec, "rule", "zero")
    assert all(row["zero"] == 0 for row in stems["rows"])


def test_points_where_the_batch_ends_are_ringed():
    frame, *_ = frames("turning", "llama3-405b-tokens")
    assert frame["ends"].any()
    assert "rings" in drawn("turning", frame)["title"]["subtitle"]
    assert "rings" not in drawn("turning", frame[~frame["ends"]])["title"]["subtitle"]


def test_a_chart_without_simulated_points_says_so():
    lines, points = frames("ways_out", "llama3-405b-tokens")
    assert "Simulated points" in drawn("ways_out", lines, points)["description"]
    assert "Nothing is simulated" in drawn("ways_out", lines, points.iloc[:0])["description"]


def test_tables_show_every_row():
    name = "llama3-405b-tokens"
    within = how_many_gpus.tables.sizes_within_limits(run(name), answer(name), [30], n_draws=20)
    cells = how_many_gpus.words.limit_cells(within)
    html = how_many_gpus.charts.table(cells, "Limits")._repr_html_()
    assert html.count("<tr>") == len(within) + 1
    rows = how_many_gpus.tables.calibrated_runs()
    html = how_many_gpus.charts.calibrated_table(rows)._repr_html_()
    assert html.count("<tr>") == len(rows) + 1
    assert "left out" in html
    large = how_many_gpus.scaling_option_words.large_cells(
        how_many_gpus.scaling_option_tables.large_jobs(run(name), [100_000])
    )
    assert how_many_gpus.charts.table(large, "Large")._repr_html_().count("<tr>") == 2
