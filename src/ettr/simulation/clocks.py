"""Lifetimes of nodes: the next failure among many nodes whose failure rate depends on age.

Nodes that never failed are alike, so only the earliest failure among them is drawn: of ``n`` exponential variates the
next larger one lies an exponential variate over ``n`` further on, and that is its cumulative hazard, which gives its
time. Renewed nodes are kept in a heap. So neither time nor memory grows with the number of nodes.
"""

from __future__ import annotations

import math

import numpy as np

from ettr.simulation.compiling import inner
from ettr.simulation.random_numbers import FIRST, block, exponential
from ettr.simulation.rules import HIGH, LOW, POINTS

_WIDTH = (HIGH - LOW) / (POINTS - 1)


@inner
def by_hazard(hazard: float, log_time: np.ndarray, slope: np.ndarray) -> float:
    """Time at which the cumulative hazard reaches a value, by cubic Hermite interpolation of a table of logarithms."""
    x = (math.log(hazard) - LOW) / _WIDTH
    if x <= 0.0:  # below and above the table the logarithm is linear
        return math.exp(log_time[0] + slope[0] * x)
    i = int(x)
    if i >= POINTS - 1:
        return math.exp(log_time[POINTS - 1] + slope[POINTS - 1] * (x - (POINTS - 1)))
    u = x - i
    v = 1.0 - u
    a, b = log_time[i], log_time[i + 1]
    return math.exp(v * v * ((1.0 + 2.0 * u) * a + u * slope[i]) + u * u * ((3.0 - 2.0 * u) * b - v * slope[i + 1]))


@inner
def first_time(hazard: float, rules: np.record) -> float:
    """Time, on the hazard clock, at which the cumulative hazard of a node of scale 1 reaches a value."""
    return by_hazard(hazard, rules.first_log, rules.first_slope)


@inner
def next_firsts(times: np.ndarray, j: int, n_nodes: int, seed: int, run: int, rules: np.record) -> None:
    """Draw the first failures j, j + 1, ... of nodes that are alike, of scale 1; the last entry keeps the hazard.

    ``j`` is a multiple of the number of times; a time is infinite once all nodes have failed. Several are drawn at once
    because they are independent up to the running sum, so that the processor overlaps them.
    """
    n = times.size - 1
    for i in range(0, n, 4):
        w0, w1, w2, w3 = block(seed, run, (j + i) >> 2, FIRST, 0)
        times[i] = exponential(w0, seed, run, j + i, FIRST)
        times[i + 1] = exponential(w1, seed, run, j + i + 1, FIRST)
        times[i + 2] = exponential(w2, seed, run, j + i + 2, FIRST)
        times[i + 3] = exponential(w3, seed, run, j + i + 3, FIRST)
    hazard = times[n] if j > 0 else 0.0
    for i in range(n):
        left = n_nodes - j - i
        hazard = hazard + times[i] / left if left > 0 else np.inf
        times[i] = hazard
    times[n] = hazard
    for i in range(n):
        times[i] = first_time(times[i], rules) if times[i] < np.inf else np.inf


@inner
def lifetime(variate: float, shape: float, scale: float) -> float:
    """Weibull lifetime of a new node, from an exponential variate."""
    if shape == 1.0:
        return scale * variate
    return scale * math.exp(math.log(variate) / shape)
