"""A run with its best checkpoint interval, and the quantities that follow from it."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ettr import evidence
from ettr.budget.intervals import BestInterval, whole_interval_min
from ettr.checkpoint import checkpoints_to_keep
from ettr.core import extras
from ettr.core.errors import NoProgress
from ettr.core.results import TimeBudget
from ettr.plan.bands import Bands, mttf_interval_h
from ettr.plan.calendar import Calendar
from ettr.plan.dates import WITHOUT, Dates, at_uncertain_rate, dates_of, how_to_simulate
from ettr.plan.deadline import Deadline, deadline_of
from ettr.plan.losses import Losses
from ettr.plan.single_run import PredictionInterval, of_simulated, prediction_interval
from ettr.plan.storage import Storage, storage_of
from ettr.plan.tiers import TierPlan
from ettr.plan.unexplained import Unexplained, unexplained
from ettr.ranges import Assumptions, across_clusters, assumptions
from ettr.recommendation.answer import Recommendation
from ettr.recommendation.best_set import recommend
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ettr.mitigation import Catalogue
    from ettr.simulation import Simulation

HOPELESS = 0.01
"""Below this ETTR a job practically never ends."""
_LOWEST_SIMULATED = 0.05
"""Below this ETTR at the current interval a run meets too many failures to be simulated."""
_RUNS, _ERROR = 400, 0.001
"""Maximum number of simulated runs, and the standard error of their mean at which fewer are enough."""


@dataclass(frozen=True, repr=False, eq=False)
class PlannedRun:
    """A run with its best checkpoint interval.

    Attributes
    ----------
    original : Scenario
        The run as the user describes it.
    scenario : Scenario
        The run as the analytical model covers it: :attr:`original` without the mechanisms in :attr:`left_out`, at the
        mean of a changing failure rate.
    best : Scenario
        :attr:`scenario` with the best interval.
    band : BestInterval
        Best interval, and the range of intervals that are nearly as good.
    budget : TimeBudget
        Hours at the best interval.
    budget_at_current : TimeBudget or None
        Hours at the scenario's current interval; None where the analytical model has no answer.
    no_budget_reason : str
        The reason for that; empty otherwise.
    bands : Bands
        50% and 95% intervals of each quantity, from the uncertainty of the failure rate.
    changing : Scenario or None
        The run with a failure rate that changes over time, if it does; :attr:`scenario` then has the mean rate.
    budget_over_time : TimeBudget or None
        Hours of that run at the best interval, integrated over the changing rate.
    tiers : tuple of TierPlan
        Each tier with its current and its jointly optimal interval, the store last; empty without tiers.
    budget_of_tiers : TimeBudget or None
        Hours with the jointly optimal intervals.
    left_out : tuple of str
        Mechanisms that the analytical model does not cover, each in a few words with its fields.
    is_bound : bool
        Whether no failure was observed, so that the rate is an upper limit.
    simulates : bool
        Whether the simulator may be used for the mechanisms left out.
    calendar : Calendar
        Start date, deadline, and the share of the work that is done.

    Examples
    --------
    >>> from ettr import plan
    >>> planned = plan.make("llama3-405b")
    >>> round(planned.wall_mttf_h, 1), round(planned.failures_per_day, 1)
    (3.1, 7.8)
    """

    original: Scenario
    scenario: Scenario
    best: Scenario
    band: BestInterval
    budget: TimeBudget
    budget_at_current: TimeBudget | None
    no_budget_reason: str
    bands: Bands
    changing: Scenario | None = None
    budget_over_time: TimeBudget | None = None
    tiers: tuple[TierPlan, ...] = ()
    budget_of_tiers: TimeBudget | None = None
    left_out: tuple[str, ...] = ()
    is_bound: bool = False
    simulates: bool = True
    calendar: Calendar = field(default_factory=Calendar)

    @property
    def job_mttf_h(self) -> float:
        """Mean time to failure of the job in exposed hours; infinite without failures. [h]"""
        return self.scenario.job_mttf_h

    @property
    def job_mttf_95_h(self) -> tuple[float, float] | None:
        """95% CI of :attr:`job_mttf_h`; None if the failure rate has no uncertainty. [h]"""
        return mttf_interval_h(self.scenario)

    @property
    def current(self) -> tuple[Scenario, TimeBudget]:
        """The run with its current interval, and its hours; with the best interval where the current has no answer."""
        return (self.scenario, self.budget_at_current) if self.budget_at_current else (self.best, self.budget)

    @property
    def has_fixed_interval(self) -> bool:
        """Whether the scenario gives its interval in minutes, not as a rule."""
        return not isinstance(self.original.checkpoint.interval_min, str)

    @property
    def wall_mttf_h(self) -> float:
        """Mean time between failures on the wall clock at the current interval; infinite without failures. [h]"""
        return float(self.current[1].mtbf_h)

    @property
    def hours_at_best(self) -> TimeBudget:
        """Reported hours at the best interval; simulated where the analytical model leaves something out."""
        return self.simulation.budget if self.simulation else self.budget

    @property
    def hours_at_current(self) -> TimeBudget | None:
        """Reported hours at the current interval; None where the scenario gives none, or it has no answer."""
        if not self.has_fixed_interval:
            return None
        if self.simulation:
            return self._simulation_at_current.budget if self._simulation_at_current else None
        return self.budget_at_current

    @functools.cached_property
    def losses(self) -> Losses:
        """Lost hours and money at the current interval, or at the best one where the current has no answer."""
        return Losses(self.scenario, self.hours_at_current or self.hours_at_best)

    @functools.cached_property
    def losses_at_best(self) -> Losses:
        """Lost hours and money at the best interval."""
        return Losses(self.scenario, self.hours_at_best)

    @functools.cached_property
    def prediction_interval(self) -> PredictionInterval | None:
        """The 95% prediction interval of a single run at the best interval; None without failures."""
        if self.single_runs:
            failures = self.original.failures
            posterior = None if self.is_bound else failures.posterior
            return of_simulated(self.single_runs, (failures.n_events or posterior.shape) if posterior else None)
        return prediction_interval(
            self.scenario.override({INTERVAL: self._whole_min}),
            self.budget,
            None if self.calendar.done else self.dates,
            rate_is_exact=self.is_bound,
            simulate=self.simulates,
        )

    @functools.cached_property
    def unexplained(self) -> Unexplained | None:
        """The measured loss that the model does not explain; None without a measured ETTR, or where both agree.

        Raises
        ------
        InputError
            The measured ETTR is above that of the simulated runs.
        """
        ettr = 1 - self.losses.total.share
        return None if self.is_bound else unexplained(self.original, ettr)

    @functools.cached_property
    def assumptions(self) -> Assumptions:
        """The assumed inputs, and the plausible range of the ETTR."""
        return assumptions(self.scenario)

    @functools.cached_property
    def across_clusters(self) -> Assumptions | None:
        """The plausible range with failure rates of published clusters; None if the rate was observed on the run."""
        return across_clusters(self.scenario)

    @property
    def ranges(self) -> tuple[Assumptions, ...]:
        """The plausible ranges of the ETTR: at this failure rate, and across published clusters."""
        both = (self.assumptions, self.across_clusters)
        return tuple(plausible for plausible in both if plausible is not None and plausible.inputs)

    @property
    def published(self) -> evidence.PublishedEttr | None:
        """The published ETTR of the run nearest in size; None where there is none of similar size."""
        nearest = evidence.published_near(self.original.cluster.n_gpus)
        is_observed = self.original.n_nodes == self.original.observed_nodes
        is_same_run = is_observed and nearest and nearest.source in self.original.sources
        return None if is_same_run else nearest

    @functools.cached_property
    def recommendation(self) -> Recommendation | None:
        """The mitigations to choose together; None for a run without failures, or one that practically never ends."""
        return self.recommend()

    def recommend(
        self, budget_usd: float = math.inf, of: Catalogue | None = None, only: Iterable[str] | None = None
    ) -> Recommendation | None:
        """Return the mitigations to choose together, within a budget, from another catalogue, or from a selection.

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
        return recommend(self.scenario, budget_usd, of, only, original=self.original)

    @functools.cached_property
    def simulation(self) -> Simulation | None:
        """Simulated runs at the best interval with all mechanisms; None where nothing is left out."""
        return _simulated(self.original, self.band.interval_min) if self.left_out and self.simulates else None

    @functools.cached_property
    def single_runs(self) -> Simulation | None:
        """Simulated runs at failure rates drawn from their uncertainty; None where nothing is left out."""
        return at_uncertain_rate(self.simulation) if self.simulation and not self.is_bound else self.simulation

    @functools.cached_property
    def _simulation_at_current(self) -> Simulation | None:
        """Simulated runs at the current interval; None without one, with hardly any progress, or nothing left out."""
        current = self.budget_at_current if self.has_fixed_interval and self.simulation else None
        if current is None or float(current.ettr) < _LOWEST_SIMULATED:
            return None
        try:
            return _simulated(self.original, self.scenario.interval_min)
        except NoProgress:
            return None

    @functools.cached_property
    def dates(self) -> Dates | None:
        """The finishing date at the best interval; None for a job without an end, or where that needs a simulation."""
        run = self.best if self.is_bound else self.original.override({INTERVAL: self._whole_min})
        return dates_of(
            run,
            self.calendar,
            self.single_runs,
            self.assumptions,
            rate_is_exact=self.is_bound,
            simulate=self.simulates,
        )

    @property
    def without_dates(self) -> str:
        """The mean finishing date and how to simulate the others; empty where :attr:`dates` has them."""
        if not self.original.ends or self.dates is not None:
            return ""
        hours, calendar = self.budget_over_time or self.hours_at_best, self.calendar
        mean_day = calendar.by(float(hours.total_h) * (1 - calendar.done))
        due = " and the probability of meeting the deadline" if calendar.deadline else ""
        return f"On average the run finishes {mean_day}. Other dates{due} need the simulator: {how_to_simulate()}."

    @functools.cached_property
    def due(self) -> Deadline | None:
        """The probability of meeting the deadline of :attr:`calendar`; None without one."""
        dates = self.dates if self.calendar.deadline else None
        return deadline_of(dates, self.recommendation, simulate=self.simulates) if dates else None

    @property
    def _whole_min(self) -> float:
        """The best interval, rounded to a multiple of the tiers' intervals. [min]"""
        return whole_interval_min(self.original, self.band.interval_min)

    @functools.cached_property
    def storage(self) -> Storage | None:
        """The storage that the checkpoints need; None where the scenario does not give their size."""
        best_min = self.band.interval_min if math.isfinite(self.job_mttf_h) else None
        current_min = self.scenario.interval_min if self.has_fixed_interval else None
        return storage_of(
            self.scenario, best_min, current_min, self.original.checkpoint.n_kept or self.checkpoints_to_keep
        )

    @property
    def failures_per_day(self) -> float:
        """Failures per day of wall-clock time at the best interval. [1/d]"""
        return float(self.hours_at_best.n_failures / self.hours_at_best.total_h * 24)

    @property
    def effective_throughput(self) -> float:
        """Full-speed training per wall-clock time at the best interval: ETTR times training speed, in [0, 1]."""
        return float(self.hours_at_best.ettr) * self.scenario.speed

    @property
    def checkpoints_to_keep(self) -> int | None:
        """Newest checkpoints to keep so that one predates a silent failure; None if no failure is silent."""
        latencies, run = self.original.latencies_h, self.best
        return int(checkpoints_to_keep(max(latencies), run.interval_h + run.stall_h)) if latencies else None


def _simulated(scenario: Scenario, interval_min: float) -> Simulation:
    """Return simulated runs of a scenario at an interval, rounded to a multiple of its tiers' intervals."""
    with extras.needed("simulate", WITHOUT):
        from ettr.simulation import simulate
    at = scenario.override({INTERVAL: whole_interval_min(scenario, interval_min)})
    return simulate(at, _RUNS, until=_ERROR)
