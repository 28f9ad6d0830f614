"""Tables of the chapter on spares, computed once for all tests that show or tell them."""

from __future__ import annotations

from functools import cache

import pandas as pd

from computed.chapters import AS_IT_IS, ONE, scenario
from ettr_book.chapters.spares import tables


@cache
def run(name: str = ONE, extreme: str = AS_IT_IS) -> tables.PooledRun:
    return tables.pooled_run(scenario(name, extreme))


TABLES = {
    "cost": tables.cost_by_pool,
    "simulated": lambda one: tables.simulated_pools(one, n_runs=60),
    "repair": lambda one: tables.cost_by_repair(one, 8),
    "racks": lambda one: tables.rack_choices(one).frame,
}
"""Of a run, by the name of the chart or sentence."""


@cache
def _table(kind: str, name: str, extreme: str) -> pd.DataFrame:
    if kind == "money":
        return tables.paid_by_pool(_table("simulated", name, extreme))
    return TABLES[kind](run(name, extreme))


def table(kind: str, name: str = ONE, extreme: str = AS_IT_IS) -> pd.DataFrame:
    return _table(kind, name, extreme)
