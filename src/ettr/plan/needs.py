"""The value that one field needs for a target ETTR."""

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
from ettr.core.sentences import joined_range, limit
from ettr.core.units import LAST_DIGITS
from ettr.plan.details import between
from ettr.plan.fields import Field, Sense, field_of, solvable
from ettr.plan.solving import ettr_at_best, last_reaching, range_reaching
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE, SPARES

SOLVABLE = (RATE, "checkpoint.stall_s", "recovery.detection_min", "recovery.queue_min", "recovery.restart_min")
"""Fields that :func:`requirements` solves for; every scenario has them. :func:`solvable` lists all fields."""

_NO_REMEDY = (N_GPUS, "job.productive_h")
"""Size and work define the question, so they are never the obstacle."""
_NOTHING_MIN = 1e-6
"""Intervals below this count as no lower limit. [min]"""
_SHORT_UNITS = {"failures per 1,000 node-days": "/1,000 node-days", "1/day": "/day"}


@dataclass(frozen=True)
class Blocker:
    """Another field that limits the ETTR.

    Attributes
    ----------
    field : str
        Dotted path.
    ettr : float
        ETTR with this field at its ideal as well.
    """

    field: str
    ettr: float


@dataclass(frozen=True, repr=False)
class Requirement(Answer):
    """The value that one field needs for a target ETTR.

    Attributes
    ----------
    field : str
        Dotted path.
    target_ettr : float
        The target.
    value : float or None
        The limit at which the field just reaches the target, in its unit: an upper limit (infinite if every value is
        enough), a lower limit (the end of the valid range if every value is enough), or the best interval. None if no
        value reaches the target. For ``spares.n_nodes`` it is simulated and may be off by a node.
    given : float
        Current value.
    best_ettr : float
        ETTR with the field at its ideal, everything else unchanged.
    unit : str
        Unit of the field; empty for a fraction.
    sense : {"at most", "at least", "between"}
        Whether ``value`` is an upper limit, a lower limit, or an optimum.
    ideal : float
        Best value of the field: the end of its valid range, or the best interval.
    low, high : float or None
        Ends of the range that reaches the target, for an interval; None for other fields, or if no value does.
    blocking : tuple of Blocker
        Where no value reaches the target: every other field, with the ETTR if it were ideal as well, best first. The
        failure rate, which is always enough, comes last. For ``spares.n_nodes`` these are calculated by the analytical
        model, in which spares never run out.
    ettr_error : float or None
        Standard error of the simulated ETTR at ``value`` for ``spares.n_nodes``; None for the analytical model.
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
        """Return all attributes for JSON; ``value`` is None where no value or every value reaches the target."""
        blocker = self.blocker.field if self.blocker else None
        return dict(plain_values({**vars(self), "reached": self.value is not None, "blocker": blocker}))

    @property
    def headline(self) -> str:
        """The field, and the value that reaches the target."""
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.field}: {needed(self)}{unit} for an ETTR of {self.target_ettr:.6g}"

    def report(self) -> Report:
        """Return the needed value, and the fields that limit the ETTR if no value is enough."""
        return needs_report([self])

    @property
    def blocker(self) -> Blocker | None:
        """The first other field that makes the target reachable if it is ideal as well; None if none does."""
        return next((blocker for blocker in self.blocking if blocker.ettr >= self.target_ettr), None)


def required(scenario: Scenario | str | Path, field: str, target_ettr: float) -> Requirement:
    """Return the value of one field that reaches a target ETTR, with the best store interval at each value.

    ``spares.n_nodes`` is solved for by simulation (:func:`ettr.spares.least_pool`), at the current interval.

    Parameters
    ----------
    scenario : Scenario, or its name or file
        The run.
    field : str
        One of :func:`solvable`. Fields that are better small (rates, times, sizes) are solved for their upper limit,
        fields that are better large (bandwidths, recall, precision, survival) for their lower limit, and an interval
        for its range.
    target_ettr : float
        The target, in (0, 1).

    Returns
    -------
    Requirement
        The value that just reaches the target, to a relative precision of 10⁻⁶; GPUs in whole nodes. If there is
        none, the ETTR that is possible and the fields that limit it.

    Raises
    ------
    InputError
        An unknown field, or a target outside (0, 1).
    NotModelled
        The analytical model does not cover the mechanisms of the run together.

    Notes
    -----
    The ETTR is assumed to be monotonic in the field, or to have a single peak for an interval. If the start counts, it
    jumps by one stall where the number of checkpoints changes; the value is then one of those where it passes the
    target.

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
    """Return the requirement for a solved value; NaN where no value reaches the target."""
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
    """Return the requirement of each field of :data:`SOLVABLE` alone.

    Parameters
    ----------
    scenario, target_ettr
        As for :func:`required`.

    Examples
    --------
    >>> needs = requirements("llama3-405b", 0.92)
    >>> [(need.field, round(need.value, 2)) for need in needs if need.value is not None][:2]
    [('failures.rate_per_1000_node_days', 3.12), ('checkpoint.stall_s', 5.63)]
    """
    scenario = Scenario.of(scenario)
    return [required(scenario, field, target_ettr) for field in SOLVABLE]


def whole_nodes(scenario: Scenario, n_gpus: float) -> float:
    """Return a number of GPUs rounded down to whole nodes. [GPUs]"""
    per_node = scenario.cluster.gpus_per_node
    return float(math.floor(n_gpus / per_node * (1 + LAST_DIGITS)) * per_node)


def _check_target(target_ettr: float) -> None:
    """Refuse a target outside (0, 1)."""
    if not 0 < target_ettr < 1:
        raise InputError(f"target_ettr must be between 0 and 1, got {target_ettr:g}")


def _range(scenario: Scenario, solved: Field, target_ettr: float) -> Requirement:
    """Return the range of an interval that reaches the target."""
    peak, down, up = range_reaching(scenario, solved, target_ettr)
    low, high, best_ettr = float(down.value[0]), float(up.value[0]), float(down.best_ettr[0])
    if math.isnan(low):
        blocking = _blocking(scenario, solved, {})
        return _requirement(solved, target_ettr, math.nan, best_ettr, ideal=peak, blocking=blocking)
    return _requirement(solved, target_ettr, peak, best_ettr, ideal=peak, low=low, high=high)


def _pool(scenario: Scenario, solved: Field, target_ettr: float) -> Requirement:
    """Return the smallest pool of hot spares; its blockers are those of a pool that never runs out."""
    pool = spares.least_pool(scenario, target_ettr)
    if pool.n_spares is None:
        simplified = budget.simplified(scenario).scenario
        blocking = _blocking(simplified, solved, {INTERVAL: simplified.interval_min})
        return _requirement(solved, target_ettr, math.nan, pool.best_ettr, blocking=blocking)
    return _requirement(solved, target_ettr, float(pool.n_spares), pool.best_ettr, ettr_error=pool.error)


def _blocking(scenario: Scenario, solved: Field, fixed: dict[str, float]) -> tuple[Blocker, ...]:
    """Return the ETTR with each other field at its ideal, with the ``fixed`` values; best first."""
    fields = [field_of(scenario, path) for path in solvable(scenario) if path not in (*_NO_REMEDY, solved.path)]
    others = [field for field in fields if field.sense != "between"]
    at = {field.path: np.where(np.arange(len(others)) == i, field.ideal, field.given) for i, field in enumerate(others)}
    ettrs = np.broadcast_to(ettr_at_best(scenario, {**at, **fixed}), len(others))
    blockers = (Blocker(field.path, float(ettr)) for field, ettr in zip(others, ettrs, strict=True))
    # without failures any target is reached, so the rate comes last
    return tuple(sorted(blockers, key=lambda blocker: (blocker.field == RATE, -blocker.ettr)))


def needs_report(needs: list[Requirement]) -> Report:
    """Return a table of the value that each field alone needs, and the fields that limit those that fail."""
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
    target = f"Each field alone, to reach an ETTR of {needs[0].target_ettr:.6g} at the best interval"
    failing = [need for need in needs if need.value is None and need.blocking]
    columns = ("field", "needed", "now", "unit", "ETTR with the field at its best value")
    return [Headline(target, apart=True), Table(columns, rows, words=("unit",)), *map(Note, bottlenecks(failing))]


def bottlenecks(needs: list[Requirement]) -> Iterator[str]:
    """Yield the fields that cannot reach the target alone, grouped by the field that limits them."""
    groups: dict[tuple[str, bool], list[tuple[Requirement, float]]] = {}
    for need in needs:
        nearest = need.blocker or need.blocking[0]
        groups.setdefault((nearest.field, need.blocker is not None), []).append((need, nearest.ettr))
    for (bottleneck, is_enough), group in groups.items():
        failed, ettrs = zip(*group, strict=True)
        reached = between(min(ettrs), max(ettrs), "")
        names = ", ".join(need.field for need in failed)
        if len(groups) == 1 and len(failed) > 1:
            names = "the fields without a value"
        if is_enough and bottleneck == RATE:
            yield f"For {names}, only fewer failures would be enough: without any failure the ETTR is {reached}."
        elif is_enough:
            yield f"{bottleneck} is the bottleneck for {names}: with both at their best values the ETTR is {reached}."
        else:
            yield (
                f"No second field is enough for {names}. {bottleneck} comes closest: with both at their best values "
                f"the ETTR is {reached}."
            )


def needed(need: Requirement) -> str:
    """Return the values that reach the target, e.g. ``<= 6.82`` or ``5-30``."""
    if need.value is None:
        return "none"
    if need.low is not None and need.high is not None:
        at_most = limit(need.high, "at most")
        return f"<= {at_most}" if need.low < _NOTHING_MIN else joined_range(limit(need.low, "at least"), at_most)
    if math.isinf(need.value):
        return "any"
    return f"{'<=' if need.sense == 'at most' else '>='} {limit(need.value, need.sense)}"
