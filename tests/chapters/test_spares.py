"""The chapter on spares: what is assumed, where curves turn, and simulation beside the exact model."""

from __future__ import annotations

import numpy as np
import pytest

from computed.chapters import NO_FAILURES
from ettr import Scenario, spares
from ettr.core.errors import InputError
from ettr_book.chapters import spares as chapter
from ettr_book.chapters.spares import (
    IN_RACKS,
    ONE_BY_ONE,
    RACKS,
    SERVERS,
    WHOLE_RACKS,
)

POOL_AND_REPAIR = {
    "spares": {"n_nodes": 4, "n_preemptible": 2, "preempt_min": 10},
    "repair": {"automatic_h": 2, "automatic_success": 0.2, "manual_h": 48, "n_crew": 20},
}


@pytest.fixture(scope="module")
def run() -> chapter.PooledRun:
    return chapter.pooled_run(Scenario.load("llama3-405b"))


def test_what_is_known_of_the_rate_becomes_a_band(run):
    assert run.rate_low < 1 < run.rate_high
    assert (run.rate_high - run.rate_low) / 3.92 == pytest.approx(1 / np.sqrt(419), rel=0.05)
    bare = chapter.pooled_run(Scenario.load("rsc-1"))
    assert (bare.rate_low, bare.rate_high) == (1, 1)


def test_what_no_closed_form_has_a_term_for_is_left_out_and_named():
    slow = {"per_1000_node_days": 0.1, "loss": 0.05, "detection_h": 4}
    pooled = chapter.pooled_run(Scenario.load("rsc-1").override({"slow_nodes": slow}))
    assert any("slow_nodes" in words for words in pooled.left_out)
    assert pooled.scenario.slow_nodes is None


@pytest.mark.parametrize("repair_h", [0.0, -1.0, float("nan"), float("inf")])
def test_a_repair_that_takes_no_time_is_refused(repair_h):
    with pytest.raises(InputError, match="repair_h must be > 0 h"):
        chapter.pooled_run(Scenario.load("rsc-1"), repair_h)


def test_simulated_pools_lie_on_the_closed_form_and_others_above_it(run):
    closed = chapter.cost_by_pool(run).set_index("n_spares")["extra"]
    simulated = chapter.simulated_pools(run, n_runs=60)
    single = simulated[simulated["pool"] == ONE_BY_ONE].set_index("n_spares")
    near = single.index[single.index >= 15]
    assert single.loc[near, "extra"].to_numpy() == pytest.approx(closed[near].to_numpy(), abs=2e-3)
    other = simulated[simulated["pool"] == RACKS].set_index("n_spares")
    both = [size for size in single.index.intersection(other.index) if 13 <= size <= 20]
    assert (other.loc[both, "extra"] > single.loc[both, "extra"]).all()
    assert other["extra"].idxmin() > 17


def test_racks_pools_and_servers_at_equal_gpus(run):
    choices = chapter.rack_choices(run)
    unavailable = run.in_repair / (16_384 + run.in_repair)
    frame = choices.set_index(["way", "n_spares"])
    assert frame.loc[(IN_RACKS, 2), "held"] == pytest.approx(2 * 256 / 16_384)
    assert frame.loc[(IN_RACKS, 2), "short"] == pytest.approx(1 - spares.racks_level(256, 64, 2, unavailable))
    servers = 1 - spares.domains_level(16_384, 144, 8, unavailable)
    assert frame.loc[(SERVERS, 18), "short"] == pytest.approx(servers)
    few = choices[choices["held"] <= 0.0313]
    at_3 = {way: rows["short"].iloc[-1] for way, rows in few.groupby("way")}
    assert at_3[SERVERS] < at_3[IN_RACKS] < at_3[WHOLE_RACKS]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rack_gpus": 72, "spare_gpus": 72}, "spare_gpus must be >= 0 and < .*72 GPUs.*got 72"),
        ({"spare_gpus": -1}, "spare_gpus must be >= 0.*got -1"),
    ],
)
def test_racks_that_make_no_sense_are_refused(run, arguments, message):
    with pytest.raises(InputError, match=message):
        chapter.rack_choices(run, **arguments)


@pytest.mark.parametrize("changes", [NO_FAILURES, {"cluster.n_gpus": 8}])
def test_a_job_that_never_fails_and_one_of_a_single_node_need_no_spares(changes):
    assert chapter.pooled_run(Scenario.load("llama3-405b").override(changes)).best.n_spares == 0


def test_a_repair_is_assumed_only_where_there_is_none(run):
    assert not run.has_own_pool and run.demand.repair_h == pytest.approx(24)
    assert run.in_repair == pytest.approx((419 - 54 - 35 - 7 - 2) / 54, rel=1e-3)  # software and network repair no node
    pooled = chapter.pooled_run(Scenario.load("llama3-405b").override(POOL_AND_REPAIR), 999.0)
    assert pooled.has_own_pool and pooled.demand.repair_h == pytest.approx(40.4)
    assert pooled.scenario.spares.n_preemptible == 2
    assert pooled.single_nodes.repair.manual_h == pytest.approx(40.4) and pooled.single_nodes.spares.n_nodes == 0


def test_the_curve_holds_its_minimum_and_its_flat_range(run):
    frame = chapter.cost_by_pool(run)
    assert frame.loc[frame["extra"].idxmin(), "n_spares"] == 15
    assert frame.loc[frame["is_flat"], "n_spares"].tolist() == [13, 14, 15, 16, 17]
    assert (frame["extra_low"] <= frame["extra"]).all() and (frame["extra"] <= frame["extra_high"]).all()
