"""Tables of the chapter on tiers of checkpoints, computed once for all tests that show or tell them."""

from __future__ import annotations

from functools import cache

import pandas as pd

from computed import chapters
from computed.chapters import AS_IT_IS, ONE
from ettr import Scenario
from ettr_book.chapters.checkpoint_tiers import prediction_tables, tables

EXTREMES = chapters.EXTREMES | {"two nodes": {"cluster.n_gpus": 16}}
COMMON = 0.01, 32
LEAD_S, LATENCY_H, RISK = 600.0, 24.0, 0.01


@cache
def scenario(name: str = ONE, extreme: str = AS_IT_IS) -> Scenario:
    return Scenario.load(name).override(EXTREMES[extreme])


def n_bytes(run: Scenario) -> float:
    return tables.stored_bytes(run, 405e9, 12)


TABLES = {
    "ladder": lambda run: tables.ladder(run, *COMMON),
    "placements": lambda run: tables.placements(run.n_nodes, 32),
    "intervals": lambda run: tables.interval_choices(run, *COMMON),
    "by_bandwidth": lambda run: tables.by_bandwidth(run, n_bytes(run), 100_000, 12),
    "announced": lambda run: prediction_tables.announced(run, LEAD_S, [0.1], 12),
    "found_late": lambda run: prediction_tables.found_late(run, 0.1, LATENCY_H, 8),
    "to_keep": lambda run: prediction_tables.kept_checkpoints(run, 60, RISK, LATENCY_H, 8),
}


@cache
def _table(kind: str, name: str, extreme: str) -> pd.DataFrame:
    return TABLES[kind](scenario(name, extreme))


def table(kind: str, name: str = ONE, extreme: str = AS_IT_IS) -> pd.DataFrame:
    return _table(kind, name, extreme)
