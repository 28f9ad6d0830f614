"""Presets, their extremes, and what chapters make of them, each computed once for all tests of a session.

``table(function, name, extreme, *numbers)`` is what a function of a chapter makes of a preset, at an extreme or as it
is. Tests of tables, charts and sentences that ask for the same get the same object, so that none may change it. What a
chapter makes from other things than a preset, its tests keep by ``functools.cache``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pandas as pd
import pytest

from ettr import Scenario, evidence, failures, plan
from ettr_book import validation
from ettr_book.chapters import drill, sources

PRESETS = evidence.scenario_names()
ANY_SIZE = tuple(name for name in PRESETS if Scenario.load(name).job.tokens is None)
"""Those whose job is not tied to sizes that a model fits."""
ONE = "llama3-405b"
"""The preset that is taken to every extreme."""
AS_IT_IS = "as it is"
USUAL = ONE, AS_IT_IS
NO_FAILURES = {"failures.rate_per_1000_node_days": 0}
FREE = {"checkpoint.stall_s": 0, "checkpoint.persist_s": 0}
EXTREMES = {
    AS_IT_IS: {},
    "no failures": NO_FAILURES,
    "one node": {"cluster.n_gpus": 8},
    "a million GPUs": {"cluster.n_gpus": 1_000_000},
    "no maintenance": {"maintenance": None},
    "free checkpoint": FREE,
    "nothing is lost": {
        **NO_FAILURES,
        **FREE,
        "recovery.detection_min": 0,
        "recovery.queue_min": 0,
        "recovery.restart_min": 0,
        "maintenance": None,
    },
}
OF_SIZE = ("one node", "a million GPUs")


def presets_and_extremes(
    as_they_are: Iterable[str] = PRESETS, extremes: Iterable[str] = EXTREMES, presets: Iterable[str] = PRESETS
) -> list:
    """One preset at every extreme and some as they are; every other pair that can be is slow."""
    usual = {(ONE, extreme) for extreme in extremes} | {(name, AS_IT_IS) for name in as_they_are}
    pairs = [(name, extreme) for name in presets for extreme in extremes if name in ANY_SIZE or extreme not in OF_SIZE]
    return [pytest.param(*pair, marks=[] if pair in usual else pytest.mark.slow) for pair in pairs]


def some_presets(*names: str) -> list:
    """Every preset, those that are not named here as slow ones."""
    return [pytest.param(name, marks=[] if name in names else pytest.mark.slow) for name in PRESETS]


@cache
def scenario(name: str = ONE, extreme: str = AS_IT_IS) -> Scenario:
    return Scenario.load(name).override(EXTREMES[extreme])


@cache
def table(function: Callable[..., Any], name: str = ONE, extreme: str = AS_IT_IS, *numbers: Any) -> Any:
    """What a function makes of a preset, from its scenario and these numbers."""
    return function(scenario(name, extreme), *numbers)


def answer(name: str = ONE, extreme: str = AS_IT_IS) -> plan.Plan:
    return table(plan.make, name, extreme)


@cache
def claims() -> pd.DataFrame:
    """The audited claims, with the titles of their documents."""
    titles = evidence.bibliography().set_index("key")["title"].rename("document")
    return sources.tables.audit().join(titles, on="source")


@cache
def interruptions() -> pd.DataFrame:
    """The interruptions of Llama 3 by component, with intervals of their counts."""
    return failures.count_intervals(sources.tables.interruption_shares())


published = cache(validation.run)
"""Published results beside the computed ones."""
drills = cache(drill.beside)
"""The recorded drills, beside what they should have taken."""
printed = cache(validation.rsc_beside_exact)
"""What the RSC paper prints, beside its formula and the exact form."""
