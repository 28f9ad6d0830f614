"""Failure logs of the book: a diary, a synthetic year whose rules are known, and a file of the reader."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ettr import evidence, logs
from ettr.core.results import FailureLog
from ettr.core.units import H_PER_DAY
from ettr_book.chapters.common.diaries import GROUPS, HARDWARE

N_NODES, DAYS, FIRST_DAY = 256, 360, "2025-01-01"
RULES: dict[str, Any] = {
    "rate": 2.5,
    "later_rate": 5.0,
    "changes_d": 240,
    "bad_nodes": ["node017", "node101", "node203"],
    "bad_factor": 15.0,
    "again_share": 0.2,
    "again_h": 48.0,
    "repair_h": 24.0,
}
"""Rules of the synthetic log (assumed).

``rate`` and ``later_rate``: failures of a good node before and after ``changes_d``, without repeats
[1 / (1000 node-days)]. A bad node fails ``bad_factor`` times as often. After ``again_share`` of all repairs the node
fails again within ``again_h``. Repairs take ``repair_h`` on average [h].
"""
COMPONENTS = {"GPU": 0.45, "HBM": 0.2, "NIC": 0.15, "host": 0.12, "switch": 0.08}
"""Share of each component in the failures of the synthetic log (assumed)."""
_SEED, _SPREAD = 27, 1.0
_BEFORE_D = 10
"""Days simulated before a future begins, for the repeats that reach into it."""


def failure_log(path: str = "", **options: Any) -> FailureLog:
    """Return the failure log in a file, or the synthetic one if no path is given.

    Parameters
    ----------
    path : str
        As for :func:`ettr.logs.read`; empty for the synthetic log.
    **options
        As for :func:`ettr.logs.read`. Empty or zero values count as missing, because notebook parameters need a value.
    """
    if not path:
        return synthetic_log()
    return logs.read(path, **{name: value for name, value in options.items() if value})


def diary_log() -> FailureLog:
    """Return the stops that GLM-130B's diary attributes to nodes or the network, as a failure log.

    A node merely suspected of being slow is left out, as in the scenario ``glm-130b``.

    Examples
    --------
    >>> log = diary_log()
    >>> len(log.failures), log.n_nodes
    (11, 96)
    """
    diary = evidence.table("glm130b_events")
    hardware = (diary["kind"].map(GROUPS) == HARDWARE) & (diary["kind"] != "suspect_slow_node")
    frame = pd.DataFrame({"start": diary["time"], "component": diary["kind"], "planned": ~hardware})
    n_nodes = evidence.figure("glm130b_n_gpus").value / evidence.figure("glm130b_gpus_per_node").value
    window = (diary["time"].iloc[0], diary["time"].iloc[-1])
    return logs.from_frame(frame, int(n_nodes), window, source="Diary of GLM-130B")


def synthetic_log() -> FailureLog:
    """Return a synthetic year of 256 nodes, drawn from ``RULES``; identical at every call.

    Examples
    --------
    >>> log = synthetic_log()
    >>> log.n_nodes, len(log.failures)
    (256, 464)
    """
    rng, changes = np.random.default_rng(_SEED), int(RULES["changes_d"])
    node, start_h, repair_h = _failures(rng, [(0, changes, RULES["rate"]), (changes, DAYS, RULES["later_rate"])])
    day = pd.Timestamp(FIRST_DAY, tz="UTC")
    frame = pd.DataFrame(
        {
            "start": day + pd.to_timedelta(start_h, unit="h").round("s"),
            "end": day + pd.to_timedelta(start_h + repair_h, unit="h").round("s"),
            "node": node,
            "component": rng.choice(list(COMPONENTS), node.size, p=list(COMPONENTS.values())),
        }
    )
    window = day, day + pd.Timedelta(days=DAYS)
    inside = frame[frame["start"] < window[1]].sort_values("start")
    return logs.from_frame(inside, N_NODES, window, source="Synthetic year of 256 nodes")


def futures(days: float, n: int, seed: int = 0) -> np.ndarray:
    """Return the number of failures in the days after the synthetic log, in ``n`` draws from its rules. [count]

    Examples
    --------
    >>> int(futures(30, 100).mean().round())
    56
    """
    rng, rate = np.random.default_rng(seed), RULES["later_rate"]
    starts = [_failures(rng, [(-_BEFORE_D, days, rate)])[1] for _ in range(n)]
    return np.array([np.count_nonzero((start_h >= 0) & (start_h < days * H_PER_DAY)) for start_h in starts])


def true_rate(good_rate: float) -> float:
    """Return the failure rate of all nodes, bad ones and repeats included, for a rate of good nodes without repeats.

    Examples
    --------
    >>> round(true_rate(5.0), 2)
    7.28
    """
    n_bad, factor = len(RULES["bad_nodes"]), RULES["bad_factor"]
    return float(good_rate * (1 + n_bad / N_NODES * (factor - 1)) / (1 - RULES["again_share"]))


def _failures(rng: np.random.Generator, parts: list[tuple[int, float, float]]) -> tuple[np.ndarray, ...]:
    """Draw node, start [h] and repair [h] of all failures in periods (from, to [d], and the rate of good nodes)."""
    names = np.array([f"node{i:03d}" for i in range(N_NODES)])
    rates = np.where(np.isin(names, RULES["bad_nodes"]), RULES["bad_factor"], 1.0) / 1000
    counts = [rng.poisson(rates * rate * (end - start)) for start, end, rate in parts]
    node = np.concatenate([np.repeat(names, n) for n in counts])
    starts = [rng.uniform(first, last, n.sum()) for (first, last, _), n in zip(parts, counts, strict=True)]
    rounds = [(node, np.concatenate(starts) * H_PER_DAY, _repair_h(rng, node.size))]
    while rounds[-1][0].size:  # the repeats of repeats, until there are none
        node, start_h, repair_h = rounds[-1]
        again = rng.uniform(size=node.size) < RULES["again_share"]
        back = (start_h + repair_h)[again] + rng.uniform(0, RULES["again_h"], int(again.sum()))
        rounds.append((node[again], back, _repair_h(rng, back.size)))
    return tuple(np.concatenate(column) for column in zip(*rounds, strict=True))


def _repair_h(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.lognormal(np.log(RULES["repair_h"]) - _SPREAD**2 / 2, _SPREAD, n)
