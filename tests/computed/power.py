"""The power of simulated runs, and the tables of the chapter on it, each computed once for all tests."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pandas as pd

from ettr import Scenario, power, simulate
from ettr.plots.days import typical_day
from ettr_book.chapters import power as chapter

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
    day = typical_day(timeline)
    middle_h = day.start_h if day.failure_h is None else max(day.failure_h - 0.2, 0.0)
    end_h = min(middle_h + 0.5, day.end_h)
    step_s = profile.waveform.shortest_s / 5
    fine = power.series(timeline, profile, step_s, middle_h, end_h, at="computers")
    return SimpleNamespace(run=run, job=job, profile=profile, day=day, fine=fine)


@cache
def drawn(case: str = "llama3-405b") -> power.Drawn:
    computed = of(case)
    return power.drawn(computed.run, 0, computed.profile, computed.day.timeline, chapter.published_limits())


@cache
def smoothed(case: str = "llama3-405b") -> pd.DataFrame:
    computed = of(case)
    return chapter.smoothed_moment(computed.day, computed.profile, chapter.sized_options(computed.fine, TARGET))
