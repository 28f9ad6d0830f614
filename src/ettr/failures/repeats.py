"""Repeat failures: de-duplication, and the failure rate by time since a node's last repair."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.core.probability import poisson_from
from ettr.core.units import H_PER_DAY
from ettr.core.validity import above_zero, at_least_zero
from ettr.failures.lifetimes import node_lifetimes
from ettr.failures.outages import Outages, seen_nodes
from ettr.failures.rates import poisson_interval, rates_of
from ettr.failures.window import SIGNIFICANT

EDGES_D = (0, 1, 3, 7, 14, 30, 90)
"""Edges of the time since a repair in the table of the hazard. [d]"""
RETEST_LIFT = 1.5
"""Repairs should be tested if the low end of the ratio of repeats to those expected is at least this."""
_MOST_PLACES = 5_000


@dataclass(frozen=True)
class RepeatRisk:
    """Failures soon after a repair, compared with those expected from the rates of the same nodes.

    Attributes
    ----------
    within_d : float
        Longest time after a return to service that counts as soon. [d]
    n_soon : int
        Failures within ``within_d`` of the node's last return to service. [count]
    n_expected : float
        Expected number if the failures were allocated to the same nodes at random, keeping each node's count. Nodes
        with a high rate, and weeks with many failures, raise it as they raise ``n_soon``. [count]
    ratio, low, high : float
        ``n_soon`` over ``n_expected``, and its exact interval.
    level : float
        Coverage of the interval.
    p : float
        P-value: Poisson probability of ``n_soon`` or more with mean ``n_expected``.
    """

    within_d: float
    n_soon: int
    n_expected: float
    ratio: float
    low: float
    high: float
    level: float
    p: float

    @property
    def repairs_fail(self) -> bool:
        """Whether failures cluster after repairs, significantly (5%) and enough to matter (``RETEST_LIFT``)."""
        return self.p < SIGNIFICANT and self.low >= RETEST_LIFT


def deduplicate(start_h: Any, node: Any, within_h: float = 24.0, end_h: Any = None) -> np.ndarray:
    """Mark the failures that are not repeats of an earlier failure of the same node.

    A failure is a repeat if it starts at most ``within_h`` after the start (or the end, if given) of the node's last
    failure that was kept. A chain of hourly failures is therefore kept once per ``within_h``, not only once.

    Parameters
    ----------
    start_h : array
        Starts of failures, in any order. [h]
    node : array of int or str, or categorical
        Node of each failure; failures of unknown nodes are all kept.
    within_h : float
        Longest time to a repeat. [h]
    end_h : array, optional
        Ends of failures, from which ``within_h`` counts; the start if missing. [h]

    Returns
    -------
    ndarray of bool
        True for failures that are kept, in the same order.

    Raises
    ------
    InputError
        A negative ``within_h``, a start that is not finite, or columns of different lengths.

    Examples
    --------
    >>> deduplicate([0.0, 20.0, 30.0, 30.0], ["a", "a", "a", "b"]).tolist()
    [True, False, True, True]
    """
    within = float(at_least_zero("within_h", within_h, unit="h"))
    start = np.asarray(start_h, dtype=float)
    if not np.isfinite(start).all():
        raise InputError("start_h must be a finite number of hours; leave out failures without a start")
    for name, values in (("node", node), ("end_h", end_h)):
        if values is not None and len(values) != len(start):
            raise InputError(f"{name} must have {len(start)} values, as start_h has, got {len(values)}")
    since = start if end_h is None else np.fmax(start, np.asarray(end_h, dtype=float))
    codes = seen_nodes(node).codes
    kept = codes < 0
    order = np.lexsort((start, codes))[int(kept.sum()) :]
    if len(order):
        # stamps on a grid lie exactly this far apart, apart from rounding
        kept[order] = _chain(codes[order], start[order], since[order] + within * (1 + 1e-9))
    return kept


def _chain(codes: np.ndarray, start: np.ndarray, blocked_until: np.ndarray) -> np.ndarray:
    """Mark each node's kept failures by pointer doubling; rows are sorted by node and start."""
    # complex numbers sort by the real part, then the imaginary part: an exact search within a node
    following = np.searchsorted(codes + 1j * start, codes + 1j * blocked_until, side="right")
    kept = np.zeros(len(codes) + 1, dtype=bool)
    kept[np.flatnonzero(np.diff(codes, prepend=-1))] = True
    # a failure that blocks the rest of its node points at the first of the next node, which is kept anyway
    jump = np.append(following, len(codes))
    # after k rounds, all kept failures within 2^k steps of a node's first are marked
    while (jump != len(codes)).any():
        kept[jump[kept]] = True
        jump = jump[jump]
    return kept[:-1]


def hazard_after_repair(outages: Outages, edges_d: Any = EDGES_D, level: float = 0.95) -> pd.DataFrame:
    """Return the failure rate by time since the node's last return to service.

    Parameters
    ----------
    outages : Outages
        From `find_outages`; if an end is unknown, the node counts as returned at once.
    edges_d : sequence
        Edges of the time since the return, from 0. [d]
    level : float
        Coverage of the exact intervals.

    Returns
    -------
    DataFrame
        ``when``: ``"after repair"`` (a row for each pair of edges), ``"remaining"`` (not failed yet, or returned longer
        ago than the last edge), ``"while out"`` and ``"unknown node"``; ``from_d``, ``to_d`` [d] (NaN in the last
        three); ``node_days``; ``n_events``; ``rate``, ``low``, ``high`` [1 / (1000 node-days)]. Each failure and each
        node-day is in exactly one row. The last two rows and rows without exposure have no rate (NaN).

    Raises
    ------
    InputError
        Edges not rising from 0, or a level outside (0, 1).

    Notes
    -----
    Nodes with a high failure rate are repaired more often, which alone raises the first rows; `repeat_risk` corrects
    for this.

    Examples
    --------
    >>> from ettr.failures.outages import find_outages
    >>> outages = find_outages([24.0, 48.0], [36.0, 60.0], ["a", "a"], 240.0, 2)
    >>> hazard = hazard_after_repair(outages, edges_d=(0, 1, 2))
    >>> hazard[["when", "node_days", "n_events"]].to_numpy().tolist()
    [['after repair', 1.5, 1], ['after repair', 1.0, 0], ['remaining', 16.5, 1], ['while out', 1.0, 0],
    ['unknown node', 0.0, 0]]
    """
    edges = np.asarray(edges_d, dtype=float)
    if edges.ndim != 1 or len(edges) < 2 or edges[0] != 0 or not (np.diff(edges) > 0).all():
        raise InputError(f"edges_d must rise from 0 d, got {edges.tolist()}")
    out, lives = outages.incidents, node_lifetimes(outages)
    named = out["node"].to_numpy() >= 0
    duration_d, observed = lives["duration_h"].to_numpy() / H_PER_DAY, lives["observed"].to_numpy()
    soon_days = [float(np.clip(duration_d - a, 0, b - a).sum()) for a, b in itertools.pairwise(edges)]
    out_days = float((out["end_h"] - out["start_h"])[named].sum()) / H_PER_DAY
    total_days = outages.exposure_h / H_PER_DAY
    remaining = total_days - out_days - sum(soon_days)
    remaining = remaining if remaining > 1e-9 * total_days else 0.0  # not a rounding error
    # numpy's last bin is closed, but a failure at the last edge belongs to the remaining time
    soon = np.histogram(duration_d[observed & (duration_d < edges[-1])], edges)[0]
    n_named = int(out["n_events"][named].sum())
    n_bins, n_outages = len(soon), int(named.sum())
    table = pd.DataFrame(
        {
            "when": ["after repair"] * n_bins + ["remaining", "while out", "unknown node"],
            "from_d": np.append(edges[:-1], [np.nan] * 3),
            "to_d": np.append(edges[1:], [np.nan] * 3),
            "node_days": [*soon_days, remaining, out_days, 0.0],
            "n_events": [*soon, n_outages - int(soon.sum()), n_named - n_outages, int((~named).sum())],
        }
    )
    return _with_rates(table, n_bins, level)


def _with_rates(table: pd.DataFrame, n_bins: int, level: float) -> pd.DataFrame:
    """The table with rates and intervals where there is exposure."""
    days = table["node_days"].to_numpy(dtype=float)
    rated = (np.arange(len(table)) <= n_bins) & (days > 0)
    return table.assign(**rates_of(table["n_events"].to_numpy(dtype=float), np.where(rated, days, np.nan), level))


def repeat_risk(outages: Outages, within_d: float = 7.0, level: float = 0.95) -> RepeatRisk | None:
    r"""Test whether nodes fail again soon after a repair more often than their rates explain.

    Parameters
    ----------
    outages : Outages
        From `find_outages`.
    within_d : float
        Longest time after a return to service that counts as soon. [d]
    level : float
        Coverage of the exact interval.

    Returns
    -------
    RepeatRisk or None
        None if no node failed twice, or none returned to service.

    Notes
    -----
    ``n_expected``: an outage of a node with :math:`n` outages is followed soon by another one unless the node's
    :math:`n - 1` other outages all fall among those outages of the fleet that do not start within ``within_d`` of its
    end. This has a hypergeometric probability; outages that start while the node is out cannot be its own. For a
    constant rate and short repairs the sum tends to :math:`\sum_i (n_i - 1)[1 - (1 - x/T)^{n_i}]`, the spacings of
    uniform points. Counts of short gaps of independent failures vary less than Poisson counts, so ``p`` errs towards 1.
    It errs towards 0 if incidents hit several nodes at once, since their repeats coincide too, and if nodes were added
    within the window, since failures are allocated over all of it.

    Examples
    --------
    >>> from ettr.failures.outages import find_outages
    >>> start, node = np.array([100.0, 300.0, 500.0, 700.0]), ["a", "b", "c", "d"]
    >>> end = np.append(start + 5, start + 40)
    >>> risk = repeat_risk(find_outages(np.append(start, start + 30), end, node * 2, 2400.0, 100))
    >>> risk.n_soon, round(risk.n_expected, 2), risk.repairs_fail
    (4, 1.0, False)
    """
    within_h = float(above_zero("within_d", within_d, unit="d")) * H_PER_DAY
    out, lives = outages.incidents, node_lifetimes(outages)
    named = out[out["node"] >= 0]
    n_expected = _expected_soon(named, within_h) if len(named) else 0.0
    if not n_expected or not len(lives):
        return None
    n_soon = int((lives["observed"] & (lives["duration_h"] < within_h)).sum())
    low, high = poisson_interval(n_soon, level)
    return RepeatRisk(
        within_d=float(within_d),
        n_soon=n_soon,
        n_expected=n_expected,
        ratio=n_soon / n_expected,
        low=low / n_expected,
        high=high / n_expected,
        level=level,
        p=float(poisson_from(n_soon, n_expected)),
    )


def expected_soon_of(n: Any, within_h: float, window_h: float) -> Any:
    r"""Return the expected failures of a node soon after its previous one, for n failures at random times. [count]

    Notes
    -----
    The spacings of :math:`n` uniform points: :math:`(n - 1) [1 - (1 - x/T)^n]`.

    Examples
    --------
    >>> round(expected_soon_of(13, 168.0, 8400.0), 2)
    2.77
    """
    return (n - 1) * (1 - (1 - min(within_h / window_h, 1.0)) ** n)


def _expected_soon(out: pd.DataFrame, within_h: float) -> float:
    """Expected outages soon after another of the same node, for outages allocated to the nodes at random."""
    counts = np.bincount(out["node"])
    several, place, n_nodes = np.unique(counts, return_inverse=True, return_counts=True)
    start, end = out["start_h"].to_numpy(), out["end_h"].to_numpy()
    begin = np.sort(start)

    def begun(time: np.ndarray) -> np.ndarray:
        return np.searchsorted(begin, time, side="right")

    # outages of the fleet that start while the node is out, which cannot be its own
    while_out = np.bincount(place[out["node"]], begun(end) - begun(start)) / n_nodes
    # a long log is sampled: ends at even steps of their rank
    sample = np.sort(end)[:: max(1, len(end) // _MOST_PLACES)]
    soon = begun(sample + within_h) - begun(sample)
    expected = 0.0
    for n, nodes, never in zip(several, n_nodes, while_out, strict=True):
        others = np.maximum(len(begin) - 1 - never, n - 1)
        elsewhere = np.maximum(others - soon, 0)
        # hypergeometric probability that all n - 1 others lie elsewhere: C(elsewhere, n - 1) / C(others, n - 1)
        log_gamma = scipy.special.gammaln
        log_ways = log_gamma(elsewhere + 1) - log_gamma(np.maximum(elsewhere - n + 2, 1)) + log_gamma(others - n + 2)
        none = np.where(elsewhere >= n - 1, np.exp(log_ways - log_gamma(others + 1)), 0.0)
        expected += float(n * nodes * (1 - none).mean())
    return expected
