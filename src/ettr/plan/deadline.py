"""Whether a run is done by a date, at which interval that is likeliest, and what it would take."""

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
from ettr.plan.dates import Dates, how_to_simulate, in_n, simulated_rest
from ettr.plan.fields import Field, field_of, solvable
from ettr.recommendation.answer import Recommendation
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.fields import amount_of
from ettr.scenario.paths import INTERVAL, N_GPUS, SPARES

WANTED = 0.9
"""Probability that a field is solved for."""
_SPACING = 1.5
"""Of rates, in standard deviations of the date: of a probability that is solved for to two digits."""
_INTERVALS, _WIDEST = 25, 4.0
"""Intervals that are tried, and how many times shorter or longer than the best they may be."""
_VALUES, _ROUNDS = 9, 3
"""Values of a field that are tried at a time, between one that is enough and one that is not."""
_WORTH = 0.005
"""A probability that is higher by less than this is not higher."""


@dataclass(frozen=True)
class Lever:
    """What one field would have to be, all else as it is.

    Attributes
    ----------
    field, name, unit : str
        Dotted path, what a sentence calls it, and its unit; empty for a fraction.
    given : float
        What it is.
    value : float or None
        The last value with which the deadline is kept with the probability; infinite if every one is enough, None if
        none is.
    sense : {"at most", "at least"}
        How the value is meant.
    """

    field: str
    name: str
    unit: str
    given: float
    value: float | None
    sense: str


@dataclass(frozen=True, eq=False, repr=False)
class Deadline(Answer):
    """A run and a date.

    Attributes
    ----------
    dates : Dates
        When the run is done, at the plan's interval.
    hours : float
        From the start to the deadline. [h]
    probability : float
        Of being done by then.
    day_earlier, day_later : float
        The same for a deadline a day before, and after.
    interval_min, at_interval : float
        The interval at which it is likeliest, and the probability there. [min]
    usd_per_day : float
        What a day of the job costs. [USD]
    recommendation : Recommendation or None
        The mitigations to choose together.
    with_all : float or None
        Probability with all of them; None without any, or where that or the dates themselves take a simulation.
    with_all_error : float or None
        Its standard error, where it was simulated.
    levers : tuple of Lever
        What each field alone would have to be for :data:`WANTED`; empty where that is reached.
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
        """The probability, and the date."""
        return f"done by {self.dates.calendar.deadline_day}: {share(self.probability)}"

    @property
    def simulated(self) -> float | None:
        """Probability in runs with what the dates leave out; None without such runs."""
        runs = self.dates.simulated
        return None if runs is None else float(runs.cdf(self.hours))

    @property
    def words(self) -> str:
        """The probability, what a day is worth, and what would change it."""
        text = f"Done by the deadline, {self.dates.calendar.deadline_day}, with a chance of "
        text += share(self.probability)
        if len({share(p) for p in (self.day_earlier, self.probability, self.day_later)}) > 1:
            text += f"; a day earlier {share(self.day_earlier)}, a day later {share(self.day_later)}"
        if self.simulated is not None:
            text += f", simulated with {mechanisms(self.dates.left_out)} (`--quick` says what would help without)"
        text += f". A day of the job costs {usd(about(self.usd_per_day))}."
        if self.at_interval > self.probability + _WORTH:
            every = duration(self.interval_min / MIN_PER_H)
            text += f" Likeliest with a checkpoint every {every}: {share(self.at_interval)}."
        return text + self._with_words

    @property
    def _with_words(self) -> str:
        """What the recommended mitigations together would make of it, or what it takes to know."""
        if self.recommendation is None or not self.recommendation.ids or self.probability + _WORTH >= 1:
            return ""
        names = listed(list(self.recommendation.ids))
        if self.with_all is None:
            return f" The probability with {names} is simulated: {how_to_simulate()}."
        if self.with_all <= self.probability + _WORTH:
            return ""
        price = f" for {usd(self.recommendation.price_usd)}" if self.recommendation.price_usd else ""
        simulated = "" if self.with_all_error is None else " (simulated)"
        return f" With {names}{price}: {share(self.with_all)}{simulated}."

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        own = {name: value for name, value in vars(self).items() if name not in ("dates", "recommendation")}
        ids = self.recommendation.ids if self.recommendation else ()
        return dict(plain_values({**own, "simulated": self.simulated, "with": ids, "wanted": WANTED}))

    def report(self) -> Report:
        """The sentence, and what each field would have to be."""
        sections: Report = [Note(self.words)]
        if not self.levers:
            return sections
        enough = [lever for lever in self.levers if lever.value is not None]
        if enough:
            rows = [(_bare(lever), _needed(lever), limit(lever.given), lever.unit) for lever in enough]
            columns = (f"for {in_n(WANTED)}, one of these alone", "needed", "now", "unit")
            sections.append(Table(columns, rows, words=("unit",)))
        if short := [_bare(lever) for lever in self.levers if lever.value is None]:
            none = "Not enough alone, at any value" if enough else f"None of these is enough for {in_n(WANTED)} alone"
            sections.append(Note(f"{none}: {listed(short)}.", dim=True))
        return sections


def deadline_of(dates: Dates, recommendation: Recommendation | None = None, *, simulate: bool = True) -> Deadline:
    """Whether a run is done by the deadline of its calendar.

    Parameters
    ----------
    dates : Dates
        When it is done; its calendar has a deadline.
    recommendation : Recommendation, optional
        The mitigations to choose together.
    simulate : bool
        Whether runs with these may be simulated, where they have no exact distribution.

    Raises
    ------
    InputError
        The calendar has no deadline.

    Notes
    -----
    Each field is moved from its best value away as far as the run keeps the deadline with nine in ten, with the best
    interval at each value. The rate is mixed over what is known of it throughout.
    """
    by_h = dates.calendar.deadline_h
    if by_h is None:
        raise InputError("the calendar has no deadline")
    finish, scenario = dates.shown, dates.scenario
    chance = float(finish.cdf(by_h))
    common: dict[str, Any] = {
        "dates": dates,
        "hours": by_h,
        "probability": chance,
        "day_earlier": float(finish.cdf(by_h - H_PER_DAY)),
        "day_later": float(finish.cdf(by_h + H_PER_DAY)),
        "usd_per_day": scenario.usd_per_h * H_PER_DAY,
    }
    if dates.is_simulated or dates.simulated is not None:  # what would help is known of the analytical model only
        return Deadline(
            **common,
            interval_min=scenario.interval_min,
            at_interval=chance,
            recommendation=None,
            with_all=None,
            with_all_error=None,
            levers=(),
        )
    of = _Chance.at(scenario, dates, by_h)
    interval_min, at_interval = of.best_interval(scenario, chance)
    with_all, error = _with(of, scenario, recommendation.ids if recommendation else (), simulate)
    return Deadline(
        **common,
        interval_min=interval_min,
        at_interval=at_interval,
        recommendation=recommendation,
        with_all=with_all,
        with_all_error=error,
        levers=() if chance >= WANTED else tuple(_levers(of, scenario)),
    )


@dataclass(frozen=True)
class _Chance:
    """Probability of being done in time, of runs in hours."""

    by_h: float
    done: float
    rates: budget.Rates | None

    @classmethod
    def at(cls, scenario: Scenario, dates: Dates, by_h: float) -> _Chance:
        """Of a run whose rate is as well known as its dates have it."""
        done = dates.calendar.done
        if dates.counted is None:
            return cls(by_h, done, None)
        run = budget.accepted(scenario, formula="finishing")
        return cls(by_h, done, budget.posterior_rates(scenario, run, done, _SPACING))

    def __call__(self, run: JobInHours) -> np.ndarray:
        """At each point of a run."""
        return np.asarray(budget.chance(run, self.by_h, self.rates, self.done))

    def simulated(self, scenario: Scenario) -> tuple[float | None, float | None]:
        """Of simulated runs at the best interval, with its standard error; None where nothing can be simulated."""
        best_min = whole_interval_min(scenario, best_interval_min(scenario))
        runs = simulated_rest(scenario.override({INTERVAL: best_min}), self.done, self.rates is None)
        if runs is None:
            return None, None
        chance = float(runs.finishing.cdf(self.by_h))
        return chance, math.sqrt(chance * (1 - chance) / runs.n_runs)

    def best_interval(self, scenario: Scenario, chance: float) -> tuple[float, float]:
        """The interval at which it is likeliest, and the probability there; the scenario's own where none is better."""
        run = budget.accepted(scenario, formula="finishing")
        low_h, high_h = (float(end) for end in run.interval_ends)
        own_h = float(run.tau)
        tried_h = np.unique(np.clip(own_h * np.geomspace(1 / _WIDEST, _WIDEST, _INTERVALS), low_h, high_h))
        if scenario.interval_min <= 0:
            return scenario.interval_min, chance
        probabilities = self(replace(run, tau=tried_h))
        best = int(np.argmax(probabilities))
        if probabilities[best] <= chance:
            return scenario.interval_min, chance
        return float(tried_h[best] * MIN_PER_H), float(probabilities[best])

    def at_best(self, scenario: Scenario, path: str, values: np.ndarray) -> np.ndarray:
        """With values of a field, and the best interval at each."""
        run = any_interval(scenario, {path: values}, "finishing")
        return self(replace(run, tau=np.asarray(best_h(run)[0])))


def _with(of: _Chance, scenario: Scenario, ids: tuple[str, ...], simulate: bool) -> tuple[float | None, float | None]:
    """Probability with mitigations, at the best interval with them, and its standard error if it was simulated.

    None without any, or without an answer.
    """
    if not ids:
        return None, None
    try:
        better = mitigation.apply(scenario, ids)
        try:
            run = any_interval(better, None, "finishing")
        except NotModelled:
            return of.simulated(better) if simulate else (None, None)
        return float(of(replace(run, tau=float(best_h(run)[0])))), None
    except (InputError, NoProgress, NotModelled, OutsideValidity):
        return None, None


def _levers(of: _Chance, scenario: Scenario) -> Iterator[Lever]:
    for path in solvable(scenario):
        if path in (INTERVAL, N_GPUS, SPARES, "job.productive_h"):  # more work has a higher ETTR, and a later end
            continue
        field = field_of(scenario, path)
        if field.sense == "between" or field.given == field.ideal:
            continue
        value = _last(of, scenario, field)
        yield Lever(path, amount_of(path, Scenario), field.unit, field.given, value, field.sense)


def _last(of: _Chance, scenario: Scenario, field: Field) -> float | None:
    """The last value, from the best one on, with which the deadline is kept often enough."""
    steps = field.steps()
    better = steps[steps <= field.given] if field.sense == "at most" else steps[steps >= field.given]
    values = np.unique(np.append(better, field.given))
    values = values if field.sense == "at most" else values[::-1]
    enough = of.at_best(scenario, field.path, values) >= WANTED
    if not enough[0]:
        return None
    if enough.all():
        return math.inf
    last = int(np.argmin(enough)) - 1
    good, bad = float(values[last]), float(values[last + 1])
    for _ in range(_ROUNDS):
        inner = good + (bad - good) * np.linspace(0.0, 1.0, _VALUES)
        enough = of.at_best(scenario, field.path, inner[1:-1]) >= WANTED
        last = int(np.argmin(enough)) if not enough.all() else enough.size
        good, bad = float(inner[last]), float(inner[last + 1])
    return good


def share(p: float) -> str:
    """A probability as people say it: no more sure than that.

    Examples
    --------
    >>> share(0.634), share(0.9991), share(0.0), share(0.0004)
    ('63%', 'more than 99%', '0%', 'less than 1%')
    """
    if p >= 0.995:
        return "more than 99%"
    return "less than 1%" if 0 < p <= 0.005 else pct(p, 0)


def _bare(lever: Lever) -> str:
    """A field as a list and a table name it."""
    return lever.name.removeprefix("the ")


def _needed(lever: Lever) -> str:
    if lever.value is None or math.isinf(lever.value):
        return "any"
    return f"{'<=' if lever.sense == 'at most' else '>='} {limit(lever.value, lever.sense)}"
