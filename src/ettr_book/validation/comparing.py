"""Differences between the calculators and the exact model: for one run, and over scenarios drawn at random."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.validity import ValidityWarning
from ettr.scenario import JobInHours, Scenario
from ettr.scenario.fields import meta_at
from ettr.scenario.paths import INTERVAL, N_GPUS, PERSIST, PREDICTION, RATE, SLOWDOWN, TIERS
from ettr_book.validation.calculators import CALCULATORS

POINT, TAILS = 1.0, (0.05, 0.5, 0.95)
"""Largest error of a near result, in hundredths, and the quantiles of a summary."""
KEPT = 0.95
"""Share of scenarios that must be near for a calculator to be called safe."""
_FEWEST = 100
DRAWS, SEED = 100_000, 0
DRAWN = (
    INTERVAL,
    "checkpoint.stall_s",
    PERSIST,
    SLOWDOWN,
    "recovery.detection_min",
    "recovery.queue_min",
    "recovery.restart_min",
    "recovery.init_s_per_1000_gpus",
)
"""Fields drawn from their plausible ranges; size and failure rate are drawn from the range of the presets."""


def steady(scenario: Scenario) -> Scenario:
    """Return the steady state of a run without features that no calculator models.

    Examples
    --------
    >>> from ettr import Scenario
    >>> steady(Scenario.load("llama3-405b")).maintenance is None
    True
    """
    changes: dict[str, Any] = {"job.include_start": False, "maintenance": None, TIERS: [], PREDICTION: None}
    silent = [mode.name for mode in scenario.failures.modes if mode.latency_h]
    return scenario.override(changes | {f"failures.modes.{name}.latency_h": None for name in silent})


def set_aside(scenario: Scenario) -> list[str]:
    """Return the features that :func:`steady` removes from a scenario, in words."""
    names = {
        "faster tiers": bool(scenario.checkpoint.tiers),
        "predictions": scenario.prediction is not None,
        "silence": any(mode.latency_h for mode in scenario.failures.modes),
        "maintenance": scenario.maintenance_rate_per_h > 0,
    }
    return [name for name, is_present in names.items() if is_present]


def answers(run: JobInHours) -> dict[str, Any]:
    """Return the result of each calculator for a run, by name; NaN where it has no answer."""
    return {name: _answer(name, run) for name in CALCULATORS}


def _answer(name: str, run: JobInHours) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        try:
            return CALCULATORS[name].ettr(run)
        except OutsideValidity:
            return float("nan")


def beside(scenario: Scenario) -> pd.DataFrame:
    """Return the result of each calculator for the steady state of a run, with the exact ETTR.

    Returns
    -------
    DataFrame
        ``calculator`` (its name), ``title``, ``ettr`` (NaN without an answer), ``exact``, ``points`` (the first less
        the second, in hundredths).

    Raises
    ------
    NotModelled
        If :func:`ettr.budget.exact` does not cover the run.
    """
    run = steady(scenario)
    exact = float(budget.exact(run).ettr)
    said = answers(budget.accepted(run))
    frame = pd.DataFrame({"calculator": list(said), "title": [CALCULATORS[name].title for name in said]})
    ettr = np.array([float(value) for value in said.values()])
    return frame.assign(ettr=ettr, exact=exact, points=100 * (ettr - exact))


def draw(n: int = DRAWS, seed: int = SEED) -> JobInHours:
    """Draw plausible runs in their steady state, log-uniform over each field's range; uniform if it starts at zero.

    Parameters
    ----------
    n : int
        Runs.
    seed : int
        Of the draws.

    Returns
    -------
    JobInHours
        Arrays of n. Sizes and failure rates span the presets, other fields their plausible ranges.

    Examples
    --------
    >>> draw(3).tau.shape
    (3,)
    """
    if n < 1:
        raise InputError(f"n must be >= 1 run, got {n}")
    rng = np.random.default_rng(seed)
    reach = ranges()
    at = {path: _spread(*ends, rng.random(n)) for path, ends in reach.items()}
    base = {
        "name": "draw",
        "cluster": {"n_gpus": 8},
        "job": {"include_start": False},
        "failures": {"rate_per_1000_node_days": 1},
        "checkpoint": {"interval_min": reach[INTERVAL][0]},
    }
    return Scenario.of(base).in_hours(at)


def ranges() -> dict[str, tuple[float, float]]:
    """Return the range of each drawn field by its path, in its own unit; failure rates as the presets count them."""
    presets = [Scenario.load(name) for name in evidence.scenario_names()]
    sizes, rates = [preset.cluster.n_gpus for preset in presets], [preset.failure_rate for preset in presets]
    ends = {N_GPUS: (float(min(sizes)), float(max(sizes))), RATE: (min(rates), max(rates))}
    for path in DRAWN:
        plausible = meta_at(path, Scenario).plausible
        if plausible is None:
            raise InputError(f"{path} has no plausible range to draw from")
        ends[path] = (plausible.low, plausible.high)
    return ends


def _spread(low: float, high: float, u: np.ndarray) -> np.ndarray:
    return low * (high / low) ** u if low > 0 else low + (high - low) * u


def first_order_loss(run: JobInHours) -> Any:
    """Return the sum of the shares of stalls, half intervals and recoveries."""
    return run.stall / run.tau + run.rate * (run.tau / 2 + run.recovery)


def referee(n: int = DRAWS, seed: int = SEED) -> pd.DataFrame:
    """Return the error of each calculator against the exact model over drawn runs.

    Parameters
    ----------
    n, seed
        As for :func:`draw`.

    Returns
    -------
    DataFrame
        One row per calculator: ``calculator``, ``title``, ``who``, ``within`` (share of runs within a point), ``low``,
        ``median`` and ``high`` (5%, 50% and 95% quantile of the error), in points, ``too_much`` (share of its answers
        that are too high), ``no_answer`` (share of runs), ``safe_loss`` (the largest :func:`first_order_loss` up to
        which 95% of runs are within a point; 0 if none).

    Examples
    --------
    >>> bool(referee(2000).set_index("calculator").loc["daly", "too_much"] > 0.9)
    True
    """
    run = draw(n, seed)
    exact, loss = np.asarray(budget.exact(run).ettr), np.asarray(first_order_loss(run))
    return pd.DataFrame([_summary(name, 100 * (ettr - exact), loss) for name, ettr in answers(run).items()])


def _summary(name: str, points: np.ndarray, loss: np.ndarray) -> dict[str, Any]:
    answered = points[~np.isnan(points)]
    near = np.abs(points) <= POINT
    low, median, high = np.quantile(answered, TAILS) if answered.size else (np.nan,) * 3
    return {
        "calculator": name,
        "title": CALCULATORS[name].title,
        "who": CALCULATORS[name].who,
        "within": near.mean(),
        "low": low,
        "median": median,
        "high": high,
        "too_much": (answered > 0).mean() if answered.size else np.nan,
        "no_answer": 1 - answered.size / points.size,
        "safe_loss": _largest_safe(near, loss),
    }


def _largest_safe(near: np.ndarray, loss: np.ndarray) -> float:
    """Return the largest loss up to which enough runs are near; 0 if that covers too few runs."""
    order = np.argsort(loss, kind="stable")
    share = np.cumsum(near[order]) / np.arange(1, order.size + 1)
    good = np.flatnonzero(share >= KEPT)
    return float(loss[order][good[-1]]) if good.size and good[-1] >= _FEWEST else 0.0
