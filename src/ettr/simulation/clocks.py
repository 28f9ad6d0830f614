"""Nodes with a memory: when does the next one of many fail?

Nodes that never failed are alike, so only the earliest of them is ever drawn: of ``n`` exponential numbers the next
larger one lies an exponential number over ``n`` further on, and a cumulative hazard of that size gives its time. Nodes
that failed and were renewed stand in a heap. So neither time nor memory depends on how many nodes there are.
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
    """Time at which this much of a cumulative hazard is gone through, from a table of logarithms."""
    x = (math.log(hazard) - LOW) / _WIDTH
    if x <= 0.0:
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
    """Hazard-clock time at which a node of scale 1 has gone through this much of its first cumulative hazard."""
    return by_hazard(hazard, rules.first_log, rules.first_slope)


@inner
def next_firsts(times: np.ndarray, j: int, n_nodes: int, seed: int, run: int, rules: np.record) -> None:
    """Fill in the first failures j, j + 1, ... of nodes that are all alike, of scale 1; the last entry is a hazard.

    ``j`` is a multiple of the number of times; infinite once all have failed. They are made together because one after
    the other each would wait for the last.
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
def lifetime(number: float, shape: float, scale: float) -> float:
    """Lifetime of a new node, from an exponential number."""
    if shape == 1.0:
        return scale * number
    return scale * math.exp(math.log(number) / shape)
