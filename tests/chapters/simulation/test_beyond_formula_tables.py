"""What is added to a run that no closed form has a term for, and how the two are compared."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, budget, evidence, simulate
from ettr.chapters import simulation
from ettr.chapters.common.simulated_runs import some_runs_of
from ettr.chapters.simulation.beyond_formula_tables import AS_GIVEN, BY_THE_RULES, at_size
from ettr.core.errors import OutsideValidity
from ettr.plan import whole_interval_min

PRESETS = evidence.scenario_names()
PEER = {"name": "peer", "interval_s": 90, "stall_s": 0.1, "write_s": 20, "load_s": 10, "survives": 0.9}
POOL = {"spares": {"n_nodes": 4}, "repair": {"manual_h": 24}}
ELASTIC = POOL | {"elastic": {"n_replicas": 128, "n_least": 120}}
CHANGING = {"New nodes, k = 0.7", "A new fleet"}


@cache
def table(name: str = "llama3-405b") -> pd.DataFrame:
    return simulation.beyond_formula_tables.beyond_formulas(Scenario.load(name), [1000, 131_072], n_runs=40)


@pytest.mark.parametrize("name", PRESETS)
def test_every_mechanism_is_one_that_the_closed_form_leaves_out(name):
    run = simulation.beyond_formula_tables.formula_run(Scenario.load(name))
    assert budget.simplified(run).left_out == ()
    for one in simulation.beyond_formula_tables.assumed_mechanisms(run):
        # lemons that nobody takes out leave the rate as it is
        assert bool(budget.simplified(run.override(one.changes)).left_out) == (one.name != "Lemons stay"), one.name


def test_the_rate_stays_unless_it_is_what_changes(llama3):
    run = simulation.beyond_formula_tables.formula_run(llama3)
    for one in simulation.beyond_formula_tables.assumed_mechanisms(run, 24, 8):
        assert run.override(one.changes).job_rate_per_h == pytest.approx(run.job_rate_per_h), one.name


def test_settings_say_what_is_set(llama3):
    run = simulation.beyond_formula_tables.formula_run(llama3)
    of = {one.name: one for one in simulation.beyond_formula_tables.assumed_mechanisms(run, 24, 8)}
    assert "a repair takes 24 h" in of["Finite spares"].setting
    assert of["Finite spares"].changes["spares"]["n_nodes"] == np.ceil(1.5 * run.job_rate_per_h * 24)
    assert "send 8 nodes to repair" in of["Racks fail at once"].setting
    racks = run.override(of["Racks fail at once"].changes)
    assert racks.failures.modes[-1].n_out_nodes == 8
    assert dict(zip(racks.mode_names, racks.mode_weights, strict=True))["Rack"] == pytest.approx(0.02)
    demand = run.job_rate_per_h * 24 * (1 + 0.02 * 7)
    assert racks.spares.n_nodes == np.ceil(1.5 * demand)


def test_a_small_job_has_only_mechanisms_that_it_has_nodes_for(llama3):
    one_node = simulation.beyond_formula_tables.assumed_mechanisms(llama3.override({"cluster.n_gpus": 8}))
    assert "Missing replicas" not in {one.name for one in one_node}
    for n_gpus in (8, 16, 64):
        run = simulation.beyond_formula_tables.formula_run(llama3.override({"cluster.n_gpus": n_gpus}))
        for one in simulation.beyond_formula_tables.assumed_mechanisms(run):
            assert run.override(one.changes).n_nodes == n_gpus // 8


def test_a_mode_of_the_same_name_gives_way(llama3):
    run = simulation.beyond_formula_tables.formula_run(
        llama3.override({"failures.modes": [{"name": "Rack", "share": 0.3}]})
    )
    racks = {one.name: one for one in simulation.beyond_formula_tables.assumed_mechanisms(run)}["Racks fail at once"]
    assert [mode["name"] for mode in racks.changes["failures.modes"]] == ["Rack"]


def test_cells_are_the_difference_of_simulation_and_closed_form(llama3):
    frame, own = table(), llama3.cluster.n_gpus
    assert sorted(frame["n_gpus"].unique()) == [1000, own, 131_072]
    row = frame[(frame["mechanism"] == "Finite spares") & (frame["n_gpus"] == own)].iloc[0]
    base = at_size(simulation.beyond_formula_tables.formula_run(llama3), own)
    run = base.override(
        {one.name: one.changes for one in simulation.beyond_formula_tables.assumed_mechanisms(base)}["Finite spares"]
    )
    assert row["closed"] == budget.exact(budget.simplified(run).scenario).ettr
    simulated = simulate(run, int(row["n_runs"]), 0)
    assert row["simulated"] == simulated.ettr and row["points"] == pytest.approx(100 * (simulated.ettr - row["closed"]))
    assert row["error_points"] == pytest.approx(100 * simulated.ettr_error)
    sure = frame["points"].abs() > 3 * frame["error_points"]
    assert (sure == (frame["verdict"] == "differs")).all()
    assert (frame["error_points"] > 0).all()
    assert frame["half_points"].to_numpy() == pytest.approx(
        NormalDist().inv_cdf(0.975) * frame["error_points"].to_numpy()
    )


def test_where_nothing_is_added_the_two_agree():
    base = table()[table()["mechanism"] == BY_THE_RULES]
    assert len(base) == 3
    assert (base["points"].abs() < 4 * base["error_points"]).all()


def test_rates_that_change_are_met_by_the_closed_form_over_time(llama3):
    frame = table()
    changing = frame[frame["over_time"].notna()]
    assert set(changing["mechanism"]) == CHANGING and set(changing["n_gpus"]) == {llama3.cluster.n_gpus}
    # it takes each moment's rate as settled: half a point is its own error, far from the points that are missed
    assert (100 * (changing["over_time"] - changing["simulated"]).abs() < 0.5 + 4 * changing["error_points"]).all()
    assert (changing["points"] < -1).all()


def test_a_time_out_is_a_failure_that_is_noticed_at_once():
    """Two roads: with no detection time at all, false alarms only add to the rate."""
    run = simulation.beyond_formula_tables.formula_run(Scenario.load("rsc-2").override({"job.include_start": False}))
    alarms = run.override({"recovery.false_alarms_per_day": 1.0})
    more = run.failures.rate + 1000 / run.n_nodes
    expected = budget.exact(run.override({"failures.rate_per_1000_node_days": more})).ettr
    simulated = simulate(alarms, 300)
    assert abs(simulated.ettr - expected) < 4 * simulated.ettr_error
    assert expected < budget.exact(run).ettr - 0.02


def test_sizes_with_hardly_any_training_are_not_simulated():
    frame = table("opt-175b")
    hopeless = frame[frame["verdict"] == "hopeless"]
    assert set(hopeless["n_gpus"]) == {131_072} and (hopeless["n_runs"] == 0).all()
    assert hopeless[["closed", "simulated", "points"]].isna().all(axis=None)
    assert sorted(frame["n_gpus"].unique()) == [992, 131_072]  # 1,000 is too close to its own size
    with pytest.raises(OutsideValidity, match="at no size is a tenth of the time left to opt-175b"):
        simulation.beyond_formula_tables.beyond_formulas(
            Scenario.load("opt-175b").override({"cluster.n_gpus": 131_072}), [100_000]
        )


def test_what_a_scenario_holds_itself_is_the_last_row(llama3):
    run = llama3.override(ELASTIC)
    frame = simulation.beyond_formula_tables.beyond_formulas(run, [], n_runs=12)
    last = frame.iloc[-1]
    assert last["mechanism"] == AS_GIVEN and "elastic" in last["setting"] and "spares" in last["setting"]
    assert set(frame["mechanism"][:-1]) == set(table()["mechanism"])  # the others go without it
    assert last["closed"] == pytest.approx(frame["closed"].iloc[0])
    assert last["simulated"] < frame["simulated"].iloc[0]


def test_mechanisms_that_cannot_be_simulated_together_are_left_out(monkeypatch, llama3):
    impossible = simulation.beyond_formula_tables.Mechanism("Both", "x", ELASTIC | {"failures.lifetime": {"shape": 2}})
    monkeypatch.setattr("ettr.chapters.simulation.beyond_formula_tables.assumed_mechanisms", lambda *_: (impossible,))
    frame = simulation.beyond_formula_tables.beyond_formulas(llama3, [], n_runs=12)
    assert frame["mechanism"].tolist() == [BY_THE_RULES]


def test_the_interval_of_each_size_fits_the_faster_tiers(llama3):
    run = simulation.beyond_formula_tables.formula_run(llama3.override({"checkpoint.tiers": [PEER]}))
    for n_gpus in (1024, 16_384):
        times = at_size(run, n_gpus).checkpoint.interval_min / 1.5
        assert times == round(times)
    slow = run.override({"checkpoint.persist_s": 400})
    assert whole_interval_min(slow, 1.5) == 7.5  # no interval is shorter than the write
    assert whole_interval_min(llama3, 1e9) == 60 * llama3.work_h


def test_runs_are_as_many_as_can_be_waited_for(llama3):
    expected = budget.exact(llama3)
    assert some_runs_of(llama3, 50, 0, 10**9).n_runs == 50
    assert some_runs_of(llama3, 50, 0, 1).n_runs == 12
    assert some_runs_of(llama3, 10**9, 0, 10_000).n_runs == int(10_000 / expected.n_failures)
    assert some_runs_of(llama3.override({"recovery.restart_min": 1e5}), 5, 0, 100) is None
    assert some_runs_of(llama3.override(ELASTIC | {"failures.lifetime": {"shape": 2}}), 5, 0, 100) is None


def test_a_rate_of_the_long_run_is_not_read_as_that_of_new_nodes(llama3):
    run = simulation.beyond_formula_tables.formula_run(llama3)
    aged = run.override({"failures.lifetime": {"shape": 0.7, "start": "new"}})
    settled = budget.simplified(aged).scenario
    assert settled.job_rate_per_h == pytest.approx(run.job_rate_per_h)
    counted = budget.simplified(llama3.override({"failures.lifetime": {"shape": 0.7, "start": "new"}})).scenario
    assert counted.job_rate_per_h < 0.95 * run.job_rate_per_h
