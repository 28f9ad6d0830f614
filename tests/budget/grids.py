"""Runs for each of the closed forms, as changes to the plain run."""

from __future__ import annotations

import itertools
from typing import Any

from ettr import Scenario

DEAD = {"recovery.detection_min": 4, "recovery.queue_min": 6}
WRITE = {"checkpoint.persist_s": 1200, "checkpoint.persist_slowdown": 0.2}
LONG_WRITE = {"checkpoint.persist_s": 4500, "checkpoint.persist_slowdown": 0.2}
KINDS = [
    {"name": "bug", "share": 0.5, "detection_min": 12, "restart_min": 25},
    {"name": "hang", "share": 0.2, "detection_min": 20, "n_lost_nodes": 0},
    {"name": "rack", "share": 0.2, "restart_min": 2, "n_lost_nodes": 16},
]
MODES = {"failures.modes": KINDS}
START = {"job.include_start": True}
LONG = {"recovery.restart_min": 40}


def slower(run: Scenario, factor: float) -> Scenario:
    """The same run with every time so many times as long."""
    return Scenario.of(_slower(run.model_dump(), factor))


def _slower(item: Any, factor: float) -> Any:
    if isinstance(item, dict):
        return {key: _times(key, value, factor) for key, value in item.items()}
    return [_slower(each, factor) for each in item] if isinstance(item, list | tuple) else item


def _times(key: str, value: Any, factor: float) -> Any:
    if not isinstance(value, int | float):
        return _slower(value, factor)
    if key.endswith(("_days", "_gb_s")) and not key.endswith(("decay_days", "age_days")):
        return value / factor
    return value * factor if key.endswith(("_s", "_min", "_h", "_days", "_s_per_1000_gpus")) else value


# --------------------------------------------------------------------------- the plain run

SIZES = {
    "no failure": {"failures.rate_per_1000_node_days": 0},
    "calm": {"cluster.n_gpus": 800},
    "plain": {},
    "rough": {"cluster.n_gpus": 24_000},
    "hardly": {"cluster.n_gpus": 40_000},
}
"""No failures, and mean times between them of 40 h, 4 h, 80 min and 48 min."""
WAYS = {
    "no write": DEAD,
    "write": DEAD | {"checkpoint.persist_s": 900},
    "write and slowdown": WRITE,
    "write as long as the interval": LONG_WRITE,
    "modes": WRITE | DEAD | MODES | {"checkpoint.load_s": 300},
    "no stall, short interval": {"checkpoint.stall_s": 0, "checkpoint.interval_min": 10},
}
ENDS = {
    "steady": {},
    "whole": START | {"recovery.queue_min": 90},
    "ragged": START | {"job.productive_h": 20.3},
}
"""In the steady state, from a first queue with work of whole intervals, and with a rest."""
PRODUCT = {
    ", ".join(names): SIZES[names[0]] | WAYS[names[1]] | ENDS[names[2]]
    for names in itertools.product(SIZES, WAYS, ENDS)
}
PAIRS = [
    ", ".join((size, way, list(ENDS)[(i + j) % len(ENDS)]))
    for i, size in enumerate(SIZES)
    for j, way in enumerate(WAYS)
]
"""Of the product as many as have every two of its values together."""
ODD = {
    "shorter than an interval": START | {"job.productive_h": 0.4},
    "one checkpoint, ends in its write": WRITE | START | {"job.productive_h": 1.2},
    "two checkpoints, ends in the second's write": WRITE | START | {"job.productive_h": 2.2},
    "ends during a write": WRITE | START | {"job.productive_h": 20.1},
    "a store with a size": {
        "checkpoint.store": {"n_parameters": 2e12, "write_gb_s": 20, "read_gb_s": 200, "node_gb_s": 0.1},
        "checkpoint.persist_slowdown": 0.1,
    },
    "people": DEAD | {"recovery.person_share": 0.3, "recovery.person_min": 45},
    "long restarts": DEAD | LONG | START | {"cluster.n_gpus": 24_000},
    "long restarts, with stops": LONG | WRITE | {"maintenance": {"per_day": 0.02, "duration_min": 30}},
}

# --------------------------------------------------------------------------- tiers

MEMORY = {"name": "memory", "interval_s": 300, "stall_s": 3, "write_s": 40, "load_s": 20, "survives": 0.6}
DISK = {"name": "disk", "interval_s": 900, "stall_s": 10, "write_s": 500, "load_s": 90, "survives": 0.8}
PEERS = {"name": "peers", "interval_s": 1800, "stall_s": 0, "write_s": 700, "load_s": 200, "survives": 0.95}
STORE = {"checkpoint.stall_s": 60, "checkpoint.persist_s": 1200}


def tiers(*each: dict, **changes: float) -> dict:
    return {"checkpoint.tiers": [tier | changes for tier in each]}


TIERED = {
    "two": tiers(MEMORY) | DEAD | STORE,
    "three": tiers(MEMORY, DISK) | DEAD | STORE,
    "four": tiers(MEMORY, DISK, PEERS) | DEAD | STORE | {"checkpoint.load_s": 600},
    "four, low ETTR": tiers(MEMORY, DISK, PEERS)
    | STORE
    | {"checkpoint.load_s": 600, "failures.rate_per_1000_node_days": 60},
    "failures while loading": tiers(MEMORY | {"load_s": 1200}, DISK | {"load_s": 2400})
    | DEAD
    | STORE
    | {"checkpoint.load_s": 3600, "failures.rate_per_1000_node_days": 12},
    "modes": tiers(
        MEMORY | {"survives": {"bug": 1, "rack": 0.1, "all": 0.4}}, DISK | {"survives": {"bug": 1, "all": 0.5}}
    )
    | DEAD
    | STORE
    | MODES
    | {"checkpoint.load_s": 300},
    "copies in groups": tiers(MEMORY | {"survives": None, "copies": 2}) | MODES | STORE,
    "just in time": tiers({"name": "replicas", "interval_s": 120, "load_s": 400, "survives": {"bug": 0.9, "all": 0.7}})
    | DEAD
    | STORE
    | MODES
    | {"checkpoint.interval_min": 30},
    "long restarts": tiers(MEMORY | {"load_s": 600}, DISK) | LONG | STORE | MODES | {"cluster.n_gpus": 16_000},
    "one that keeps all": tiers(MEMORY | {"survives": 0.3}, DISK | {"survives": 1}) | DEAD | STORE,
    "a store with a size": tiers(DISK) | ODD["a store with a size"] | {"checkpoint.persist_slowdown": 0},
}

# --------------------------------------------------------------------------- announced failures


def alarms(recall: float, precision: float, action_s: float, lead_s: float = 7200) -> dict:
    return {"prediction": {"recall": recall, "precision": precision, "lead_s": lead_s, "action_s": action_s}}


GOOD, POOR = alarms(0.6, 0.85, 30), alarms(0.4, 0.05, 60)
ANNOUNCED = {
    "good": GOOD | DEAD,
    "poor: a third of the interval is not worth an answer": POOR | DEAD,
    "all announced": alarms(1, 1, 30) | DEAD,
    "long action": alarms(0.8, 0.7, 1500) | DEAD,
    "modes": GOOD | DEAD | MODES | {"checkpoint.load_s": 200},
    "write": GOOD | DEAD | {"checkpoint.persist_s": 900},
    "write and slowdown": GOOD | WRITE,
    "write and slowdown, poor": POOR | WRITE | MODES,
    "write and slowdown, long action": alarms(0.8, 0.7, 1500) | WRITE | DEAD,
    "write as long as the interval": GOOD | LONG_WRITE,
    "low ETTR": alarms(0.5, 0.5, 120) | WRITE | {"cluster.n_gpus": 40_000},
    "rare failures": GOOD | WRITE | DEAD | {"failures.rate_per_1000_node_days": 1},
    "long restarts": GOOD | LONG,
}

# --------------------------------------------------------------------------- silent failures

OWN = {"detection_min": 30, "restart_min": 45}


def silent(latency_h: float, **recovery: float) -> dict:
    """Half of the failures are of a kind with recovery times of its own; all are silent for as long."""
    kinds = [{"name": "sdc", "share": 0.5, **recovery}, {"name": "loader", "share": 0.5}]
    return {"failures.modes": [kind | {"latency_h": latency_h} for kind in kinds]}


SILENT = {
    "within an interval": silent(0.4) | DEAD,
    "over several intervals": silent(5.5) | DEAD,
    "recovery by mode": silent(2, **OWN) | DEAD | {"checkpoint.load_s": 600},
    "rare, found after a day": silent(24) | {"failures.rate_per_1000_node_days": 1},
    "long restarts": silent(2, **OWN) | LONG,
    "low ETTR": silent(3, **OWN) | DEAD | {"failures.rate_per_1000_node_days": 24},
}

# --------------------------------------------------------------------------- a rate that changes


def burn_in(factor: float, decay_days: float, age_days: float = 0.0, work_h: float = 200.0) -> dict:
    return {
        "failures.burn_in": {"factor": factor, "decay_days": decay_days, "age_days": age_days},
        "job.productive_h": work_h,
    }


def lifetime(shape: float, start: str = "new", work_h: float = 200.0) -> dict:
    return {"failures.lifetime": {"shape": shape, "start": start}, "job.productive_h": work_h}


CHANGING = {
    "young": burn_in(5, 4, work_h=100) | DEAD,
    "young, with writes": burn_in(4, 4, age_days=1, work_h=100) | DEAD | WRITE,
    "young, long restarts": burn_in(5, 4, work_h=100) | LONG,
    "new nodes": lifetime(0.7, work_h=100) | DEAD,
    "new nodes that wear": lifetime(1.4, work_h=400) | DEAD | {"failures.rate_per_1000_node_days": 20},
}
