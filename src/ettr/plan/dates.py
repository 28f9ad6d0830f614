"""By when a run is done, and with what probability."""

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
"""Probabilities that a sentence names dates for."""
_ALL_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
WITHOUT = "or plan without it, by --quick or simulate=False"
"""How a plan does without the simulator."""
_RUNS = 4000
"""Simulated where there is no transform: a date at 99 in 100 then rests on 40 runs."""
_LEAST_ETTR = 0.05
"""Rates beyond the first with a lower ETTR are not simulated: runs would meet failures by the thousand."""
_RATES = 40
"""Quantiles of an uncertain failure rate, at each of which runs are simulated."""


@dataclass(frozen=True, eq=False, repr=False)
class Dates(Answer):
    """When a run is done, at one interval.

    Attributes
    ----------
    scenario : Scenario
        The run, with the interval; where :attr:`finishing` is exact, without what only simulation follows.
    calendar : Calendar
        When it starts, and how much of it is done.
    finishing : Finishing
        The distribution of its hours from the start.
    counted : float or None
        Failures that its rate is known from, which is not known exactly then; None where the rate is taken as exact.
    left_out : tuple of str
        What the distribution does without.
    simulation : Simulation or None
        Runs with that, or those that the distribution itself is of; None where nothing was simulated.
    is_simulated : bool
        Whether the distribution itself is one of simulated runs.
    assumptions : Assumptions or None
        How far the ETTR is open for what is assumed.
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
    def over_assumed_h(self) -> tuple[float, float] | None:
        """Hours by which half of the runs are done, over what is assumed; None without a range of the ETTR. [h]"""
        assumed = self.assumptions
        if assumed is None or assumed.range is None:
            return None
        low, high = assumed.range
        middle_h = float(self.finishing.quantile(0.5))
        return middle_h * assumed.ettr / high, middle_h * assumed.ettr / low if low > 0 else math.inf

    @property
    def headline(self) -> str:
        """Dates with their probabilities."""
        return f"done {_by(self)}"

    @property
    def words(self) -> str:
        """The dates as sentences: the range over what is assumed, then chance."""
        rate_source = f", the rate being known from {count(self.counted)} failures" if self.counted else ""
        if self.simulated is not None:  # the range over the assumed inputs is one of the analytical model
            return f"Done {_by(self)}, {_simulated(self)} with {mechanisms(self.left_out)}{rate_source}."
        text = f"Done {_by(self)}{f', {_simulated(self)}' if self.is_simulated else ''}{rate_source}."
        if (over := self.over_assumed_h) is not None:
            text += f" Over what is assumed, half of the runs are done {_by_between(self.calendar, *over)}."
        return text

    @property
    def simulated(self) -> Finishing | None:
        """The distribution of the runs with what is left out; None without any, or with too few of them."""
        runs = self.simulation if self.left_out else None
        return runs.finishing if runs is not None and runs.n_runs >= _FEWEST else None

    def error_h(self, p: Any) -> Any:
        """Standard error of the reported date at a probability, because only so many runs were simulated. [h]

        0 for an exact distribution.
        """
        runs = self.simulation if self.is_simulated or self.simulated is not None else None
        return np.zeros(np.shape(p)) if runs is None else runs.finish_error_h(p)

    @property
    def shown(self) -> Finishing:
        """The distribution that is reported: of the simulated runs where there are some, else the analytical one."""
        return self.simulated or self.finishing

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        hours = {f"{p:g}": h for p, h in zip(_ALL_LEVELS, self.shown.quantile(_ALL_LEVELS).tolist(), strict=True)}
        errors = dict(zip(hours, self.error_h(_ALL_LEVELS).tolist(), strict=True))
        dates = {p: self.calendar.moment(h) for p, h in hours.items()}
        record = {
            **self.calendar.values,
            "finish": self.shown.to_dict(),
            "quantiles_h": hours,
            "errors_h": errors,
            "dates": {p: moment.isoformat() if moment else None for p, moment in dates.items()},
            "rate_known_from": self.counted,
            "over_what_is_assumed_h": self.over_assumed_h,
            "left_out": self.left_out,
            "is_simulated": self.is_simulated or self.simulated is not None,
        }
        return dict(plain_values(record))

    def report(self) -> Report:
        """The sentence, and a table of dates by probability."""
        rows = [
            (in_n(p), self.calendar.when(h), duration(h))
            for p, h in zip(_ALL_LEVELS, self.shown.quantile(_ALL_LEVELS).tolist(), strict=True)
            if math.isfinite(h)
        ]
        columns = ("of all runs are done", "by", "after")
        return [Note(self.words), Table(columns, rows, words=("by",))]


_FEWEST = 100
"""Simulated runs from which on a date at 9 in 10 is worth saying."""


def dates_of(
    scenario: Scenario,
    calendar: Calendar | None = None,
    simulation: Simulation | None = None,
    assumptions: Assumptions | None = None,
    *,
    rate_is_exact: bool = False,
    simulate: bool = True,
) -> Dates | None:
    """When a run is done.

    Parameters
    ----------
    scenario : Scenario
        The run, with its interval.
    calendar : Calendar, optional
        When it starts, and how much of it is done.
    simulation, assumptions
        As in :class:`Dates`, where they are known.
    rate_is_exact : bool
        Whether what is known of the rate is left out, as where it is a bound already.
    simulate : bool
        Whether runs may be simulated where there is no transform.

    Returns
    -------
    Dates or None
        None of a job that has no end, or that has no transform where nothing may be simulated, or the simulator is not
        installed.

    Raises
    ------
    OutsideValidity
        The run practically never ends.
    """
    if not scenario.ends:
        return None
    calendar = calendar or Calendar()
    posterior = None if rate_is_exact else scenario.failures.posterior
    exact_rate = posterior is None or posterior.shape < 1 or scenario.failures.n_events == 0
    counted = None if exact_rate or posterior is None else (scenario.failures.n_events or posterior.shape)
    if simulation is not None and calendar.done:  # which are of the whole run
        simulation = _rest(scenario, calendar.done, simulation.n_runs, exact_rate)
    try:
        followed, left_out = _followed(scenario)
        finish = budget.finishing(followed, rate_known=exact_rate, done=calendar.done)
    except (NotModelled, OutsideValidity):
        runs = simulated_rest(scenario, calendar.done, exact_rate) if simulate else None
        if runs is None:
            return None
        return Dates(scenario, calendar, runs.finishing, counted, (), runs, True, assumptions)
    return Dates(followed, calendar, finish, counted, left_out, simulation, False, assumptions)


def simulated_rest(scenario: Scenario, done: float, rate_is_exact: bool) -> Simulation | None:
    """Return runs of what is not done yet, from which dates can be read; None where the simulator is not installed.

    Unless ``rate_is_exact``, the failure rate differs between the runs as far as it is uncertain.
    """
    try:
        return _rest(scenario, done, _RUNS, rate_is_exact)
    except extras.MissingExtra:
        return None


def how_to_simulate() -> str:
    """Return what makes a plan simulate that did not, to end a sentence with."""
    return "leave out --quick (simulate=False)" if find_spec("numba") else "pip install 'ettr[simulate]'"


def _followed(scenario: Scenario) -> tuple[Scenario, tuple[str, ...]]:
    """The run without what no closed form has a term for, with nodes that have no memory; and what that leaves out."""
    kept = budget.without_extras(scenario)
    lifetime = kept.scenario.failures.lifetime
    if lifetime is None or lifetime.shape == 1:
        return kept.scenario, kept.left_out
    return budget.at_mean_rate(kept.scenario), (
        *kept.left_out,
        "nodes whose failure rate depends on age, at their mean rate",
    )


def _rest(scenario: Scenario, done: float, n_runs: int, rate_is_exact: bool) -> Simulation:
    """Runs of what is not done yet, without the first queue, in which a run under way waits no longer."""
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
    """Return about as many runs of the same scenario, at most 4,000, at failure rates from what is known of the rate.

    The rates are evenly spaced quantiles of the gamma distribution of the rate. Those at which a run hardly gets on are
    replaced by the highest rate that was simulated. Runs of a scenario that gives no uncertainty of its rate come back
    unchanged.
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
    for seed, quantile in enumerate(quantiles.tolist()):  # from the lowest rate to the highest
        try:
            at_rate = simulate(runs.scenario.override({RATE: 1000 * quantile / posterior.node_days}), n_each, seed=seed)
        except NoProgress:
            tables += [tables[-1] if tables else runs.rows] * (_RATES - seed)
            break
        tables.append(at_rate.rows)
        if at_rate.ettr < _LEAST_ETTR:
            tables += [at_rate.rows] * (_RATES - 1 - seed)
            break
    return replace(runs, rows=np.vstack(tables))


def in_n(p: float) -> str:
    """A probability as people say it, e.g. ``9 in 10``.

    Examples
    --------
    >>> in_n(0.9), in_n(0.99), in_n(0.5), in_n(0.25)
    ('9 in 10', '99 in 100', '1 in 2', '1 in 4')
    """
    for n in (2, 4, 10, 20, 100):
        if abs(p * n - round(p * n)) < 1e-9:
            return f"{round(p * n)} in {n}"
    return pct(p)


def _by(dates: Dates) -> str:
    """Dates at both probabilities, e.g. ``by 14 March 2027 (chance 9 in 10), 20 March 2027 (99 in 100)``."""
    calendar = dates.calendar
    first_h, last_h = dates.shown.quantile(LEVELS).tolist()
    first, last = (in_n(p) for p in LEVELS)
    if not math.isfinite(first_h):
        return f"by no date with a chance of {first}"
    until = calendar.by(first_h)
    if dates.simulated is not None:  # too few runs for the other level
        return f"{until} (chance {first})"
    if not math.isfinite(last_h):
        return f"{until} (chance {first}), by no date with {last}"
    if calendar.when(first_h) == calendar.when(last_h):
        return f"{until} (chance {first}, and {last})"
    late = calendar.day(last_h) or duration(last_h)
    return f"{until} (chance {first}), {late} ({last})"


def _simulated(dates: Dates) -> str:
    """How many runs the dates rest on, and how far that leaves them open."""
    runs = dates.simulation
    assert runs is not None
    levels = LEVELS[:1] if dates.simulated is not None else LEVELS
    errors = [duration(error_h, about) for error_h in dates.error_h(levels) if math.isfinite(error_h)]
    error = f" (standard error {' and '.join(errors)})" if errors else ""
    return f"simulated in {count(runs.n_runs)} runs{error}"


def _by_between(calendar: Calendar, low_h: float, high_h: float) -> str:
    if not math.isfinite(high_h):
        return f"{calendar.by(low_h)} at best, and never at worst"
    first, last = calendar.moment(low_h), calendar.moment(high_h)
    if first is None or last is None:
        return f"after {span((low_h, high_h), float)}"
    low, high = (calendar.when(hours) for hours in (low_h, high_h))
    if low == high:
        return f"by {high}"
    if (first.year, first.month) == (last.year, last.month):
        return f"by {first.day} to {high}"
    return f"by {low.removesuffix(f' {first.year}') if first.year == last.year else low} to {high}"


def check_ends(scenario: Scenario, calendar: Calendar) -> None:
    """Refuse dates of a job that has no end, and a deadline before its work could be done."""
    if (calendar.start or calendar.done) and not scenario.ends:
        raise InputError(
            f"{scenario.title} has no end, and so no date or deadline: say how much training it needs, e.g. "
            "--productive-h 1000 (job.productive_h)"
        )
    if (deadline_h := calendar.deadline_h) is None:
        return
    least_h = scenario.work_h * (1 - calendar.done)
    if not calendar.done and scenario.starts:
        least_h += scenario.first_queue_h + scenario.restart_h + scenario.load_h
    if deadline_h < least_h:
        raise InputError(
            f"the deadline is {duration(deadline_h)} after the start, and the work alone takes {duration(least_h)}: "
            "give a later deadline, or an earlier start"
        )
