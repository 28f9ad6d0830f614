"""What a change of a scenario gains by the closed form."""

from __future__ import annotations

from typing import Any

from ettr import budget
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.scenario import Scenario
from ettr.scenario.paths import leaves


def closed_gain(before: Scenario, after: Scenario) -> float:
    """Gain of ETTR by the closed form; NaN where it leaves out something of what changes, or has no answer.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b")
    >>> round(closed_gain(run, run.override({"recovery.restart_min": 2})), 4)
    0.0168
    """
    changed = _differing(before, after)
    try:
        if budget.changes(before) or budget.changes(after):
            return float("nan")
        before, after = budget.with_immediate_detection(before), budget.with_immediate_detection(after)
        plain = [budget.simplified(run) for run in (before, after)]
        seen = _differing(plain[0].scenario, plain[1].scenario)
        if plain[0].left_out != plain[1].left_out or seen != changed:
            return float("nan")
        ettr = [float(budget.exact(one.scenario).ettr) for one in plain]
    except (NotModelled, OutsideValidity):
        return float("nan")
    return ettr[1] - ettr[0]


def _differing(one: Scenario, other: Scenario) -> set[str]:
    """Paths of fields in which two scenarios differ, those of modes by name."""
    values = [dict(leaves(_by_name(run))) for run in (one, other)]
    return {path for path in values[0].keys() | values[1].keys() if values[0].get(path) != values[1].get(path)}


def _by_name(run: Scenario) -> dict[str, Any]:
    values = without_origins(run)
    for section, items in (("failures", "modes"), ("checkpoint", "tiers")):
        values[section][items] = {item["name"]: item for item in values[section][items]}
    return values


def without_origins(scenario: Scenario) -> dict[str, Any]:
    """All that a scenario says, but for where it is known from."""
    return scenario.model_dump(exclude={"evidence"})
