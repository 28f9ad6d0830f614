"""What is added to a run that no closed form has a term for, and how the two are compared."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from computed.finishing_date import CASES, table
from ettr import Scenario, budget, evidence, simulate
from ettr.chapters.common.simulated_runs import some_runs_of
from ettr.chapters.finishing_date import beyond_formula_tables
from ettr.chapters.finishing_date.beyond_formula_tables import AS_GIVEN, BY_THE_RULES, at_size
from ettr.core.errors import OutsideValidity
from ettr.plan import whole_interval_min

PEER = {"name": "peer", "interval_s": 90, "stall_s": 0.1, "write_s": 20, "load_s": 10, "survives": 0.9}
CHANGING = {"New nodes, k = 0.7", "A new fleet"}


@pytest.fixture(scope="module")
def base(llama3) -> Scenario:
    return beyond_formula_tables.formula_run(llama3)


def mechanisms(run: Scenario, *repairs: int) -> dict[str, beyond_formula_tables.Mechanism]:
    return {one.name: one for one in beyond_formula_tables.assumed_mechanisms(run, *repairs)}


@pytest.mark.parametrize("name", evidence.scenario_names())
def test_every_mechanism_is_one_that_the_closed_form_leaves_out(name):
    run = beyond_formula_tables.formula_run(Scenario.load(name))
    assert budget.simplified(run).left_out == ()
    for one in mechanisms(run).values():
        # lemons that nobody takes out leave the rate as it is
        assert bool(budget.simplified(run.override(one.changes)).left_out) == (one.name != "Lemons stay"), one.name


def test_settings_say_what_is_set_and_leave_the_rate_unless_it_is_what_changes(base):
    of = mechanisms(base, 24, 8)
    for one in of.values():
        assert base.override(one.changes).job_rate_per_h == pytest.approx(base.job_rate_per_h), one.name
    assert "a repair takes 24 h" in of["Finite spares"].setting
    assert of["Finite spares"].changes["spares"]["n_nodes"] == np.ceil(1.5 * base.job_rate_per_h * 24)
    assert "send 8 nodes to repair" in of["Racks fail at once"].setting
    racks = base.override(of["Racks fail at once"].changes)
    assert racks.failures.modes[-1].n_out_nodes == 8
    assert dict(zip(racks.mode_names, racks.mode_weights, strict=True))["Rack"] == pytest.approx(0.02)
    assert racks.spares.n_nodes == np.ceil(1.5 * base.job_rate_per_h * 24 * (1 + 0.02 * 7))


def test_a_small_job_has_only_mechanisms_that_it_has_nodes_for(llama3):
    assert "Missing replicas" not in mechanisms(llama3.override({"cluster.n_gpus": 8}))
    for n_gpus in (8, 16, 64):
        run = beyond_formula_tables.formula_run(llama3.override({"cluster.n_gpus": n_gpus}))
        assert all(run.override(one.changes).n_nodes == n_gpus // 8 for one in mechanisms(run).values())


def test_a_mode_of_the_same_name_gives_way(llama3):
    run = beyond_formula_tables.formula_run(llama3.override({"failures.modes": [{"name": "Rack", "share": 0.3}]}))
    modes = mechanisms(run)["Racks fail at once"].changes["failures.modes"]
    assert [mode["name"] for mode in modes] == ["Rack"]


def test_cells_are_the_difference_of_simulation_and_closed_form(llama3, base):
    frame, own = table("difference_map"), llama3.cluster.n_gpus
    assert sorted(frame["n_gpus"].unique()) == [own, 131_072]  # 16,000 is too close to its own size
    row = frame[(frame["mechanism"] == "Finite spares") & (frame["n_gpus"] == own)].iloc[0]
    at_own = at_size(base, own)
    run = at_own.override(mechanisms(at_own)["Finite spares"].changes)
    assert row["closed"] == budget.exact(budget.simplified(run).scenario).ettr
    simulated = simulate(run, int(row["n_runs"]), 0)
    assert row["simulated"] == simulated.ettr and row["points"] == pytest.approx(100 * (simulated.ettr - row["closed"]))
    assert row["error_points"] == pytest.approx(100 * simulated.ettr_error)
    sure = frame["points"].abs() > 3 * frame["error_points"]
    assert (sure == (frame["verdict"] == "differs")).all()
    assert (frame["error_points"] > 0).all()
    half = NormalDist().inv_cdf(0.975) * frame["error_points"]
    assert frame["half_points"].to_numpy() == pytest.approx(half.to_numpy())


def test_where_nothing_is_added_the_two_agree():
    plain = table("difference_map").query("mechanism == @BY_THE_RULES")
    assert len(plain) == 2
    assert (plain["points"].abs() < 4 * plain["error_points"]).all()


def test_rates_that_change_are_met_by_the_closed_form_over_time(llama3):
    frame = table("difference_map")
    changing = frame[frame["over_time"].notna()]
    assert set(changing["mechanism"]) == CHANGING and set(changing["n_gpus"]) == {llama3.cluster.n_gpus}
    # it takes each moment's rate as settled: half a point is its own error, far from the points that are missed
    assert (100 * (changing["over_time"] - changing["simulated"]).abs() < 0.5 + 4 * changing["error_points"]).all()
    assert (changing["points"] < -1).all()


def test_a_time_out_is_a_failure_that_is_noticed_at_once():
    """Two roads: with no detection time at all, false alarms only add to the rate."""
    run = beyond_formula_tables.formula_run(Scenario.load("rsc-2").override({"job.include_start": False}))
    alarms = run.override({"recovery.false_alarms_per_day": 1.0})
    more = run.failure_rate + 1000 / run.n_nodes
    expected = budget.exact(run.override({"failures.rate_per_1000_node_days": more})).ettr
    simulated = simulate(alarms, 300)
    assert abs(simulated.ettr - expected) < 4 * simulated.ettr_error
    assert expected < budget.exact(run).ettr - 0.02


def test_sizes_with_hardly_any_training_are_not_simulated():
    frame = table("difference_map", "opt-175b")
    hopeless = frame[frame["verdict"] == "hopeless"]
    assert set(hopeless["n_gpus"]) == {131_072} and (hopeless["n_runs"] == 0).all()
    assert hopeless[["closed", "simulated", "points"]].isna().all(axis=None)
    assert sorted(frame["n_gpus"].unique()) == [992, 16_000, 131_072]
    large = Scenario.load("opt-175b").override({"cluster.n_gpus": 131_072})
    with pytest.raises(OutsideValidity, match="at no size is a tenth of the time left to opt-175b"):
        beyond_formula_tables.beyond_formulas(large, [100_000])


def test_what_a_scenario_holds_itself_is_the_last_row(llama3):
    run = llama3.override(CASES["elastic"])
    frame = beyond_formula_tables.beyond_formulas(run, [], n_runs=12)
    last = frame.iloc[-1]
    assert last["mechanism"] == AS_GIVEN and "elastic" in last["setting"] and "spares" in last["setting"]
    assert set(frame["mechanism"][:-1]) == set(table("difference_map")["mechanism"])  # the others go without it
    assert last["closed"] == pytest.approx(frame["closed"].iloc[0])
    assert last["simulated"] < frame["simulated"].iloc[0]


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [(CASES["elastic"] | {"failures.lifetime": {"shape": 2}}, []), ({"recovery.restart_min": 1e6}, ["hopeless"])],
)
def test_mechanisms_that_cannot_be_simulated_are_left_out_or_hopeless(monkeypatch, llama3, changes, verdicts):
    one = beyond_formula_tables.Mechanism("Both", "x", changes)
    monkeypatch.setattr(beyond_formula_tables, "assumed_mechanisms", lambda *_: (one,))
    frame = beyond_formula_tables.beyond_formulas(llama3, [], n_runs=12)
    assert frame["mechanism"].tolist() == [BY_THE_RULES, *(["Both"] if verdicts else [])]
    assert frame["verdict"].tolist()[1:] == verdicts


def test_the_interval_of_each_size_fits_the_faster_tiers(llama3):
    run = beyond_formula_tables.formula_run(llama3.override({"checkpoint.tiers": [PEER]}))
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
    assert some_runs_of(llama3.override(CASES["elastic"] | {"failures.lifetime": {"shape": 2}}), 5, 0, 100) is None


def test_a_rate_of_the_long_run_is_not_read_as_that_of_new_nodes(llama3, base):
    new = {"failures.lifetime": {"shape": 0.7, "start": "new"}}
    settled, counted = (budget.simplified(run.override(new)).scenario for run in (base, llama3))
    assert settled.job_rate_per_h == pytest.approx(base.job_rate_per_h)
    assert counted.job_rate_per_h < 0.95 * base.job_rate_per_h
