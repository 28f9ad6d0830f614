"""The storage that checkpoints need, against sums by hand and against scenarios with such a store."""

from __future__ import annotations

import pytest

from ettr import Scenario, budget, plan
from refusals import refusal

STORE = "checkpoint.store"
WITHOUT_SPEED = {f"{STORE}.n_parameters": 405e9}
WITH_SPEED = {STORE: {"n_parameters": 405e9, "write_gb_s": 20, "read_gb_s": 40}, "checkpoint.persist_s": 0}


def test_a_405b_model_every_ten_minutes_needs_8_1_gb_s(llama3):
    """405e9 parameters x 12 B = 4.86 TB in 600 s."""
    storage = plan.make(llama3.override(WITHOUT_SPEED)).storage
    assert storage.n_bytes == 4.86e12 and storage.needed[0].write_gb_s == pytest.approx(8.1)
    assert storage.needed[1].write_gb_s == pytest.approx(4860 / (60 * storage.needed[1].interval_min))
    assert storage.write_h is None and storage.load_h == 0 and storage.n_kept is None
    assert "4.86 TB" in storage.words and "8.1 GB/s" in storage.words
    reference = next(speed for speed in storage.speeds if speed.write_gb_s == pytest.approx(8.1))
    assert reference.write_h == pytest.approx(1 / 6)


def test_a_size_alone_changes_no_hours(llama3):
    sized = llama3.override(WITHOUT_SPEED)
    assert budget.exact(sized) == budget.exact(llama3) and sized.persist_h == llama3.persist_h
    assert plan.solvable(sized) == plan.solvable(llama3)
    assert Scenario.parse(sized.to_yaml()) == sized
    assert plan.make(llama3).storage is None


def test_capacity_and_loads(llama3):
    """4.86 TB at 40 GB/s take 121.5 s, and 128 copies of it 4.32 h; five kept take 24.3 TB, whatever is rewritten."""
    run = llama3.override({**WITH_SPEED, "checkpoint.n_kept": 5})
    storage = plan.make(run.override({f"{STORE}.changed_share": 0.5})).storage
    assert storage.n_bytes == 2.43e12 and storage.bytes_kept * storage.n_kept == pytest.approx(24.3e12)
    assert storage.load_h == pytest.approx(121.5 / 3600) and storage.n_replicas == 128
    assert storage.contended_load_h == pytest.approx(4.32) and storage.replicas_assumed
    limited = plan.make(run.override({f"{STORE}.node_gb_s": 0.005})).storage  # 2,048 nodes: 10.24 GB/s
    assert limited.contended_load_h == pytest.approx(128 * 4860 / 10.24 / 3600)


def test_slower_stores_are_the_scenarios_with_such_a_store(llama3):
    run = llama3.override(WITH_SPEED)
    speeds = plan.make(run).storage.speeds
    assert [speed.write_gb_s for speed in speeds] == [5, 10, 20, 40]
    for speed in speeds:
        changes = {f"{STORE}.write_gb_s": speed.write_gb_s, f"{STORE}.read_gb_s": 2 * speed.write_gb_s}
        slower = run.override({**changes, "checkpoint.interval_min": "best"})
        alone = plan.make(slower)
        assert speed.interval_min == pytest.approx(alone.band.interval_min)
        assert speed.ettr == pytest.approx(alone.budget.ettr)
        assert speed.lost_usd_per_month == pytest.approx(alone.losses.total.usd_per_month)
    ettrs = [speed.ettr for speed in speeds]
    assert ettrs == sorted(ettrs)


def test_a_store_that_cannot_be_is_marked(llama3):
    """At twice the bandwidth, 40 GB/s, the write takes 121.5 s, less than the 200 s of the faster tier."""
    tier = {"name": "disk", "interval_s": 300, "write_s": 200, "copies": 2}
    storage = plan.make(llama3.override({**WITH_SPEED, "checkpoint.tiers": [tier]})).storage
    assert [speed.write_h is None for speed in storage.speeds] == [False, False, False, True]
    assert "cannot run" in storage.report()[1].rows[-1]


def test_the_parameters_are_those_of_the_model_unless_given():
    run = Scenario.load("llama3-405b-tokens").override({f"{STORE}.write_gb_s": 100, "checkpoint.persist_s": None})
    assert run.persist_h == pytest.approx(48.6 / 3600)
    mixture = {"n_parameters": 671e9, "n_active_parameters": 37e9}
    assert run.override({"model": mixture}).persist_h == pytest.approx(671e9 * 12 / 100e9 / 3600)
    assert run.override({f"{STORE}.n_parameters": 70e9}).persist_h == pytest.approx(8.4 / 3600)


def test_a_store_of_unknown_size_is_refused(llama3):
    message = refusal(llama3.override, {STORE: {"write_gb_s": 20}, "checkpoint.persist_s": 0})
    assert message.startswith("checkpoint.store needs n_parameters") and "model.n_parameters" in message


def test_a_write_longer_than_the_interval_is_refused_with_the_bandwidth_that_it_needs(llama3):
    changes = {STORE: {"n_parameters": 405e9, "write_gb_s": 5}, "checkpoint.persist_s": 0}
    assert "needs a write bandwidth of 8.1 GB/s" in refusal(llama3.override, changes)
    assert llama3.override({**changes, f"{STORE}.write_gb_s": 8.1}).interval_min == 10


def test_a_job_that_never_fails_needs_no_bandwidth(llama3):
    run = llama3.override({**WITH_SPEED, "checkpoint.interval_min": "best", "failures.rate_per_1000_node_days": 0})
    storage = plan.make(run).storage
    assert storage.needed == () and "4.86 TB" in storage.words
