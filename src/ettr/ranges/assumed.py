"""How far a plan may be off by what is assumed: all assumed inputs over their plausible ranges, together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ettr.budget.closed_forms import out_of_order, quiet_budget
from ettr.budget.intervals import any_interval, best_h
from ettr.budget.refusals import barred
from ettr.core.errors import InputError
from ettr.core.report import Answer, Headline, Report, Table, plain_values
from ettr.core.sentences import gpus, limit, pct
from ettr.core.units import LAST_DIGITS, unit_of
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.basics import Plausible, WhereZero
from ettr.scenario.fields import amount_of, given_at, is_written, meta_at
from ettr.scenario.paths import INTERVAL, N_GPUS, bounds_at, list_of

TAILS = (0.05, 0.95)
"""Quantiles between which a range reaches."""
_DRAWS, _SEED = 4096, 0
_FEWEST = 100
"""Draws that must agree with what is known of the run for a range to be printed."""
_MOST_TRIES = 8
"""Points that are tried for each draw that is wanted, before fewer valid draws are used."""
_WORTH_SAYING = 0.05
"""Share of redrawn points from which on the range says so."""
_AROUND = 2.0
"""How many times smaller or larger a value may be for whose range there is no source (assumed)."""
_NOT_ASSUMED = (N_GPUS, "job.productive_h")
"""Size and work are what is planned for."""


@dataclass(frozen=True)
class Assumed:
    """One assumed input.

    Attributes
    ----------
    field : str
        Dotted path, by which it is set.
    name : str
        What a sentence calls it.
    value, low, high : float
        What is assumed, and how far it may be from that, in the unit of the field.
    unit : str
        Its unit; empty for a fraction.
    source : str
        Bibliography key of who prints such values; empty where the range is assumed too.
    reason : str
        How the range follows.
    """

    field: str
    name: str
    value: float
    low: float
    high: float
    unit: str
    source: str
    reason: str

    def at(self, u: np.ndarray) -> np.ndarray:
        """Values at points of the unit interval: log-uniform, or uniform for shares and from zero on."""
        if self.low > 0 and self.unit:
            return np.asarray(self.low * (self.high / self.low) ** u)
        return np.asarray(self.low + (self.high - self.low) * u)


@dataclass(frozen=True, eq=False, repr=False)
class Assumptions(Answer):
    """What a plan assumes, and what that leaves open.

    Attributes
    ----------
    scenario : Scenario
        The run as given.
    inputs : tuple of Assumed
        What is assumed, the one that matters most first.
    shares : tuple of float
        How much of the spread each explains alone, over all draws: the square of its correlation with the ETTR.
    ettr : float
        At the plan's interval with all of them as assumed.
    values : ndarray
        ETTR of each draw that does not contradict what is known of the run.
    n_draws : int
        Valid draws, including those that contradict it.
    at_half, at_twice : float or None
        ETTR with half and twice the input that matters most.
    agrees : bool
        Whether what is assumed itself does not contradict what is known of the run.
    n_redrawn : int
        Draws that were rejected and redrawn because together they break a rule of the scenario.
    rule : str
        A rule that they break, where every draw breaks one; empty otherwise.
    """

    scenario: Scenario
    inputs: tuple[Assumed, ...]
    shares: tuple[float, ...]
    ettr: float
    values: np.ndarray
    n_draws: int
    at_half: float | None
    at_twice: float | None
    agrees: bool = True
    n_redrawn: int = 0
    rule: str = ""

    @cached_property
    def sourced(self) -> bool:
        """Whether at least half of the ranges have a source: others do not make a range that is worth printing."""
        return 2 * sum(bool(one.source) for one in self.inputs) >= len(self.inputs) > 0

    @cached_property
    def range(self) -> tuple[float, float] | None:
        """ETTR between its 5th and 95th percentile, as far as the answer itself; None where most have no source."""
        if not self.sourced or self.values.size < _FEWEST:
            return None
        low, high = np.quantile(self.values, TAILS)
        if not self.agrees:
            return float(low), float(high)
        return min(float(low), self.ettr), max(float(high), self.ettr)

    @property
    def leading(self) -> Assumed | None:
        """The input that matters most."""
        return self.inputs[0] if self.inputs else None

    @property
    def condition(self) -> str:
        """What some of the draws did not agree with, as part of a sentence; empty if all did."""
        return condition_of(self.scenario) if self.values.size < self.n_draws else ""

    @property
    def words(self) -> str:
        """The range as a headline carries it, e.g. ``86 to 93% over what is assumed; mostly the detection time``."""
        leading = self.leading
        if leading is None:
            return "nothing is assumed"
        if not self.n_draws:
            return f"no plausible range: every draw of the assumed inputs breaks a rule: {self.rule}"
        given = f", given {self.condition}" if self.condition else ""
        if self.range is None:
            if self.at_half is None or self.at_twice is None:
                return f"no range: what is assumed contradicts {self.condition}"
            ends = f"{pct(self.at_half, 0)} or {pct(self.at_twice, 0)}"
            return f"{ends} with half or twice {leading.name}, which is assumed"
        low, high = self.range
        redrawn = self.n_redrawn / (self.n_redrawn + self.n_draws)
        noted = f"; {pct(redrawn, 0)} of the draws broke a rule and were redrawn" if redrawn > _WORTH_SAYING else ""
        return f"{span(low, high)} over what is assumed{given}; mostly {leading.name}{noted}"

    @property
    def headline(self) -> str:
        """The ETTR and its range."""
        return f"ETTR {pct(self.ettr)}, {self.words}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        low, high = self.range or (None, None)
        record = {
            "ettr": self.ettr,
            "low": low,
            "high": high,
            "leading": self.leading.field if self.leading else None,
            "at_half": self.at_half,
            "at_twice": self.at_twice,
            "given": self.condition,
            "n_draws": self.n_draws,
            "n_kept": self.values.size,
            "n_redrawn": self.n_redrawn,
            "inputs": [
                vars(one) | {"share_of_range": share} for one, share in zip(self.inputs, self.shares, strict=True)
            ],
        }
        return dict(plain_values(record))

    def report(self) -> Report:
        """Every assumed input with its range, the one that matters most first."""
        if not self.inputs:
            return [Headline("Nothing is assumed")]
        rows = [
            (
                one.field,
                f"{limit(one.value)} {one.unit}".strip(),
                f"{limit(one.low)} to {limit(one.high)}",
                f"{share:.0%}",
                one.source or "range assumed",
            )
            for one, share in zip(self.inputs, self.shares, strict=True)
        ]
        columns = ("assumed", "value", "range", "of the range", "source")
        return [Headline(self.headline), Table(columns, rows, words=("source",))]


def span(low: float, high: float) -> str:
    """A range of shares in the digits that tell its ends apart, e.g. ``86 to 93%``."""
    digits = 0 if round(100 * low) != round(100 * high) and high < 0.985 else 1
    ends = pct(low, digits), pct(high, digits)
    return ends[0] if ends[0] == ends[1] else f"{ends[0].removesuffix('%')} to {ends[1]}"


def condition_of(scenario: Scenario) -> str:
    """What is known of a run's ETTR, as part of a sentence; empty if nothing is."""
    at = scenario.measured.n_gpus if scenario.measured else None
    return known_of(scenario) + (f" on {gpus(at)}" if at and at != scenario.cluster.n_gpus else "")


def known_of(scenario: Scenario) -> str:
    """The same without the size that it was measured on."""
    known = scenario.measured
    if known is None:
        return ""
    origins = (scenario.evidence.get(f"measured.{name}") for name in ("ettr", "ettr_above", "ettr_below"))
    by = "published" if any(origin and origin.source for origin in origins) else "measured"
    if known.ettr is not None:
        return f"the {pct(known.ettr, 0)} {by}"
    bounds_of = [
        f"more than {pct(known.ettr_above, 0)}" if known.ettr_above is not None else "",
        f"up to {pct(known.ettr_below, 0)}" if known.ettr_below is not None else "",
    ]
    return f"{' and '.join(filter(None, bounds_of))}, as {by}"


def assumptions(scenario: Scenario, n: int = _DRAWS, seed: int = _SEED) -> Assumptions:
    """What a plan assumes, and how far its ETTR may be off for that.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n : int
        Draws.
    seed : int
        Of the draws.

    Returns
    -------
    Assumptions
        The range of the ETTR at the plan's interval, from the 5th to the 95th percentile, and as far as the answer
        itself, which may take the best end of several ranges, unless it contradicts what is known.

    Raises
    ------
    InputError, NotModelled
        As :func:`ettr.budget.best_interval_min`.

    Notes
    -----
    Points that fill all ranges evenly (:func:`even_points`), log-uniform; shares, and ranges that begin at zero,
    uniform. Draws whose ETTR at the scenario's own interval, and on the GPUs that it was measured on, contradicts
    ``measured`` are left out: a measured ETTR may be lower than a draw's, as a job loses time to more than what is
    modelled, and never higher. Draws that together break a rule of the scenario, such as a write to the store that is
    shorter than the write of a faster tier, are rejected and replaced by further points of the sequence.

    Examples
    --------
    >>> from ettr import Scenario, ranges
    >>> answer = ranges.assumptions(Scenario.load("llama3-405b"))
    >>> answer.range[0] < answer.ettr < answer.range[1]
    True
    """
    if n < _FEWEST:
        raise InputError(f"n must be >= {_FEWEST} draws, got {n}")
    run = any_interval(scenario)
    tau_h = best_h(run)[0]
    ettr = float(ettr_at(scenario, {}, tau_h)[0])
    inputs = tuple(assumed_inputs(scenario))
    if not inputs:
        return Assumptions(scenario, (), (), ettr, np.array([]), 0, None, None)
    u, values, n_redrawn = _valid_draws(scenario, inputs, tau_h, n, seed)
    at = {one.field: one.at(column) for one, column in zip(inputs, u.T, strict=True)}
    kept = agrees_with_what_is_known(scenario, at) if values.size else np.zeros(0, dtype=bool)
    shares = _explained(values, u)
    order = np.argsort(-shares, kind="stable")
    leading = inputs[order[0]]
    half, twice = _half_and_twice(scenario, leading, tau_h)
    return Assumptions(
        scenario,
        tuple(inputs[i] for i in order),
        tuple(float(shares[i]) for i in order),
        ettr,
        values[kept],
        values.size,
        half,
        twice,
        bool(agrees_with_what_is_known(scenario, {one.field: np.array([one.value]) for one in inputs})[0]),
        n_redrawn,
        "" if values.size else _broken_rule(scenario, inputs, tau_h, seed),
    )


def _values_at(inputs: Sequence[Assumed], u: np.ndarray) -> dict[str, np.ndarray]:
    """Return the drawn values of all inputs but the interval, which the plan chooses."""
    columns = zip(inputs, u.T, strict=True)
    return {assumed.field: assumed.at(column) for assumed, column in columns if assumed.field != INTERVAL}


def _valid_draws(
    scenario: Scenario, inputs: Sequence[Assumed], tau_h: Any, n: int, seed: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the first ``n`` valid points, the ETTR at each, and how many points were rejected on the way."""
    points, values = np.zeros((0, len(inputs))), np.zeros(0)
    for tries in range(1, _MOST_TRIES + 1):
        more = even_points(tries * n, len(inputs), seed)[points.shape[0] :]
        points = np.vstack([points, more])
        values = np.append(values, np.resize(ettr_at(scenario, _values_at(inputs, more), tau_h), len(more)))
        valid = np.flatnonzero(~np.isnan(values))[:n]
        if valid.size == n:
            return points[valid], values[valid], int(valid[-1]) + 1 - n
    return points[valid], values[valid], len(points) - valid.size


def _broken_rule(scenario: Scenario, inputs: Sequence[Assumed], tau_h: Any, seed: int) -> str:
    """Return the scenario's own message about the first draw that breaks a rule."""
    for u in even_points(_DRAWS, len(inputs), seed)[:, None]:
        at = _values_at(inputs, u)
        if np.isnan(ettr_at(scenario, at, tau_h)).any():
            try:
                scenario.override({path: float(values[0]) for path, values in at.items()})
            except InputError as error:
                return str(error).partition(f" ({next(iter(at))}=")[0]  # without the values of all inputs
    return "faster tiers must save and write no more slowly than the tiers above them"


def even_points(n: int, n_inputs: int, seed: int = 0) -> np.ndarray:
    """Points that fill the unit cube evenly: multiples of the square roots of primes, modulo 1 (Richtmyer).

    Returns
    -------
    ndarray of shape (n, n_inputs)

    Examples
    --------
    >>> even_points(3, 2).round(3).tolist()
    [[0.914, 0.232], [0.328, 0.964], [0.743, 0.696]]
    """
    primes = itertools.islice((p for p in itertools.count(2) if all(p % q for q in range(2, p))), n_inputs)
    steps = np.sqrt(np.fromiter(primes, dtype=float, count=n_inputs))
    begin = 0.5 + seed * (math.sqrt(5) - 1) / 2
    return np.asarray((begin + np.arange(1, n + 1)[:, None] * steps) % 1.0)


def assumed_inputs(scenario: Scenario) -> Iterator[Assumed]:
    """Inputs of the closed forms that no source gives, with their ranges."""
    assumed = {row["field"] for row in scenario.in_force() if row["status"] == "assumed"}
    left_out = barred(scenario).union(_NOT_ASSUMED)
    for path in scenario.swept:
        value = given_at(scenario, path)
        if path in left_out or list_of(path) or not isinstance(value, (int, float)):
            continue
        silent = value == 0 and not is_written(scenario, path) and path not in scenario.evidence
        if path not in assumed and not silent:
            continue
        idle = meta_at(path, Scenario).idle
        if isinstance(idle, WhereZero) and getattr(scenario, idle.quantity) == 0:
            continue
        if (ends := plausible(path, float(value), silent)) is not None:
            name = amount_of(path, Scenario)
            yield Assumed(path, name, float(value), ends.low, ends.high, unit_of(path), ends.source, ends.reason)


def plausible(path: str, value: float, silent: bool = False) -> Plausible | None:
    """The range of an assumed value; None of a zero that nothing is known to lift.

    A zero that nobody wrote, below what is plausible, says that the run does without.
    """
    known = meta_at(path, Scenario).plausible
    if known is not None and (known.low <= value <= known.high or (value == 0 and not silent)):
        return replace(known, low=min(known.low, value))
    if value <= 0:
        return None
    low, high = around(path, value)
    return Plausible(low, high, "", "half to double")


def around(path: str, value: float) -> tuple[float, float]:
    """Half and twice a value, as far as the rule of its field allows."""
    rules = dict(bounds_at(path, Scenario))
    most = min(rules.get("<=", np.inf), rules.get("<", np.inf) * (1 - LAST_DIGITS))
    least = max(rules.get(">=", 0.0), rules.get(">", 0.0))
    return max(value / _AROUND, least), min(value * _AROUND, most)


def ettr_at(scenario: Scenario, at: Mapping[str, Any], tau_h: Any = None) -> np.ndarray:
    """Return the ETTR at points, with this interval or the scenario's own, but none shorter than the write.

    It is 0 where the run practically never ends, and NaN where the values together break a rule of the faster tiers.
    """
    run = any_interval(scenario, at)
    tau_h = run.tau if tau_h is None else tau_h
    run = replace(run, tau=np.maximum(np.atleast_1d(tau_h), run.head))
    ettr = np.asarray(quiet_budget(run).ettr)
    if np.any(run.stops_per_h) and not np.isfinite(ettr).all():  # stops too many for their form: to first order then
        without = np.asarray(quiet_budget(replace(run, stops_per_h=0.0)).ettr) * (1 - run.stops_per_h * run.stop)
        ettr = np.where(np.isfinite(ettr), ettr, without)
    ettr = np.maximum(np.nan_to_num(ettr, nan=0.0), 0.0)
    return np.asarray(np.where(out_of_order(run), np.nan, ettr) if run.tiers else ettr)


def own_interval_h(scenario: Scenario, run: JobInHours) -> Any:
    return best_h(run)[0] if isinstance(scenario.checkpoint.interval_min, str) else run.tau


def agrees_with_what_is_known(scenario: Scenario, at: Mapping[str, Any]) -> np.ndarray:
    """Which draws do not contradict what is known of the run's ETTR."""
    known = scenario.measured
    n = next(iter(at.values())).size
    if known is None:
        return np.ones(n, dtype=bool)
    at = {**at, N_GPUS: np.full(n, float(known.n_gpus or scenario.cluster.n_gpus))}
    ettr = ettr_at(scenario, at, own_interval_h(scenario, any_interval(scenario, at)))
    least, most = known.ettr or known.ettr_above or 0.0, known.ettr_below or 1.0
    return np.asarray((ettr >= least) & (ettr <= most))


def _explained(values: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Square of each input's correlation with the values; zeros where there is none."""
    if values.size < 2 or np.ptp(values) == 0:
        return np.zeros(u.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.corrcoef(np.column_stack([values, u]), rowvar=False)[0, 1:]
    return np.asarray(np.nan_to_num(correlation) ** 2)


def _half_and_twice(scenario: Scenario, one: Assumed, tau_h: Any) -> tuple[float | None, float | None]:
    if one.field == INTERVAL or one.value == 0:
        return None, None
    half, twice = ettr_at(scenario, {one.field: np.array(around(one.field, one.value))}, tau_h).tolist()
    return None if math.isnan(half) else half, None if math.isnan(twice) else twice
