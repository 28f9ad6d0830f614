"""A run with its best checkpoint interval, and what follows from it."""

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
"""A job that trains less than this share of the time practically never ends."""
_LEAST_SIMULATED = 0.05
"""A run that trains less than this share of its time with the current interval meets too many failures to simulate."""
_RUNS, _ERROR = 400, 0.001
"""Runs of what no closed form follows, and standard error of their mean at which they are enough."""


@dataclass(frozen=True, repr=False, eq=False)
class PlannedRun:
    """A run with its best checkpoint interval.

    Attributes
    ----------
    original : Scenario
        The run as it was given.
    scenario : Scenario
        The run that the closed forms follow: :attr:`original` without what is in :attr:`left_out`, at the mean of a
        failure rate that changes.
    best : Scenario
        The same with the best interval.
    band : BestInterval
        Best interval and the range as good as it.
    budget : TimeBudget
        Hours at the best interval.
    budget_as_given : TimeBudget or None
        Hours at the scenario's own interval; None where no closed form holds for it.
    no_budget_as_given : str
        Why not; empty otherwise.
    bands : Bands
        Ranges that hold each quantity with 50% and 95%, by how well the failure rate is known.
    changing : Scenario or None
        The run with its changing failure rate, if it changes: :attr:`scenario` then has its mean rate.
    budget_over_time : TimeBudget or None
        Hours of that run at the best interval, integrated over the changing rate.
    tiers : tuple of TierPlan
        Each tier with its own interval and that of the best of all together, the store last; empty without tiers.
    budget_of_tiers : TimeBudget or None
        Hours with the best of all together.
    left_out : tuple of str
        What the closed forms have no term for and the plan does without, a few words and the fields each.
    is_bound : bool
        Whether no failure was seen, and the rate is the most that fits with that.
    simulates : bool
        Whether the simulator may be asked about what was left out.
    calendar : Calendar
        When the run starts, by when it has to be done, and how much of it is.
    """

    original: Scenario
    scenario: Scenario
    best: Scenario
    band: BestInterval
    budget: TimeBudget
    budget_as_given: TimeBudget | None
    no_budget_as_given: str
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
        """95% interval of it, from what is known of the failure rate; None if nothing is. [h]"""
        return mttf_interval_h(self.scenario)

    @property
    def current(self) -> tuple[Scenario, TimeBudget]:
        """The run with its own interval and its hours; with the best interval where its own has no answer."""
        return (self.scenario, self.budget_as_given) if self.budget_as_given else (self.best, self.budget)

    @property
    def has_own_interval(self) -> bool:
        """Whether the scenario gives an interval in minutes, and not a rule for it."""
        return not isinstance(self.original.checkpoint.interval_min, str)

    @property
    def wall_mttf_h(self) -> float:
        """Wall clock between two failures, as the run is now; infinite without failures. [h]"""
        return float(self.current[1].mtbf_h)

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
            return self._simulation_as_given.budget if self._simulation_as_given else None
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
        """The part of a measured loss that the model does not explain; None where no ETTR was measured, or it agrees.

        Raises
        ------
        InputError
            More was measured than the simulated runs reach.
        """
        ettr = 1 - self.losses.total.share
        return None if self.is_bound else unexplained(self.original, ettr)

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
        nearest = evidence.published_near(self.original.cluster.n_gpus)
        is_observed = self.original.n_nodes == self.original.observed_nodes
        is_own = is_observed and nearest and nearest.source in self.original.sources
        return None if is_own else nearest

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
        return recommend(self.scenario, budget_usd, of, only, original=self.original)

    @functools.cached_property
    def simulation(self) -> Simulation | None:
        """Runs of what no closed form follows, at the best interval; None where nothing is left out."""
        return _simulated(self.original, self.band.interval_min) if self.left_out and self.simulates else None

    @functools.cached_property
    def single_runs(self) -> Simulation | None:
        """As many simulated runs, each at a failure rate from what is known of it; None where nothing is left out."""
        return at_uncertain_rate(self.simulation) if self.simulation and not self.is_bound else self.simulation

    @functools.cached_property
    def _simulation_as_given(self) -> Simulation | None:
        """Runs at the scenario's own interval; None where it gives none, hardly trains, or nothing is left out."""
        own = self.budget_as_given if self.has_own_interval and self.simulation else None
        if own is None or float(own.ettr) < _LEAST_SIMULATED:
            return None
        try:
            return _simulated(self.original, self.scenario.interval_min)
        except NoProgress:
            return None

    @functools.cached_property
    def dates(self) -> Dates | None:
        """When the run is done, at the best interval; None of a job that has no end, or where that is not simulated."""
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
        """When the run is done on average, and how to have its dates simulated; empty where they are known."""
        if not self.original.ends or self.dates is not None:
            return ""
        hours, calendar = self.budget_over_time or self.hours_at_best, self.calendar
        mean_day = calendar.by(float(hours.total_h) * (1 - calendar.done))
        due = " and the probability of keeping the deadline" if calendar.deadline else ""
        return f"Done {mean_day} on average; other dates{due} are simulated: {how_to_simulate()}."

    @functools.cached_property
    def due(self) -> Deadline | None:
        """Whether it is done by the deadline of :attr:`calendar`; None without one."""
        dates = self.dates if self.calendar.deadline else None
        return deadline_of(dates, self.recommendation, simulate=self.simulates) if dates else None

    @property
    def _whole_min(self) -> float:
        """The best interval, as near to it as the tiers let it be. [min]"""
        return whole_interval_min(self.original, self.band.interval_min)

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


def _simulated(scenario: Scenario, interval_min: float) -> Simulation:
    """Runs of a scenario at an interval, as near to it as its tiers let it be."""
    with extras.needed("simulate", WITHOUT):
        from ettr.simulation import simulate
    at = scenario.override({INTERVAL: whole_interval_min(scenario, interval_min)})
    return simulate(at, _RUNS, until=_ERROR)
