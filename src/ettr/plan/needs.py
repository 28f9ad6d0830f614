"""What one field would have to be for a target."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ettr import budget, spares
from ettr.core.errors import InputError
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import limit
from ettr.core.units import LAST_DIGITS
from ettr.plan.details import between
from ettr.plan.fields import Field, Sense, field_of, solvable
from ettr.plan.solving import ettr_at_best, last_reaching, range_reaching
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE, SPARES

SOLVABLE = (RATE, "checkpoint.stall_s", "recovery.detection_min", "recovery.queue_min", "recovery.restart_min")
"""Fields that :func:`requirements` asks about: every scenario has them. :func:`solvable` names all."""

_NO_REMEDY = (N_GPUS, "job.productive_h")
"""Size and work are what is planned for, so they block nothing."""
_NOTHING_MIN = 1e-6
"""An interval as short as may be."""
_SHORT_UNITS = {"failures per 1,000 node-days": "/1,000 node-days", "1/day": "/day"}


@dataclass(frozen=True)
class Blocker:
    """Another field that stands in the way.

    Attributes
    ----------
    field : str
        Dotted path.
    ettr : float
        ETTR with this field at its ideal too.
    """

    field: str
    ettr: float


@dataclass(frozen=True, repr=False)
class Requirement(Answer):
    """What one field must be for a target.

    Attributes
    ----------
    field : str
        Dotted path.
    target_ettr : float
        The target.
    value : float or None
        The last value that reaches it, in the field's unit: the largest of a cost (infinite if none is too large),
        the smallest of a benefit (the end of its rule if none is too small), the best of an interval. None if no
        value reaches it. Of ``spares.n_nodes`` it is simulated, and may be a node off where ``ettr_error`` matters.
    given : float
        The scenario's own value.
    best_ettr : float
        What is reached with the field at its ideal, everything else as in the scenario.
    unit : str
        Unit of the field; empty for a fraction.
    sense : {"at most", "at least", "between"}
        How ``value`` is meant.
    ideal : float
        The field's best value: the end of its rule, or the best interval.
    low, high : float or None
        Ends of the range that reaches the target, for an interval; None for other fields, or if none does.
    blocking : tuple of Blocker
        Where no value reaches the target: each other field, and the ETTR if it were ideal as well, best first; the
        failure rate last, which is always enough. Of ``spares.n_nodes`` by the closed form, where spares never run out.
    ettr_error : float or None
        Standard error of the simulated ETTR at ``value``, of ``spares.n_nodes``; None where a closed form answers.
    """

    field: str
    target_ettr: float
    value: float | None
    given: float
    best_ettr: float
    unit: str = ""
    sense: Sense = "at most"
    ideal: float = 0.0
    low: float | None = None
    high: float | None = None
    blocking: tuple[Blocker, ...] = ()
    ettr_error: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: ``value`` is None where none reaches the target, and where none is needed."""
        blocker = self.blocker.field if self.blocker else None
        return dict(plain_values({**vars(self), "reached": self.value is not None, "blocker": blocker}))

    @property
    def headline(self) -> str:
        """The field, and the value that reaches the target."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.field}: {needed(self)}{unit} for an ETTR of {self.target_ettr:.6g}"

    def report(self) -> Report:
        """What the field must be, and what stands in the way."""
        return needs_report([self])

    @property
    def blocker(self) -> Blocker | None:
        """The other field that, ideal as well, would make the target reachable; None if none would, or none must."""
        return next((other for other in self.blocking if other.ettr >= self.target_ettr), None)


def required(scenario: Scenario | str | Path, field: str, target_ettr: float) -> Requirement:
    """Solve one field for a target ETTR, with the best interval of the store at each value.

    ``spares.n_nodes`` is solved for by simulation (:func:`ettr.spares.least_pool`), with the scenario's own interval.

    Parameters
    ----------
    scenario : Scenario, or its name or file
        The run.
    field : str
        One of :func:`solvable`: what is better small (rates, times, sizes) is solved for the largest value, what is
        better large (bandwidths, recall, precision, survival) for the smallest, an interval for the range.
    target_ettr : float
        The target, in (0, 1).

    Returns
    -------
    Requirement
        The value that just reaches the target, within 10⁻⁶ of itself; GPUs in whole nodes. If there is none: what
        would be possible, and what else blocks.

    Raises
    ------
    InputError
        An unknown field, or a target outside (0, 1).
    NotModelled
        Mechanisms that no closed form holds for together.

    Notes
    -----
    ETTR is taken as monotone in the field (an interval: with one peak). With the start counted it moves by one stall
    where the number of checkpoints changes; the value then is one of those at which it passes the target.

    Examples
    --------
    >>> from ettr import Scenario, plan
    >>> at_100k = Scenario.load("llama3-405b").override({"cluster.n_gpus": 100_000})
    >>> need = plan.required(at_100k, "recovery.restart_min", 0.9)
    >>> need.value is None, need.blocker.field
    (True, 'failures.rate_per_1000_node_days')
    >>> round(plan.required(at_100k, "failures.rate_per_1000_node_days", 0.9).value, 2)
    0.54
    >>> round(plan.required("llama3-405b", "recovery.restart_min", 0.9).value, 1)
    6.8
    """
    scenario = Scenario.of(scenario)
    _check_target(target_ettr)
    solved = field_of(scenario, field)
    if solved.sense == "between":
        return _range(scenario, solved, target_ettr)
    if field == SPARES:
        return _pool(scenario, solved, target_ettr)
    reach = last_reaching(scenario, solved, target_ettr, {})
    return _solved(scenario, solved, target_ettr, float(reach.value[0]), float(reach.best_ettr[0]))


def _solved(scenario: Scenario, solved: Field, target_ettr: float, value: float, best_ettr: float) -> Requirement:
    """The requirement of a value; NaN where no value reaches the target."""
    if solved.path == N_GPUS and math.isfinite(value):
        value = whole_nodes(scenario, value)
    blocking = _blocking(scenario, solved, {solved.path: solved.ideal}) if math.isnan(value) else ()
    return _requirement(solved, target_ettr, value, best_ettr, blocking=blocking)


def _requirement(solved: Field, target_ettr: float, value: float, best_ettr: float, **others: Any) -> Requirement:
    return Requirement(
        field=solved.path,
        target_ettr=target_ettr,
        value=None if math.isnan(value) else value,
        given=solved.given,
        best_ettr=best_ettr,
        unit=solved.unit,
        sense=solved.sense,
        **{"ideal": solved.low if solved.sense == "at most" else solved.high, **others},
    )


def requirements(scenario: Scenario | str | Path, target_ettr: float) -> list[Requirement]:
    """:func:`required` for each of :data:`SOLVABLE`, each alone."""
    scenario = Scenario.of(scenario)
    return [required(scenario, field, target_ettr) for field in SOLVABLE]


def whole_nodes(scenario: Scenario, n_gpus: float) -> float:
    """GPUs of the whole nodes among so many. [GPUs]"""
    per_node = scenario.cluster.gpus_per_node
    return float(math.floor(n_gpus / per_node * (1 + LAST_DIGITS)) * per_node)


def _check_target(target_ettr: float) -> None:
    """Refuse what is no ratio between 0 and 1."""
    if not 0 < target_ettr < 1:
        raise InputError(f"target_ettr must be between 0 and 1, got {target_ettr:g}")


def _range(scenario: Scenario, solved: Field, target_ettr: float) -> Requirement:
    peak, down, up = range_reaching(scenario, solved, target_ettr)
    low, high, best_ettr = float(down.value[0]), float(up.value[0]), float(down.best_ettr[0])
    if math.isnan(low):
        blocking = _blocking(scenario, solved, {})
        return _requirement(solved, target_ettr, math.nan, best_ettr, ideal=peak, blocking=blocking)
    return _requirement(solved, target_ettr, peak, best_ettr, ideal=peak, low=low, high=high)


def _pool(scenario: Scenario, solved: Field, target_ettr: float) -> Requirement:
    """The fewest hot spares; what stands in the way is that of a pool that never runs out."""
    pool = spares.least_pool(scenario, target_ettr)
    if pool.n_spares is None:
        plain = budget.simplified(scenario).scenario
        blocking = _blocking(plain, solved, {INTERVAL: plain.interval_min})
        return _requirement(solved, target_ettr, math.nan, pool.best_ettr, blocking=blocking)
    return _requirement(solved, target_ettr, float(pool.n_spares), pool.best_ettr, ettr_error=pool.error)


def _blocking(scenario: Scenario, solved: Field, own: dict[str, float]) -> tuple[Blocker, ...]:
    """ETTR with each other field at its ideal, beside the values of ``own``."""
    fields = [field_of(scenario, path) for path in solvable(scenario) if path not in (*_NO_REMEDY, solved.path)]
    others = [field for field in fields if field.sense != "between"]
    at = {field.path: np.where(np.arange(len(others)) == i, field.ideal, field.given) for i, field in enumerate(others)}
    ettrs = np.broadcast_to(ettr_at_best(scenario, {**at, **own}), len(others))
    blockers = (Blocker(field.path, float(ettr)) for field, ettr in zip(others, ettrs, strict=True))
    # without failures any target is reached, so the rate is named where nothing else is enough
    return tuple(sorted(blockers, key=lambda other: (other.field == RATE, -other.ettr)))


def needs_report(needs: list[Requirement]) -> Report:
    """What each field alone would have to be for a target, and what stands in the way of those that fail."""
    rows = [
        (
            need.field,
            needed(need),
            limit(need.given),
            _SHORT_UNITS.get(need.unit, need.unit),
            f"{need.best_ettr:.1%}",
        )
        for need in needs
    ]
    target = f"For an ETTR of {needs[0].target_ettr:.6g}, each field alone, at the best interval"
    failing = [need for need in needs if need.value is None and need.blocking]
    return [
        Headline(target, apart=True),
        Table(("field", "needed", "own", "unit", "ETTR at its ideal"), rows),
        *map(Note, in_the_way(failing)),
    ]


def in_the_way(needs: list[Requirement]) -> Iterator[str]:
    """Fields that cannot do it, by the field that would have to be ideal as well."""
    groups: dict[tuple[str, bool], list[tuple[Requirement, float]]] = {}
    for need in needs:
        nearest = need.blocker or need.blocking[0]
        groups.setdefault((nearest.field, need.blocker is not None), []).append((need, nearest.ettr))
    for (other, enough), beside in groups.items():
        failed, ettrs = zip(*beside, strict=True)
        ends = min(ettrs), max(ettrs)
        leaves = between(*ends, "")
        names = ", ".join(need.field for need in failed)
        if len(groups) == 1 and len(failed) > 1:
            names = "all that have none"
        if enough and other == "failures.rate_per_1000_node_days":
            yield f"Beside {names} only fewer failures would be enough: without any, {leaves}."
        elif enough:
            yield f"{other} stands in the way of {names}: ideal together they would leave {leaves}."
        else:
            yield f"No second field is enough for {names}: {other} comes closest and would leave {leaves}."


def needed(need: Requirement) -> str:
    """The values that reach the target."""
    if need.value is None:
        return "none"
    if need.low is not None and need.high is not None:
        at_most = limit(need.high, "at most")
        return f"<= {at_most}" if need.low < _NOTHING_MIN else f"{limit(need.low, 'at least')} to {at_most}"
    if math.isinf(need.value):
        return "any"
    return f"{'<=' if need.sense == 'at most' else '>='} {limit(need.value, need.sense)}"
