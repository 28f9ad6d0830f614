"""Every rule against an independent model, in SimPy, at rates so high that a rule that is missing would be seen."""

from __future__ import annotations

import random

import numpy as np
import pytest
from mixtures import DISK, HANG, MEMORY, PROGRAM, RACK, SILENT, STAGES, STOPS, mixture
from scipy import stats

import simpy_model
from agreement import FOUR, ROUNDING
from ettr import simulate
from ettr.core.results import PARTS

QUANTITIES = (*PARTS, "n_failures", "n_planned", "n_undetected", "waiting_h", "n_waits", "n_ended", "total_h")
STEADY = {"job.include_start": False}
WRITE = {"checkpoint.persist_slowdown": 0.3, "checkpoint.persist_s": 1500}
SPARES = {"spares": {"n_nodes": 2}, "repair": {"automatic_h": 8, "cv": 1}}
ELASTIC = {"elastic": {"n_replicas": 8, "n_least": 6}, "spares": {"n_nodes": 1}, "repair": {"automatic_h": 8}}
ALARMS = {"prediction": {"recall": 0.6, "precision": 0.3, "lead_s": 600, "action_s": 120}}
TIERS = {"checkpoint.tiers": [MEMORY | {"interval_s": 450}, DISK], "checkpoint.load_s": 600}
YOUNG = {"failures.burn_in": {"factor": 6, "decay_days": 0.5, "age_days": 0.1}}
NEW, OLD = ({"failures.lifetime": {"shape": 0.5, "start": start}} for start in ("new", "stationary"))
WEAR = {"failures.lifetime": {"shape": 3, "start": "new"}}
LEMONS = {"failures.lemons": {"share": 0.2, "factor": 8}}
SDC = [SILENT, SILENT | {"name": "soon", "latency_h": 0.2, "latency_cv": 0, "detection_min": 30}]


ROW = RACK | {"share": 1.0, "n_out_nodes": 8, "repair_h": None}
ALL = RACK | {"name": "power", "share": 0.5, "n_out_nodes": 16}
KEPT = {
    "failures.modes": [SILENT | {"share": 0.5, "latency_cv": 0}],
    "prediction": {"recall": 1, "precision": 0.1, "lead_s": 600, "action_s": 60},
    "checkpoint.persist_s": 2400,
}


CURED = {
    "failures.rate_per_1000_node_days": 2000,
    "failures.lemons": {"share": 0.3, "factor": 40, "cured_automatic": 0.5, "cured_manual": 0.9},
    "spares": {"n_nodes": 3},
    "repair": {"automatic_h": 0.5, "automatic_success": 0.6, "manual_h": 1},
}
CHOSEN = {
    "failures.rate_per_1000_node_days": 3000,
    "failures.lemons": {"share": 0.3, "factor": 40},
    "repair": {"automatic_h": 0.1},
}


def _slow(**changes) -> dict:
    return {"slow_nodes": {"per_1000_node_days": 300, "loss": 0.4} | changes}


RULES = {
    "nothing more": {},
    "a rest of work": {"checkpoint.interval_min": 42},
    "slowdown": WRITE,
    "steady, slowdown": STEADY | WRITE,
    "throughput": {"job.throughput_factor": 0.7},
    "times of their own": {"failures.modes": [HANG, PROGRAM], "checkpoint.load_s": 300},
    "people and time-outs": {
        "recovery.person_share": 0.3,
        "recovery.person_min": 40,
        "recovery.false_alarms_per_day": 6,
    },
    "no spares": SPARES | {"spares": {"n_nodes": 0}},
    "ranks of spares": {
        "spares": {"n_nodes": 1, "n_preemptible": 1, "preempt_min": 20},
        "repair": {"manual_h": 12, "cv": 0.5},
    },
    "stages of repair": {
        "spares": {"n_nodes": 2},
        "repair": STAGES,
    },
    "a crew": {"spares": {"n_nodes": 1}, "repair": {"manual_h": 4, "n_crew": 1, "cv": 0.5}},
    "a crew after automatic repair": {
        "spares": {"n_nodes": 1},
        "repair": {"automatic_h": 1, "automatic_success": 0.2, "manual_h": 10, "n_crew": 1},
    },
    "nodes that leave": {
        "spares": {"n_nodes": 4},
        "repair": {"automatic_h": 12, "cv": 0.7},
        "failures.modes": [RACK | {"share": 0.4}, PROGRAM, {"name": "own", "share": 0.2, "repair_h": 30}],
    },
    "retirement": {
        "failures.rate_per_1000_node_days": 1200,
        "spares": {"n_nodes": 2},
        "repair": {"automatic_h": 3, "retire_after": 2, "retire_window_days": 0.5, "replacement_h": 60},
    },
    "cured lemons": CURED,
    "random spares": CHOSEN | {"spares": {"n_nodes": 12, "choose": "random"}},
    "spares that failed least": CHOSEN | {"spares": {"n_nodes": 4, "choose": "fewest_failures"}},
    "idle spares": {
        "spares": {"n_nodes": 1, "n_idle": 2, "select_min": 25, "n_preemptible": 1, "preempt_min": 70},
        "repair": {"manual_h": 10, "cv": 0.5},
    },
    "spares that fail": {
        "spares": {"n_nodes": 2, "n_idle": 2, "select_min": 25, "per_1000_node_days": 4000},
        "repair": {"automatic_h": 12, "cv": 1},
    },
    "a fleet that shrinks": {
        "failures.rate_per_1000_node_days": 1200,
        "spares": {"n_nodes": 5},
        "repair": {"automatic_h": 1, "automatic_success": 0.6, "replaced": False},
    },
    "a fleet that shrinks, elastic": {
        "failures.rate_per_1000_node_days": 1200,
        "elastic": {"n_replicas": 8, "n_least": 6},
        "spares": {"n_nodes": 2},
        "repair": {"automatic_h": 1, "automatic_success": 0.5, "replaced": False},
    },
    "retirement in a life": {
        "failures.rate_per_1000_node_days": 1200,
        "spares": {"n_nodes": 2},
        "repair": {"automatic_h": 3, "retire_after": 2, "replacement_h": 60},
    },
    "exponential repair": {
        "spares": {"n_nodes": 1},
        "repair": {"manual_h": 4, "n_crew": 1, "distribution": "exponential"},
    },
    "gamma repair": {
        "spares": {"n_nodes": 1},
        "repair": {"manual_h": 4, "n_crew": 1, "distribution": "gamma", "cv": 3},
    },
    "racks that come back together": {
        "spares": {"n_nodes": 7},
        "repair": {"automatic_h": 8, "cv": 2},
        "failures.modes": [ROW | {"repaired_together": True}],
    },
    "restarts without failures": {"recovery.exposed": False, "recovery.restart_min": 90},
    "copies that are corrupt": {
        "checkpoint.tiers": [MEMORY | {"interval_s": 450, "corrupt": 0.3}, DISK | {"corrupt": 0.5, "load_s": 600}],
        "checkpoint.load_s": 900,
    },
    "elastic, silent": {
        "elastic": {"n_replicas": 16, "n_least": 9},
        "spares": {"n_nodes": 2},
        "repair": {"automatic_h": 6, "cv": 1},
        "failures.modes": [SILENT],
    }
    | WRITE,
    "lemons": LEMONS | WEAR,
    "lemons and ranks of spares": LEMONS
    | {
        "spares": {"n_nodes": 1, "n_preemptible": 2, "preempt_min": 15},
        "repair": {"manual_h": 2},
    },
    "lemons that retire": LEMONS
    | {
        "failures.rate_per_1000_node_days": 1200,
        "spares": {"n_nodes": 3},
        "repair": {"automatic_h": 3, "retire_after": 2, "retire_window_days": 0.5, "replacement_h": 60},
    },
    "new nodes": NEW | STEADY,
    "old nodes and spares": OLD | SPARES,
    "racks of new nodes": NEW
    | {"spares": {"n_nodes": 8}, "repair": {"automatic_h": 6}, "failures.modes": [RACK | {"share": 0.4}]},
    "racks of nodes that wear, without spares": WEAR | {"failures.modes": [RACK | {"share": 0.4, "n_out_nodes": 8}]},
    "burn-in": YOUNG,
    "burn-in of new nodes": YOUNG | NEW,
    "elastic": ELASTIC,
    "elastic, racks and ranks": {
        "elastic": {"n_replicas": 16, "n_least": 9},
        "spares": {"n_nodes": 2, "n_preemptible": 2, "preempt_min": 60},
        "repair": {"automatic_h": 6, "cv": 1},
        "failures.modes": [RACK | {"share": 0.4}],
    },
    "elastic, slowdown, burn-in": ELASTIC | WRITE | YOUNG,
    "slow nodes": _slow(detection_h=1),
    "slow nodes, slowdown": _slow(detection_h=3) | WRITE,
    "slow nodes and spares": _slow(detection_h=1) | {"spares": {"n_nodes": 1}, "repair": {"automatic_h": 8}},
    "maintenance": STOPS | WRITE,
    "rolling maintenance": {
        "maintenance": {"per_day": 8, "duration_min": 150, "rolling_nodes": 2},
        "spares": {"n_nodes": 3},
        "repair": {"automatic_h": 8},
    },
    "rolling maintenance, elastic": ELASTIC
    | {"maintenance": {"per_day": 8, "duration_min": 150, "rolling_nodes": 1}, "spares": {"n_nodes": 3}},
    "tiers": TIERS | {"failures.modes": [HANG, RACK]},
    "tiers and time-outs": TIERS | {"recovery.false_alarms_per_day": 8},
    "tiers, maintenance": TIERS | STOPS,
    "alarms": ALARMS | WRITE | STEADY,
    "alarms and tiers": ALARMS | TIERS,
    "alarms and clocks": ALARMS | WEAR | SPARES,
    "alarms and maintenance": ALARMS | STOPS | {"checkpoint.persist_s": 0},
    "silent": {"failures.modes": SDC},
    "silent, few checkpoints kept": {"failures.modes": SDC, "checkpoint.n_kept": 1},
    "silent, tiers": {"failures.modes": SDC, "checkpoint.n_kept": 2} | TIERS,
    "silent, alarms, long write": {
        "failures.modes": [SILENT | {"share": 0.4, "latency_h": 0.2, "latency_cv": 0}],
        "prediction": {"recall": 1, "precision": 0.2, "lead_s": 600, "action_s": 60},
        "checkpoint.persist_s": 2400,
    },
}
EXTREMES = {
    "all nodes at once, replicas": {
        "elastic": {"n_replicas": 16, "n_least": 1},
        "spares": {"n_nodes": 0},
        "repair": {"manual_h": 2, "n_crew": 1},
        "failures.modes": [ALL],
    },
    "service of all nodes": WEAR
    | {
        "maintenance": {"per_day": 2, "duration_min": 60, "rolling_nodes": 16},
        "spares": {"n_nodes": 16},
        "repair": {"automatic_h": 1},
    }
    | _slow(detection_h=5),
    "answers that cut a write off": {**KEPT, "failures.modes": [SILENT | {"share": 0.8, "latency_h": 0.4}]},
}
QUICK = (
    *("a rest of work", "slowdown", "maintenance", "a crew", "retirement"),
    *("cured lemons", "old nodes and spares", "tiers", "alarms", "silent"),
)
"""Rules that no mixture holds alone; all are followed with ``slow``."""
SAMPLES = pytest.mark.parametrize("n_simpy", [50, pytest.param(300, marks=pytest.mark.slow)])
"""Few, because each takes some milliseconds; with 1,500 the two agreed as well."""
N_RUNS = 5000


def _check(run, seed: int, n_simpy: int) -> None:
    """Means agree within four standard errors, and finishing dates are distributed alike."""
    other = simpy_model.runs(run, n_simpy, seed)
    runs = simulate(run, N_RUNS, seed=seed, control_variates=False).runs
    for quantity in QUANTITIES:
        values = runs[quantity].to_numpy()
        # the spread is known from the many runs, also where the few never see something rare
        error = values.std(ddof=1) * (1 / n_simpy + 1 / N_RUNS) ** 0.5
        rounding = ROUNDING * runs["total_h"].mean()
        # a sum of rare events is not normal: Bernstein's inequality, at the probability of four standard errors
        is_rare = np.count_nonzero(values) * n_simpy < 10 * N_RUNS
        rare = FOUR**2 / 6 * values.max() / n_simpy if is_rare else 0.0
        assert other[quantity].mean() == pytest.approx(values.mean(), abs=FOUR * error + rare + rounding), quantity
    # runs without a failure take equally long, up to the last digits
    totals = [np.round(table["total_h"], 6) for table in (other, runs)]
    # by chance one in 10,000 falls below
    assert stats.ks_2samp(*totals).pvalue > 1e-4


@SAMPLES
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in RULES)])
def test_each_rule_is_that_of_the_other_model(small_run, name, n_simpy):
    _check(small_run.override({"job.productive_h": 16} | RULES[name]), len(name), n_simpy)


@SAMPLES
@pytest.mark.parametrize("name", EXTREMES)
def test_each_rule_is_that_of_the_other_model_where_it_matters_most(small_run, name, n_simpy):
    """Where nodes run out: all leave together, or are slow, or are served."""
    changes = {"job.productive_h": 24, "checkpoint.interval_min": 42} | EXTREMES[name]
    _check(small_run.override(changes), len(name), n_simpy)


@SAMPLES
@pytest.mark.parametrize("number", range(5))
def test_rules_together_are_those_of_the_other_model(small_run, number, n_simpy):
    _check(small_run.override(mixture(random.Random(f"mixture {number}").choice)), number, n_simpy)
