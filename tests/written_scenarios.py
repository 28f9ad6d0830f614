"""Scenarios at random, of everything that the script of the pages computes, and numbers of single fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ettr import Scenario
from ettr.core.errors import InputError
from ettr.scenario.bounds import SMALLEST


def zero_or_up_to(most: float) -> st.SearchStrategy[float]:
    """Numbers of a field that may be 0: other ones are no smaller than its bound."""
    return st.just(0.0) | st.floats(SMALLEST, most)


def scenarios(n: int, seed: int) -> Iterator[Scenario]:
    """So many that are valid, the same for a seed."""
    random = np.random.default_rng(seed)
    made = 0
    while made < n:
        try:
            scenario = Scenario.of(values(random))
        except InputError:
            continue
        made += 1
        yield scenario


def values(random: np.random.Generator) -> dict[str, Any]:
    """One as it would be written; it may break a rule."""

    def log(low: float, high: float) -> float:
        return float(low * (high / low) ** random.random())

    def some(share: float) -> bool:
        return bool(random.random() < share)

    per_node = int(random.choice([1, 4, 8, 8, 8, 72]))
    n_nodes = int(np.ceil(log(2, 20_000)))
    failures = _rates(random, log, n_nodes)
    job: dict[str, Any] = {"productive_h": log(5, 5000)} if some(0.85) else {}
    if some(0.15):
        job["include_start"] = False
    if some(0.2):
        job["throughput_factor"] = float(random.uniform(0.6, 1.0))
    checkpoint: dict[str, Any] = {"stall_s": 0.0 if some(0.05) else log(0.01, 900)}
    checkpoint["interval_min"] = str(random.choice(["best", "young", "daly"])) if some(0.3) else log(0.5, 600)
    if some(0.6):
        checkpoint["persist_s"] = log(0.1, 1200)
    if some(0.3):
        checkpoint["persist_slowdown"] = float(random.uniform(0, 0.5))
    if some(0.2):
        checkpoint["load_s"] = log(1, 600)
    recovery: dict[str, Any] = {
        "detection_min": 0.0 if some(0.1) else log(0.01, 60),
        "queue_min": 0.0 if some(0.5) else log(0.01, 60),
        "restart_min": 0.0 if some(0.05) else log(0.05, 60),
    }
    if some(0.2):
        recovery |= {"person_share": float(random.uniform(0, 0.3)), "person_min": log(1, 600)}
    if some(0.2):
        recovery["init_s_per_1000_gpus"] = log(0.1, 10)
    made: dict[str, Any] = {
        "cluster": {"n_gpus": n_nodes * per_node, "gpus_per_node": per_node},
        "job": job,
        "failures": failures,
        "checkpoint": checkpoint,
        "recovery": recovery,
    }
    if some(0.4):
        made["maintenance"] = {"per_day": log(0.01, 2), "duration_min": log(1, 240)}
    if some(0.5):
        made["cost"] = {"usd_per_gpu_h": log(0.5, 10), "usd_per_day": 0.0 if some(0.7) else log(10, 1e5)}
    return made


def with_tiers(random: np.random.Generator) -> dict[str, Any]:
    """One with faster tiers, or with warnings, whose forms are those of the steady state."""
    made = values(random)
    made["checkpoint"].pop("persist_slowdown", None)
    made["checkpoint"]["interval_min"] = float(random.uniform(5, 200))
    if random.random() < 0.4:
        recall, precision, action = random.uniform([0.05, 0.2, 1], [0.9, 1.0, 200]).tolist()
        made["prediction"] = {"recall": recall, "precision": precision, "lead_s": 150, "action_s": action}
        return made
    times = np.sort(random.uniform(1, 290, size=int(random.integers(1, 4)))).tolist()
    shares = np.sort(random.uniform(0.1, 1.0, size=len(times))).tolist()
    made["checkpoint"]["tiers"] = [
        {"name": f"tier {i}", "interval_s": time, "stall_s": float(random.uniform(0, 2)), "load_s": 10.0 * i}
        | ({"survives": share} if random.random() < 0.9 or len(times) > 1 else {"copies": 2})
        for i, (time, share) in enumerate(zip(times, shares, strict=True))
    ]
    return made


def _rates(random: np.random.Generator, log: Any, n_nodes: int) -> dict[str, Any]:
    """A failure rate in one of the ways, by one of the clocks, with or without modes."""
    rate = log(0.1, 30)  # per 1,000 node-days
    way = int(random.integers(5))
    failures: dict[str, Any] = [
        {"n_events": int(random.integers(1, 500)), "node_days": 0.0},
        {"rate_per_1000_node_days": rate},
        {"job_mttf_h": 24_000 / rate / n_nodes},
        {"node_mttf_h": 24_000 / rate},
        {"gpu_mttf_h": 8 * 24_000 / rate},
    ][way]
    if way == 0:
        failures["node_days"] = 1000 * failures["n_events"] / rate
    if random.random() < 0.5:
        failures["rate_clock"] = str(random.choice(["wall", "exposed"]))
    if way == 1 and random.random() < 0.5:
        shape = log(2, 400)
        failures["rate_gamma"] = {"shape": shape, "node_days": 1000 * shape / rate * log(0.8, 1.25)}
    if random.random() < 0.5:
        failures["observed_nodes"] = int(np.ceil(log(2, 20_000)))
    if random.random() < 0.5:
        failures["modes"] = [_mode(random, log, i) for i in range(int(random.integers(1, 6)))]
    return failures


def _mode(random: np.random.Generator, log: Any, i: int) -> dict[str, Any]:
    mode: dict[str, Any] = {"name": f"mode {i}", "category": f"kind {i % 2}", "share": float(random.uniform(0, 0.2))}
    for field, share in (("detection_min", 0.4), ("restart_min", 0.4)):
        if random.random() < share:
            mode[field] = log(0.05, 60)
    if random.random() < 0.3:
        mode["factor"] = log(0.2, 3)
    return mode
