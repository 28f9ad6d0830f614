"""Outages of nodes: overlapping failures of a node are joined, and missing ends are settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.validity import above_zero

MISSING_MEANS_OUT = 0.10
"""Up to this share of missing ends, a missing end means that the outage lasts beyond the window."""

SAME_WITHIN_H = 1 / 6
"""A failure within this time of a node's return is the same failure, logged again. [h]"""
SAME_WITHOUT_END_H = 24.0
"""So is a failure within this time of one whose end is not known. [h]"""


@dataclass(frozen=True)
class Outages:
    """Outages of the nodes of a log.

    Attributes
    ----------
    failures : DataFrame
        One row per failure, see `settled_ends`.
    joined : DataFrame
        One row per outage (overlapping failures of a node), sorted by node and start: ``node`` (number, -1 if
        unknown), ``start_h``, ``end_h`` [h], ``n_events`` [count].
    incidents : DataFrame
        Outages, with those that start within 10 min of the node's return, or within a day of a failure whose end is
        unknown, joined to the previous one. Statistics of nodes and repairs count these.
    window_h : float
        Length of the window. [h]
    n_nodes : int
        Nodes watched, including healthy ones. [count]
    exposure_h : float
        Exposure: time for which nodes were watched. [node-h]
    seen_h : DataFrame
        By number of a node: ``from_h`` and ``until_h``, between which the node was watched. [h]
    """

    failures: pd.DataFrame
    joined: pd.DataFrame
    incidents: pd.DataFrame
    window_h: float
    n_nodes: int
    exposure_h: float
    seen_h: pd.DataFrame

    @property
    def downtime_h(self) -> float:
        """Time out of service, with overlaps on a node counted once; a lower bound if ends are unknown. [node-h]"""
        return float((self.joined["end_h"] - self.joined["start_h"]).sum())

    @property
    def availability(self) -> float | None:
        """Share of the nodes' time in service, in [0, 1]; None if a failure has no node, or no failure has an end."""
        if (self.failures["node"] < 0).any() or self.failures["unknown"].all():
            return None
        return 1 - self.downtime_h / self.exposure_h


@dataclass(frozen=True)
class SeenNodes:
    """Nodes by number.

    Attributes
    ----------
    codes : ndarray of int
        Number of each event's node, from 0 in order of appearance; -1 if the node is unknown.
    names : ndarray
        Name of each number.
    """

    codes: np.ndarray
    names: np.ndarray


def seen_nodes(node: Any, n_nodes: int | None = None) -> SeenNodes:
    """Return the nodes that failed as numbers, with their names.

    Parameters
    ----------
    node : array of int or str, or categorical
        Node of each event; missing or negative if unknown.
    n_nodes : int, optional
        Nodes watched, to check against. [count]

    Returns
    -------
    SeenNodes

    Raises
    ------
    InputError
        More nodes failed than were watched.

    Examples
    --------
    >>> seen_nodes(["b", None, "a", "b"]).codes.tolist()
    [0, -1, 1, 0]
    """
    values = pd.Series(node).reset_index(drop=True)
    has_name = values.notna()
    if pd.api.types.is_numeric_dtype(values.dtype):
        has_name &= (values >= 0).fillna(False)
    has_name = has_name.to_numpy(dtype=bool)
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[has_name], names = pd.factorize(values[has_name])
    if n_nodes is not None and len(names) > n_nodes:
        raise InputError(
            f"n_nodes must be >= {len(names)}, the nodes that failed, got {n_nodes}; it includes the healthy nodes"
        )
    return SeenNodes(codes, np.asarray(names))


def starts_in_window(start_h: Any, window_h: float, **same_length: Any) -> np.ndarray:
    """Return start times as floats, after checking that they lie in the window.

    Parameters
    ----------
    start_h : array
        Starts of failures since the window's start, in any order. [h]
    window_h : float
        Length of the window. [h]
    **same_length : array or None
        Other columns, which must have the same length.

    Raises
    ------
    InputError
        A start outside the window, a window that is not positive, or columns of other lengths.
    """
    window = float(above_zero("window_h", window_h, unit="h"))
    start = np.asarray(start_h, dtype=float)
    outside = ~((start >= 0) & (start <= window))
    if outside.any():
        raise InputError(
            f"start_h must be between 0 h and the window's {window:g} h, got {start[outside][0]:g} "
            f"(event {int(np.flatnonzero(outside)[0])}); cut the log to the window"
        )
    for name, values in same_length.items():
        if values is not None and len(values) != len(start):
            raise InputError(f"{name} must have {len(start)} values, as start_h has, got {len(values)}")
    return start


def settled_ends(start_h: Any, end_h: Any, node: Any, window_h: float) -> pd.DataFrame:
    """Return the failures with every missing end settled as open or unknown.

    A failure that ends after the window is *open*. A missing end is *unknown* if the node failed again later, because
    the node must have returned. Otherwise it is *open* (out until the window's end) if the log has nearly all ends,
    that is if at most 10% of the failures whose node failed again lack one (of all failures, if no node failed twice or
    nodes are not given), and *unknown* if not.

    Parameters
    ----------
    start_h, end_h : array
        Start and end of each failure since the window's start, NaN if the end is missing; ``end_h`` may be None. [h]
    node : array of int or str, categorical, or None
        Node of each failure.
    window_h : float
        Length of the window. [h]

    Returns
    -------
    DataFrame
        In the same order: ``node`` (number, -1 if unknown), ``start_h``, ``end_h`` [h] (the window's end if open, the
        start if unknown), ``open``, ``unknown`` (bool).

    Raises
    ------
    InputError
        A start outside the window, or an end before its start.

    Examples
    --------
    >>> ends = settled_ends([1.0, 5.0, 8.0], [2.0, 6.0, None], ["a", "a", "b"], 10.0)
    >>> ends["end_h"].tolist(), ends["open"].tolist()
    ([2.0, 6.0, 10.0], [False, False, True])
    """
    start = starts_in_window(start_h, window_h, end_h=end_h, node=node)
    end = np.full(len(start), np.nan) if end_h is None else np.array(end_h, dtype=float)
    backwards = end < start
    if backwards.any():
        place = int(np.flatnonzero(backwards)[0])
        raise InputError(f"end_h must be >= start_h, {start[place]:g} h, got {end[place]:g} (event {place})")
    codes = np.full(len(start), -1) if node is None else seen_nodes(node).codes
    missing = np.isnan(end)
    fails_again = (codes >= 0) & (start < pd.Series(start).groupby(codes).transform("max").to_numpy())
    sample = fails_again if fails_again.any() else np.ones(len(start), dtype=bool)
    has_most_ends = len(start) > 0 and missing[sample].mean() <= MISSING_MEANS_OUT
    is_open = (end > window_h) | (missing & ~fails_again & has_most_ends)
    unknown = missing & ~is_open
    end = np.where(is_open, window_h, np.where(unknown, start, end))
    return pd.DataFrame({"node": codes, "start_h": start, "end_h": end, "open": is_open, "unknown": unknown})


def find_outages(
    start_h: Any, end_h: Any, node: Any, window_h: float, n_nodes: int, stays: pd.DataFrame | None = None
) -> Outages:
    """Find the outages of nodes from a log's failures.

    Parameters
    ----------
    start_h, end_h : array
        Start and end of each failure since the window's start, NaN if the end is missing (see `settled_ends`);
        ``end_h`` may be None. [h]
    node : array of int or str, categorical, or None
        Node of each failure; failures of unknown nodes are never joined.
    window_h : float
        Length of the window. [h]
    n_nodes : int
        Nodes watched, including healthy ones. [count]
    stays : DataFrame, optional
        Times in which each node was watched: ``node``, ``in_h``, ``out_h`` [h]; the whole window if not given.

    Returns
    -------
    Outages

    Raises
    ------
    InputError
        A start outside the window, an end before its start, columns of different lengths, or more nodes in the log
        than watched.

    Examples
    --------
    >>> outages = find_outages([1.0, 2.0, 7.0], [4.0, 3.0, 8.0], ["a", "a", "a"], 10.0, 2)
    >>> outages.joined[["start_h", "end_h"]].to_numpy().tolist(), outages.availability
    ([[1.0, 4.0], [7.0, 8.0]], 0.8)
    """
    above_zero("n_nodes", n_nodes)
    if node is not None:
        seen_nodes(node, n_nodes)
    ends = settled_ends(start_h, end_h, node, window_h)
    until = ends["end_h"] + np.where(ends["unknown"], SAME_WITHOUT_END_H, SAME_WITHIN_H)
    names = np.empty(0, dtype=object) if node is None else seen_nodes(node).names
    seen_h = pd.DataFrame({"from_h": np.zeros(len(names)), "until_h": np.full(len(names), float(window_h))})
    exposure_h = n_nodes * float(window_h)
    if stays is not None:
        by_node = stays.groupby("node").agg(from_h=("in_h", "min"), until_h=("out_h", "max")).reindex(names)
        seen_h = by_node.reset_index(drop=True).fillna({"from_h": 0.0, "until_h": float(window_h)})
        exposure_h = float((stays["out_h"] - stays["in_h"]).sum())
    joined, incidents = _joined(ends, ends["end_h"]), _joined(ends, until)
    return Outages(ends, joined, incidents, float(window_h), n_nodes, exposure_h, seen_h)


def _joined(ends: pd.DataFrame, until: pd.Series) -> pd.DataFrame:
    """One row per outage: consecutive failures of a node, each of which starts before the last ``until`` so far."""
    order = np.lexsort((ends["start_h"].to_numpy(), ends["node"].to_numpy()))
    codes, start, end = (ends[name].to_numpy()[order] for name in ("node", "start_h", "end_h"))
    sorted_until = pd.Series(until.to_numpy()[order])
    latest = sorted_until.groupby(codes).cummax().to_numpy() if len(end) else end
    new = np.ones(len(start), dtype=bool)
    new[1:] = (codes[1:] != codes[:-1]) | (codes[1:] < 0) | (start[1:] > latest[:-1])
    first = np.flatnonzero(new)
    return pd.DataFrame(
        {
            "node": codes[first],
            "start_h": start[first],
            "end_h": np.maximum.reduceat(end, first) if len(first) else end,
            "n_events": np.diff(first, append=len(start)),
        }
    )
