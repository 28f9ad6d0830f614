"""A plan turns its scenario into hours once, whatever it works out from there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ettr import budget, plan
from ettr.budget import intervals
from ettr.budget.intervals import at_best
from ettr.scenario import to_hours

PEER = {"name": "peer", "interval_s": 40, "stall_s": 0.5, "write_s": 10, "load_s": 5, "survives": 0.9}
RUNS = {
    "tiers": {"checkpoint.tiers": [PEER]},
    "maintenance": {"maintenance": {"per_day": 0.5, "duration_min": 60}},
    "maintenance that no long interval serves": {"maintenance": {"per_day": 20, "duration_min": 10}},
    "warnings": {"prediction": {"recall": 0.5, "precision": 0.7, "lead_s": 600, "action_s": 60}},
    "burn-in": {"failures.burn_in": {"factor": 5, "decay_days": 7}},
    "new nodes": {"failures.lifetime": {"shape": 0.7, "start": "new"}},
    "nodes with a memory": {"failures.lifetime": {"shape": 0.7}},
    "what only simulation follows": {"recovery.false_alarms_per_day": 1},
}


@pytest.fixture
def conversions(monkeypatch):
    """The scenarios that became hours."""
    made, convert = [], to_hours.before_interval

    def counted(scenario, at=None):
        made.append(scenario)
        return convert(scenario, at)

    for module in (to_hours, intervals):
        monkeypatch.setattr(module, "before_interval", counted)
    return made


@pytest.mark.parametrize("name", RUNS)
def test_a_plan_converts_its_scenario_once(name, llama3, conversions):
    answer = plan.make(llama3.override(RUNS[name]))
    assert len(conversions) == 1
    assert 0 < answer.budget.ettr < 1


@pytest.mark.parametrize("name", ["tiers", "maintenance", "warnings"])
def test_what_is_replaced_in_hours_is_what_a_scenario_with_it_gives(name, llama3):
    """What depends on the rate or the interval follows, a rate that is swept included."""
    scenario = llama3.override(RUNS[name])
    run, rate = budget.accepted(scenario), scenario.failure_rate
    other = {"checkpoint.interval_min": 9, "failures.rate_per_1000_node_days": 2 * rate, "job.include_start": False}
    changed = replace(run, tau=9 / 60, rate=2 * run.rate, include_start=False)
    assert budget.exact(changed).ettr == pytest.approx(budget.exact(scenario.override(other)).ettr, rel=1e-12)
    rates = rate * np.array([0.5, 1, 2])
    swept = replace(run, rate=scenario.job_rate_at(rates))
    at = {"failures.rate_per_1000_node_days": rates}
    assert budget.exact(swept).ettr == pytest.approx(budget.exact(scenario, at).ettr, rel=1e-12)
    assert at_best(swept).interval_min == pytest.approx(budget.best_interval_min(scenario, at), rel=1e-9)


def test_the_points_of_a_run_are_runs_of_their_own(llama3):
    sizes, intervals = np.array([[8192.0], [16_384.0]]), np.array([5.0, 10.0, 20.0])
    run = llama3.in_hours({"cluster.n_gpus": sizes, "checkpoint.interval_min": intervals})
    assert run.shape == (2, 3)
    some = np.array([[True, False, False], [False, True, True]])
    assert budget.exact(run.at_points(some)).ettr == pytest.approx(budget.exact(run).ettr[some], rel=1e-13)


def test_one_form_takes_a_scenario_or_its_hours(llama3):
    for name, form in budget.FORMULAS.items():
        scenario = llama3.override({"checkpoint.persist_s": 0, "maintenance": None})
        assert form(budget.accepted(scenario, formula=name)) == form(scenario)
