"""Runs in halls, and the tables that the chapter on heat makes of them, each computed once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ettr import Scenario
from ettr_book.chapters import thermal

HALLS = {
    "temperate": {},
    "chilled": {"cooling": "chiller", "mean_c": 35.0},
    "cold": {"mean_c": -5.0, "swing_k": 0.0, "activated_share": 0.0},
    "hot": {"mean_c": 35.0, "swing_k": 12.0, "activated_share": 1.0, "part": "b200"},
    "liquid": {"part": "gb200", "cooling": "cold_plate"},
    "a bath": {"part": "a100", "cooling": "immersion", "mean_c": 28.0},
}
SIZES = {"llama3-405b": {}, "rsc-1": {"cluster.n_gpus": 8}, "bloom-176b": {"cluster.n_gpus": 100_000}}


@cache
def run(name: str = "llama3-405b", hall: str = "temperate") -> Scenario:
    return thermal.tables.warmed(Scenario.load(name).override(SIZES[name]), **HALLS[hall])


@cache
def _table(function: Callable[[Scenario], Any], name: str, hall: str) -> Any:
    return function(run(name, hall))


def table_of(function: Callable[[Scenario], Any], name: str = "llama3-405b", hall: str = "temperate") -> Any:
    return _table(function, name, hall)
