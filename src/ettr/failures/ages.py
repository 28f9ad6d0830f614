"""The failure rate by the nodes' age: infant mortality, wear-out, or neither."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize

from ettr.core.errors import InputError
from ettr.core.validity import at_least_zero
from ettr.failures.lifetimes import FEWEST, SHAPES, Hazard, hazard_word, log_wald
from ettr.failures.outages import join_outages, seen_nodes
from ettr.failures.rates import H_PER_DAY, NODE_DAYS, poisson_interval
from ettr.failures.window import checked_level


@dataclass(frozen=True)
class AgeHazard:
    """Failure rate by age.

    Attributes
    ----------
    table : DataFrame
        ``from_d``, ``to_d`` (age) [d], ``node_days``, ``n_events``, ``rate``, ``low``, ``high`` [1 / (1000 node-days)];
        no rate (NaN) where no node was in service at that age.
    shape, low, high : float or None
        Exponent of a Weibull (power-law) intensity over age and its interval; None with fewer than five failures.
    level : float
        Coverage of all intervals.
    hazard : str or None
        ``"falling"`` (infant mortality), ``"rising"`` (wear-out) or ``"flat"`` where the interval holds 1.
    """

    table: pd.DataFrame
    shape: float | None
    low: float | None
    high: float | None
    level: float
    hazard: Hazard | None


def hazard_by_age(
    start_h: Any,
    end_h: Any,
    node: Any,
    window_h: float,
    n_nodes: int,
    age0_h: Any = 0.0,
    edges_d: Any = None,
    level: float = 0.95,
) -> AgeHazard:
    r"""Failure rate by the nodes' age.

    Parameters
    ----------
    start_h, end_h : array
        Start and end of each failure since the window's start, NaN where the end is missing. [h]
    node : array of int or str, or categorical
        Node of each failure.
    window_h : float
        Length of the window. [h]
    n_nodes : int
        Nodes watched, the healthy ones included. [count]
    age0_h : float or array of n_nodes
        Age at the window's start. An array needs ``node`` as numbers 0 to ``n_nodes`` - 1, its places. By default age
        is the time since the window's start. [h]
    edges_d : array, optional
        Edges of the bins of age; by default 4 to 12 of equal width, about 20 failures each. [d]
    level : float
        Coverage of the intervals.

    Returns
    -------
    AgeHazard

    Raises
    ------
    InputError
        As for `node_lifetimes`; an array of ages of another length, or a failure of no known place in it.

    Notes
    -----
    A failed node returns at the age it had (minimal repair): failures at age :math:`a` come with intensity
    :math:`(k/\eta)(a/\eta)^{k-1}` while the node is in service. :math:`k` is the maximum-likelihood estimate over all
    failures, its interval Wald's on the scale of :math:`\ln k`. Repeats and bursts make that interval too narrow:
    de-duplicate first. Failures that start while their node is already out are not counted, and one at age 0 has no
    part in :math:`k`: it often is what the window was cut at.

    Examples
    --------
    >>> hazard_by_age([24.0, 60.0], None, ["a", "b"], 96.0, 10, edges_d=[0, 2, 4]).table["rate"].tolist()
    [50.0, 50.0]
    """
    checked_level(level)
    seen_nodes(node, n_nodes)
    out = join_outages(start_h, end_h, node, window_h)
    age0 = at_least_zero("age0_h", age0_h, unit="h")
    shift = _age_of_failures(age0, node, n_nodes, out)
    failed_at = out["start_h"].to_numpy() + shift
    first_age, nodes_of_age = np.unique(age0, return_counts=True)
    scale = 1 if age0.ndim else n_nodes
    in_service = np.concatenate([nodes_of_age * scale, np.full(len(out), -1)])
    begin = np.concatenate([first_age, failed_at])
    finish = np.concatenate([first_age + window_h, out["end_h"].to_numpy() + shift])
    if edges_d is None:
        n_bins = min(12, max(4, len(out) // 20))
        edges = np.linspace(first_age.min(), first_age.max() + window_h, n_bins + 1)
    else:
        edges = at_least_zero("edges_d", edges_d, unit="d") * H_PER_DAY
    table = _rates_between(edges, failed_at, begin, finish, in_service, level)
    fitted = _age_shape(failed_at, begin, finish, in_service)
    if fitted is None:
        return AgeHazard(table, None, None, None, level, None)
    low, high = log_wald(*fitted, level)
    return AgeHazard(table, fitted[0], low, high, level, hazard_word(low, high))


def _age_of_failures(age0: np.ndarray, node: Any, n_nodes: int, out: pd.DataFrame) -> np.ndarray:
    if age0.ndim == 0:
        return np.full(len(out), float(age0))
    if len(age0) != n_nodes:
        raise InputError(f"age0_h must be one age or have n_nodes = {n_nodes} values, got {len(age0)}")
    places = seen_nodes(node).names
    if (out["node"] < 0).any() or not (np.issubdtype(places.dtype, np.number) and (places < n_nodes).all()):
        raise InputError(f"node must be numbers from 0 to {n_nodes - 1}, the places in age0_h, where ages differ")
    ages: np.ndarray = age0[places.astype(np.int64)[out["node"].to_numpy()]]
    return ages


def _rates_between(
    edges: np.ndarray, failed_at: np.ndarray, begin: np.ndarray, finish: np.ndarray, sign: np.ndarray, level: float
) -> pd.DataFrame:
    if edges.ndim != 1 or len(edges) < 2 or (np.diff(edges) <= 0).any():
        raise InputError(f"edges_d must be at least two ages in rising order, got {(edges / H_PER_DAY).tolist()}")
    hours = [
        float((sign * np.clip(np.minimum(finish, above) - np.maximum(begin, below), 0, None)).sum())
        for below, above in itertools.pairwise(edges)
    ]
    node_days = np.maximum(np.array(hours), 0.0) / H_PER_DAY
    n_events = np.histogram(failed_at, edges)[0]
    low, high = poisson_interval(n_events, level)
    per = NODE_DAYS / np.where(node_days > 0, node_days, np.nan)
    return pd.DataFrame(
        {
            "from_d": edges[:-1] / H_PER_DAY,
            "to_d": edges[1:] / H_PER_DAY,
            "node_days": node_days,
            "n_events": n_events,
            "rate": n_events * per,
            "low": low * per,
            "high": high * per,
        }
    )


def _age_shape(
    failed_at: np.ndarray, begin: np.ndarray, finish: np.ndarray, sign: np.ndarray
) -> tuple[float, float] | None:
    """Shape of the power-law intensity and the standard error of its logarithm."""
    failed_at = failed_at[failed_at > 0]
    n_events = len(failed_at)
    if len(np.unique(failed_at)) < FEWEST:
        return None
    unit = finish.max()
    sum_log = float(np.log(failed_at / unit).sum())
    begin, finish = begin / unit, finish / unit

    def minus_log_likelihood(log_shape: float) -> float:
        shape = math.exp(log_shape)
        exposed = float((sign * (finish**shape - begin**shape)).sum())
        return n_events * math.log(exposed) - n_events * log_shape - (shape - 1) * sum_log

    optimum = optimize.minimize_scalar(
        minus_log_likelihood, bounds=np.log(SHAPES), method="bounded", options={"xatol": 1e-9}
    )
    step = 1e-3
    around = [minus_log_likelihood(optimum.x + k * step) for k in (-1, 0, 1)]
    information = (around[0] - 2 * around[1] + around[2]) / step**2
    # at an end of the range, or with a likelihood as flat as rounding, there is no shape to tell
    if information <= 1e-3 or not SHAPES[0] * 1.01 < math.exp(optimum.x) < SHAPES[1] / 1.01:
        return None
    return math.exp(optimum.x), 1 / math.sqrt(information)
