"""The estimate of a run before it is simulated, compared with the analytical models, of which it is independent."""

from __future__ import annotations

import pytest

from ettr import budget
from ettr.simulation.outlook import affordable_runs, outlook

STEADY = {"job.include_start": False}
PLAIN = {
    "as given": {},
    "steady": STEADY,
    "no background write": {"checkpoint.persist_s": 0},
    "a slow write": {"checkpoint.persist_s": 300, "checkpoint.persist_slowdown": 0.2},
    "shorter than an interval": {"job.productive_h": 0.1},
    "hardly any progress": {"cluster.n_gpus": 2_000_000, "recovery.init_s_per_1000_gpus": 0},
    "no failures": {"failures.modes": [], "failures.n_events": None, "failures.node_days": None}
    | {"failures.rate_per_1000_node_days": 0},
}


@pytest.mark.parametrize("name", PLAIN)
def test_of_a_plain_run_it_is_daly_s_formula(llama3, name):
    run = llama3.override({"maintenance": None, **PLAIN[name]})
    expected, ahead = budget.exact(run), outlook(run)
    assert ahead.ettr == pytest.approx(expected.ettr, rel=1e-9)
    assert ahead.n_failures == pytest.approx(expected.n_failures, rel=1e-9)
    # what a failure cuts off of a slow write is counted otherwise
    assert ahead.trained_h == pytest.approx(expected.productive_h + expected.rework_h, rel=1e-3)


def test_silent_failures_lose_their_latency(llama3):
    silent = {"name": "sdc", "share": 1, "latency_h": 5}
    run = llama3.override({"maintenance": None, "checkpoint.persist_s": 0, "failures.modes": [silent]})
    assert outlook(run).ettr == pytest.approx(budget.exact(run).ettr, rel=1e-3)


@pytest.mark.parametrize("survives", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("n_gpus", [2048, 16_384, 131_072])
def test_tiers_are_nested_to_a_tenth(llama3, survives, n_gpus):
    memory = {"name": "memory", "interval_s": 300, "stall_s": 1, "write_s": 5, "load_s": 1, "survives": survives}
    changes = {"maintenance": None, "cluster.n_gpus": n_gpus, "checkpoint.interval_min": 60}
    run = llama3.override(changes | {"recovery.init_s_per_1000_gpus": 0, "checkpoint.tiers": [memory]})
    expected, ahead = budget.exact(run), outlook(run)
    assert ahead.ettr == pytest.approx(expected.ettr, rel=0.1)
    assert ahead.n_failures == pytest.approx(expected.n_failures, rel=0.1)


OPTIMISTIC = {
    "alarms": {"prediction": {"recall": 0.5, "precision": 0.5, "lead_s": 120, "action_s": 20}},
    "a new fleet": {"failures.burn_in": {"factor": 4, "decay_days": 7}},
    "a young fleet that fails less": {"failures.burn_in": {"factor": 0.2, "decay_days": 70}},
    "new nodes that wear": {"failures.lifetime": {"shape": 2, "start": "new"}},
}


@pytest.mark.parametrize("name", OPTIMISTIC)
def test_where_no_plain_form_holds_it_expects_no_less_than_there_will_be(llama3, name):
    run = llama3.override({"maintenance": None, **OPTIMISTIC[name]})
    form, ahead = budget.closed_form(run).budget, outlook(run)
    assert ahead.ettr >= form.ettr and ahead.n_failures <= form.n_failures


def test_what_no_float_can_hold_is_endless(llama3):
    ahead = outlook(llama3.override({"cluster.n_gpus": 800_000_000}))
    assert ahead.ettr == 0 and ahead.is_endless(1e-6, 1e4)
    assert ahead.words.endswith("the expected ETTR is out of the range of numbers")
    assert not outlook(llama3).is_endless(1e-6, 1e4)


def test_as_many_runs_as_meet_so_many_failures():
    assert affordable_runs(400, 50, 1e9) == 50
    assert affordable_runs(400, 50, 1) == 12
    assert affordable_runs(400, 10**9, 10**6) == 2500
    assert affordable_runs(0, 10, 5) == 10
    assert affordable_runs(1e9, 400, 400_000, 8) == 8
