"""Failure logs of every kind that a verdict or a sentence knows, each fitted once for all tests."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from ettr import failures, logs, plan
from simulated_logs import simulate_log

BEGIN = pd.Timestamp("2024-01-01T00:00:00Z")
GENERATIONS = {"V100": (0.5, 1.0), "A100": (0.5, 3.0)}


def log_of(table: pd.DataFrame, n_nodes: int, days: float, drop: tuple[str, ...] = (), **options):
    frame = pd.DataFrame({"start": BEGIN + pd.to_timedelta(table["start_h"], unit="h").dt.round("s")})
    if "end_h" in table:
        frame["end"] = BEGIN + pd.to_timedelta(table["end_h"], unit="h").dt.round("s")
    if "node" in table:
        frame["node"] = [f"n{node:04d}" for node in table["node"]]
    for column in table.columns.difference(["start_h", "end_h", "node"]):
        frame[column] = table[column]
    window = (BEGIN, BEGIN + pd.Timedelta(days=days))
    return logs.from_frame(frame.drop(columns=list(drop)), n_nodes, window, source="my/faults.csv", **options)


def drawn(seed: int, n_nodes: int, days: float, rate: float, drop: tuple[str, ...] = (), **rules):
    return log_of(simulate_log(seed, n_nodes, days, rate, **rules), n_nodes, days, drop)


def first(n: int, drop: tuple[str, ...] = (), **columns):
    return log_of(simulate_log(13, 300, 60, 5).head(n).assign(**columns), 300, 60, drop)


def at(start_h: list[float], days: float = 60.0, **columns):
    return log_of(pd.DataFrame({"start_h": np.sort(np.array(start_h, dtype=float)), **columns}), 100, days)


def generations(seed: int, factors: dict[str, tuple[float, float]], **options):
    return log_of(simulate_log(seed, 200, 100, 5, cohorts=factors), 200, 100, **options)


def coarse():
    table = simulate_log(11, 300, 60, 20).drop(columns="end_h")
    return log_of(table.assign(start_h=table["start_h"] // 24 * 24), 300, 60)


def on_one_node(n_nodes: int, days: float, rate: float):
    return log_of(simulate_log(4, n_nodes, days, rate).assign(node=7), n_nodes, days)


def a_day():
    """Six failures an hour, of components whose names are longer than a chart is wide."""
    table = simulate_log(12, 5, 1, 50_000)
    return log_of(table.assign(component=[f"Part {'of a part ' * 12}{i % 20}" for i in range(len(table))]), 5, 1)


SIZES = {"cohort": {"V100": 100, "A100": 100}}
LOGS = {
    "rich": lambda: log_of(
        simulate_log(
            1,
            200,
            200,
            12,
            lemon_share=0.04,
            lemon_factor=8,
            repeat_probability=0.25,
            burst_mean=1.5,
            cohorts=GENERATIONS,
        ),
        200,
        200,
        cohort_nodes=SIZES,
    ),
    "one rate": lambda: generations(2, {"V100": (0.5, 1.0), "A100": (0.5, 1.0)}, cohort_nodes=SIZES),
    "cohorts without nodes": lambda: first(4, cohort=["V100", "A100", "A100", "A100"]),
    "cohorts without failures": lambda: log_of(
        simulate_log(2, 200, 100, 5, cohorts=GENERATIONS).assign(planned=True), 200, 100, cohort_nodes=SIZES
    ),
    "poisson": lambda: drawn(3, 300, 120, 5),
    "no node names": lambda: drawn(3, 300, 60, 5, drop=("node",)),
    "no ends": lambda: drawn(3, 300, 60, 5, drop=("end",)),
    "no components": lambda: first(4, drop=("component", "cause")),
    "one instant": lambda: at([100.0] * 30, node=range(30)),
    "three instants": lambda: at([100.0, 200.1, 301.7] * 10, node=range(30)),
    "the last instant": lambda: at([1440.0] * 30, node=range(30)),
    "up and down": lambda: at([*np.linspace(5, 1430, 60), *np.random.default_rng(0).uniform(500, 940, 200)]),
    "every day": lambda: at([24.0 * day + 1 for day in range(60)]),
    "one node of many": lambda: on_one_node(300, 60, 5),
    "one node": lambda: on_one_node(1, 300, 150),
    "rising": lambda: drawn(5, 300, 120, 5, trend_beta=1.8),
    "falling": lambda: drawn(5, 300, 120, 5, trend_beta=0.5),
    "repeats": lambda: drawn(6, 300, 200, 6, repeat_probability=0.5, repeat_within_h=60),
    "lemons": lambda: drawn(7, 300, 200, 6, lemon_share=0.03, lemon_factor=15),
    "regular": lambda: drawn(8, 300, 120, 6, shape=2.5),
    "bursts": lambda: drawn(10, 300, 120, 6, burst_mean=3),
    "bunches": lambda: drawn(9, 300, 120, 6, shape=0.55),
    "lemons and repeats": lambda: drawn(
        14, 300, 200, 6, lemon_share=0.03, lemon_factor=15, repeat_probability=0.3, repeat_within_h=60
    ),
    "generations": lambda: log_of(
        simulate_log(6, 400, 350, 8, cohorts={"old": (0.75, 1.0), "new": (0.25, 4.0)}),
        400,
        350,
        cohort_nodes={"cohort": {"old": 300, "new": 100}},
    ),
    "one to watch": lambda: at([*np.linspace(3, 1400, 40)], node=[*([0] * 7), *range(1, 34)]),
    "coarse": coarse,
    "a day": a_day,
    **{f"{n} failures": lambda n=n: first(n) for n in (0, 1, 2, 5, 9, 10, 19, 20)},
}
SPLITS = {name: "cohort" for name in LOGS if name in ("rich", "one rate", "generations") or "cohorts" in name} | {
    "no ends": "component",
    "5 failures": "cause",
    "0 failures": "component",
}


@cache
def fit(name: str) -> failures.Fit:
    return failures.fit(LOGS[name](), split=SPLITS.get(name))


@cache
def fitted(name: str) -> plan.FittedPlan:
    return plan.from_fit(fit(name), name="mine")
