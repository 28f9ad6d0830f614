"""Tables of the chapter on the finishing date, computed once for all tests that show or tell them."""

from __future__ import annotations

from functools import cache

import pandas as pd

from ettr import Scenario, plan
from ettr_book.chapters.finishing_date import forecast_tables, tables

POOL = {"spares": {"n_nodes": 4}, "repair": {"manual_h": 24}}
NO_FAILURES = {"failures.rate_per_1000_node_days": 0}
STOPS = ("checkpoint.stall_s", "checkpoint.persist_s", "recovery.detection_min", "recovery.queue_min")
CASES = {
    "as it is": {},
    "no failures": NO_FAILURES,
    "two nodes": {"cluster.n_gpus": 16},
    "elastic": POOL | {"elastic": {"n_replicas": 128, "n_least": 120}},
    "spares": POOL,
    "burn-in": {"failures.burn_in": {"factor": 3, "decay_days": 20}, "job.productive_h": 100},
    "no end": {"job.productive_h": None},
    "nothing seen": {"failures.n_events": 0, "failures.modes": []},
    "tiers": {
        "checkpoint.tiers": [
            {"name": "peer", "interval_s": 300, "stall_s": 0.1, "write_s": 20, "load_s": 10, "survives": 0.9}
        ]
    },
    "hours": {"job.productive_h": 3},
    "nothing is lost": NO_FAILURES | dict.fromkeys((*STOPS, "recovery.restart_min"), 0) | {"maintenance": None},
}


@cache
def run(name: str = "llama3-405b", case: str = "as it is") -> Scenario:
    return Scenario.load(name).override(CASES[case])


@cache
def dates(*which: str) -> tables.FinishingDates:
    return tables.finishing_dates(run(*which), 400)


@cache
def agreement(*which: str) -> tables.Agreement:
    return tables.agreement(dates(*which))


@cache
def assumed(*which: str) -> tables.Open:
    return tables.over_assumptions(plan.make(run(*which)))


@cache
def forecasts() -> pd.DataFrame:
    return forecast_tables.published_forecasts()


@cache
def by_count(*which: str) -> pd.DataFrame:
    return tables.range_by_count(dates(*which))


@cache
def beyond(*which: str) -> pd.DataFrame:
    return tables.beyond_exact(dates(*which), n_runs=100)
