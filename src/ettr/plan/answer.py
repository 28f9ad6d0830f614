"""The plan of one run: interval, band and hours."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ettr import budget, evidence
from ettr.budget.intervals import (
    BestInterval,
    any_interval,
    best_h,
    best_interval_min,
    flat_band,
    whole_interval_min,
)
from ettr.checkpoint import checkpoints_to_keep
from ettr.core import extras
from ettr.core.errors import NoProgress, NotModelled, OutsideValidity
from ettr.core.report import Answer, Report, plain_values
from ettr.core.results import TimeBudget
from ettr.core.sentences import duration, pct
from ettr.core.units import MIN_PER_H
from ettr.failures import gamma_interval
from ettr.plan.assumed import assumed_fields
from ettr.plan.bands import Bands, bands_of, mttf_interval_h
from ettr.plan.calendar import Calendar, calendar_of
from ettr.plan.dates import WITHOUT, Dates, at_uncertain_rate, check_ends, dates_of, how_to_simulate
from ettr.plan.deadline import Deadline, deadline_of
from ettr.plan.details import plan_details
from ettr.plan.losses import Losses, record_of
from ettr.plan.report import BOUND, HOPELESS, hopeless, plan_report, plan_warnings
from ettr.plan.single_run import PredictionInterval, of_simulated, prediction_interval
from ettr.plan.tiers import TierPlan, best_tiers_h, tier_plans
from ettr.plan.unexplained import Unexplained, unexplained
from ettr.ranges import Assumptions, across_clusters, assumptions
from ettr.recommendation.answer import Recommendation
from ettr.recommendation.best_set import recommend
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.fields import implausible
from ettr.scenario.long_run import steady
from ettr.scenario.paths import INTERVAL, RATE

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from ettr.mitigation import Catalogue
    from ettr.simulation import Simulation


_ROUNDS = 3
"""The mean rate and the best interval depend on each other weakly: this settles both."""


@dataclass(frozen=True, repr=False, eq=False)
class Plan(Answer):
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
    band : BestInterval
        Best interval and the range as good as it.
    budget : TimeBudget
        Hours at the best interval.
    budget_as_given : TimeBudget or None
        Hours at the scenario's own interval; None where no closed form holds for it.
    no_budget_as_given : str
        Why not; empty otherwise.
    changing : Scenario or None
        The run as it was asked about, if its failure rate changes: :attr:`scenario` then has its mean rate.
    budget_over_time : TimeBudget or None
        Hours of that run at the best interval, integrated over the changing rate.
    tiers : tuple of TierPlan
        Each tier with its own interval and that of the best of all together, the store last; empty without tiers.
    budget_of_tiers : TimeBudget or None
        Hours with the best of all together.
    known : Bands
        Ranges that hold each quantity with 50% and 95%, by how well the failure rate is known.
    left_out : tuple of str
        What the closed forms have no term for and the plan does without, a few words and the fields each.
    given : Scenario or None
        The run as it was asked about, where :attr:`scenario` is not that.
    is_bound : bool
        Whether no failure was seen, and the rate is the most that fits with that.
    simulates : bool
        Whether the simulator may be asked about what was left out.
    calendar : Calendar
        When the run starts, by when it has to be done, and how much of it is.
    """

    scenario: Scenario
    best: Scenario
    job_mttf_h: float
    job_mttf_95_h: tuple[float, float] | None
    band: BestInterval
    budget: TimeBudget
    budget_as_given: TimeBudget | None
    no_budget_as_given: str = ""
    changing: Scenario | None = None
    budget_over_time: TimeBudget | None = None
    tiers: tuple[TierPlan, ...] = ()
    budget_of_tiers: TimeBudget | None = None
    known: Bands = field(default_factory=lambda: Bands((), ""))
    left_out: tuple[str, ...] = ()
    given: Scenario | None = None
    is_bound: bool = False
    simulates: bool = True
    calendar: Calendar = field(default_factory=Calendar)

    @property
    def asked(self) -> Scenario:
        """The run as it was asked about, with all that :attr:`scenario` leaves out."""
        return self.given or self.scenario

    @property
    def has_own_interval(self) -> bool:
        """Whether the scenario gives an interval in minutes, and not a rule for it."""
        return not isinstance(self.asked.checkpoint.interval_min, str)

    @property
    def wall_mttf_h(self) -> float:
        """Wall clock between two failures, as the run is now; infinite without failures. [h]"""
        return float(self.shown[1].mtbf_h)

    @property
    def hours_at_best(self) -> TimeBudget:
        """Hours at the best interval, as reported: simulated where the analytical model leaves something out."""
        return self.simulation.budget if self.simulation else self.budget

    @property
    def hours_as_given(self) -> TimeBudget | None:
        """Hours at the scenario's own interval, as reported; None where it gives none, or has no answer there."""
        if not self.has_own_interval:
            return None
        if self.simulation:
            return self.simulation_as_given.budget if self.simulation_as_given else None
        return self.budget_as_given

    @functools.cached_property
    def losses(self) -> Losses:
        """Hours and money lost as the run is now, or at the best interval where its own has no answer."""
        return Losses(self.scenario, self.hours_as_given or self.hours_at_best)

    @functools.cached_property
    def losses_at_best(self) -> Losses:
        """Hours and money lost at the best interval."""
        return Losses(self.scenario, self.hours_at_best)

    @functools.cached_property
    def prediction_interval(self) -> PredictionInterval | None:
        """The 95% prediction interval of a single run at the best interval; None without failures."""
        if self.single_runs:
            known = None if self.is_bound else self.asked.failures.posterior
            return of_simulated(self.single_runs, (self.asked.failures.n_events or known.shape) if known else None)
        return prediction_interval(
            self.scenario.override({INTERVAL: self._whole_min}),
            self.budget,
            None if self.calendar.done else self.dates,
            rate_is_exact=self.is_bound,
            simulate=self.simulates,
        )

    @functools.cached_property
    def unexplained(self) -> Unexplained | None:
        """The part of a measured loss that the model does not explain; None where no ETTR was measured, or it agrees.

        Raises
        ------
        InputError
            More was measured than the simulated runs reach.
        """
        ettr = 1 - self.losses.total.share
        return None if self.is_bound else unexplained(self.asked, ettr)

    @functools.cached_property
    def assumptions(self) -> Assumptions:
        """What is assumed, and how far that leaves the ETTR open."""
        return assumptions(self.scenario)

    @functools.cached_property
    def across_clusters(self) -> Assumptions | None:
        """How far the failure rate of published clusters leaves it open; None of a run whose rate is its own."""
        return across_clusters(self.scenario)

    @property
    def ranges(self) -> tuple[Assumptions, ...]:
        """The ranges of the ETTR, each with what it is of: at this failure rate, and across published clusters."""
        return tuple(one for one in (self.assumptions, self.across_clusters) if one is not None and one.inputs)

    @property
    def published(self) -> evidence.PublishedEttr | None:
        """What was published for another run of similar size, the nearest; None where there is none."""
        found = evidence.published_near(self.asked.cluster.n_gpus)
        own = self.asked.n_nodes == self.asked.observed_nodes and found and found.source in self.asked.sources
        return None if own else found

    @functools.cached_property
    def recommendation(self) -> Recommendation | None:
        """The mitigations to choose together; None for a run without failures, or one that practically never ends."""
        return self.recommend()

    def recommend(
        self, budget_usd: float = math.inf, of: Catalogue | None = None, only: Iterable[str] | None = None
    ) -> Recommendation | None:
        """The mitigations to choose together, within a budget, from a catalogue of one's own, or from a few.

        Parameters
        ----------
        budget_usd, of, only
            As for :func:`ettr.recommendation.recommend`.

        Returns
        -------
        Recommendation or None
            None for a run without failures, or one that practically never ends.
        """
        if float(self.budget.ettr) < HOPELESS or not math.isfinite(self.job_mttf_h):
            return None
        return recommend(self.scenario, budget_usd, of, only, asked=self.asked)

    @functools.cached_property
    def simulation(self) -> Simulation | None:
        """Runs of what no closed form follows, at the best interval; None where nothing is left out."""
        return _simulated(self.asked, self.band.interval_min) if self.left_out and self.simulates else None

    @functools.cached_property
    def single_runs(self) -> Simulation | None:
        """As many simulated runs, each at a failure rate from what is known of it; None where nothing is left out."""
        return at_uncertain_rate(self.simulation) if self.simulation and not self.is_bound else self.simulation

    @functools.cached_property
    def simulation_as_given(self) -> Simulation | None:
        """Runs at the scenario's own interval; None where it gives none, hardly trains, or nothing is left out."""
        own = self.budget_as_given if self.has_own_interval and self.simulation else None
        if own is None or float(own.ettr) < _LEAST_SIMULATED:
            return None
        try:
            return _simulated(self.asked, self.scenario.interval_min)
        except NoProgress:
            return None

    @functools.cached_property
    def dates(self) -> Dates | None:
        """When the run is done, at the best interval; None of a job that has no end, or where that is not simulated."""
        asked = self.best if self.is_bound else self.asked.override({INTERVAL: self._whole_min})
        return dates_of(
            asked,
            self.calendar,
            self.single_runs,
            self.assumptions,
            rate_is_exact=self.is_bound,
            simulate=self.simulates,
        )

    @property
    def without_dates(self) -> str:
        """When the run is done on average, and how to have its dates simulated; empty where they are known."""
        if not self.asked.ends or self.dates is not None:
            return ""
        hours, calendar = self.budget_over_time or self.hours_at_best, self.calendar
        mean_day = calendar.by(float(hours.total_h) * (1 - calendar.done))
        due = " and the probability of keeping the deadline" if calendar.deadline else ""
        return f"Done {mean_day} on average; other dates{due} are simulated: {how_to_simulate()}."

    @functools.cached_property
    def due(self) -> Deadline | None:
        """Whether it is done by the deadline of :attr:`calendar`; None without one."""
        known = self.dates if self.calendar.deadline else None
        return deadline_of(known, self.recommendation, simulate=self.simulates) if known else None

    def deadline(self, by: str, start: str, zone: str | None = None, done: str | float = 0.0) -> Deadline:
        """Whether the run is done by a date, at which interval that is likeliest, and what it would take.

        Parameters
        ----------
        by, start, zone, done
            As in :func:`ettr.plan.calendar_of`.

        Raises
        ------
        InputError
            A job without an end, a date that is none, or one before the work could be done.
        NotModelled
            There is no transform, and nothing may be simulated.

        Examples
        --------
        >>> from ettr import plan
        >>> answer = plan.make("llama3-405b").deadline("2027-03-08", start="2027-01-15")
        >>> 0 < answer.day_earlier < answer.probability < answer.day_later < 1
        True
        """
        calendar = calendar_of(start, by, zone, done)
        check_ends(self.asked, calendar)
        due = replace(self, calendar=calendar).due
        if due is None:
            raise NotModelled(f"the dates of this run are simulated: {how_to_simulate()}")
        return due

    @property
    def _whole_min(self) -> float:
        """The best interval, as near to it as the tiers let it be. [min]"""
        return whole_interval_min(self.asked, self.band.interval_min)

    @property
    def shown(self) -> tuple[Scenario, TimeBudget]:
        """The run as given with its hours; with the best interval where the given one has no answer."""
        return (self.scenario, self.budget_as_given) if self.budget_as_given else (self.best, self.budget)

    @property
    def bands(self) -> pd.DataFrame:
        """Ranges that hold each quantity with 50% and 95%, as in :attr:`known`; empty where the rate is not known."""
        return self.known.frame

    @property
    def band_source(self) -> str:
        """A part of a sentence: which input the bands come from, or which one is missing."""
        return self.known.source

    @property
    def warnings(self) -> tuple[str, ...]:
        """Values far outside what is plausible, and risks that the best ETTR does not show, a sentence each."""
        return (*implausible(self.asked), *plan_warnings(self))

    @property
    def failures_per_day(self) -> float:
        """Failures per day of wall clock at the best interval. [1/d]"""
        return float(self.hours_at_best.n_failures / self.hours_at_best.total_h * 24)

    @property
    def effective_throughput(self) -> float:
        """Training at full speed per wall clock at the best interval: ETTR times the speed of training."""
        return float(self.hours_at_best.ettr) * self.scenario.speed

    @property
    def checkpoints_to_keep(self) -> int | None:
        """Newest checkpoints to keep so that one is from before a silent failure; None if all are noticed."""
        latencies, run = self.best.latencies_h, self.best
        return int(checkpoints_to_keep(max(latencies), run.interval_h + run.stall_h)) if latencies else None

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain numbers, for JSON; infinite values become None."""
        given, band, tiered = self.scenario, self.band, self.budget_of_tiers
        own = self.hours_as_given if self.simulation else self.budget_as_given
        analytical = {"ettr": float(self.budget.ettr), "time_budget": self.budget.to_dict()}
        record = {
            "scenario": given.name,
            "n_gpus": given.cluster.n_gpus,
            "observed_gpus": given.rate_observed_on_gpus,
            "job_mttf_h": self.job_mttf_h,
            "wall_mttf_h": self.wall_mttf_h,
            "job_mttf_95_h": self.job_mttf_95_h,
            "failures_per_day": self.failures_per_day,
            "interval_min": band.interval_min,
            "band_min": [band.low_min, band.high_min],
            "band_points": band.points,
            "ettr": float(self.hours_at_best.ettr),
            "analytical": analytical if self.simulation else None,
            "speed": given.speed,
            "effective_throughput": self.effective_throughput,
            "time_budget": self.hours_at_best.to_dict(),
            "over_time": self.budget_over_time.to_dict() if self.budget_over_time else None,
            "as_given": {
                "interval_min": given.interval_min,
                "ettr": float(own.ettr) if own else None,
                "time_budget": own.to_dict() if own else None,
            },
            "tiers": self.tiers,
            "ettr_of_tiers": float(tiered.ettr) if tiered else None,
            "checkpoints_to_keep": self.checkpoints_to_keep,
            "bands": self.known.rows,
            "band_source": self.band_source,
            "left_out": self.left_out,
            "assumed": assumed_fields(given),
            "losses": record_of(self.losses),
            "losses_at_best": record_of(self.losses_at_best),
            "prediction_interval": self.prediction_interval,
            "warnings": self.warnings,
            "assumptions": self.assumptions.to_dict(),
            "recommendation": self.recommendation.to_dict() if self.recommendation else None,
            "ranges": [
                {key: record[key] for key in ("label", "low", "high", "leading", "given")}
                for record in (one.to_dict() for one in self.ranges)
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
        """The best interval, and the ETTR there."""
        every = f"every {duration(self.band.interval_min / 60)}" if math.isfinite(self.job_mttf_h) else "never"
        return f"{self.scenario.name}: checkpoint {every}, ETTR {pct(float(self.budget.ettr))}"

    def report(self, short: bool = False) -> Report:
        """What to do, what is lost, and how sure that is, on one screen; ``short`` without what is lost and to do."""
        return plan_report(self, short)

    def details(self) -> Report:
        """Bands, budgets, ranges and what is not ranked."""
        return plan_details(self)


def make(scenario: Scenario | str | Path, simulate: bool = True, calendar: Calendar | None = None) -> Plan:
    """Plan the checkpoints of a run.

    Parameters
    ----------
    scenario : Scenario, or its name or file
        The run.
    simulate : bool
        Whether the plan may ask the simulator about what no closed form follows, when that is looked at.
    calendar : Calendar, optional
        When the run starts, by when it has to be done, and how much of it is: :func:`ettr.plan.calendar_of`.

    Returns
    -------
    Plan
        Time to failure, best interval and its band, and time budgets. A run whose failure rate changes is planned at
        its mean rate, and integrated at the interval that is best there. What only simulation follows is left out, and
        named.

    Raises
    ------
    NotModelled
        Mechanisms that no closed form holds for together.
    OutsideValidity
        No closed form holds for the run, e.g. it would practically never end.
    InputError
        A measured ETTR is more than the other inputs allow, or a deadline is before the work could be done.

    Examples
    --------
    >>> from ettr import Scenario, plan
    >>> answer = plan.make(Scenario.load("llama3-405b"))
    >>> round(answer.band.interval_min, 1), round(answer.budget.ettr, 3)
    (7.7, 0.91)
    """
    asked = Scenario.of(scenario)
    calendar = calendar or Calendar()
    check_ends(asked, calendar)
    seen = _at_the_bound(asked)
    plain = budget.without_extras(seen)
    try:
        run = any_interval(plain.scenario, formula=_form(plain.scenario))
    except NotModelled:
        plain = budget.simplified(seen)
        run = any_interval(plain.scenario)
    scenario, changing = plain.scenario, None
    if run.ageing:
        changing, run = run, _at_mean_rate(run)
        scenario = scenario.override(steady(scenario, run.rate / changing.rate if run.rate else 1.0))
    try:
        band = flat_band(run)
        best_run = replace(run, tau=band.interval_min / MIN_PER_H)
        at_best = budget.exact(best_run)
    except OutsideValidity as error:
        raise OutsideValidity(hopeless(scenario, calendar)) from error
    as_given, reason = None, ""
    if scenario.checkpoint.interval_min == "best":
        run = best_run
        if not run.has_interval_rule:  # which only a plan finds
            scenario = scenario.override({INTERVAL: band.interval_min, "measured": scenario.measured})
    elif isinstance(scenario.checkpoint.interval_min, str):
        run = replace(run, tau=scenario.interval_h)
    try:
        as_given = budget.exact(run)
    except OutsideValidity as error:
        reason = str(error)
    if seen is asked:
        unexplained(asked, float((as_given or at_best).ettr))  # a measured ETTR that the inputs do not allow is refused
    of_tiers_h = best_tiers_h(run) if run.tiers else None
    bands = bands_of(scenario, band.interval_min, at_best, as_given, run)
    return Plan(
        scenario=scenario,
        best=scenario.override({"checkpoint.interval_min": band.interval_min}),
        job_mttf_h=scenario.job_mttf_h,
        job_mttf_95_h=mttf_interval_h(scenario),
        band=band,
        budget=at_best,
        budget_as_given=as_given,
        no_budget_as_given=reason,
        changing=plain.scenario if changing else None,
        budget_over_time=budget.over_time(replace(changing, tau=best_run.tau)) if changing else None,
        tiers=() if of_tiers_h is None else tier_plans(scenario, run, of_tiers_h),
        budget_of_tiers=None if of_tiers_h is None else budget.exact(run.with_intervals(tuple(of_tiers_h))),
        known=bands,
        left_out=plain.left_out,
        given=asked,
        is_bound=seen is not asked,
        simulates=simulate,
        calendar=calendar,
    )


_LEAST_SIMULATED = 0.05
"""A run that trains less than this share of its time with the current interval meets too many failures to simulate."""
_RUNS, _ERROR = 400, 0.001
"""Runs of what no closed form follows, and standard error of their mean at which they are enough."""


def _at_the_bound(scenario: Scenario) -> Scenario:
    """A run of which no failure was seen at the largest rate that fits with that; other runs as they are."""
    known = scenario.failures.posterior
    if scenario.failures.n_events != 0 or known is None:
        return scenario
    most = gamma_interval(known.shape, known.node_days, 2 * BOUND - 1).high
    gamma = {"shape": known.shape, "node_days": known.node_days}
    return scenario.override({RATE: float(most), "failures.rate_gamma": gamma, "failures.modes": []})


def _simulated(scenario: Scenario, interval_min: float) -> Simulation:
    """Runs of a scenario at an interval, as near to it as its tiers let it be."""
    with extras.needed("simulate", WITHOUT):
        from ettr.simulation import simulate
    at = scenario.override({INTERVAL: whole_interval_min(scenario, interval_min)})
    return simulate(at, _RUNS, until=_ERROR)


def _form(scenario: Scenario) -> str:
    """The closed form that takes its failure rate as it is."""
    return "over_time" if scenario.failures.burn_in or scenario.failures.lifetime else "exact"


def _at_mean_rate(run: JobInHours) -> JobInHours:
    """The run at the mean rate that it meets with the interval that is best for it."""
    settled = replace(run, ageing=None)
    if run.ageing is None or not run.ageing.changes or run.rate == 0:
        return settled
    tau = run.tau if math.isfinite(run.tau) else float(best_h(settled)[0])  # a rule's is not known yet
    mean_per_h = budget.mean_rate_per_h(replace(run, tau=tau))
    for _ in range(_ROUNDS):
        interval_h = float(best_h(replace(settled, rate=mean_per_h))[0])
        mean_per_h = budget.mean_rate_per_h(replace(run, tau=interval_h))
    return replace(settled, rate=mean_per_h)


def presets() -> pd.DataFrame:
    """All presets side by side.

    Returns
    -------
    DataFrame
        ``name``, ``title``, ``n_gpus`` [GPUs], ``rate_per_1000_node_days``, ``job_mttf_h`` [h], ``ettr`` at the own
        interval, ``best_interval_min`` [min], ``n_assumed`` (values that rest on an assumption).
    """
    import pandas as pd

    return pd.DataFrame([_preset(Scenario.load(name)) for name in evidence.scenario_names()])


def _preset(run: Scenario) -> dict[str, Any]:
    return {
        "name": run.name,
        "title": run.title,
        "n_gpus": run.cluster.n_gpus,
        "rate_per_1000_node_days": run.failure_rate,
        "job_mttf_h": run.job_mttf_h,
        "ettr": budget.exact(run).ettr,
        "best_interval_min": best_interval_min(run),
        "n_assumed": len(assumed_fields(run)),
    }
