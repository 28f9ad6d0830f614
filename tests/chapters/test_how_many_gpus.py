"""The chapter on the number of GPUs."""

from __future__ import annotations

import numpy as np
import pytest

from computed.chapters import PRESETS
from computed.how_many_gpus import TOKENS, answer, job, run, table
from ettr import Scenario, sizing
from ettr_book.chapters.how_many_gpus import given, sizes


def test_a_job_given_by_tokens_stays_as_it_is():
    assert job() == given.GivenByTokens(Scenario.load(TOKENS), ())


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_given_by_tokens(name):
    base = Scenario.load(name)
    assert run(name).layout_of_job is not None
    assert run(name).cluster.n_gpus == pytest.approx(base.cluster.n_gpus, rel=0.2)
    assert run(name).node_rate_per_h == pytest.approx(base.node_rate_per_h)
    assert bool(job(name).changes) == (base.job.tokens is None)


@pytest.mark.parametrize(("n_gpus", "weights"), [(8, 8e9), (64, 70e9), (4096, 405e9)])
def test_a_small_cluster_gets_a_smaller_model_and_keeps_its_size(n_gpus, weights):
    small = given.given_by_tokens(Scenario.load("rsc-1").override({"cluster.n_gpus": n_gpus}))
    assert small.scenario.cluster.n_gpus == n_gpus
    assert small.scenario.model.n_parameters == weights
    assert any("do not fit" in words for words in small.changes) == (weights < 405e9)


def test_a_size_that_no_layout_divides_is_rounded_and_told():
    odd = given.given_by_tokens(Scenario.load("h100-100k").override({"cluster.n_gpus": 8 * 12_503}))
    assert odd.scenario.cluster.n_gpus != 8 * 12_503
    assert abs(odd.scenario.cluster.n_gpus - 8 * 12_503) <= 8 * 128
    assert "since no layout divides 100,024" in odd.changes[-1]


def test_more_gpus_than_the_batch_has_work_for_get_a_larger_one():
    large = given.given_by_tokens(Scenario.load("rsc-1").override({"cluster.n_gpus": 4_194_304}))
    assert large.scenario.model.batch_tokens == 8 * 2**24
    assert any("smaller ones leave GPUs idle" in words for words in large.changes)


def test_what_no_formula_has_a_term_for_is_left_out_and_told():
    few = Scenario.load("rsc-1").override({"spares": {"n_nodes": 8}, "repair": {"manual_h": 24}})
    without = given.given_by_tokens(few)
    assert without.scenario.spares is None
    assert without.changes[0].startswith("without spares")


def by_line(frame):
    return frame.pivot_table(index="n_gpus", columns="line", values="tokens_per_day")


def test_lines_are_counted_in_turn_and_the_last_has_a_band():
    frame = table("returns")
    wide, last = by_line(frame), frame[frame["line"] == "with failures"]
    assert set(wide.columns) == {"with failures", "linear", "throughput"}
    assert (wide["linear"] >= wide["throughput"] * (1 - 1e-12)).all()
    assert (wide["throughput"] > wide["with failures"]).all()
    assert np.ptp(wide["linear"] / wide.index) == pytest.approx(0, abs=1e-3)
    assert (last["low"] <= last["high"]).all()
    assert frame.loc[frame["line"] != "with failures", ["low", "high"]].isna().all(axis=None)
    useful = wide["throughput"] * last.set_index("n_gpus")["ettr"]
    assert last["tokens_per_day"].to_numpy() == pytest.approx(useful.to_numpy())


def test_heat_has_a_line_where_it_costs_something():
    wide = by_line(table("returns", "hot"))
    assert (wide["throughput"] > wide["with heat"]).all()
    assert (wide["with heat"] > wide["with failures"]).all()


def test_parts_of_a_step_are_all_of_it():
    frame = table("step")
    assert {16384.0, 100_000.0} <= set(frame["n_gpus"])
    assert frame.groupby("n_gpus")["share"].sum().to_numpy() == pytest.approx(1)
    ideal = frame[(frame["term"] == "computing, at the peak") & (frame["n_gpus"] == 16384)]
    assert ideal["share"].iloc[0] == pytest.approx(sizing.yields(run(), 16384.0).mfu)
    assert set(frame["term"]) <= {name for name, _ in sizes.TERMS.values()}


def test_the_own_size_has_the_layout_that_divides_it():
    name = "h100-100k"
    size, layout, frame = run(name).cluster.n_gpus, run(name).layout_of_job, table("step", name)
    rows_of_job = frame[frame["n_gpus"] == size]
    assert set(rows_of_job["layout"]) == {str(layout)}
    assert rows_of_job["seconds"].sum() == pytest.approx(float(run(name).throughput.step(size, layout).total_s))
    assert set(frame[frame["n_gpus"] != size]["layout"]) != set(rows_of_job["layout"])
    assert sizes.on_size(run(name), size).days[0] == pytest.approx(float(answer(name).at_current.days))


def test_cost_goes_to_twice_the_fastest_size():
    frame, fastest = table("cost"), answer().best["fastest"]
    assert frame["n_gpus"].max() == pytest.approx(2 * fastest.n_gpus, rel=0.1)
    assert frame["days"].min() == pytest.approx(float(fastest.yields.days), rel=0.01)
    assert (frame["unit"] == "USD").all()


def test_without_prices_the_cost_is_electricity():
    assert (table("cost", "no prices")["unit"] == "MWh").all()
    marked = sizes.marked_sizes(answer("no prices"), None, "MWh")
    assert set(marked["goal"]) == {sizes.THIS_JOB, "fastest"}
