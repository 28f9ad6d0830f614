"""The power of simulated runs, and the tables of the chapter on it, each computed once for all tests."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pandas as pd

from ettr import Scenario, power, simulate
from ettr_book.chapters import grid_limits
from ettr_book.chapters.power import tables

CASES = {
    "llama3-405b": {},
    "rsc-1": {},
    "bloom-176b": {},
    "glm-130b, no failures": {"failures.rate_per_1000_node_days": 0, "maintenance": None},
    "llama3-405b, short": {"job.productive_h": 2},
    "llama3-405b, one node": {"cluster.n_gpus": 8},
    "llama3-405b, short steps": {"power.step_s": 1},
    "llama3-405b, free": {"cost.usd_per_kwh": 0, "cost.usd_per_gpu_h": 0},
}
PARTS = {"rsc-1": "a100", "bloom-176b": "gb200"}
TARGETS = {"loose": power.Target(2.0), "usual": power.Target(0.2), "tight": power.Target(0.02)}


@cache
def of(case: str = "llama3-405b") -> SimpleNamespace:
    name = case.partition(",")[0]
    run = Scenario.load(name)
    job = run.override(CASES[case])
    profile = power.profile(job, PARTS.get(name))
    timeline = simulate(job, 1, timeline=[0]).timeline
    window = tables.day_of_run(timeline)
    middle_h = window.start_h if window.failure_h is None else max(window.failure_h - 0.2, 0.0)
    end_h = min(middle_h + 0.5, window.end_h)
    return SimpleNamespace(
        run=run,
        job=job,
        profile=profile,
        timeline=timeline,
        window=window,
        day=power.series(timeline, profile, 1.0, window.start_h, window.end_h),
        fine=power.series(timeline, profile, profile.waveform.shortest_s / 5, middle_h, end_h, at="computers"),
        bill=power.bill(timeline, profile, job),
    )


@cache
def sized(case: str, target: str) -> dict:
    return tables.sized_options(of(case).fine, TARGETS[target])


TABLES = {
    "events": lambda own: tables.stops_of_day(own.window),
    "day": lambda own: tables.power_of_day(own.day),
    "spectrum": lambda own: grid_limits.tables.spectra(own.window, own.profile, 0.02),
    "limits": lambda own: grid_limits.tables.limits_kept(own.window, own.profile, own.day),
    "bill": lambda own: own.bill,
}


@cache
def _table(kind: str, case: str, target: str) -> pd.DataFrame:
    own = of(case)
    if kind == "smoothed":
        return tables.smoothed_moment(own.window, own.profile, sized(case, target))
    if kind == "costs":
        return power.compare(own.fine, TARGETS[target], own.job, sized(case, target))
    return TABLES[kind](own)


def table(kind: str, case: str = "llama3-405b", target: str = "usual") -> pd.DataFrame:
    """``target`` matters to what smooths: ``smoothed`` and ``costs``."""
    return _table(kind, case, target if kind in ("smoothed", "costs") else "usual")
