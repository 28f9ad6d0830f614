"""Plans: the best checkpoint interval of a run, its ETTR, and the recommended mitigations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettr import budget, evidence
from ettr.budget import Simplified
from ettr.budget.intervals import any_interval, best_h, best_interval_min, flat_band
from ettr.core.errors import NotModelled, OutsideValidity
from ettr.core.report import Answer, Report, plain_values
from ettr.core.results import TimeBudget
from ettr.core.sentences import duration, pct
from ettr.core.units import MIN_PER_H
from ettr.failures import gamma_interval
from ettr.plan.bands import bands_of
from ettr.plan.calendar import Calendar
from ettr.plan.dates import check_ends
from ettr.plan.details import plan_details
from ettr.plan.losses import record_of
from ettr.plan.planned_run import PlannedRun
from ettr.plan.report import BOUND, hopeless, plan_report, plan_warnings
from ettr.plan.tiers import best_tiers_h, tier_plans
from ettr.plan.unexplained import unexplained
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.fields import implausible
from ettr.scenario.long_run import steady
from ettr.scenario.paths import INTERVAL, RATE

if TYPE_CHECKING:
    import pandas as pd

_ROUNDS = 3
"""Iterations of the mean rate and the best interval, which depend on each other only weakly."""


@dataclass(frozen=True, repr=False, eq=False)
class Plan(PlannedRun, Answer):
    """The plan for one scenario; its attributes are those of :class:`PlannedRun`.

    Examples
    --------
    >>> from ettr import plan
    >>> plan.make("llama3-405b").headline
    'llama3-405b: checkpoint every 7.7 min, ETTR 91.0%'
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON; infinite values become None."""
        run, band, tiered = self.scenario, self.band, self.budget_of_tiers
        at_current = self.hours_at_current if self.simulation else self.budget_at_current
        analytical = {"ettr": float(self.budget.ettr), "time_budget": self.budget.to_dict()}
        record = {
            "scenario": run.name,
            "n_gpus": run.cluster.n_gpus,
            "observed_gpus": run.rate_observed_on_gpus,
            "job_mttf_h": self.job_mttf_h,
            "wall_mttf_h": self.wall_mttf_h,
            "job_mttf_95_h": self.job_mttf_95_h,
            "failures_per_day": self.failures_per_day,
            "interval_min": band.interval_min,
            "band_min": [band.low_min, band.high_min],
            "band_points": band.points,
            "ettr": float(self.hours_at_best.ettr),
            "analytical": analytical if self.simulation else None,
            "speed": run.speed,
            "effective_throughput": self.effective_throughput,
            "time_budget": self.hours_at_best.to_dict(),
            "over_time": self.budget_over_time.to_dict() if self.budget_over_time else None,
            "as_given": {
                "interval_min": run.interval_min,
                "ettr": float(at_current.ettr) if at_current else None,
                "time_budget": at_current.to_dict() if at_current else None,
            },
            "tiers": self.tiers,
            "ettr_of_tiers": float(tiered.ettr) if tiered else None,
            "checkpoints_to_keep": self.checkpoints_to_keep,
            "storage": self.storage,
            "bands": self.bands.rows,
            "band_source": self.bands.source,
            "left_out": self.left_out,
            "assumed": assumed_fields(run),
            "losses": record_of(self.losses),
            "losses_at_best": record_of(self.losses_at_best),
            "prediction_interval": self.prediction_interval,
            "warnings": (*implausible(self.original), *plan_warnings(self)),
            "assumptions": self.assumptions.to_dict(),
            "recommendation": self.recommendation.to_dict() if self.recommendation else None,
            "ranges": [
                {key: record[key] for key in ("label", "low", "high", "leading", "given")}
                for record in (plausible.to_dict() for plausible in self.ranges)
            ],
            "published": self.published.record if self.published else None,
            "unexplained": self.unexplained,
            "simulated": self.simulation.to_dict() if self.simulation else None,
            "is_bound": self.is_bound,
            "dates": self.dates.to_dict() if self.dates else None,
            "without_dates": self.without_dates or None,
            "deadline": self.due.to_dict() if self.due else None,
        }
        return dict(plain_values(record))

    @property
    def headline(self) -> str:
        """The best interval, and the ETTR at it."""
        every = f"every {duration(self.band.interval_min / 60)}" if math.isfinite(self.job_mttf_h) else "never"
        return f"{self.scenario.name}: checkpoint {every}, ETTR {pct(float(self.budget.ettr))}"

    def report(self, short: bool = False) -> Report:
        """Return the plan on one screen; ``short`` leaves out the lost time and the mitigations."""
        return plan_report(self, short)

    def details(self) -> Report:
        """Return time budgets, confidence intervals, plausible ranges and the mitigations not recommended."""
        return plan_details(self)


def make(scenario: Scenario | str | Path, simulate: bool = True, calendar: Calendar | None = None) -> Plan:
    """Return the plan of a run: best checkpoint interval, ETTR, lost time, finishing date and mitigations.

    Parameters
    ----------
    scenario : Scenario, or its name or file
        The run.
    simulate : bool
        Whether the plan may simulate mechanisms that the analytical model does not cover. This happens only when a
        quantity that needs it is read.
    calendar : Calendar, optional
        Start date, deadline, and the share of the work that is done, from :func:`ettr.plan.calendar_of`.

    Returns
    -------
    Plan
        A run whose failure rate changes is planned at its mean rate, and its hours are integrated over the changing
        rate at that interval. Mechanisms that only the simulator covers are listed in ``left_out``.

    Raises
    ------
    NotModelled
        The analytical model does not cover the mechanisms of the run together.
    OutsideValidity
        The analytical model has no answer for the run, e.g. because it would practically never end.
    InputError
        A measured ETTR is above the ETTR that the other inputs allow, or a deadline cannot be met even without
        failures.

    Examples
    --------
    >>> from ettr import Scenario, plan
    >>> answer = plan.make(Scenario.load("llama3-405b"))
    >>> round(answer.band.interval_min, 1), round(answer.budget.ettr, 3)
    (7.7, 0.91)
    """
    # The scenario is simplified in three steps, in hours ("job") as well: an upper limit where no failure was observed,
    # the mechanisms that the analytical model covers, and the mean of a failure rate that changes.
    original = Scenario.of(scenario)
    calendar = calendar or Calendar()
    check_ends(original, calendar)
    with_bound = _with_upper_limit(original)
    covered, covered_job = _covered(with_bound)
    at_mean, mean_job = _at_mean_rate(covered.scenario, covered_job)
    try:
        band = flat_band(mean_job)
        best_job = replace(mean_job, tau=band.interval_min / MIN_PER_H)
        at_best = budget.exact(best_job)
    except OutsideValidity as error:
        raise OutsideValidity(hopeless(at_mean, calendar)) from error
    planned, current_job = _with_current_interval(at_mean, mean_job, band.interval_min)
    at_current, reason = _budget_or_reason(current_job)
    if with_bound is original:  # this call refuses a measured ETTR that the inputs do not allow
        unexplained(original, float((at_current or at_best).ettr))
    tiers_h = best_tiers_h(current_job) if current_job.tiers else None
    return Plan(
        original=original,
        scenario=planned,
        best=planned.override({INTERVAL: band.interval_min}),
        band=band,
        budget=at_best,
        budget_at_current=at_current,
        no_budget_reason=reason,
        bands=bands_of(planned, band.interval_min, at_best, at_current, current_job),
        changing=covered.scenario if covered_job.ageing else None,
        budget_over_time=budget.over_time(replace(covered_job, tau=best_job.tau)) if covered_job.ageing else None,
        tiers=() if tiers_h is None else tier_plans(planned, current_job, tiers_h),
        budget_of_tiers=None if tiers_h is None else budget.exact(current_job.with_intervals(tuple(tiers_h))),
        left_out=covered.left_out,
        is_bound=with_bound is not original,
        simulates=simulate,
        calendar=calendar,
    )


def _with_upper_limit(scenario: Scenario) -> Scenario:
    """Return a run without observed failures at the upper limit of its failure rate; other runs unchanged."""
    posterior = scenario.failures.posterior
    if scenario.failures.n_events != 0 or posterior is None:
        return scenario
    upper_limit = gamma_interval(posterior.shape, posterior.node_days, 2 * BOUND - 1).high
    gamma = {"shape": posterior.shape, "node_days": posterior.node_days}
    return scenario.override({RATE: float(upper_limit), "failures.rate_gamma": gamma, "failures.modes": []})


def _covered(scenario: Scenario) -> tuple[Simplified, JobInHours]:
    """Return the run as far as the analytical model covers it, also in hours with any interval."""
    kept = budget.without_extras(scenario)
    changes = kept.scenario.failures.burn_in or kept.scenario.failures.lifetime
    try:
        return kept, any_interval(kept.scenario, formula="over_time" if changes else "exact")
    except NotModelled:
        simplified = budget.simplified(scenario)
        return simplified, any_interval(simplified.scenario)


def _at_mean_rate(scenario: Scenario, job: JobInHours) -> tuple[Scenario, JobInHours]:
    """Return a run with a changing failure rate at its mean rate with the best interval; other runs unchanged."""
    if not job.ageing:
        return scenario, job
    at_mean = replace(job, ageing=None, rate=_mean_rate_per_h(job))
    return scenario.override(steady(scenario, at_mean.rate / job.rate if at_mean.rate else 1.0)), at_mean


def _mean_rate_per_h(job: JobInHours) -> float:
    """Return the mean failure rate of a run at the interval that is best for it. [1/h]"""
    if job.ageing is None or not job.ageing.changes or job.rate == 0:
        return float(job.rate)
    settled = replace(job, ageing=None)
    tau = job.tau if math.isfinite(job.tau) else float(best_h(settled)[0])  # infinite where a rule gives the interval
    mean_per_h = budget.mean_rate_per_h(replace(job, tau=tau))
    for _ in range(_ROUNDS):
        interval_h = float(best_h(replace(settled, rate=mean_per_h))[0])
        mean_per_h = budget.mean_rate_per_h(replace(job, tau=interval_h))
    return mean_per_h


def _with_current_interval(scenario: Scenario, job: JobInHours, best_min: float) -> tuple[Scenario, JobInHours]:
    """Return the run with its current interval: a number, the result of its rule, or the best one ("best")."""
    interval_min = scenario.checkpoint.interval_min
    if interval_min == "best":
        if not job.has_interval_rule:  # only the plan can find the best interval then
            scenario = scenario.override({INTERVAL: best_min, "measured": scenario.measured})
        return scenario, replace(job, tau=best_min / MIN_PER_H)
    if isinstance(interval_min, str):
        return scenario, replace(job, tau=scenario.interval_h)
    return scenario, job


def _budget_or_reason(job: JobInHours) -> tuple[TimeBudget | None, str]:
    """Return the hours at the run's current interval, or the reason why there is no answer."""
    try:
        return budget.exact(job), ""
    except OutsideValidity as error:
        return None, str(error)


def assumed_fields(scenario: Scenario) -> list[str]:
    """Return the paths of the fields whose values are assumed.

    Examples
    --------
    >>> assumed_fields(Scenario.load("llama3-405b"))[:2]
    ['cluster.n_gpus', 'checkpoint.interval_min']
    """
    return [row["field"] for row in scenario.in_force() if row["status"] == "assumed"]


def presets() -> pd.DataFrame:
    """Return a table of all presets.

    Returns
    -------
    DataFrame
        ``name``, ``title``, ``n_gpus`` [GPUs], ``rate_per_1000_node_days``, ``job_mttf_h`` [h], ``ettr`` at the
        current interval (by the analytical model, with spares that never run out), ``best_interval_min`` [min],
        ``n_assumed`` (number of assumed values).

    Examples
    --------
    >>> presets().set_index("name")[["n_gpus", "ettr"]].loc["llama3-405b"].round(2).to_dict()
    {'n_gpus': 16384.0, 'ettr': 0.91}
    """
    import pandas as pd

    return pd.DataFrame([_preset(Scenario.load(name)) for name in evidence.scenario_names()])


def _preset(run: Scenario) -> dict[str, Any]:
    covered = budget.simplified(run).scenario
    return {
        "name": run.name,
        "title": run.title,
        "n_gpus": run.cluster.n_gpus,
        "rate_per_1000_node_days": run.failure_rate,
        "job_mttf_h": run.job_mttf_h,
        "ettr": budget.exact(covered).ettr,
        "best_interval_min": best_interval_min(covered),
        "n_assumed": len(assumed_fields(run)),
    }
