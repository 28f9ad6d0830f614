"""The power of simulated runs, and the tables of the chapter on it, each computed once for all tests."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pandas as pd

from ettr import Scenario, power, simulate
from ettr_book.chapters.power import tables

CASES = {
    "llama3-405b": {},
    "rsc-1": {},
    "bloom-176b": {},
    "llama3-405b, short": {"job.productive_h": 2},
}
PARTS = {"rsc-1": "a100", "bloom-176b": "gb200"}
TARGET = power.Target(0.2)


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
        window=window,
        day=power.series(timeline, profile, 1.0, window.start_h, window.end_h),
        fine=power.series(timeline, profile, profile.waveform.shortest_s / 5, middle_h, end_h, at="computers"),
    )


TABLES = {
    "events": lambda computed: tables.stops_of_day(computed.window),
    "limits": lambda computed: tables.limits_kept(computed.window, computed.profile, computed.day),
    "smoothed": lambda computed: tables.smoothed_moment(
        computed.window, computed.profile, tables.sized_options(computed.fine, TARGET)
    ),
}


@cache
def table(kind: str, case: str = "llama3-405b") -> pd.DataFrame:
    return TABLES[kind](of(case))
