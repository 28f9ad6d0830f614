"""Failure logs drawn from rules that are known, to check what statistics say about them.

One call draws one log; every part alone has a closed-form expectation, which ``tests/failures/test_simulated_logs.py``
checks. It shares no code with the package.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd

COMPONENTS = {"GPU": 0.45, "HBM": 0.2, "NIC": 0.15, "Host": 0.12, "Software": 0.08}
"""Components and their shares of failures."""

BURST_H = 5 / 60
"""All failures of a burst start within this time of its first."""

WINDOW_H = 350 * 24.0
"""Default length of a log."""


@cache
def starts(seed: int, **rules: float) -> np.ndarray:
    """Hours at which the failures of a log began: drawn once, as many tests ask for the same logs."""
    start_h = simulate_log(seed, **rules)["start_h"].to_numpy()
    start_h.flags.writeable = False
    return start_h


def simulate_log(
    seed: int | np.random.Generator,
    n_nodes: int = 400,
    days: float = 350.0,
    rate_per_1000_node_days: float = 4.0,
    *,
    shape: float = 1.0,
    node_shape: float = 1.0,
    burst_mean: float = 1.0,
    trend_beta: float = 1.0,
    lemon_share: float = 0.0,
    lemon_factor: float = 1.0,
    repeat_probability: float = 0.0,
    repeat_within_h: float = 24.0,
    repair_h: float = 4.0,
    repair_sigma: float = 1.0,
    cohorts: Mapping[str, tuple[float, float]] | None = None,
) -> pd.DataFrame:
    """Draw one failure log.

    Parameters
    ----------
    seed : int or Generator
        The same seed gives the same log.
    n_nodes, days, rate_per_1000_node_days : float
        Expected failures of all kinds: their product / 1000, but for repeats that would fall behind the window.
    shape : float
        Weibull shape of the gaps between incidents of the whole system, a stationary renewal process.
    node_shape : float
        Weibull shape of the times between failures of each node, a stationary renewal process; other than 1 it goes
        with lemons, cohorts and repairs alone.
    burst_mean : float
        Mean failures of an incident (geometric, from 1), on nodes drawn anew, within ``BURST_H``.
    trend_beta : float
        The expected count up to t is proportional to t ** trend_beta.
    lemon_share, lemon_factor : float
        The first ``round(lemon_share * n_nodes)`` nodes fail ``lemon_factor`` times as often as the others.
    repeat_probability, repeat_within_h : float
        After each repair the node fails again with this probability, uniformly within this time.
    repair_h, repair_sigma : float
        Mean and log-standard deviation of lognormal repairs.
    cohorts : mapping of str to (share, factor)
        Cohorts of nodes, in order of node number: share of the nodes and relative failure rate.

    Returns
    -------
    DataFrame
        ``start_h``, ``end_h`` (NaN behind the window), ``node`` (int), ``component``, ``cause``, and ``cohort`` if
        asked for; sorted by ``start_h``.
    """
    rng = np.random.default_rng(seed)
    window_h = days * 24.0
    n_expected = rate_per_1000_node_days * n_nodes * days / 1000.0
    n_incidents = n_expected * (1 - repeat_probability) / burst_mean
    first = _renewal_starts(rng, window_h, window_h / n_incidents, shape)
    first = window_h * (first / window_h) ** (1 / trend_beta)
    size = rng.geometric(1 / burst_mean, first.size)
    start = np.repeat(first, size)
    later = np.r_[0, np.cumsum(size)[:-1]] if first.size else np.empty(0, dtype=int)
    offset = rng.uniform(0, BURST_H, start.size)
    offset[later] = 0.0
    start = start + offset
    weight = _node_weights(n_nodes, lemon_share, lemon_factor, cohorts)
    node = np.searchsorted(np.cumsum(weight), rng.uniform(0, 1, start.size) * weight.sum(), side="right")
    if node_shape != 1:
        start, node = _node_starts(rng, window_h, window_h * weight.sum() / (n_expected * weight), node_shape)
    repair = _repairs(rng, start.size, repair_h, repair_sigma)
    starts, nodes, repairs = [start], [node], [repair]
    while repeat_probability and start.size:
        again = rng.uniform(size=start.size) < repeat_probability
        start = (start + repair)[again] + rng.uniform(0, repeat_within_h, int(again.sum()))
        node, repair = node[again], _repairs(rng, start.size, repair_h, repair_sigma)
        starts, nodes, repairs = [*starts, start], [*nodes, node], [*repairs, repair]
    start, node, repair = np.concatenate(starts), np.concatenate(nodes), np.concatenate(repairs)
    kept = np.flatnonzero(start < window_h)
    kept = kept[np.argsort(start[kept], kind="stable")]
    start, node, end = start[kept], node[kept], (start + repair)[kept]
    names = np.array(list(COMPONENTS))
    component = names[rng.choice(len(names), start.size, p=list(COMPONENTS.values()))]
    columns = {"start_h": start, "end_h": np.where(end <= window_h, end, np.nan), "node": node, "component": component}
    columns["cause"] = np.where(component == "Software", "software", "hardware")
    if cohorts:
        columns["cohort"] = np.array(list(cohorts))[cohort_of_node(n_nodes, cohorts)[node]]
    return pd.DataFrame(columns)


def cohort_of_node(n_nodes: int, cohorts: Mapping[str, tuple[float, float]]) -> np.ndarray:
    """Number of each node's cohort, in the order of the mapping."""
    ends = np.cumsum([share for share, _ in cohorts.values()]) / sum(share for share, _ in cohorts.values())
    return np.searchsorted(ends[:-1], (np.arange(n_nodes) + 0.5) / n_nodes, side="right")


def gap_moments(shape: float, mean: float = 1.0) -> tuple[float, float]:
    """Weibull scale for a mean gap, and the squared coefficient of variation of the gaps."""
    first, second = math.gamma(1 + 1 / shape), math.gamma(1 + 2 / shape)
    return mean / first, second / first**2 - 1


def _renewal_starts(rng: np.random.Generator, window_h: float, mean_h: float, shape: float) -> np.ndarray:
    """Stationary from the first hour: the gap that is open at 0 is drawn by its length, and 0 falls anywhere in it."""
    scale, cv2 = gap_moments(shape, mean_h)
    spanning = scale * rng.gamma(1 + 1 / shape) ** (1 / shape)
    times = np.array([spanning * rng.uniform()])
    expected = window_h / mean_h
    chunk = int(expected + 6 * math.sqrt(cv2 * expected) + 20)
    while times[-1] < window_h:
        times = np.concatenate([times, times[-1] + np.cumsum(scale * rng.weibull(shape, chunk))])
    return times[times < window_h]


def _node_starts(
    rng: np.random.Generator, window_h: float, mean_h: np.ndarray, shape: float
) -> tuple[np.ndarray, np.ndarray]:
    """Failures of nodes that are renewal processes of their own, in order."""
    of_node = [_renewal_starts(rng, window_h, mean, shape) for mean in mean_h]
    start, node = np.concatenate(of_node), np.repeat(np.arange(len(of_node)), [len(starts) for starts in of_node])
    order = np.argsort(start)
    return start[order], node[order]


def _node_weights(
    n_nodes: int, lemon_share: float, lemon_factor: float, cohorts: Mapping[str, tuple[float, float]] | None
) -> np.ndarray:
    weight = np.ones(n_nodes)
    weight[: round(lemon_share * n_nodes)] = lemon_factor
    if cohorts:
        weight *= np.array([factor for _, factor in cohorts.values()])[cohort_of_node(n_nodes, cohorts)]
    return weight


def _repairs(rng: np.random.Generator, n: int, mean_h: float, sigma: float) -> np.ndarray:
    return rng.lognormal(math.log(mean_h) - sigma**2 / 2, sigma, n)
