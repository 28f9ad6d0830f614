"""Tables of the chapter on the finishing date, computed once for all tests that show or tell them."""

from __future__ import annotations

from functools import cache

import pandas as pd

from ettr import Scenario, budget, simulate
from ettr.chapters.finishing_date import beyond_formula_tables, replication_tables, tables

POOL = {"spares": {"n_nodes": 4}, "repair": {"manual_h": 24}}
NO_FAILURES = {"failures.rate_per_1000_node_days": 0}
STOPS = ("checkpoint.stall_s", "checkpoint.persist_s", "recovery.detection_min", "recovery.queue_min")
CASES = {
    "as it is": {},
    "no failures": NO_FAILURES,
    "two nodes": {"cluster.n_gpus": 16},
    "elastic": POOL | {"elastic": {"n_replicas": 128, "n_least": 120}},
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
def simulated(*which: str):
    return simulate(run(*which), 60, timeline=[0])


@cache
def closed(*which: str):
    return budget.exact(budget.simplified(run(*which)).scenario)


def difference_by_seed(*which: str) -> pd.DataFrame:
    other_min = replication_tables.other_interval_min(run(*which))
    return replication_tables.difference_by_seed(run(*which), other_min, 80)


TABLES = {
    "days": lambda *which: tables.days_of_run(simulated(*which)),
    "losses": lambda *which: tables.losses_of_runs(simulated(*which), closed(*which)),
    "dates": lambda *which: tables.finishing_dates(simulated(*which)),
    "difference_map": lambda *which: beyond_formula_tables.beyond_formulas(run(*which), [16_000, 131_072], n_runs=20),
    "causes": lambda *which: tables.finish_by_cause(run(*which), n_runs=100),
    "by_spares": lambda *which: tables.finish_by_spares(run(*which), n_runs=100),
    "errors": lambda *which: replication_tables.error_by_runs(run(*which), 400),
    "luck": difference_by_seed,
    "lengths": lambda *which: replication_tables.ettr_by_length(run(*which), n_points=2),
}


@cache
def _table(kind: str, name: str, case: str) -> pd.DataFrame:
    return TABLES[kind](name, case)


def table(kind: str, name: str = "llama3-405b", case: str = "as it is") -> pd.DataFrame:
    return _table(kind, name, case)
