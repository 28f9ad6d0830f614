"""What one field would have to be for a target."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import optimize

from ettr import budget
from ettr.errors import InputError, OutsideValidity, UnknownName
from ettr.plan.intervals import best_interval_min
from ettr.scenario import Scenario


@dataclass(frozen=True)
class Requirement:
    """What one field must be for a target.

    Attributes
    ----------
    field : str
        Dotted path.
    target_ettr : float
        The target.
    value : float or None
        The largest value that reaches it, in the field's unit; None if none does.
    given : float
        The scenario's own value.
    best_ettr : float
        What is reached with the field at zero, everything else as in the scenario.
    """

    field: str
    target_ettr: float
    value: float | None
    given: float
    best_ettr: float


SOLVABLE = (
    "failures.rate_per_1000_node_days",
    "checkpoint.stall_s",
    "recovery.detection_min",
    "recovery.queue_min",
    "recovery.restart_min",
)
"""Fields that :func:`required` solves for: ETTR falls as each grows."""


def required(scenario: Scenario, field: str, target_ettr: float) -> Requirement:
    """Solve one field for a target ETTR, with the best interval at each value.

    Parameters
    ----------
    scenario : Scenario
        The run.
    field : str
        One of ``SOLVABLE``.
    target_ettr : float
        The target, in (0, 1).

    Returns
    -------
    Requirement
        The largest value that reaches the target, within 10⁻⁶ of itself.

    Raises
    ------
    InputError
        An unknown field, or a target outside (0, 1).

    Examples
    --------
    >>> from ettr import Scenario, plan
    >>> at_100k = Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000})
    >>> plan.required(at_100k, "recovery.restart_min", 0.9).value is None
    True
    """
    if field not in SOLVABLE:
        raise UnknownName("field to solve for", field, SOLVABLE)
    if not 0 < target_ettr < 1:
        raise InputError(f"target_ettr must be between 0 and 1, got {target_ettr:g}")
    given = scenario.failures.rate if field.startswith("failures") else _value(scenario, field)

    def surplus(value: float) -> float:
        return ettr_at_best(scenario.override({field: value})) - target_ettr

    best = surplus(0.0)
    if best < 0:
        return Requirement(field, target_ettr, None, given, best + target_ettr)
    high = max(given, 1.0)
    while surplus(high) > 0:
        high *= 2
        if high > 1e12:
            return Requirement(field, target_ettr, math.inf, given, best + target_ettr)
    value = float(optimize.brentq(surplus, 0.0, high, rtol=1e-6))
    return Requirement(field, target_ettr, value, given, best + target_ettr)


def requirements(scenario: Scenario, target_ettr: float) -> list[Requirement]:
    """:func:`required` for each of ``SOLVABLE``, each alone."""
    return [required(scenario, field, target_ettr) for field in SOLVABLE]


def ettr_at_best(scenario: Scenario) -> float:
    """ETTR at the best interval; 0 where the exact form has no answer, as for a run that would never end."""
    try:
        run = scenario.override({"checkpoint.interval_min": best_interval_min(scenario)})
        return float(budget.exact(run).ettr)
    except OutsideValidity:
        return 0.0


def _value(scenario: Scenario, path: str) -> float:
    section, field = path.split(".")
    return float(getattr(getattr(scenario, section), field))
