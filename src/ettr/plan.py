"""The answer to "what should I do": the interval to checkpoint at, and what it leaves."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize

from ettr import budget, evidence
from ettr.checkpoint import exact_interval
from ettr.errors import InputError, OutsideValidity, UnknownName
from ettr.failures import gamma_interval
from ettr.results import TimeBudget
from ettr.scenario import Scenario
from ettr.validity import ValidityWarning, plain

BAND_POINTS = 0.005
"""An interval is as good as the best while it costs no more than this in ETTR: half a point."""

SHORTEST_MIN = 1 / 60
"""No plan checkpoints more often than each second, even where a checkpoint is free."""

_GRID_POINTS = 2000


@dataclass(frozen=True)
class Band:
    """The best interval, and the range that is nearly as good.

    Attributes
    ----------
    interval_min, low_min, high_min : float
        Best interval, and the ends of the range. [min]
    points : float
        What the range may cost, in ETTR as a fraction.
    ends_job : bool
        True if even a single checkpoint at the end of the work is within the range.
    """

    interval_min: float
    low_min: float
    high_min: float
    points: float
    ends_job: bool


@dataclass(frozen=True)
class Plan:
    """What to do on one scenario.

    Attributes
    ----------
    scenario : Scenario
        The run as given.
    best : Scenario
        The same with the best interval.
    job_mttf_h : float
        Mean time to failure of the job in exposed hours. [h]
    job_mttf_95_h : tuple of float or None
        95% interval from what is known of the failure rate; None if nothing is. [h]
    band : Band
        Best interval and the range as good as it.
    budget : TimeBudget
        Hours at the best interval.
    budget_as_given : TimeBudget or None
        Hours at the scenario's own interval; None where no closed form holds for it.
    no_budget_as_given : str
        Why not; empty otherwise.
    """

    scenario: Scenario
    best: Scenario
    job_mttf_h: float
    job_mttf_95_h: tuple[float, float] | None
    band: Band
    budget: TimeBudget
    budget_as_given: TimeBudget | None
    no_budget_as_given: str = ""

    @property
    def shown(self) -> tuple[Scenario, TimeBudget]:
        """The run as given with its hours; with the best interval where the given one has no answer."""
        return (self.scenario, self.budget_as_given) if self.budget_as_given else (self.best, self.budget)

    @property
    def failures_per_day(self) -> float:
        """Failures per day of wall clock at the best interval. [1/d]"""
        return float(self.budget.n_failures / self.budget.total_h * 24)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain numbers, for JSON; infinite values become None."""
        given, band = self.scenario, self.band
        return {
            "scenario": given.name,
            "n_gpus": given.cluster.n_gpus,
            "job_mttf_h": _finite(self.job_mttf_h),
            "job_mttf_95_h": self.job_mttf_95_h and [_finite(end) for end in self.job_mttf_95_h],
            "failures_per_day": self.failures_per_day,
            "interval_min": band.interval_min,
            "band_min": [band.low_min, band.high_min],
            "band_points": band.points,
            "ettr": float(self.budget.ettr),
            "time_budget": self.budget.to_dict(),
            "as_given": {
                "interval_min": given.checkpoint.interval_min,
                "ettr": float(self.budget_as_given.ettr) if self.budget_as_given else None,
                "time_budget": self.budget_as_given.to_dict() if self.budget_as_given else None,
            },
            "assumed": assumed_fields(given),
        }


def make(scenario: Scenario) -> Plan:
    """Plan the checkpoints of a run.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Returns
    -------
    Plan
        Time to failure, best interval and its band, and time budgets.

    Raises
    ------
    OutsideValidity
        No closed form holds for the run, e.g. it would practically never end.

    Examples
    --------
    >>> from ettr import Scenario, plan
    >>> answer = plan.make(Scenario.load("llama3-405b"))
    >>> round(answer.band.interval_min, 1), round(answer.budget.ettr, 3)
    (7.7, 0.91)
    """
    band = flat_band(scenario)
    best = scenario.override({"checkpoint.interval_min": band.interval_min})
    as_given, reason = None, ""
    try:
        as_given = budget.exact(scenario)
    except OutsideValidity as error:
        reason = str(error)
    return Plan(
        scenario=scenario,
        best=best,
        job_mttf_h=scenario.job_mttf_h,
        job_mttf_95_h=mttf_interval_h(scenario),
        band=band,
        budget=budget.exact(best),
        budget_as_given=as_given,
        no_budget_as_given=reason,
    )


def best_interval_min(scenario: Scenario, n_gpus: Any = None) -> Any:
    """The interval with the highest steady-state ETTR, no longer than :func:`longest_interval_min`. [min]

    Parameters
    ----------
    scenario : Scenario
        The run.
    n_gpus : float or ndarray, optional
        Size of the job instead of the scenario's. [GPUs]

    Returns
    -------
    float or ndarray
        Between a second, or the training during a background write, and the longest interval. [min]
    """
    checkpoint = scenario.checkpoint
    mttf_h = job_mttf_h(scenario, n_gpus)
    tau_h = exact_interval(scenario.stall_h, mttf_h, scenario.persist_h, checkpoint.persist_slowdown)
    # a hair above the write, which rounding must not put the interval below
    least_min = max(SHORTEST_MIN, checkpoint.least_interval_min * (1 + 1e-12))
    return plain(np.maximum(np.minimum(np.multiply(tau_h, 60), longest_interval_min(scenario)), least_min))


def job_mttf_h(scenario: Scenario, n_gpus: Any = None) -> Any:
    """Mean time to failure of the job, also at other sizes; infinite without failures. [h]"""
    n_nodes = scenario.n_nodes if n_gpus is None else np.asarray(n_gpus) / scenario.cluster.gpus_per_node
    with np.errstate(divide="ignore"):
        return plain(1 / (scenario.node_rate_per_h * scenario.mode_exposure(n_nodes).sum(axis=-1)))


def longest_interval_min(scenario: Scenario) -> float:
    """The longest interval that a plan considers. [min]

    The whole work, or half the mean time between two requests for maintenance: a stop waits for the next
    checkpoint, so with longer intervals requests would pile up.
    """
    work_min = scenario.job.productive_h * 60
    requests_per_min = scenario.maintenance_rate_per_h / 60
    return min(work_min, 0.5 / requests_per_min) if requests_per_min > 0 else work_min


def flat_band(scenario: Scenario, points: float = BAND_POINTS) -> Band:
    """Intervals whose steady-state ETTR is within ``points`` of the best.

    Parameters
    ----------
    scenario : Scenario
        The run.
    points : float
        Allowed loss of ETTR, as a fraction in (0, 1).

    Returns
    -------
    Band
        Best interval and the ends of the range, each within 0.1%.

    Raises
    ------
    InputError
        ``points`` outside (0, 1).
    OutsideValidity
        The run has no steady state.
    """
    if not 0 < points < 1:
        raise InputError(f"points must be between 0 and 1, got {points:g}")
    # maintenance scales the ETTR of every interval alike, so it moves neither the best nor, visibly, the band
    steady = scenario.override({"job.include_start": False, "maintenance": None})
    best_min = best_interval_min(scenario)
    at_best = budget.exact(steady.override({"checkpoint.interval_min": best_min})).ettr
    longest_min = longest_interval_min(scenario)
    least_min = max(scenario.checkpoint.least_interval_min, SHORTEST_MIN)

    def end_min(farthest_min: float) -> float:
        """Where the loss passes ``points`` on the way from the best interval."""
        grid = np.geomspace(best_min, farthest_min, _GRID_POINTS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ValidityWarning)
            loss = at_best - np.nan_to_num(budget.exact(steady, {"checkpoint.interval_min": grid}).ettr, nan=-1.0)
        outside = np.flatnonzero(loss > points)
        if outside.size == 0:
            return float(farthest_min)
        first = outside[0]
        return float(np.interp(points, loss[first - 1 : first + 1], grid[first - 1 : first + 1]))

    high_min = end_min(longest_min) if longest_min > best_min else best_min
    low_min = end_min(least_min) if least_min < best_min else best_min
    return Band(best_min, low_min, high_min, points, ends_job=high_min >= scenario.job.productive_h * 60)


def mttf_interval_h(scenario: Scenario, level: float = 0.95) -> tuple[float, float] | None:
    """Interval of the job's mean time to failure, from what is known of the failure rate. [h]

    Returns
    -------
    tuple of float or None
        Low and high end; None if the scenario says nothing about its rate's uncertainty.
    """
    known = scenario.failures.posterior
    rate = scenario.failures.rate
    if known is None or rate == 0:
        return None
    interval = gamma_interval(known.shape, known.node_days, level)
    longest_h = scenario.job_mttf_h * rate / interval.low if interval.low > 0 else math.inf
    return scenario.job_mttf_h * rate / interval.high, longest_h


def assumed_fields(scenario: Scenario) -> list[str]:
    """Paths of the values that rest on an assumption."""
    table = scenario.to_frame()
    return [str(field) for field in table.loc[table["status"] == "assumed", "field"]]


def presets() -> pd.DataFrame:
    """All presets side by side.

    Returns
    -------
    DataFrame
        ``name``, ``title``, ``n_gpus`` [GPUs], ``rate_per_1000_node_days``, ``job_mttf_h`` [h], ``ettr`` at the own
        interval, ``best_interval_min`` [min], ``n_assumed`` (values that rest on an assumption).
    """
    return pd.DataFrame([_preset(Scenario.load(name)) for name in evidence.scenario_names()])


def _preset(run: Scenario) -> dict[str, Any]:
    return {
        "name": run.name,
        "title": run.title,
        "n_gpus": run.cluster.n_gpus,
        "rate_per_1000_node_days": run.failures.rate,
        "job_mttf_h": run.job_mttf_h,
        "ettr": budget.exact(run).ettr,
        "best_interval_min": best_interval_min(run),
        "n_assumed": len(assumed_fields(run)),
    }


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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
