"""The fields that a plan can solve for: which way each is better, and how far it may go."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ettr.budget.intervals import shortest_interval_min
from ettr.budget.refusals import barred
from ettr.core.errors import InputError, UnknownName
from ettr.core.units import LAST_DIGITS, ROUNDING, S_PER_H, unit_of
from ettr.scenario import Scenario
from ettr.scenario.bounds import of_unit
from ettr.scenario.checkpoints import Tier
from ettr.scenario.fields import given_at, meta_at, sections_of_solvable
from ettr.scenario.paths import INTERVAL, N_GPUS, PERSIST, RATE, SPARES, bounds_at, list_of

Sense = Literal["at most", "at least", "between"]

UNLIMITED = 1e12
"""A field that may be larger than this has no limit that matters."""

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
        The scenario's own value; of a share that differs between modes, that of all failures.
    by_mode : bool
        Whether it differs between modes.
    """

    path: str
    unit: str
    sense: Sense
    low: float
    high: float
    top: float
    opens: bool
    given: float
    by_mode: bool

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

    A scenario with spares has ``spares.n_nodes`` too, which is solved for by simulation.

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
    name = path.rpartition(".")[2]
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
        by_mode=name == "survives" and bool(np.ptp(_shares(scenario, path)) > 0),
    )


def _given(scenario: Scenario, path: str) -> float:
    """The scenario's own value of a field."""
    if path == RATE:
        return scenario.failure_rate
    if path == INTERVAL:
        return scenario.interval_min
    if path.endswith(".survives"):
        return float(np.dot(_shares(scenario, path), scenario.mode_weights))
    return float(given_at(*_tier(scenario, path)) if list_of(path) else given_at(scenario, path))


def _shares(scenario: Scenario, path: str) -> np.ndarray:
    """Share of each mode's failures that a tier survives."""
    tier, _ = _tier(scenario, path)
    return scenario.survival()[scenario.checkpoint.tiers.index(tier)]


def _tier(scenario: Scenario, path: str) -> tuple[Tier, str]:
    """A tier, and the field of it that a path names."""
    name, _, last = path.removeprefix("checkpoint.tiers.").rpartition(".")
    return next(tier for tier in scenario.checkpoint.tiers if tier.name == name), last


def _ends_from_others(scenario: Scenario, path: str) -> tuple[float, float]:
    """How far a field may go before it breaks a rule that involves others."""
    section, _, name = path.rpartition(".")
    tiers = scenario.checkpoint.tiers
    if path == INTERVAL:
        return shortest_interval_min(scenario), math.inf
    if path == N_GPUS:
        return float(scenario.cluster.gpus_per_node * max([1, *(tier.copies or 1 for tier in tiers)])), math.inf
    if section.startswith("checkpoint.tiers."):
        return _ends_of_tier(scenario, section.removeprefix("checkpoint.tiers."), name)
    if tiers and tiers[-1].write_s and (path == PERSIST or section == "checkpoint.store"):
        return _ends_of_store(scenario, name, tiers[-1].write_s)
    return 0.0, math.inf


def _ends_of_tier(scenario: Scenario, tier_name: str, name: str) -> tuple[float, float]:
    """Tiers go from fast to safe."""
    tiers = scenario.checkpoint.tiers
    at = [tier.name for tier in tiers].index(tier_name)
    faster = tiers[at - 1] if at else None
    slower = tiers[at + 1] if at + 1 < len(tiers) else None
    if name == "survives":
        shares = scenario.survival()
        return (float(shares[at - 1].max()) if faster else 0.0), (float(shares[at + 1].min()) if slower else 1.0)
    if name == "write_s":
        store_s = scenario.persist_h * S_PER_H
        return (faster.write_s if faster else 0.0), min(tiers[at].interval_s, slower.write_s if slower else store_s)
    if name == "interval_s":
        least = max(tiers[at].write_s, faster.interval_s if faster else 0.0)
        return least, (slower.interval_s if slower else scenario.work_h * S_PER_H)
    return 0.0, math.inf


def _ends_of_store(scenario: Scenario, name: str, write_s: float) -> tuple[float, float]:
    """The store writes no faster than the tier before it."""
    room = scenario.persist_h * S_PER_H / write_s * (1 - ROUNDING)
    if name == "persist_s":
        return write_s, math.inf
    store, own = scenario.checkpoint.store, getattr(scenario.checkpoint.store, name)
    if store is None or name == "read_gb_s":
        return 0.0, math.inf
    if meta_at(f"checkpoint.store.{name}", Scenario).better == "less":
        return own / room, math.inf
    if name == "compression_ratio":
        return 0.0, own * room
    per_node = scenario.n_nodes if name == "node_gb_s" else 1
    together = min(store.write_gb_s, scenario.n_nodes * (store.node_gb_s or math.inf))
    return 0.0, together * room / per_node
