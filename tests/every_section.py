"""Scenarios with every section, alone and in pairs, and at valid extremes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from ettr import Gpu, Scenario
from ettr.core.errors import InputError

BARE: dict[str, Any] = {"cluster": {"n_gpus": 1024}}
RATE = {"rate_per_1000_node_days": 6.5}
_WAYS = ("n_events", "rate_per_1000_node_days", "job_mttf_h", "node_mttf_h", "gpu_mttf_h")
"""Fields that give the failure rate, of which a scenario has one."""

_MODEL = {"n_parameters": 7e9}
_STORE = {"n_parameters": 70e9, "write_gb_s": 50}
_PEER = {"name": "peer memory", "interval_s": 60, "stall_s": 0.2, "write_s": 5, "load_s": 10, "copies": 2}
_DISK = {"name": "local disk", "interval_s": 180, "stall_s": 0.5, "write_s": 15, "load_s": 30}
_GPU_FAULT = {"name": "GPU", "category": "GPU", "share": 0.6}
_POOL = {"spares": {"n_nodes": 4}, "repair": {"manual_h": 24}}
_HEAT = {"part": "h100", "cooling": "air_economiser", "mean_c": 22, "swing_k": 7}

SECTIONS: dict[str, dict[str, Any]] = {
    "hours": {"job": {"productive_h": 500}},
    "tokens": {"job": {"tokens": 1e12}, "model": _MODEL},
    "layout": {"job": {"tokens": 1e12}, "model": _MODEL, "layout": {"tensor": 2, "pipeline": 2}},
    "network": {"job": {"tokens": 1e12}, "model": _MODEL, "network": {"pod_gpus": 256, "oversubscription": 4}},
    "step": {"job": {"tokens": 1e12}, "model": _MODEL, "scaling": {"like": "llama3", "jitter": 0.02}},
    "sync": {"job": {"tokens": 1e12}, "model": _MODEL, "sync": {"every_steps": 30, "efficiency": 0.9}},
    "steady state": {"job": {"include_start": False}},
    "queue": {"recovery": {"queue_min": 90}},
    "speed": {"job": {"throughput_factor": 0.9}},
    "count": {"failures": {"n_events": 12, "node_days": 5120, "rate_clock": "wall"}},
    "time between failures": {"failures": {"job_mttf_h": 20}},
    "time to failure of a node": {"failures": {"node_mttf_h": 5000}},
    "time to failure of a GPU": {"failures": {"gpu_mttf_h": 50_000}},
    "known rate": {"failures": {**RATE, "rate_gamma": {"shape": 20, "node_days": 3000}}},
    "modes": {
        "failures": {
            "observed_nodes": 256,
            "modes": [
                {**_GPU_FAULT, "restart_min": 20},
                {"name": "switch", "share": 0.1, "detection_min": 1, "n_out_nodes": 4, "n_lost_nodes": 4},
                {"name": "software", "share": 0.2, "n_out_nodes": 0},
            ],
        }
    },
    "silent": {"failures": {"modes": [_GPU_FAULT, {"name": "corruption", "share": 0.1, "latency_h": 4}]}},
    "silent of two kinds": {
        "failures": {
            "modes": [
                {"name": "corruption", "share": 0.1, "latency_h": 4, "latency_cv": 1},
                {"name": "slow corruption", "share": 0.1, "latency_h": 40},
            ]
        }
    },
    "burn-in": {"failures": {"burn_in": {"factor": 3, "decay_days": 20}}},
    "lifetime": {"failures": {"lifetime": {"shape": 0.7}}},
    "new nodes": {"failures": {"lifetime": {"shape": 0.7, "start": "new"}}},
    "lemons": {"failures": {"lemons": {"share": 0.05, "factor": 8}}},
    "cured lemons": {"failures": {"lemons": {"share": 0.05, "factor": 8, "cured_manual": 0.5}}, **_POOL},
    "interval": {"checkpoint": {"interval_min": 60, "stall_s": 45}},
    "rule": {"checkpoint": {"interval_min": "young"}},
    "background write": {"checkpoint": {"persist_s": 120, "persist_slowdown": 0.05, "load_s": 60}},
    "store": {"checkpoint": {"store": _STORE}},
    "store read": {"checkpoint": {"store": {**_STORE, "read_gb_s": 100, "node_gb_s": 10, "compression_ratio": 1.5}}},
    "size of a checkpoint": {"checkpoint": {"store": {"n_parameters": 70e9}, "persist_s": 30}},
    "tiers": {"checkpoint": {"persist_s": 30, "tiers": [_PEER]}},
    "tiers and store": {"checkpoint": {"store": _STORE, "tiers": [_PEER]}},
    "two tiers": {
        "checkpoint": {
            "interval_min": 60,
            "persist_s": 30,
            "tiers": [
                {**_DISK, "name": "memory", "interval_s": 60, "survives": 0.7},
                {**_DISK, "survives": 0.9, "corrupt": 0.02},
            ],
        }
    },
    "few kept": {"checkpoint": {"n_kept": 2}},
    "start-up by size": {"recovery": {"init_s_per_1000_gpus": 3}},
    "person": {"recovery": {"person_share": 0.1, "person_min": 60}},
    "sheltered restarts": {"recovery": {"exposed": False}},
    "false alarms": {"recovery": {"false_alarms_per_day": 0.2}},
    "measured": {"measured": {"ettr": 0.85}},
    "measured bounds": {"measured": {"ettr_above": 0.6, "ettr_below": 0.9, "n_gpus": 512}},
    "maintenance": {"maintenance": {"per_day": 0.5, "duration_min": 30}},
    "rolling maintenance": {**_POOL, "maintenance": {"per_day": 0.5, "duration_min": 30, "rolling_nodes": 4}},
    "prediction": {"prediction": {"recall": 0.6, "precision": 0.8, "lead_s": 300, "action_s": 60}},
    "spares": _POOL,
    "ranks of spares": {
        "spares": {"n_nodes": 2, "n_idle": 2, "select_min": 5, "n_preemptible": 2, "preempt_min": 10}
        | {"choose": "fewest_failures", "per_1000_node_days": 1},
        "repair": {"manual_h": 24},
    },
    "stages of repair": {
        "spares": {"n_nodes": 4},
        "repair": {"automatic_h": 2, "automatic_success": 0.4, "manual_h": 24}
        | {"replacement_h": 200, "cv": 1, "n_crew": 3, "retire_after": 3, "retire_window_days": 30},
    },
    "racks": {**_POOL, "rack": {"n_gpus": 64, "n_used": 48, "drain_share": 0.1, "repair_h": 12}},
    "elastic": {**_POOL, "elastic": {"n_replicas": 16, "n_least": 12}},
    "slow nodes": {"slow_nodes": {"per_1000_node_days": 1, "loss": 0.2, "detection_h": 5}},
    "heat": {"heat": _HEAT},
    "heat by water": {"heat": {"part": "b200", "cooling": "cold_plate", "mean_c": 30, "limit_w": 800}},
    "weather": {"heat": {"weather": "site.csv"}},
    "heat of modes": {
        "heat": _HEAT,
        "failures": {"modes": [{**_GPU_FAULT, "heat_share": 0.5}]},
    },
    "power": {"power": {"step_s": 8, "country": "FRA", "pue": 1.2}},
    "own GPU": {"power": {"part": "mine-gpu.yml"}},
    "price": {"cost": {"usd_per_gpu_h": 2.5, "usd_per_kwh": 0.1, "usd_per_day": 5000, "payback_months": 6}},
}
"""Optional parts of a scenario, by name."""


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Merge sections: for a field in several of them the last value counts, and failure modes add up."""
    result: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            current = result.get(key)
            if isinstance(value, Mapping) and isinstance(current, Mapping):
                result[key] = merged(current, value)
            elif key == "modes" and current:
                names = {mode["name"] for mode in value}
                result[key] = [*(mode for mode in current if mode["name"] not in names), *value]
            else:
                result[key] = value
    return result


def scenario(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return sections as the values of a scenario, which may break a rule."""
    values = merged(BARE, *parts)
    failures = values.get("failures", {})
    return values if any(way in failures for way in _WAYS) else merged(values, {"failures": RATE})


def beside(folder: Path) -> None:
    """Write the files that sections name: weather of a year, and a GPU."""
    times = (f"2025-{month:02d}-{day:02d}T{hour:02d}:00,{10 + hour / 2 + month / 2}" for month in range(1, 13)
             for day in range(1, 29) for hour in range(24))  # fmt: skip
    (folder / "site.csv").write_text("\n".join(["time,temp_c", *times]), encoding="utf-8")
    (folder / "mine-gpu.yml").write_text(Gpu.load("h100").to_yaml(), encoding="utf-8")


def together(names: Iterable[str], folder: Path) -> bool:
    """Return whether these sections together are a valid scenario with a rule for its interval."""
    parts = [SECTIONS[name] for name in names]
    values = scenario(*parts)
    path = folder / "together.yml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    try:
        _ = Scenario.load(path).interval_h
    except InputError:
        return False
    return all(_contains(values, part) for part in parts)


def _contains(values: Any, part: Any) -> bool:
    if isinstance(part, Mapping):
        return all(key in values and _contains(values[key], value) for key, value in part.items())
    if isinstance(part, list) and part and "share" in part[0]:  # kinds of failures, which add up
        return all(item in values for item in part)
    return bool(values == part)


def pairs(folder: Path) -> list[tuple[str, str]]:
    """Return the pairs of sections that are valid together."""
    return [pair for pair in itertools.combinations(SECTIONS, 2) if together(pair, folder)]


@functools.cache
def covering(folder: Path, most: int) -> list[tuple[str, ...]]:
    """Return few scenarios of at most ``most`` sections that contain every valid pair of sections."""
    uncovered = dict.fromkeys(pairs(folder))
    scenarios: list[tuple[str, ...]] = []
    while uncovered:
        names = list(next(iter(uncovered)))
        while len(names) < most:
            gains = {
                name: sum((other, name) in uncovered or (name, other) in uncovered for other in names)
                for name in SECTIONS
                if name not in names
            }
            best = next((name for name in sorted(gains, key=gains.get, reverse=True)
                         if gains[name] and together([*names, name], folder)), None)  # fmt: skip
            if best is None:
                break
            names.append(best)
        for pair in itertools.combinations([name for name in SECTIONS if name in names], 2):
            uncovered.pop(pair, None)
        scenarios.append(tuple(names))
    return scenarios
