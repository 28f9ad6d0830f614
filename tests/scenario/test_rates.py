"""The ways to say how often something fails, and how often to checkpoint."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import Scenario, budget, checkpoint, simulate
from ettr.core.errors import InputError, NotModelled

FIRST = {
    "cluster": {"n_gpus": 4096},
    "failures": {"job_mttf_h": 9},
    "checkpoint": {"stall_s": 90},
    "recovery": {"restart_min": 12},
}
"""What a person knows who asks for the first time."""


@pytest.fixture
def first():
    return Scenario.of(FIRST)


def wall_mttf_h(run: Scenario) -> float:
    """Wall clock between two failures."""
    hours = budget.exact(run)
    return float(hours.total_h / hours.n_failures)


def test_the_time_to_failure_of_a_job_comes_back_by_the_wall_clock(first):
    assert first.failures.rate_clock == "wall" and first.failures.observed_nodes == 512
    assert wall_mttf_h(first) == pytest.approx(9)
    assert first.job_mttf_h == pytest.approx(9 - 5 / 60)  # less the detection, in which nothing fails
    exposed = Scenario.of({**FIRST, "failures": {"job_mttf_h": 9, "rate_clock": "exposed"}})
    assert exposed.job_mttf_h == pytest.approx(9) and wall_mttf_h(exposed) == pytest.approx(9 + 5 / 60)


def test_it_is_that_of_the_size_it_was_given_for(first):
    assert first.override({"cluster.n_gpus": 16_384}).job_mttf_h == pytest.approx(first.job_mttf_h / 4)
    both = first.override({"failures.job_mttf_h": 9, "cluster.n_gpus": 16_384})
    assert wall_mttf_h(both) == pytest.approx(9) and both.failures.observed_nodes == 2048
    assert Scenario.parse(first.to_yaml()) == first


SIZED = {
    "a preset by the exposed clock": "rsc-1",
    "a preset by the wall clock": "llama3-405b",
    "a job's mean time": FIRST,
    "a node's mean time": {**FIRST, "failures": {"node_mttf_h": 4600, "rate_clock": "exposed"}},
    "a GPU's mean time": {**FIRST, "failures": {"gpu_mttf_h": 36_000}},
    "a count by the wall clock": {**FIRST, "failures": {"n_events": 30, "node_days": 9000, "rate_clock": "wall"}},
}
"""A scenario for each way to say how often something fails."""


@pytest.mark.parametrize("way", SIZED)
def test_another_size_keeps_the_rate_of_a_node_and_where_it_was_observed(way):
    run = Scenario.of(SIZED[way])
    observed = run.failures.observed_nodes or run.n_nodes
    grown = run.override({"cluster.n_gpus": 8 * run.cluster.n_gpus})
    assert grown.failures.observed_nodes == observed
    assert grown.node_rate_per_h == pytest.approx(run.node_rate_per_h, rel=1e-12)
    assert grown.job_mttf_h == pytest.approx(run.job_mttf_h / 8, rel=1e-12)
    again = grown.override({"cluster.n_gpus": 3 * run.cluster.n_gpus})
    assert again == run.override({"cluster.n_gpus": 3 * run.cluster.n_gpus})
    same = {"cluster.n_gpus": run.cluster.n_gpus}
    assert again.override(same) == run.override(same)  # there and back is nowhere
    section = {**run.cluster.model_dump(), "n_gpus": 8 * run.cluster.n_gpus}
    assert run.override({"cluster": section}).failures == grown.failures
    assert Scenario.parse(grown.to_yaml()) == grown == Scenario.parse(grown.to_yaml(comments=True))


def test_a_gpus_time_to_failure_makes_smaller_nodes_fail_less(first):
    run = first.override({"failures.gpu_mttf_h": 50_000, "failures.rate_clock": "exposed"})
    small = run.override({"cluster.gpus_per_node": 4})
    assert small.failure_rate == pytest.approx(run.failure_rate / 2)
    assert small.job_mttf_h == pytest.approx(run.job_mttf_h)


@pytest.mark.parametrize("path", ["job_mttf_h", "node_mttf_h", "gpu_mttf_h", "rate_per_1000_node_days"])
def test_a_new_way_replaces_the_one_before(first, path):
    value = 2e4 if "mttf" in path else 20
    run = first.override({"failures.gpu_mttf_h": 5e4}).override({f"failures.{path}": value})
    assert run.failures.ways == (path,)
    counted = run.override({"failures.n_events": 12, "failures.node_days": 3000})
    assert counted.failures.ways == ("n_events with node_days",) and counted.failure_rate == pytest.approx(4)


# --------------------------------------------------------------------------- the interval


def test_the_interval_follows_its_rule(first):
    stall_h, mttf_h = 90 / 3600, first.job_mttf_h
    rules = {
        "best": checkpoint.exact_interval(stall_h, mttf_h),
        "young": checkpoint.young_interval(stall_h, mttf_h),
        "daly": checkpoint.daly_interval(stall_h, mttf_h),
    }
    for rule, interval_h in rules.items():
        run = first.override({"checkpoint.interval_min": rule})
        assert run.interval_h == pytest.approx(interval_h, rel=1e-12)
        assert run.interval_min == pytest.approx(60 * interval_h, rel=1e-12)
    assert first.checkpoint.interval_min == "best"


def test_a_rule_is_followed_at_each_point_of_a_sweep(first):
    stalls_s, n_gpus = np.array([10.0, 90.0, 300.0]), np.array([[1024.0], [65_536.0]])
    at = {"checkpoint.stall_s": stalls_s, "cluster.n_gpus": n_gpus}
    swept = first.in_hours(at).tau
    one_by_one = [
        [first.override({"checkpoint.stall_s": s, "cluster.n_gpus": int(n)}).interval_h for s in stalls_s]
        for n in n_gpus[:, 0]
    ]
    assert swept == pytest.approx(np.array(one_by_one), rel=1e-12)
    tau_h = first.in_hours({**at, "checkpoint.interval_min": 30.0}).tau
    assert tau_h == pytest.approx(0.5)


def test_a_rule_keeps_to_what_the_write_allows(first):
    slow = first.override({"checkpoint.stall_s": 1, "checkpoint.persist_s": 3600})
    for rule in ("best", "young", "daly"):
        assert slow.override({"checkpoint.interval_min": rule}).interval_min == pytest.approx(60)


def test_a_rule_that_does_not_hold_is_refused_by_name(first):
    peer = {"name": "peer", "interval_s": 60, "survives": 0.9}
    for values, beside in (
        ({"checkpoint.tiers": [peer]}, "tiers"),
        ({"prediction": {"recall": 0.5, "precision": 0.8, "lead_s": 600, "action_s": 60}}, "prediction"),
        ({"failures.modes": [{"name": "SDC", "share": 0.1, "latency_h": 2}]}, "a mix of silent and detected failures"),
    ):
        run = first.override(values)
        with pytest.raises(
            NotModelled, match=f"checkpoint.interval_min: best has no formula for {beside}; enter minutes"
        ):
            run.in_hours()


# --------------------------------------------------------------------------- no job


def test_a_scenario_without_a_job_is_one_in_the_steady_state(first):
    assert not first.ends and not first.starts
    hours = budget.exact(first)
    year = budget.exact(first.override({"job.productive_h": 500, "job.include_start": False}))
    assert hours.ettr == pytest.approx(year.ettr, rel=1e-12)
    assert hours.productive_h == pytest.approx(8766)
    simulated = simulate(first, n_runs=40, seed=1)
    assert abs(simulated.ettr - hours.ettr) < 4 * simulated.ettr_error


# --------------------------------------------------------------------------- what was measured


def test_what_was_measured_is_of_the_run_as_written(first):
    run = first.override({"measured.ettr": 0.78})
    assert run.measured and (run.measured.ettr, run.measured.n_gpus) == (0.78, 4096)
    assert run.override({"cluster.n_gpus": 16_384}).measured == run.measured
    assert run.override({"cost.usd_per_gpu_h": 3}).measured == run.measured
    assert run.override({"recovery.restart_min": 3}).measured is None  # another run
    other = run.override({"recovery.restart_min": 3, "measured.ettr": 0.8, "cluster.n_gpus": 8192})
    assert other.measured and (other.measured.ettr, other.measured.n_gpus) == (0.8, 8192)
    assert Scenario.parse(run.to_yaml()) == run


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        ({}, "measured needs ettr, or ettr_above or ettr_below if only a bound is available"),
        ({"ettr": 0.8, "ettr_above": 0.7}, "measured takes ettr, or ettr_above and ettr_below, not both"),
        ({"ettr_above": 0.9, "ettr_below": 0.8}, "measured.ettr_below must be > 0.9, the ettr_above, got 0.8"),
        ({"ettr": 1}, "measured.ettr must be < 1, got 1"),
    ],
)
def test_a_measurement_that_says_nothing_or_too_much_is_refused(first, measured, words):
    with pytest.raises(InputError) as caught:
        first.override({"measured": measured})
    assert str(caught.value).startswith(words)
