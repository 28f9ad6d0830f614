"""A rate that was counted by the wall clock: its conversion, and what another count, size or sweep make of it."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from ettr import Scenario, budget, evidence
from refusals import refusal

WALL = ["llama3-405b", "h100-100k"]
"""Presets that count by the wall clock: one at the size of its job, one at another."""


# --------------------------------------------------------------------------- a small run

WALL_CLOCK = {"rate_per_1000_node_days": 6.0, "rate_clock": "wall"}


@pytest.fixture
def wall_run(plain_run) -> Scenario:
    """Dead time: 0.25 failures/h of wall clock, each 12 min of detection and queue: 0.05; maintenance 0.05."""
    return plain_run.override(
        {
            "failures": WALL_CLOCK,
            "recovery.detection_min": 9,
            "recovery.queue_min": 3,
            "maintenance": {"per_day": 2.4, "duration_min": 30},
        }
    )


def test_a_wall_clock_rate_is_converted_by_the_time_that_is_exposed(wall_run):
    assert wall_run.failures.exposed_share == pytest.approx(0.9)
    assert wall_run.job_rate_per_h == pytest.approx(0.25 / 0.9)


def test_restarts_in_which_nothing_fails_are_no_time_at_risk(wall_run):
    """Of each of 0.25 failures an hour the restart of 24 min as well."""
    run = wall_run.override({"recovery.exposed": False, "recovery.restart_min": 24, "failures.rate_clock": "wall"})
    assert run.failures.exposed_share == pytest.approx(0.9 - 0.25 * 0.4)


@pytest.mark.parametrize(
    "values",
    [
        {"recovery.detection_min": 60},
        {"cluster.n_gpus": 80_000},
        {"failures.rate_per_1000_node_days": 1},
        {"failures.n_events": 3, "failures.node_days": 500},
    ],
)
def test_the_conversion_is_frozen_by_an_override(wall_run, values):
    assert wall_run.override(values).failures.exposed_share == wall_run.failures.exposed_share


@pytest.mark.parametrize("refix", [{"failures.rate_clock": "wall"}, {"failures.exposed_share": None}])
def test_naming_the_clock_again_fixes_the_conversion_anew(wall_run, refix):
    run = wall_run.override({"recovery.detection_min": 21, **refix})
    assert run.failures.exposed_share == pytest.approx(1 - 0.25 * 0.4 - 0.05)


def test_another_clock_drops_the_conversion(wall_run):
    run = wall_run.override({"failures.rate_clock": "exposed"})
    assert run.failures.exposed_share is None
    assert run.job_rate_per_h == pytest.approx(0.25)
    assert "failures.exposed_share" not in set(run.to_frame()["field"])


@pytest.mark.parametrize("n_gpus", [800, 80_000])
def test_a_rate_is_converted_on_the_nodes_that_were_observed(plain_run, n_gpus):
    """Observed on 1000 nodes: the size of the job now must not move the conversion."""
    modes = [{"name": "bug", "share": 0.5, "detection_min": 24}]
    failures = {**WALL_CLOCK, "observed_nodes": 1000, "modes": modes}
    run = plain_run.override({"cluster.n_gpus": n_gpus, "failures": failures})
    assert run.failures.exposed_share == pytest.approx(1 - 0.25 * 0.5 * 0.4)


def test_a_wall_clock_without_room_for_failures_is_refused(plain_run):
    stops = {"failures.rate_clock": "wall", "maintenance": {"per_day": 24, "duration_min": 60}}
    message = refusal(plain_run.override, stops)
    assert "failures.rate_clock: wall" in message and "maintenance" in message


# --------------------------------------------------------------------------- presets


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


@pytest.mark.parametrize("name", WALL)
@pytest.mark.parametrize(("field", "factor"), [("n_events", 3.5), ("node_days", 0.5)])
def test_a_new_observation_by_override_is_that_of_a_file(name, field, factor):
    preset = Scenario.load(name)
    value = factor * getattr(preset.failures, field)
    over, file = preset.override({f"failures.{field}": value}), written(name, **{field: value})
    assert over.flat() == file.override({"measured": None}).flat() and over.failures == file.failures
    assert over.failures.exposed_share != preset.failures.exposed_share
    assert over.evidence["failures.exposed_share"].note == "computed from the scenario as first written"
    assert budget.exact(over) == budget.exact(file)
    assert f"failures.{field}" not in over.evidence


SILENT = {"failures.modes": [{"name": "s", "share": 1.0, "latency_h": 2}], "checkpoint.persist_s": 0}
COUNTS = [
    (419, {"maintenance": None}, 1e-9),
    (100, {"maintenance": None, **SILENT}, 1e-9),  # one that is hidden, or strikes in a restart, is dead time too
    (419, {}, 1e-3),  # maintenance is of first order
    (4190, {"checkpoint.interval_min": 2}, 1e-3),
]


@pytest.mark.parametrize(("n_events", "changes", "rel"), COUNTS)
def test_the_failures_that_were_counted_come_back(llama3, n_events, changes, rel):
    """419 failures in 54 days are 419 in the steady state of 54 days, and 4190 are 4190."""
    run = llama3.override(changes).override({"failures.n_events": n_events})  # fixes the conversion of what is there
    assert failures_in_the_window(run) == pytest.approx(n_events, rel=rel)


@pytest.mark.parametrize("name", WALL)
def test_a_swept_rate_keeps_the_conversion(name):
    """A sweep asks what if the nodes failed otherwise, not what if something else had been counted."""
    preset = Scenario.load(name)
    share, rate = preset.failures.exposed_share, preset.failure_rate
    assert share < 1
    rates = rate * np.array([0.25, 1.0, 1.5])
    form = budget.exact(preset, {"failures.rate_per_1000_node_days": rates})
    for i, value in enumerate(rates):
        single = preset.override({"failures.rate_per_1000_node_days": value})
        assert single.failures.exposed_share == share
        assert single.node_rate_per_h == pytest.approx(value / 24_000 / share, rel=1e-12)
        assert form.total_h[i] == pytest.approx(budget.exact(single).total_h, rel=1e-12)
    assert form.total_h[1] == pytest.approx(budget.exact(preset).total_h, rel=1e-12)
