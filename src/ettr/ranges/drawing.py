"""Draws of all assumed inputs together: valid, evenly spread, and in agreement with the measured ETTR of the run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ettr.budget.closed_forms import out_of_order, quiet_budget
from ettr.budget.intervals import any_interval, best_h
from ettr.core.errors import InputError
from ettr.core.seeds import Seed, seed_of
from ettr.ranges.inputs import Assumed, assumed_inputs
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE

FEWEST = 100
"""Draws that must agree with the measured ETTR for a range to be printed."""
N_DRAWS = 4096
TAILS = (0.05, 0.95)
"""Quantiles at the ends of a plausible range."""
_MOST_TRIES = 8
"""Points tried per requested draw before a smaller number of valid draws is accepted."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of the assumed inputs of a run.

    Attributes
    ----------
    inputs : tuple of Assumed
        The drawn inputs.
    at : Mapping of str to ndarray
        Values by path, one per draw, valid together and in agreement with the measured or published ETTR of the run.
        The checkpoint interval is not among them, because a plan chooses it.
    ettr : ndarray
        ETTR of each draw, at the interval that is best for the assumed values.
    shares : tuple of float
        Share of the variance that each input explains alone: the square of its correlation with the ETTR over all
        valid draws.
    n_valid, n_redrawn : int
        Valid draws, including those that contradict the measured ETTR; and draws that broke a rule of the scenario.
    rule : str
        A rule that they break, where every draw breaks one; empty otherwise.
    """

    inputs: tuple[Assumed, ...]
    at: Mapping[str, np.ndarray]
    ettr: np.ndarray
    shares: tuple[float, ...]
    n_valid: int
    n_redrawn: int
    rule: str = ""


def range_of(drawn: np.ndarray, value: float | None = None) -> tuple[float, float]:
    """Return the plausible range of a quantity: the 5% and 95% quantiles of its draws, extended to ``value``.

    Examples
    --------
    >>> range_of(np.arange(101.0)), range_of(np.arange(101.0), 98.0)
    ((5.0, 95.0), (5.0, 98.0))
    """
    low, high = (float(end) for end in np.quantile(drawn, TAILS))
    return (low, high) if value is None else (min(low, value), max(high, value))


def draws(
    scenario: Scenario, n: int = N_DRAWS, seed: Seed = 0, extra: Sequence[Assumed] = (), tau_h: Any = None
) -> Draws:
    """Draw all assumed inputs of a run over their plausible ranges.

    Parameters
    ----------
    scenario : Scenario
        The run.
    n : int
        Requested number of valid draws.
    seed : int or numpy.random.Generator
        Seed of the draws.
    extra : sequence of Assumed
        Further inputs to draw, such as :func:`rate_across_clusters`. They do not change the draws of the others.
    tau_h : float, optional
        Checkpoint interval; the best one by default. [h]

    Returns
    -------
    Draws
        The values, and the ETTR of each draw.

    Notes
    -----
    The points fill all ranges evenly (:func:`even_points`): log-uniform, but uniform for shares and for ranges that
    begin at zero. Draws whose ETTR at the scenario's current interval, on the GPUs of the measurement, contradicts
    ``measured`` are left out. A measured ETTR may be lower than a draw's, because a real job also loses time that the
    model leaves out, but never higher. Failure rates of other clusters do not enter this comparison. Draws whose
    values break a rule of the scenario together, such as a write to the store that is shorter than the write of a
    faster tier, are replaced by further points of the sequence.

    Examples
    --------
    >>> from ettr import Scenario, ranges
    >>> drawn = ranges.draws(Scenario.load("megascale"), n=200)
    >>> drawn.n_valid, drawn.at["recovery.restart_min"].size == drawn.ettr.size < 200
    (200, True)
    """
    if n < FEWEST:
        raise InputError(f"n must be >= {FEWEST} draws, got {n}")
    inputs = (*assumed_inputs(scenario), *extra)
    tau_h = best_h(any_interval(scenario))[0] if tau_h is None else tau_h
    if not inputs:
        return Draws((), {}, np.zeros(0), (), 0, 0)
    seed = seed_of(seed)
    u, ettr, n_redrawn = _valid_draws(scenario, inputs, tau_h, n, seed)
    drawn = {assumed.field: assumed.at(column) for assumed, column in zip(inputs, u.T, strict=True)}
    of_the_run = {path: values for path, values in drawn.items() if path != RATE}
    kept = np.ones(ettr.size, dtype=bool)
    if ettr.size and of_the_run:
        kept = agrees_with_measured(scenario, of_the_run)
    return Draws(
        inputs,
        {path: values[kept] for path, values in drawn.items() if path != INTERVAL},
        ettr[kept],
        tuple(_explained(ettr, u).tolist()),
        ettr.size,
        n_redrawn,
        "" if ettr.size else _broken_rule(scenario, inputs, tau_h, seed),
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
        added = even_points(tries * n, len(inputs), seed)[points.shape[0] :]
        points = np.vstack([points, added])
        values = np.append(values, np.resize(ettr_at(scenario, _values_at(inputs, added), tau_h), len(added)))
        valid = np.flatnonzero(~np.isnan(values))[:n]
        if valid.size == n:
            return points[valid], values[valid], int(valid[-1]) + 1 - n
    return points[valid], values[valid], len(points) - valid.size


def _broken_rule(scenario: Scenario, inputs: Sequence[Assumed], tau_h: Any, seed: int) -> str:
    """Return the scenario's own message about the first draw that breaks a rule."""
    for u in even_points(N_DRAWS, len(inputs), seed)[:, None]:
        at = _values_at(inputs, u)
        if np.isnan(ettr_at(scenario, at, tau_h)).any():
            try:
                scenario.override({path: float(values[0]) for path, values in at.items()})
            except InputError as error:
                return str(error).partition(f" ({next(iter(at))}=")[0]  # without the values of all inputs
    return "faster tiers must save and write no more slowly than the tiers above them"


def even_points(n: int, n_inputs: int, seed: int = 0) -> np.ndarray:
    """Return points that fill the unit cube evenly: multiples of the square roots of primes, modulo 1 (Richtmyer).

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


def ettr_at(scenario: Scenario, at: Mapping[str, Any], tau_h: Any = None) -> np.ndarray:
    """Return the ETTR at points, by default with the scenario's current interval, or with the write time if longer.

    It is 0 where the run practically never ends, and NaN where the values together break a rule of the faster tiers.
    """
    run = any_interval(scenario, at)
    tau_h = run.tau if tau_h is None else tau_h
    run = replace(run, tau=np.maximum(np.atleast_1d(tau_h), run.head))
    ettr = np.asarray(quiet_budget(run).ettr)
    if np.any(run.stops_per_h) and not np.isfinite(ettr).all():  # planned stops too frequent: to first order
        without = np.asarray(quiet_budget(replace(run, stops_per_h=0.0)).ettr) * (1 - run.stops_per_h * run.stop)
        ettr = np.where(np.isfinite(ettr), ettr, without)
    ettr = np.maximum(np.nan_to_num(ettr, nan=0.0), 0.0)
    return np.asarray(np.where(out_of_order(run), np.nan, ettr) if run.tiers else ettr)


def current_interval_h(scenario: Scenario, run: JobInHours) -> Any:
    """Return the scenario's current interval at points of a run; the best one where the scenario has a rule. [h]"""
    return best_h(run)[0] if isinstance(scenario.checkpoint.interval_min, str) else run.tau


def agrees_with_measured(scenario: Scenario, at: Mapping[str, Any]) -> np.ndarray:
    """Return which draws agree with the measured or published ETTR of the run."""
    measured = scenario.measured
    n = next(iter(at.values())).size
    if measured is None:
        return np.ones(n, dtype=bool)
    at = {**at, N_GPUS: np.full(n, float(measured.n_gpus or scenario.cluster.n_gpus))}
    ettr = ettr_at(scenario, at, current_interval_h(scenario, any_interval(scenario, at)))
    low, high = measured.ettr or measured.ettr_above or 0.0, measured.ettr_below or 1.0
    return np.asarray((ettr >= low) & (ettr <= high))


def _explained(values: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the squared correlation of each input with the values; zeros where it is undefined."""
    if values.size < 2 or np.ptp(values) == 0:
        return np.zeros(u.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.corrcoef(np.column_stack([values, u]), rowvar=False)[0, 1:]
    return np.asarray(np.nan_to_num(correlation) ** 2)
