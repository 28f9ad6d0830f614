"""The fields that a plan can solve for, with their direction and their valid range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ettr.budget.intervals import shortest_interval_min
from ettr.budget.refusals import barred
from ettr.core.errors import InputError, UnknownName
from ettr.core.units import LAST_DIGITS, unit_of
from ettr.scenario import Scenario
from ettr.scenario.bounds import of_unit
from ettr.scenario.fields import given_at, meta_at, sections_of_solvable
from ettr.scenario.paths import INTERVAL, N_GPUS, PERSIST, RATE, SPARES, bounds_at

Sense = Literal["at most", "at least", "between"]

UNLIMITED = 1e12
"""An upper bound above this counts as none."""

_OF_TIERS = ("checkpoint.tiers.", "checkpoint.store.")

_SENSES: dict[str | None, Sense] = {"less": "at most", "more": "at least", "between": "between"}


@dataclass(frozen=True)
class Field:
    """A field to solve for.

    Attributes
    ----------
    path : str
        Dotted path.
    unit : str
        Its unit; empty for a fraction.
    sense : {"at most", "at least", "between"}
        Whether small values are better, large ones, or those around an optimum.
    low, high : float
        Ends of the valid range; ``high`` is infinite without a bound.
    top : float
        The largest value to try.
    opens : bool
        Whether ``low`` itself is invalid.
    given : float
        Current value.
    """

    path: str
    unit: str
    sense: Sense
    low: float
    high: float
    top: float
    opens: bool
    given: float

    @property
    def ideal(self) -> float:
        """The best value, as near to the end of the range as a float can be; for an optimum, the current value."""
        if self.sense == "between":
            return self.given
        return float(self.steps()[0])

    def steps(self) -> np.ndarray:
        """Return values from the best end to the worst, four per decade."""
        if self.top == self.low:
            return np.array([self.low])
        top, bottom = self.top, self.low if self.low > 0 else min(1e-9, self.top / 10)
        n = max(2, math.ceil(4 * math.log10(max(top / bottom, 1.0))) + 1)
        grid = np.geomspace(bottom, top, n) if top > bottom else np.array([bottom])
        if self.low == 0 and not self.opens:
            grid = np.concatenate([[0.0], grid])
        return grid if self.sense != "at least" else grid[::-1]


def solvable(scenario: Scenario) -> tuple[str, ...]:
    """Return the fields that :func:`required` solves for: all fields of :func:`ettr.budget.swept` in the scenario.

    With faster tiers, the tiers and the store are not among them, because their limits depend on each other. A
    scenario with spares has ``spares.n_nodes`` as well, which is solved for by simulation.

    Examples
    --------
    >>> from ettr import Scenario, plan
    >>> [field for field in plan.solvable(Scenario.load("rsc-1")) if field.startswith("recovery")]
    ['recovery.detection_min', 'recovery.queue_min', 'recovery.restart_min']
    """
    # in the steady state the work only scales
    absent = set() if scenario.starts and scenario.job.tokens is None else {"job.productive_h"}
    absent |= {path for path in scenario.swept if not meta_at(path, Scenario).better}
    absent |= set() if scenario.maintenance else {"maintenance.per_day", "maintenance.duration_min"}
    absent |= barred(scenario)
    if scenario.checkpoint.tiers:
        absent |= {path for path in scenario.swept if path == PERSIST or path.startswith(_OF_TIERS)}
    if scenario.store and not (scenario.store.write_gb_s or scenario.store.read_gb_s):  # no time follows from it
        absent |= {path for path in scenario.swept if path.startswith("checkpoint.store.")}
    pooled = (SPARES,) if scenario.spares and scenario.repair else ()
    return (*(path for path in scenario.swept if path not in absent), *pooled)


def field_of(scenario: Scenario, path: str) -> Field:
    """Return one field with its valid range; refuse a field that cannot be solved for."""
    valid = solvable(scenario)
    if path not in valid:
        for section in sections_of_solvable(Scenario):
            if path.startswith(f"{section}.") and not given_at(scenario, section):
                raise InputError(f"{path} cannot be solved for, because the scenario has no {section}")
        raise UnknownName("field to solve for", path, valid)
    rule = dict(bounds_at(path, Scenario))
    low = float(max(rule.get(">", 0.0), rule.get(">=", 0.0)))
    high = float(min(rule.get("<", math.inf), rule.get("<=", math.inf)))
    opens, high = ">" in rule, high * (1 - LAST_DIGITS) if "<" in rule else high
    lowest, highest = _ends_from_others(scenario, path)
    if lowest > low:
        low, opens = lowest, False
    high = min(high, highest)
    unlimited = high >= min(UNLIMITED, of_unit(path)[1])
    return Field(
        path=path,
        unit=unit_of(path),
        sense=_SENSES[meta_at(path, Scenario).better],
        low=low,
        high=math.inf if unlimited else high,
        top=high,
        opens=opens,
        given=_current(scenario, path),
    )


def _current(scenario: Scenario, path: str) -> float:
    """Return the current value of a field."""
    if path == RATE:
        return scenario.failure_rate
    if path == INTERVAL:
        return scenario.interval_min
    return float(given_at(scenario, path))


def _ends_from_others(scenario: Scenario, path: str) -> tuple[float, float]:
    """Return the bounds of a field that follow from other fields."""
    if path == INTERVAL:
        return shortest_interval_min(scenario), math.inf
    if path == N_GPUS:
        copies = [tier.copies or 1 for tier in scenario.checkpoint.tiers]
        return float(scenario.cluster.gpus_per_node * max([1, *copies])), math.inf
    return 0.0, math.inf
