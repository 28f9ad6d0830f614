"""A rate that was counted by the wall clock: what a new count, another size and a sweep make of it."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from ettr import Scenario, budget, evidence

WALL = [
    name
    for name in evidence.scenario_names()
    if Scenario.load(name).failures.rate_clock == "wall" and Scenario.load(name).failures.n_events is not None
]


def written(name: str, **failures: float) -> Scenario:
    """The preset as if its file had held other values in ``failures``."""
    raw = yaml.safe_load(evidence.scenario_text(name))
    raw["failures"].update(failures)
    return Scenario.parse(yaml.safe_dump(raw))


def failures_in_the_window(scenario: Scenario) -> float:
    """Failures of the steady state on the observed nodes, over the observed wall clock."""
    steady = scenario.override({"job.include_start": False})
    form = budget.exact(steady)
    return form.n_failures / form.total_h * 24 * steady.failures.node_days / steady.n_nodes


def test_there_are_presets_that_count_by_the_wall_clock():
    assert "llama3-405b" in WALL


@pytest.mark.parametrize("name", WALL)
@pytest.mark.parametrize(
    ("field", "factor"), [("n_events", 2), ("n_events", 3.5), ("node_days", 0.5), ("node_days", 2)]
)
def test_a_new_observation_by_override_is_that_of_a_file(name, field, factor):
    preset = Scenario.load(name)
    value = factor * getattr(preset.failures, field)
    over, file = preset.override({f"failures.{field}": value}), written(name, **{field: value})
    assert over.flat() == file.flat() and over.failures == file.failures
    assert over.failures.exposed_share != preset.failures.exposed_share
    assert over.evidence["failures.exposed_share"].note == "computed from the scenario as first written"
    assert budget.exact(over) == budget.exact(file)
    assert f"failures.{field}" not in over.evidence


@pytest.mark.parametrize("name", WALL)
@pytest.mark.parametrize("n_gpus", [896, 160_000])  # Llama 3 fits both
def test_the_observed_nodes_stay_when_the_job_grows_before_the_count(name, n_gpus):
    preset = Scenario.load(name)
    count = 2 * preset.failures.n_events
    grown = preset.override({"cluster.n_gpus": n_gpus}).override({"failures.n_events": count})
    file = written(name, n_events=count)
    assert grown.failures == file.failures
    assert grown.failures.observed_nodes == preset.failures.observed_nodes != grown.n_nodes
    assert grown.flat() == file.override({"cluster.n_gpus": n_gpus}).flat()
    assert preset.override({"failures.n_events": count, "cluster.n_gpus": n_gpus}).flat() == grown.flat()


@pytest.mark.parametrize("n_events", [419, 838, 4190])
def test_the_failures_that_were_counted_come_back(n_events):
    """419 failures in 54 days are 419 in the steady state of 54 days, and 4190 are 4190."""
    run = Scenario.load("llama3-405b").override({"failures.n_events": n_events, "maintenance": None})
    refixed = run.override({"failures.n_events": n_events})  # without maintenance the conversion is another
    assert failures_in_the_window(refixed) == pytest.approx(n_events, rel=1e-9)


def test_the_failures_come_back_with_maintenance_too(llama3):
    assert failures_in_the_window(llama3) == pytest.approx(419, rel=1e-3)  # maintenance is of first order
    many = llama3.override({"failures.n_events": 4190, "checkpoint.interval_min": 2})
    assert failures_in_the_window(many) == pytest.approx(4190, rel=1e-3)


@pytest.mark.parametrize("name", WALL)
def test_a_swept_rate_keeps_the_conversion(name):
    """A sweep asks what if the nodes failed otherwise, not what if something else had been counted."""
    preset = Scenario.load(name)
    share, rate = preset.failures.exposed_share, preset.failures.rate
    assert share < 1
    rates = rate * np.array([0.25, 1.0, 1.5])
    form = budget.exact(preset, {"failures.rate_per_1000_node_days": rates})
    for i, value in enumerate(rates):
        single = preset.override({"failures.rate_per_1000_node_days": value})
        assert single.failures.exposed_share == share
        assert single.node_rate_per_h == pytest.approx(value / 24_000 / share, rel=1e-12)
        assert form.total_h[i] == pytest.approx(budget.exact(single).total_h, rel=1e-12)
    assert form.total_h[1] == pytest.approx(budget.exact(preset).total_h, rel=1e-12)


def test_a_wall_clock_count_of_silent_failures_comes_back(llama3):
    """Nothing more is found while one is hidden, nor struck in a restart: both are dead time of the count."""
    run = llama3.override(
        {
            "maintenance": None,
            "job.include_start": False,
            "failures.modes": [{"name": "s", "share": 1.0, "latency_h": 2}],
            "failures.n_events": 100,
            "checkpoint.persist_s": 0,
        }
    )
    form = budget.exact(run)
    assert form.n_failures / form.total_h * 54 * 24 == pytest.approx(100, rel=1e-9)


def test_a_mode_that_never_occurs_says_nothing_of_latency(llama3):
    modes = [{"name": "a", "share": 1.0, "latency_h": 2}, {"name": "b", "share": 0.0, "latency_h": 500}]
    assert llama3.override({"failures.modes": modes}).latencies_h == (2.0,)


def test_a_job_that_never_fails_is_swept_as_it_is_evaluated(llama3):
    modes = [{"name": "never", "share": 1.0, "factor": 0, "scales_with": "job"}]
    run = llama3.override({"failures.modes": modes})
    swept = budget.exact(run, {"cluster.n_gpus": np.array([16384.0, 100_000.0])}).ettr
    assert swept == pytest.approx([budget.exact(run).ettr] * 2)
