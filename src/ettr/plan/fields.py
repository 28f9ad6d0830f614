"""The fields that a plan can solve for: which way each is better, and how far it may go."""

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
"""A field that may be larger than this has no limit that matters."""

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
        Whether small values are good, large ones, or those around an optimum.
    low, high : float
        Ends of what the scenario's rules allow; ``high`` is infinite without a limit.
    top : float
        The largest value to try.
    opens : bool
        ``low`` itself is not allowed.
    given : float
        The scenario's own value.
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
        """The end that is best, as near as a float can say it; of a range, the given value."""
        if self.sense == "between":
            return self.given
        return float(self.steps()[0])

    def steps(self) -> np.ndarray:
        """Values from the best end to the worst, four in each power of ten."""
        if self.top == self.low:
            return np.array([self.low])
        top, bottom = self.top, self.low if self.low > 0 else min(1e-9, self.top / 10)
        n = max(2, math.ceil(4 * math.log10(max(top / bottom, 1.0))) + 1)
        grid = np.geomspace(bottom, top, n) if top > bottom else np.array([bottom])
        if self.low == 0 and not self.opens:
            grid = np.concatenate([[0.0], grid])
        return grid if self.sense != "at least" else grid[::-1]


def solvable(scenario: Scenario) -> tuple[str, ...]:
    """Fields that :func:`required` solves for: all of :func:`ettr.budget.swept` that the scenario has.

    Beside faster tiers neither these nor the store are: how far each may go depends on the others. A scenario with
    spares has ``spares.n_nodes`` too, which is solved for by simulation.

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
    pooled = (SPARES,) if scenario.spares and scenario.repair else ()
    return (*(path for path in scenario.swept if path not in absent), *pooled)


def field_of(scenario: Scenario, path: str) -> Field:
    """Describe one field, or say why it cannot be solved for."""
    valid = solvable(scenario)
    if path not in valid:
        for section in sections_of_solvable(Scenario):
            if path.startswith(f"{section}.") and not given_at(scenario, section):
                raise InputError(f"the scenario has no {section}, so there is no {path} to solve for")
        raise UnknownName("field to solve for", path, valid)
    rule = dict(bounds_at(path, Scenario))
    low = float(max(rule.get(">", 0.0), rule.get(">=", 0.0)))
    high = float(min(rule.get("<", math.inf), rule.get("<=", math.inf)))
    opens, high = ">" in rule, high * (1 - LAST_DIGITS) if "<" in rule else high
    least, most = _ends_from_others(scenario, path)
    if least > low:
        low, opens = least, False
    high = min(high, most)
    unlimited = high >= min(UNLIMITED, of_unit(path)[1])
    return Field(
        path=path,
        unit=unit_of(path),
        sense=_SENSES[meta_at(path, Scenario).better],
        low=low,
        high=math.inf if unlimited else high,
        top=high,
        opens=opens,
        given=_given(scenario, path),
    )


def _given(scenario: Scenario, path: str) -> float:
    """The scenario's own value of a field."""
    if path == RATE:
        return scenario.failure_rate
    if path == INTERVAL:
        return scenario.interval_min
    return float(given_at(scenario, path))


def _ends_from_others(scenario: Scenario, path: str) -> tuple[float, float]:
    """How far a field may go before it breaks a rule that involves others."""
    if path == INTERVAL:
        return shortest_interval_min(scenario), math.inf
    if path == N_GPUS:
        copies = [tier.copies or 1 for tier in scenario.checkpoint.tiers]
        return float(scenario.cluster.gpus_per_node * max([1, *copies])), math.inf
    return 0.0, math.inf
