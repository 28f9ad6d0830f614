"""The probability that a run meets its deadline, the best interval for that, and the changes that would help."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr import budget, mitigation
from ettr.budget.intervals import any_interval, best_h, best_interval_min, whole_interval_min
from ettr.budget.simplify import mechanisms
from ettr.core.errors import InputError, NoProgress, NotModelled, OutsideValidity
from ettr.core.report import Answer, Note, Report, Table, plain_values
from ettr.core.sentences import about, duration, limit, listed, pct, usd
from ettr.core.units import H_PER_DAY, MIN_PER_H
from ettr.plan.dates import Dates, how_to_simulate, simulated_rest
from ettr.plan.fields import Field, field_of, solvable
from ettr.recommendation.answer import Recommendation
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.fields import amount_of
from ettr.scenario.paths import INTERVAL, N_GPUS, SPARES

WANTED = 0.9
"""Probability that a field is solved for."""
_SPACING = 1.5
"""Spacing of failure rates in standard deviations of the date; enough for two digits of the probability."""
_INTERVALS, _WIDEST = 25, 4.0
"""Number of intervals tried, and the factor by which they may be shorter or longer than the best."""
_VALUES, _ROUNDS = 9, 3
"""Values of a field tried at a time, between one that is enough and one that is not, and how often."""
_WORTH = 0.005
"""Differences of a probability below this are ignored."""


@dataclass(frozen=True)
class Lever:
    """The value that one field needs for the deadline, all else unchanged.

    Attributes
    ----------
    field, name, unit : str
        Dotted path, name in sentences, and unit; empty for a fraction.
    given : float
        Current value.
    value : float or None
        Limit at which the deadline is met with probability :data:`WANTED`; infinite if every value is enough, None if
        no value is.
    sense : {"at most", "at least"}
        Whether ``value`` is an upper or a lower limit.
    """

    field: str
    name: str
    unit: str
    given: float
    value: float | None
    sense: str


@dataclass(frozen=True, eq=False, repr=False)
class Deadline(Answer):
    """The probability that a run meets its deadline.

    Attributes
    ----------
    dates : Dates
        Distribution of the finishing date at the plan's interval.
    hours : float
        From the start to the deadline. [h]
    probability : float
        Probability of finishing by the deadline.
    day_earlier, day_later : float
        The same for a deadline one day earlier, and later.
    interval_min, at_interval : float
        The interval with the highest probability [min], and that probability.
    usd_per_day : float
        Cost of one day of the job. [USD]
    recommendation : Recommendation or None
        The mitigations to choose together.
    with_all : float or None
        Probability with all of them; None without any, or where it needs a simulation that did not take place.
    with_all_error : float or None
        Its standard error, where it was simulated.
    levers : tuple of Lever
        The value that each field alone would need for :data:`WANTED`; empty where that is reached.

    Examples
    --------
    >>> from ettr import plan
    >>> calendar = plan.calendar_of("2027-01-15", "2027-03-08")
    >>> due = plan.make("llama3-405b", calendar=calendar).due
    >>> due.hours, round(due.probability, 2)
    (1272.0, 0.05)
    """

    dates: Dates
    hours: float
    probability: float
    day_earlier: float
    day_later: float
    interval_min: float
    at_interval: float
    usd_per_day: float
    recommendation: Recommendation | None
    with_all: float | None
    with_all_error: float | None
    levers: tuple[Lever, ...]

    @property
    def headline(self) -> str:
        """The deadline and its probability."""
        return f"finished by {self.dates.calendar.deadline_day}: {share(self.probability)}"

    @property
    def simulated(self) -> float | None:
        """Probability in simulated runs with the mechanisms left out; None without such runs."""
        runs = self.dates.simulated
        return None if runs is None else float(runs.cdf(self.hours))

    @property
    def words(self) -> str:
        """The probability, the cost of a day, and the best interval for the deadline, as sentences."""
        text = f"Probability of finishing by the deadline {self.dates.calendar.deadline_day}: {share(self.probability)}"
        if len({share(p) for p in (self.day_earlier, self.probability, self.day_later)}) > 1:
            text += f" (a day earlier {share(self.day_earlier)}, a day later {share(self.day_later)})"
        if self.simulated is not None:
            beyond = mechanisms(self.dates.left_out)
            text += f", simulated with {beyond} (`simulate=False` plans without and shows what would help)"
        text += f". One day of the job costs {usd(about(self.usd_per_day))}."
        if self.at_interval > self.probability + _WORTH:
            every = duration(self.interval_min / MIN_PER_H)
            text += f" The probability is highest with a checkpoint every {every}: {share(self.at_interval)}."
        return text + self._with_words

    @property
    def _with_words(self) -> str:
        """The probability with the recommended mitigations, or how to get it."""
        if self.recommendation is None or not self.recommendation.ids or self.probability + _WORTH >= 1:
            return ""
        names = listed(self.recommendation.titles)
        if self.with_all is None:
            return f" The probability with {names} needs the simulator: {how_to_simulate()}."
        if self.with_all <= self.probability + _WORTH:
            return ""
        price = f" for {usd(self.recommendation.price_usd)}" if self.recommendation.price_usd else ""
        simulated = "" if self.with_all_error is None else " (simulated)"
        return f" With {names}{price}: {share(self.with_all)}{simulated}."

    def to_dict(self) -> dict[str, Any]:
        """Return the probabilities and the levers for JSON."""
        attributes = {name: value for name, value in vars(self).items() if name not in ("dates", "recommendation")}
        ids = self.recommendation.ids if self.recommendation else ()
        return dict(plain_values({**attributes, "simulated": self.simulated, "with": ids, "wanted": WANTED}))

    def report(self) -> Report:
        """Return the sentences, and a table of the values that each field would need."""
        sections: Report = [Note(self.words)]
        if not self.levers:
            return sections
        enough = [lever for lever in self.levers if lever.value is not None]
        if enough:
            rows = [(_bare(lever), _needed(lever), limit(lever.given), lever.unit) for lever in enough]
            columns = (f"any one of these gives {pct(WANTED, 0)}", "needed", "now", "unit")
            sections.append(Table(columns, rows, words=("unit",)))
        if short := [_bare(lever) for lever in self.levers if lever.value is None]:
            none = "Not enough alone at any value" if enough else f"None of these alone gives {pct(WANTED, 0)}"
            sections.append(Note(f"{none}: {listed(short)}.", dim=True))
        return sections


def deadline_of(dates: Dates, recommendation: Recommendation | None = None, *, simulate: bool = True) -> Deadline:
    """Return the probability that a run meets the deadline of its calendar.

    Parameters
    ----------
    dates : Dates
        Distribution of the finishing date; its calendar has a deadline.
    recommendation : Recommendation, optional
        The mitigations to choose together.
    simulate : bool
        Whether runs with these may be simulated, where they have no exact distribution.

    Returns
    -------
    Deadline

    Raises
    ------
    InputError
        The calendar has no deadline.

    Notes
    -----
    Each field is moved away from its best value until the probability falls below 90%, with the best interval at each
    value. All probabilities are averages over the uncertainty of the failure rate.

    Examples
    --------
    >>> from ettr import plan
    >>> dates = plan.dates_of(Scenario.load("llama3-405b"), plan.calendar_of("2027-01-15", "2027-03-08"))
    >>> round(deadline_of(dates).probability, 2)
    0.04
    """
    by_h = dates.calendar.deadline_h
    if by_h is None:
        raise InputError("the calendar has no deadline")
    finish, scenario = dates.reported, dates.scenario
    probability = float(finish.cdf(by_h))
    common: dict[str, Any] = {
        "dates": dates,
        "hours": by_h,
        "probability": probability,
        "day_earlier": float(finish.cdf(by_h - H_PER_DAY)),
        "day_later": float(finish.cdf(by_h + H_PER_DAY)),
        "usd_per_day": scenario.usd_per_h * H_PER_DAY,
    }
    if dates.is_simulated or dates.simulated is not None:  # only the analytical model can solve for levers
        return Deadline(
            **common,
            interval_min=scenario.interval_min,
            at_interval=probability,
            recommendation=None,
            with_all=None,
            with_all_error=None,
            levers=(),
        )
    in_time = _InTime.at(scenario, dates, by_h)
    interval_min, at_interval = in_time.best_interval(scenario, probability)
    with_all, error = _with(in_time, scenario, recommendation.ids if recommendation else (), simulate)
    return Deadline(
        **common,
        interval_min=interval_min,
        at_interval=at_interval,
        recommendation=recommendation,
        with_all=with_all,
        with_all_error=error,
        levers=() if probability >= WANTED else tuple(_levers(in_time, scenario)),
    )


@dataclass(frozen=True)
class _InTime:
    """Probability of finishing in time, for runs in hours."""

    by_h: float
    done: float
    rates: budget.Rates | None

    @classmethod
    def at(cls, scenario: Scenario, dates: Dates, by_h: float) -> _InTime:
        """Return the probability with the same uncertainty of the failure rate as in the dates."""
        done = dates.calendar.done
        if dates.counted is None:
            return cls(by_h, done, None)
        run = budget.accepted(scenario, formula="finishing")
        return cls(by_h, done, budget.posterior_rates(scenario, run, done, _SPACING))

    def __call__(self, run: JobInHours) -> np.ndarray:
        """Return the probability at each point of a run."""
        return np.asarray(budget.chance(run, self.by_h, self.rates, self.done))

    def simulated(self, scenario: Scenario) -> tuple[float | None, float | None]:
        """Return the share of simulated runs at the best interval, and its standard error; None without simulator."""
        best_min = whole_interval_min(scenario, best_interval_min(scenario))
        runs = simulated_rest(scenario.override({INTERVAL: best_min}), self.done, self.rates is None)
        if runs is None:
            return None, None
        share_in_time = float(runs.finishing.cdf(self.by_h))
        return share_in_time, math.sqrt(share_in_time * (1 - share_in_time) / runs.n_runs)

    def best_interval(self, scenario: Scenario, probability: float) -> tuple[float, float]:
        """Return the interval with the highest probability, and that; the current one unless another is better."""
        run = budget.accepted(scenario, formula="finishing")
        low_h, high_h = (float(end) for end in run.interval_ends)
        tried_h = float(run.tau) * np.geomspace(1 / _WIDEST, _WIDEST, _INTERVALS)
        tried_h = np.unique(np.clip(tried_h, low_h, high_h))
        if scenario.interval_min <= 0:
            return scenario.interval_min, probability
        probabilities = self(replace(run, tau=tried_h))
        best = int(np.argmax(probabilities))
        if probabilities[best] <= probability:
            return scenario.interval_min, probability
        return float(tried_h[best] * MIN_PER_H), float(probabilities[best])

    def at_best(self, scenario: Scenario, path: str, values: np.ndarray) -> np.ndarray:
        """Return the probability with values of a field, at the best interval for each."""
        run = any_interval(scenario, {path: values}, "finishing")
        return self(replace(run, tau=np.asarray(best_h(run)[0])))


def _with(
    in_time: _InTime, scenario: Scenario, ids: tuple[str, ...], simulate: bool
) -> tuple[float | None, float | None]:
    """Return the probability with mitigations at their best interval, and its standard error if it was simulated.

    None without mitigations, or without an answer.
    """
    if not ids:
        return None, None
    try:
        better = mitigation.apply(scenario, ids)
        try:
            run = any_interval(better, None, "finishing")
        except NotModelled:
            return in_time.simulated(better) if simulate else (None, None)
        return float(in_time(replace(run, tau=float(best_h(run)[0])))), None
    except (InputError, NoProgress, NotModelled, OutsideValidity):
        return None, None


def _levers(in_time: _InTime, scenario: Scenario) -> Iterator[Lever]:
    """Yield the value that each field would need, alone."""
    for path in solvable(scenario):
        if path in (INTERVAL, N_GPUS, SPARES, "job.productive_h"):  # more work has a higher ETTR, and a later end
            continue
        field = field_of(scenario, path)
        if field.sense == "between" or field.given == field.ideal:
            continue
        value = _limit_in_time(in_time, scenario, field)
        yield Lever(path, amount_of(path, Scenario), field.unit, field.given, value, field.sense)


def _limit_in_time(in_time: _InTime, scenario: Scenario, field: Field) -> float | None:
    """Return the worst value with which the probability is still high enough; None if no value is."""
    steps = field.steps()
    better = steps[steps <= field.given] if field.sense == "at most" else steps[steps >= field.given]
    values = np.unique(np.append(better, field.given))
    values = values if field.sense == "at most" else values[::-1]
    enough = in_time.at_best(scenario, field.path, values) >= WANTED
    if not enough[0]:
        return None
    if enough.all():
        return math.inf
    last = int(np.argmin(enough)) - 1
    good, bad = float(values[last]), float(values[last + 1])
    for _ in range(_ROUNDS):
        inner = good + (bad - good) * np.linspace(0.0, 1.0, _VALUES)
        enough = in_time.at_best(scenario, field.path, inner[1:-1]) >= WANTED
        last = int(np.argmin(enough)) if not enough.all() else enough.size
        good, bad = float(inner[last]), float(inner[last + 1])
    return good


def share(p: float) -> str:
    """Return a probability in per cent, never rounded to 0% or 100%.

    Examples
    --------
    >>> share(0.634), share(0.9991), share(0.0), share(0.0004)
    ('63%', 'more than 99%', '0%', 'less than 1%')
    """
    if p >= 0.995:
        return "more than 99%"
    return "less than 1%" if 0 < p <= 0.005 else pct(p, 0)


def _bare(lever: Lever) -> str:
    """Return the name of a field without its article."""
    return lever.name.removeprefix("the ")


def _needed(lever: Lever) -> str:
    if lever.value is None or math.isinf(lever.value):
        return "any"
    return f"{'<=' if lever.sense == 'at most' else '>='} {limit(lever.value, lever.sense)}"
