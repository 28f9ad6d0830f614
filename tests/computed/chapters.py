"""What chapters make of presets, each computed once for all tests of a session; no test may change it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd
import pytest

from ettr import Scenario, evidence, failures
from ettr_book import validation
from ettr_book.chapters import drill, sources

PRESETS = evidence.scenario_names()
PRESET = "llama3-405b"
NO_FAILURES = {"failures.rate_per_1000_node_days": 0}


def some_presets(*names: str) -> list:
    """Every preset, those that are not named here as slow ones."""
    return [pytest.param(name, marks=[] if name in names else pytest.mark.slow) for name in PRESETS]


@cache
def table(function: Callable[..., Any], name: str = PRESET, *numbers: Any) -> Any:
    """What a function makes of a preset, from its scenario and these numbers."""
    return function(Scenario.load(name), *numbers)


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
