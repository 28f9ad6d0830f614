"""Tables on the number of GPUs."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import Scenario, sizing
from ettr.chapters import how_many_gpus
from ettr.core.errors import InputError
from ettr.evidence import scenario_names


@pytest.fixture(scope="module")
def run():
    return Scenario.load("llama3-405b-tokens")


@pytest.fixture(scope="module")
def answer(run):
    return sizing.make(run)


def test_a_job_given_by_tokens_stays_as_it_is(run):
    assert how_many_gpus.tables.given_by_tokens(run) == how_many_gpus.tables.GivenByTokens(run, ())


@pytest.mark.parametrize("name", scenario_names())
def test_every_preset_can_be_given_by_tokens(name):
    base = Scenario.load(name)
    job = how_many_gpus.tables.given_by_tokens(base)
    assert job.scenario.layout_of_job is not None
    assert job.scenario.cluster.n_gpus == pytest.approx(base.cluster.n_gpus, rel=0.2)
    assert job.scenario.node_rate_per_h == pytest.approx(base.node_rate_per_h)
    assert bool(job.changes) == (base.job.tokens is None)


@pytest.mark.parametrize(("n_gpus", "weights"), [(8, 8e9), (64, 70e9), (4096, 405e9)])
def test_a_small_cluster_gets_a_smaller_model_and_keeps_its_size(n_gpus, weights):
    job = how_many_gpus.tables.given_by_tokens(Scenario.load("rsc-1").override({"cluster.n_gpus": n_gpus}))
    assert job.scenario.cluster.n_gpus == n_gpus
    assert job.scenario.model.n_parameters == weights
    assert any("do not fit" in words for words in job.changes) == (weights < 405e9)


def test_a_size_that_no_layout_divides_is_rounded_and_told():
    odd = Scenario.load("h100-100k").override({"cluster.n_gpus": 8 * 12_503})
    job = how_many_gpus.tables.given_by_tokens(odd)
    assert job.scenario.cluster.n_gpus != 8 * 12_503
    assert abs(job.scenario.cluster.n_gpus - 8 * 12_503) <= 8 * 128
    assert "since no layout divides 100,024" in job.changes[-1]


def test_more_gpus_than_the_batch_has_work_for_get_a_larger_one():
    job = how_many_gpus.tables.given_by_tokens(Scenario.load("rsc-1").override({"cluster.n_gpus": 4_194_304}))
    assert job.scenario.model.batch_tokens == 8 * 2**24
    assert any("smaller ones leave GPUs idle" in words for words in job.changes)


def test_what_no_formula_has_a_term_for_is_left_out_and_told():
    few = Scenario.load("rsc-1").override({"spares": {"n_nodes": 8}, "repair": {"manual_h": 24}})
    job = how_many_gpus.tables.given_by_tokens(few)
    assert job.scenario.spares is None
    assert job.changes[0].startswith("without spares")


def test_a_model_that_cannot_be_is_refused_by_its_own_message():
    with pytest.raises(InputError, match="n_tokens|tokens must be > 0"):
        how_many_gpus.tables.given_by_tokens(Scenario.load("rsc-1"), n_tokens=-1.0)


def test_lines_are_counted_in_turn_and_the_last_has_a_band(run):
    frame = how_many_gpus.tables.returns_by_size(run, n_draws=40)
    wide = frame.pivot_table(index="n_gpus", columns="line", values="tokens_per_day")
    assert list(wide.columns) == ["and failures", "linear", "throughput"]
    assert (wide["linear"] >= wide["throughput"] * (1 - 1e-12)).all()
    assert (wide["throughput"] > wide["and failures"]).all()
    assert np.ptp(wide["linear"] / wide.index) == pytest.approx(0, abs=1e-3)
    last = frame[frame["line"] == "and failures"]
    assert (last["low"] <= last["high"]).all()
    assert frame.loc[frame["line"] != "and failures", ["low", "high"]].isna().all(axis=None)
    assert last["tokens_per_day"].to_numpy() == pytest.approx(
        (wide["throughput"] * last.set_index("n_gpus")["ettr"]).to_numpy()
    )


def test_heat_has_a_line_where_it_costs_something(run):
    hot = run.override({"heat": {"part": "h100", "mean_c": 30.0, "swing_k": 8.0}})
    frame = how_many_gpus.tables.returns_by_size(hot, n_draws=5)
    wide = frame.pivot_table(index="n_gpus", columns="line", values="tokens_per_day")
    assert (wide["throughput"] > wide["and heat"]).all()
    assert (wide["and heat"] > wide["and failures"]).all()


def test_parts_of_a_step_are_all_of_it(run):
    frame = how_many_gpus.tables.step_by_size(run, [100_000], n_sizes=12)
    assert {16384.0, 100_000.0} <= set(frame["n_gpus"])
    assert frame.groupby("n_gpus")["share"].sum().to_numpy() == pytest.approx(1)
    ideal = frame[(frame["term"] == "computing, at the peak") & (frame["n_gpus"] == 16384)]
    assert ideal["share"].iloc[0] == pytest.approx(sizing.yields(run, 16384.0).mfu)
    assert set(frame["term"]) <= set(how_many_gpus.tables.TERMS.values())


def test_the_own_size_has_the_layout_that_divides_it():
    run = how_many_gpus.tables.given_by_tokens(Scenario.load("h100-100k")).scenario
    size = run.cluster.n_gpus
    frame = how_many_gpus.tables.step_by_size(run, n_sizes=6)
    own = frame[frame["n_gpus"] == size]
    assert set(own["layout"]) == {str(run.layout_of_job)}
    assert own["seconds"].sum() == pytest.approx(float(run.throughput.step(size, run.layout_of_job).total_s))
    others = frame[frame["n_gpus"] != size]
    assert set(others["layout"]) != set(own["layout"])
    days = sizing.make(run).as_given.days
    assert how_many_gpus.tables.on_size(run, size).days[0] == pytest.approx(float(days))


def test_cost_goes_to_twice_the_fastest_size(run, answer):
    frame = how_many_gpus.tables.cost_by_size(run)
    fastest = answer.best["fastest"]
    assert frame["n_gpus"].max() == pytest.approx(2 * fastest.n_gpus, rel=0.1)
    assert frame["days"].min() == pytest.approx(float(fastest.yields.days), rel=0.01)
    assert (frame["unit"] == "USD").all()


def test_without_prices_the_cost_is_electricity(run):
    free = run.override({"cost": {"usd_per_gpu_h": 0, "usd_per_kwh": 0}})
    frame = how_many_gpus.tables.cost_by_size(free)
    assert (frame["unit"] == "MWh").all()
    answer = sizing.make(free)
    within = how_many_gpus.tables.sizes_within_limits(free, answer, [30], n_draws=20)
    assert set(within["limit"]) == {"power", "deadline"}
    assert not within["goal"].str.contains("cheapest").any()
    assert set(how_many_gpus.tables.marked_sizes(answer, None, "MWh")["goal"]) == {"fastest", "greenest"}


def test_limits_are_kept_and_those_that_cannot_be_say_why(run, answer):
    frame = how_many_gpus.tables.sizes_within_limits(run, answer, [0.01, 10, 30], n_draws=20)
    none, some = frame[frame["why"] != ""], frame[frame["why"] == ""]
    assert none["value"].tolist() == [0.01]
    assert "power_mw of 0.01 MW is below the least" in none["why"].iloc[0]
    columns = {"power": "power_mw", "budget": "usd", "deadline": "days"}
    for row in some.itertuples():
        assert getattr(row, columns[row.limit]) <= row.value
    assert set(some["limit"]) == set(columns)
    assert not frame.duplicated(["limit", "value", "n_gpus"]).any()


def test_goals_with_one_size_share_a_mark(run, answer):
    in_time = how_many_gpus.tables.deadline_size(run, answer)
    marked = how_many_gpus.tables.marked_sizes(answer, in_time, "USD")
    assert marked["n_gpus"].is_unique
    assert marked["goal"].tolist() == ["fastest", "cheapest and greenest", "greenest in time"]
    assert float(in_time.yields.days) <= 2 * float(answer.best["fastest"].yields.days)
    assert len(how_many_gpus.tables.marked_sizes(answer, None, "USD")) == 2


def test_published_runs_are_told_apart_and_references_left_out():
    frame = how_many_gpus.tables.calibrated_runs()
    assert frame["residual_points"].to_numpy() == pytest.approx(
        (frame["computed_pct"] - frame["measured_pct"]).to_numpy()
    )
    assert not (frame["relative_to"] == frame["run_id"]).any()
    assert frame.groupby("study")["kernel_efficiency"].nunique().eq(1).all()
    used = frame[frame["used"]]["residual_points"].abs()
    assert used.max() < how_many_gpus.tables.AIM_POINTS
    assert frame.loc[frame["residual_points"].abs().idxmax(), "run_id"] == "fsdp-8b-128"
    assert np.isfinite(frame["computed_pct"]).all()
