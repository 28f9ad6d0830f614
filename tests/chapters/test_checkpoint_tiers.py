"""The tables of the chapter on tiers are the closed forms, point by point."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from computed.chapters import some_presets
from ettr import Scenario, budget, evidence
from ettr.checkpoint import placement
from ettr.core.errors import OutsideValidity
from ettr_book.chapters.checkpoint_tiers import bandwidth, corruption, tiers
from ettr_book.chapters.checkpoint_tiers.tiers import COMMON_LOSS

PEER = {"name": "peer", "interval_s": 10, "stall_s": 0.1, "write_s": 5, "load_s": 3, "survives": 0.9}


def n_bytes(run: Scenario) -> float:
    return bandwidth.stored_bytes(run, 405e9, 12)


@pytest.mark.parametrize("name", evidence.scenario_names())
def test_the_store_alone_is_the_run_without_planned_stops(name):
    run = budget.simplified(Scenario.load(name)).scenario
    steady = {"job.include_start": False, "maintenance": None, "checkpoint.persist_slowdown": 0}
    assert budget.exact(tiers.store_only(run)).ettr == pytest.approx(budget.exact(run.override(steady)).ettr, rel=1e-12)


def test_a_load_that_the_scenario_gives_stays_and_a_shorter_restart_is_all_loading(llama3):
    run = tiers.store_only(llama3.override({"checkpoint.load_s": 40}))
    assert run.load_h * 3600 == pytest.approx(40) and run.recovery.restart_min == 5
    mode = "failures.modes.NIC.restart_min"
    quick = tiers.store_only(llama3.override({mode: 1}))
    assert quick.load_h * 60 == pytest.approx(1)
    assert quick.failures.modes[7].restart_min == pytest.approx(0) and quick.recovery.restart_min == pytest.approx(4)


def test_common_losses_keep_the_rate_and_thin_the_others(llama3):
    run = tiers.with_common_losses(llama3, 0.25, 10_000)
    assert run.job_rate_per_h == pytest.approx(llama3.job_rate_per_h)
    weights = dict(zip(run.mode_names, run.mode_weights, strict=True))
    assert weights[COMMON_LOSS] == pytest.approx(0.25) and weights["Faulty GPU"] == pytest.approx(0.75 * 148 / 419)
    assert run.failures.modes[-1].n_lost_nodes == run.n_nodes
    assert tiers.with_common_losses(run, 0.5, 3) is run  # has a mode of this kind


@pytest.mark.parametrize(
    ("n_gpus", "last"), [(8, "+ host memory"), (16, "+ peer memory"), (264, "Just in time, instead")]
)
def test_a_small_job_has_only_tiers_that_it_has_nodes_for(llama3, n_gpus, last):
    rungs = tiers.rungs(llama3.override({"cluster.n_gpus": n_gpus}), 0.0, 2, 16)
    assert list(rungs)[-1] == last


@pytest.mark.parametrize(
    "make",
    [
        tiers.shares,
        lambda run: bandwidth.by_bandwidth(run, n_bytes(run), 100_000, 5),
    ],
)
def test_a_run_that_never_ends_is_refused(llama3, make):
    with pytest.raises(OutsideValidity, match=r"llama3-405b has an answer|no rung of the ladder"):
        make(llama3.override({"recovery.restart_min": 1e6}))


def test_the_table_of_tiers_goes_from_fast_to_safe():
    table = evidence.table("checkpoint_tiers")
    joined = table[~table["alone"]]
    for column in ("interval_s", "write_s", "copies"):
        assert joined[column].is_monotonic_increasing
    assert (table["write_s"] <= table["interval_s"]).all()
    assert table["copies"].isna().tolist() == table["alone"].tolist()
    tokens, flop_per_token = 16e6, 6 * 405e9  # one step of Llama 3, as the notes say
    step_s = tokens * flop_per_token / (16_384 * 400e12)
    assert table["interval_s"].min() == pytest.approx(step_s, rel=0.02)


def test_the_best_interval_is_the_longer_of_write_and_stall_s(llama3):
    frame = bandwidth.by_bandwidth(llama3, n_bytes(llama3), 100_000, 12)
    longer = np.maximum(frame["write_min"], frame["stall_interval_min"])
    assert frame["interval_min"].to_numpy() == pytest.approx(longer.to_numpy(), rel=1e-6)
    assert frame["write_min"].to_numpy() == pytest.approx(4860 / frame["write_gb_s"].to_numpy() / 60)
    low = frame["write_gb_s"] < frame["crossing_gb_s"]
    assert (frame.loc[low, "interval_min"] > frame.loc[low, "stall_interval_min"]).all() and low.any()
    point = frame.iloc[3]
    single = tiers.store_only(llama3).override(
        {"checkpoint.persist_s": point["write_min"] * 60, "checkpoint.interval_min": point["interval_min"]}
    )
    assert point["ettr"] == pytest.approx(budget.exact(single).ettr)


def test_a_store_s_own_size_is_taken(llama3):
    store = {"n_parameters": 1e9, "bytes_per_parameter": 10, "changed_share": 0.5, "write_gb_s": 1}
    run = llama3.override({"checkpoint.persist_s": 0, "checkpoint.store": store})
    assert bandwidth.stored_bytes(run, 405e9, 12) == pytest.approx(5e9)
    assert len(bandwidth.by_bandwidth(run, 5e9, 100_000, 5)) == 10


def test_late_findings_cost_the_latency(llama3):
    frame = corruption.found_late(llama3, 0.05, 24.0, 5)
    run = tiers.store_only(llama3).override({"checkpoint.persist_s": 0})
    lost = frame.set_index("latency_h")["lost_points"]
    assert lost[24.0] == pytest.approx(100 * 0.05 * run.job_rate_per_h * 24)
    assert lost.is_monotonic_increasing


@pytest.mark.parametrize("name", some_presets("llama3-405b", "rsc-1"))
def test_rungs_are_scenarios_and_their_shares_those_of_the_exact_form(name):
    run = budget.simplified(Scenario.load(name)).scenario
    frame, rungs = tiers.shares(run, 0.01, 32), tiers.rungs(run, 0.01, 32, 16)
    assert frame.groupby("rung")["share"].sum().to_numpy() == pytest.approx(1)
    assert list(dict.fromkeys(frame["rung"])) == [tiers.CURRENT, *rungs]
    for title, rung in rungs.items():
        hours, rows = budget.exact(rung), frame[frame["rung"] == title].set_index("part")["share"]
        assert rows["rework"] == pytest.approx(hours.rework_h / hours.total_h)
        assert budget.best_interval_min(rung) == pytest.approx(rung.checkpoint.interval_min)
    assert len(rungs["+ neighbour disks"].checkpoint.tiers) == 3
    assert len(rungs["Just in time, instead"].checkpoint.tiers) == 1


def test_which_failures_still_need_the_store(llama3):
    needs = tiers.shares(llama3, 0.01, 32).drop_duplicates("rung").set_index("rung")["from_store"]
    loses_none = 0.99 * (54 + 35 + 7 + 2) / 419
    assert needs[tiers.STORE] == 1 and needs["+ host memory"] == pytest.approx(1 - loses_none)
    assert needs["+ peer memory"] == pytest.approx(0.01 * (1 - placement.peer_survival(2048, 32, 2)))
    assert needs["Just in time, instead"] == pytest.approx(0)  # 128 replicas


def test_a_scenario_s_own_tiers_are_one_more_rung_and_not_below_the_others(llama3):
    tiered = llama3.override({"checkpoint.tiers": [PEER]})
    with_own, without = (tiers.shares(run).query("rung != 'Current run' and share > 0") for run in (tiered, llama3))
    is_own = ~with_own["rung"].isin(without["rung"])
    pd.testing.assert_frame_equal(with_own[~is_own].reset_index(drop=True), without.reset_index(drop=True))
    extra = with_own[is_own]
    assert set(extra["rung"]) == {"The scenario's own tiers"} and set(extra["from_store"].round(9)) == {0.1}
