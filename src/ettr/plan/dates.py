"""The finishing date of a run, with its probability."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr import budget
from ettr.budget.simplify import mechanisms
from ettr.core import extras
from ettr.core.errors import InputError, NoProgress, NotModelled, OutsideValidity
from ettr.core.finishing import Finishing
from ettr.core.report import Answer, Note, Report, Table, plain_values
from ettr.core.results import PARTS
from ettr.core.sentences import about, count, duration, pct, span
from ettr.plan.calendar import Calendar
from ettr.scenario import Scenario
from ettr.scenario.paths import RATE

if TYPE_CHECKING:
    from ettr.ranges.assumed import Assumptions
    from ettr.simulation import Simulation

LEVELS = (0.9, 0.99)
"""Shares of runs whose dates a sentence names."""
_ALL_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
WITHOUT = "or plan without it (`simulate=False`)"
"""How to plan without the simulator."""
_RUNS = 4000
"""Simulated runs where the analytical model gives no date: the P99 then rests on 40 runs."""
_LOWEST_ETTR = 0.05
"""Failure rates beyond the first with a lower ETTR are not simulated: runs would meet thousands of failures."""
_RATES = 40
"""Quantiles of an uncertain failure rate at which runs are simulated."""


@dataclass(frozen=True, eq=False, repr=False)
class Dates(Answer):
    """The distribution of the finishing date of a run.

    Attributes
    ----------
    scenario : Scenario
        The run with its interval; where :attr:`finishing` is exact, without the mechanisms in :attr:`left_out`.
    calendar : Calendar
        Start date, and the share of the work that is done.
    finishing : Finishing
        Distribution of the hours from the start.
    counted : float or None
        Failures from which the failure rate was estimated, whose uncertainty is included; None if the rate is exact.
    left_out : tuple of str
        Mechanisms that the distribution leaves out.
    simulation : Simulation or None
        Simulated runs with these mechanisms, or the runs of the distribution itself; None where nothing was simulated.
    is_simulated : bool
        Whether the distribution itself comes from simulated runs.
    assumptions : Assumptions or None
        The plausible range of the ETTR.

    Examples
    --------
    >>> dates = dates_of(Scenario.load("llama3-405b"))
    >>> round(float(dates.finishing.quantile(0.9)) / 24, 1)
    53.8
    """

    scenario: Scenario
    calendar: Calendar
    finishing: Finishing
    counted: float | None
    left_out: tuple[str, ...] = ()
    simulation: Simulation | None = None
    is_simulated: bool = False
    assumptions: Assumptions | None = None

    @cached_property
    def plausible_median_h(self) -> tuple[float, float] | None:
        """Median finishing time across the plausible range of the ETTR; None without such a range. [h]"""
        if self.assumptions is None or self.assumptions.range is None:
            return None
        (low, high), ettr = self.assumptions.range, self.assumptions.ettr
        median_h = float(self.finishing.quantile(0.5))
        return median_h * ettr / high, median_h * ettr / low if low > 0 else math.inf

    @property
    def headline(self) -> str:
        """The P90 and P99 dates."""
        return _by(self)

    @property
    def words(self) -> str:
        """The P90 and P99 dates, and the plausible range of the median, as sentences."""
        basis = f"failure rate estimated from {count(self.counted)} failures" if self.counted else ""
        if self.simulated is not None:  # the plausible range is one of the analytical model
            basis = "; ".join(filter(None, [f"{_simulated(self)} with {mechanisms(self.left_out)}", basis]))
            return f"{_by(self)} ({basis})."
        basis = "; ".join(filter(None, [_simulated(self) if self.is_simulated else "", basis]))
        text = f"{_by(self)}{f' ({basis})' if basis else ''}."
        if self.plausible_median_h is not None:
            text += (
                " Across the plausible range of the assumed inputs, the median run finishes "
                f"{_by_between(self.calendar, *self.plausible_median_h)}."
            )
        return text

    @property
    def simulated(self) -> Finishing | None:
        """The distribution of simulated runs with the mechanisms left out; None without or with too few runs."""
        runs = self.simulation if self.left_out else None
        return runs.finishing if runs is not None and runs.n_runs >= _FEWEST else None

    def error_h(self, p: Any) -> Any:
        """Return the standard error of the reported date at a probability; 0 for an exact distribution. [h]"""
        runs = self.simulation if self.is_simulated or self.simulated is not None else None
        return np.zeros(np.shape(p)) if runs is None else runs.finish_error_h(p)

    @property
    def reported(self) -> Finishing:
        """The reported distribution: of the simulated runs if there are any, else the analytical one."""
        return self.simulated or self.finishing

    def to_dict(self) -> dict[str, Any]:
        """Return the distribution, its quantiles and the dates for JSON."""
        hours = {f"{p:g}": h for p, h in zip(_ALL_LEVELS, self.reported.quantile(_ALL_LEVELS).tolist(), strict=True)}
        errors = dict(zip(hours, self.error_h(_ALL_LEVELS).tolist(), strict=True))
        dates = {p: self.calendar.moment(h) for p, h in hours.items()}
        record = {
            **self.calendar.values,
            "finish": self.reported.to_dict(),
            "quantiles_h": hours,
            "errors_h": errors,
            "dates": {p: moment.isoformat() if moment else None for p, moment in dates.items()},
            "rate_known_from": self.counted,
            "over_what_is_assumed_h": self.plausible_median_h,
            "left_out": self.left_out,
            "is_simulated": self.is_simulated or self.simulated is not None,
        }
        return dict(plain_values(record))

    def report(self) -> Report:
        """Return the sentences, and a table of dates by share of runs."""
        rows = [
            (pct(p, 0), self.calendar.when(h), duration(h))
            for p, h in zip(_ALL_LEVELS, self.reported.quantile(_ALL_LEVELS).tolist(), strict=True)
            if math.isfinite(h)
        ]
        columns = ("share of runs finished", "by", "after")
        return [Note(self.words), Table(columns, rows, words=("by",))]


_FEWEST = 100
"""Simulated runs that a P90 date needs."""


def dates_of(
    scenario: Scenario,
    calendar: Calendar | None = None,
    simulation: Simulation | None = None,
    assumptions: Assumptions | None = None,
    *,
    rate_is_exact: bool = False,
    simulate: bool = True,
) -> Dates | None:
    """Return the distribution of the finishing date of a run.

    Parameters
    ----------
    scenario : Scenario
        The run, with its interval.
    calendar : Calendar, optional
        Start date, and the share of the work that is done.
    simulation, assumptions
        As in :class:`Dates`, where they exist already.
    rate_is_exact : bool
        Whether to ignore the uncertainty of the failure rate, for example because it is an upper limit already.
    simulate : bool
        Whether runs may be simulated where the analytical model gives no distribution.

    Returns
    -------
    Dates or None
        None for a job without an end, or where the distribution needs the simulator and that is not allowed or not
        installed.

    Raises
    ------
    OutsideValidity
        The run practically never ends.

    Examples
    --------
    >>> from ettr.plan import calendar_of
    >>> dates_of(Scenario.load("llama3-405b"), calendar_of("2027-01-15")).headline
    '90% of runs finish by 9 March 2027, 99% by 10 March 2027'
    """
    if not scenario.ends:
        return None
    calendar = calendar or Calendar()
    posterior = None if rate_is_exact else scenario.failures.posterior
    exact_rate = posterior is None or posterior.shape < 1 or scenario.failures.n_events == 0
    counted = None if exact_rate or posterior is None else (scenario.failures.n_events or posterior.shape)
    if simulation is not None and calendar.done:  # those runs include the work that is done
        simulation = _rest(scenario, calendar.done, simulation.n_runs, exact_rate)
    try:
        covered, left_out = _covered(scenario)
        finish = budget.finishing(covered, rate_known=exact_rate, done=calendar.done)
    except (NotModelled, OutsideValidity):
        runs = simulated_rest(scenario, calendar.done, exact_rate) if simulate else None
        if runs is None:
            return None
        return Dates(scenario, calendar, runs.finishing, counted, (), runs, True, assumptions)
    return Dates(covered, calendar, finish, counted, left_out, simulation, False, assumptions)


def simulated_rest(scenario: Scenario, done: float, rate_is_exact: bool) -> Simulation | None:
    """Return simulated runs of the remaining work; None where the simulator is not installed.

    Unless ``rate_is_exact``, the failure rate of each run is drawn from its uncertainty.
    """
    try:
        return _rest(scenario, done, _RUNS, rate_is_exact)
    except extras.MissingExtra:
        return None


def how_to_simulate() -> str:
    """Return how to have a plan simulated, to end a sentence with."""
    return "leave out `simulate=False`" if find_spec("numba") else "pip install 'ettr[simulate]'"


def _covered(scenario: Scenario) -> tuple[Scenario, tuple[str, ...]]:
    """Return the run as far as the analytical model covers it, with memoryless nodes, and the mechanisms left out."""
    kept = budget.without_extras(scenario)
    lifetime = kept.scenario.failures.lifetime
    if lifetime is None or lifetime.shape == 1:
        return kept.scenario, kept.left_out
    return budget.at_mean_rate(kept.scenario), (
        *kept.left_out,
        "nodes whose failure rate depends on age, at their mean rate",
    )


def _rest(scenario: Scenario, done: float, n_runs: int, rate_is_exact: bool) -> Simulation:
    """Return runs of the remaining work; a run under way does not wait in the first queue."""
    with extras.needed("simulate", WITHOUT):
        from ettr.simulation import simulate
    if done:
        rest = {"job.productive_h": scenario.productive_h * (1 - done)}
        scenario = scenario.override({"job.tokens": None, **rest} if scenario.job.tokens else rest)
    runs = simulate(scenario, n_runs)
    if not rate_is_exact:
        runs = at_uncertain_rate(runs)
    if done and scenario.starts:
        table = runs.rows.copy()
        table[:, PARTS.index("queue_h")] -= scenario.first_queue_h
        runs = replace(runs, rows=table)
    return runs


def at_uncertain_rate(runs: Simulation) -> Simulation:
    """Return runs of the same scenario whose failure rate varies with its uncertainty.

    The number of runs is about the same, at most 4,000. The rates are evenly spaced quantiles of the gamma
    distribution of the rate. Rates at which a run makes hardly any progress are replaced by the highest rate that was
    simulated. Runs of a scenario without an uncertain rate are returned unchanged.
    """
    posterior = runs.scenario.failures.posterior
    if posterior is None or posterior.shape < 1 or runs.scenario.failures.n_events == 0:
        return runs
    with extras.needed("simulate", WITHOUT):
        from ettr.simulation import simulate
    from scipy.special import gammaincinv

    quantiles = gammaincinv(posterior.shape, (np.arange(_RATES) + 0.5) / _RATES)
    n_each = math.ceil(min(runs.n_runs, _RUNS) / _RATES)
    tables: list[np.ndarray] = []
    for seed, quantile in enumerate(quantiles.tolist()):  # in ascending order of the rate
        try:
            at_rate = simulate(runs.scenario.override({RATE: 1000 * quantile / posterior.node_days}), n_each, seed=seed)
        except NoProgress:
            tables += [tables[-1] if tables else runs.rows] * (_RATES - seed)
            break
        tables.append(at_rate.rows)
        if at_rate.ettr < _LOWEST_ETTR:
            tables += [at_rate.rows] * (_RATES - 1 - seed)
            break
    return replace(runs, rows=np.vstack(tables))


def _by(dates: Dates) -> str:
    """Return the P90 and P99 dates, e.g. ``90% of runs finish by 14 March 2027, 99% by 20 March 2027``."""
    calendar = dates.calendar
    first_h, last_h = dates.reported.quantile(LEVELS).tolist()
    first, last = (pct(p, 0) for p in LEVELS)
    if not math.isfinite(first_h):
        return f"Fewer than {first} of runs ever finish"
    text = f"{first} of runs finish {calendar.by(first_h)}"
    if dates.simulated is not None:  # too few runs for the other level
        return text
    if not math.isfinite(last_h):
        return f"{text}; fewer than {last} ever finish"
    if calendar.when(first_h) == calendar.when(last_h):
        return f"{first} and even {last} of runs finish {calendar.by(first_h)}"
    late = calendar.day(last_h) or duration(last_h)
    return f"{text}, {last} {'by' if calendar.day(last_h) else 'within'} {late}"


def _simulated(dates: Dates) -> str:
    """Return the number of simulated runs behind the dates, and the standard errors."""
    runs = dates.simulation
    assert runs is not None
    levels = LEVELS[:1] if dates.simulated is not None else LEVELS
    errors = [duration(error_h, about) for error_h in dates.error_h(levels) if math.isfinite(error_h)]
    error = f" (standard error {' and '.join(errors)})" if errors else ""
    return f"simulated in {count(runs.n_runs)} runs{error}"


def _by_between(calendar: Calendar, low_h: float, high_h: float) -> str:
    """Return the range of two dates, or of two durations where there is no start date."""
    if not math.isfinite(high_h):
        return f"{calendar.by(low_h)} at best; at worst the job never ends"
    first, last = calendar.moment(low_h), calendar.moment(high_h)
    if first is None or last is None:
        return f"after {span((low_h, high_h), float)}"
    low, high = (calendar.when(hours) for hours in (low_h, high_h))
    if low == high:
        return f"by {high}"
    if (first.year, first.month) == (last.year, last.month):
        return f"between {first.day} and {high}"
    return f"between {low.removesuffix(f' {first.year}') if first.year == last.year else low} and {high}"


def check_ends(scenario: Scenario, calendar: Calendar) -> None:
    """Refuse dates for a job without an end, and a deadline that even a run without failures would miss."""
    if (calendar.start or calendar.done) and not scenario.ends:
        raise InputError(
            f"{scenario.title} has no end, so it has no finishing date and no deadline: set the training that it "
            "needs, e.g. job.productive_h = 1000 [h]"
        )
    if (deadline_h := calendar.deadline_h) is None:
        return
    without_failures_h = scenario.work_h * (1 - calendar.done)
    if not calendar.done and scenario.starts:
        without_failures_h += scenario.first_queue_h + scenario.restart_h + scenario.load_h
    if deadline_h < without_failures_h:
        raise InputError(
            f"the deadline must be at least {duration(without_failures_h)} after the start, the time that the work "
            f"takes without failures, got {duration(deadline_h)}"
        )
