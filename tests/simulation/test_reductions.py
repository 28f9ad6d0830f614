"""Rules at the value where they do nothing, and one run by two kernels."""

from __future__ import annotations

import numpy as np
import pytest
from mixtures import STAGES, STOPS
from scipy import stats

from ettr import simulate
from ettr.core.results import PARTS
from ettr.simulation.chunks import piece
from ettr.simulation.columns import COLUMNS, N_COLUMNS, OUTCOME
from ettr.simulation.event_kernel import walk
from ettr.simulation.from_scenario import is_straight, rules_of

MODES = [
    {"name": "hang", "share": 0.3, "detection_min": 25, "restart_min": 20},
    {"name": "rack", "share": 0.2, "n_out_nodes": 4, "repair_h": 2},
    {"name": "program", "share": 0.2, "n_out_nodes": 0},
]
RANDOM = {
    "recovery.person_share": 0.3,
    "recovery.person_min": 30,
    "recovery.false_alarms_per_day": 3,
}
WRITE = {"checkpoint.persist_s": 1500, "checkpoint.persist_slowdown": 0.3}
SPARES = {"spares": {"n_nodes": 2}, "repair": {"automatic_h": 8, "cv": 1}}
WIDE_SPARES = {"spares": {"n_nodes": 6}, "repair": {"automatic_h": 4, "cv": 1}}
MEMORY = {"name": "memory", "interval_s": 900, "stall_s": 5, "write_s": 100, "load_s": 20, "survives": 0.6}
SILENT = {"failures.modes": [{"name": "sdc", "share": 0.4, "latency_h": 1.5}]}

BOTH_KNOW = {
    "plain": {},
    "ragged": {"job.productive_h": 30.2},
    "ends during a write": {"job.productive_h": 30.1} | WRITE,
    "no failures": {"failures.rate_per_1000_node_days": 0},
    "slowdown": WRITE,
    "random times": RANDOM | {"failures.modes": MODES},
    "steady": {"job.include_start": False},
    "steady, write as long as the interval": {
        "job.include_start": False,
        "checkpoint.persist_s": 3600,
        "checkpoint.persist_slowdown": 0.25,
    },
    "maintenance": STOPS,
    "maintenance, no write": STOPS | {"checkpoint.persist_s": 0, "checkpoint.stall_s": 0, "job.productive_h": 30.2},
    "maintenance, new nodes": STOPS | {"failures.lifetime": {"shape": 0.6, "start": "new"}},
    "stages of repair": {"spares": {"n_nodes": 2}, "repair": STAGES},
    "stages of repair, racks": {"spares": {"n_nodes": 6}, "repair": STAGES, "failures.modes": MODES} | STOPS,
    "automatic repair, then new nodes": {
        "spares": {"n_nodes": 2},
        "repair": {"automatic_h": 2, "automatic_success": 0.5, "replacement_h": 20},
    },
    "stages of repair, nodes with clocks": {
        "spares": {"n_nodes": 2},
        "repair": STAGES,
        "failures.lifetime": {"shape": 0.6},
    },
    "spares": SPARES,
    "no spares": SPARES | {"spares": {"n_nodes": 0}},
    "spares and racks": WIDE_SPARES | {"failures.modes": MODES} | RANDOM,
    "new nodes that wear": {"failures.lifetime": {"shape": 3, "start": "new"}} | WRITE,
    "nodes, spares and programs": {"failures.lifetime": {"shape": 0.6}, "failures.modes": [MODES[0], MODES[2]]}
    | SPARES,
    "many nodes": {
        "cluster.n_gpus": 80_000,
        "failures.rate_per_1000_node_days": 0.6,
        "failures.lifetime": {"shape": 2},
    },
}


@pytest.mark.parametrize("name", BOTH_KNOW)
def test_both_kernels_write_down_the_same_runs(small_run, name):
    """One skips whole cycles by arithmetic, the other knows every rule."""
    run = small_run.override(BOTH_KNOW[name])
    rules, seed, n_runs, limit = rules_of(run), 11, 500, 10**6
    assert is_straight(rules)
    quick, walked = piece(rules, seed, 0, n_runs, limit), np.zeros((n_runs, N_COLUMNS))
    walk(rules, seed, 0, limit, np.zeros(1, np.int64), walked, np.zeros((1, 3)))
    _same_runs(quick[:, : len(COLUMNS)], walked[:, : len(COLUMNS)])
    assert (quick[:, OUTCOME] == walked[:, OUTCOME]).all()


def _same_runs(runs: np.ndarray, other: np.ndarray) -> None:
    """Hours and counts of each run, but for the rounding of sums of some hundred numbers."""
    total_h = runs[:, : len(PARTS)].sum(axis=1)
    off = np.abs(runs - other).max(axis=1) / total_h
    wrong = np.flatnonzero(off > 1e-9)
    assert wrong.size == 0, f"{wrong.size} runs differ, the first: {wrong[0]}: {runs[wrong[0]]} and {other[wrong[0]]}"


LARGE = 10**6
IDLE = {
    "nobody is needed": ({"recovery.person_share": 0, "recovery.person_min": 60}, {}),
    "no time-outs": ({"recovery.false_alarms_per_day": 0}, {}),
    "all checkpoints kept": (SILENT | {"checkpoint.n_kept": LARGE}, SILENT),
    "no maintenance": ({"maintenance": {"per_day": 0, "duration_min": 60}}, {}),
    "too few spares for rolling maintenance": (
        {"maintenance": {"per_day": 2, "duration_min": 60, "rolling_nodes": 5}} | SPARES,
        {"maintenance": {"per_day": 2, "duration_min": 60}} | SPARES,
    ),
    "settled from the first": ({"failures.burn_in": {"factor": 1, "decay_days": 3}}, {}),
    "no slow nodes": ({"slow_nodes": {"per_1000_node_days": 0, "loss": 0.5, "detection_h": 1}}, {}),
    "alarms that come too late": (
        {"prediction": {"recall": 0.9, "precision": 0.9, "lead_s": 59, "action_s": 60}},
        {},
    ),
    "racks without clocks or spares": (
        {"failures.modes": [MODES[1]]},
        {"failures.modes": [{"name": "r", "share": 0.2}]},
    ),
    "a crew for all": (
        {"spares": {"n_nodes": 2}, "repair": {"manual_h": 8, "cv": 1, "n_crew": LARGE}},
        {"spares": {"n_nodes": 2}, "repair": {"manual_h": 8, "cv": 1}},
    ),
    "people are the automatic repair": ({"spares": {"n_nodes": 2}, "repair": {"manual_h": 8, "cv": 1}}, SPARES),
    "new nodes instead of repair": (
        {"spares": {"n_nodes": 2}, "repair": {"automatic_h": 0, "automatic_success": 0, "replacement_h": 8}},
        {"spares": {"n_nodes": 2}, "repair": {"automatic_h": 8}},
    ),
    "idle but near": (SPARES | {"spares": {"n_nodes": 0, "n_preemptible": 1, "n_idle": 1}}, SPARES),
    "every replica is needed": (SPARES | {"elastic": {"n_replicas": 8, "n_least": 8}}, SPARES),
    "more spares than failures": ({"spares": {"n_nodes": 500}, "repair": {"automatic_h": 8}}, {}),
    "no retirement among numbered nodes": (
        SPARES
        | {"failures.lifetime": {"shape": 0.6}, "failures.lemons": {"share": 0.1, "factor": 3}}
        | {"repair": {"automatic_h": 8, "cv": 1, "retire_after": 16, "retire_window_days": 1e-3, "replacement_h": 1}},
        SPARES | {"failures.lifetime": {"shape": 0.6}, "failures.lemons": {"share": 0.1, "factor": 3}},
    ),
    "a tier that is the store": (
        {"checkpoint.tiers": [MEMORY | {"interval_s": 2700, "stall_s": 0, "write_s": 600, "load_s": 0}]},
        {},
    ),
    "a store that nobody needs": (
        {
            "checkpoint.tiers": [
                MEMORY | {"survives": 1, "interval_s": 2700, "stall_s": 90, "write_s": 600, "load_s": 300}
            ],
            "checkpoint.stall_s": 0,
            "checkpoint.load_s": 300,
            "checkpoint.interval_min": 45 * 1000,
        },
        {"checkpoint.load_s": 300},
    ),
    "half speed, half the work": ({"job.throughput_factor": 0.5, "job.productive_h": 15}, {}),
}


@pytest.mark.parametrize("name", IDLE)
def test_an_idle_rule_changes_no_run(small_run, name):
    """Not only on average: the same runs, but for the order in which numbers are added up."""
    changes, without = IDLE[name]
    ours, expected = (
        simulate(small_run.override(each), n_runs=300, seed=12).runs[list(COLUMNS)].to_numpy()
        for each in (changes, without)
    )
    _same_runs(ours, expected)
    assert len(np.unique(expected[:, COLUMNS.index("rework_h")])) > 250  # there was something to disagree about


SAME_ON_AVERAGE = {
    "no retirement": (
        SPARES
        | {"failures.lifetime": {"shape": 0.6}}
        | {"repair": {"automatic_h": 8, "cv": 1, "retire_after": 16, "retire_window_days": 1e-3, "replacement_h": 1}},
        SPARES | {"failures.lifetime": {"shape": 0.6}},
    ),
    "a shape of 1": ({"failures.lifetime": {"shape": 1}}, {}),
    "lemons in one kind of failure": ({"failures.lemons": {"share": 0.25, "factor": 6}}, {}),
    "a time-out is a failure that is noticed at once": (
        {"recovery.false_alarms_per_day": 16 * 0.8 / 9, "failures.rate_per_1000_node_days": 800 / 3},
        {
            "failures.modes": [{"name": "time-out", "share": 1 / 4, "detection_min": 0}],
            "failures.rate_per_1000_node_days": 3200 / 9,
        },
    ),
}


@pytest.mark.parametrize("name", SAME_ON_AVERAGE)
def test_another_way_to_say_the_same_has_the_same_distribution(small_run, name):
    """Finishing dates of independent runs: the Kolmogorov-Smirnov test sees a shift of a tenth of their spread."""
    runs, other = (
        simulate(small_run.override(changes), n_runs=4000, seed=seed).runs
        for seed, changes in enumerate(SAME_ON_AVERAGE[name])
    )
    for column in ("total_h", "rework_h", "restart_h"):
        # by chance one in 10,000 of these falls below
        assert stats.ks_2samp(runs[column], other[column]).pvalue > 1e-4, column
    shifted = runs["total_h"] + 0.15 * runs["total_h"].std()
    assert stats.ks_2samp(shifted, other["total_h"]).pvalue < 1e-4
