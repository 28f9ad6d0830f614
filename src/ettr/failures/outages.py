"""When nodes were out of service: overlapping failures of one node are one outage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.validity import above_zero

MISSING_MEANS_OUT = 0.10
"""Up to this share of missing ends, a missing one is read as an outage that lasts beyond the window."""

SAME_WITHIN_H = 1 / 6
"""What begins this soon after a node's return is the same failure, logged again. [h]"""
SAME_WITHOUT_END_H = 24.0
"""So is what begins this soon after a failure whose end is not known. [h]"""


@dataclass(frozen=True)
class Outages:
    """When the nodes of a log were out of service.

    Attributes
    ----------
    failures : DataFrame
        A row a failure, see `settled_ends`.
    joined : DataFrame
        A row an outage, which overlapping failures of a node share, sorted by node and start: ``node`` (number, -1
        unknown), ``start_h``, ``end_h`` [h], ``n_events`` [count].
    incidents : DataFrame
        The same, where a row that begins within 10 min of the node's return, or within a day of a failure whose end
        is unknown, is the same failure logged again. What is said of nodes and repairs counts these.
    window_h : float
        Length of the window. [h]
    n_nodes : int
        Nodes watched, the healthy ones included. [count]
    exposure_h : float
        Time for which they were watched. [node-h]
    seen_h : DataFrame
        By number of a node: ``from_h`` and ``until_h``, between which it was watched. [h]
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
        """Time out of service, overlaps on a node counted once; a lower bound where ends are unknown. [node-h]"""
        return float((self.joined["end_h"] - self.joined["start_h"]).sum())

    @property
    def availability(self) -> float | None:
        """Share of the nodes' time in service, in [0, 1]; None where a failure names no node, or none has an end."""
        if (self.failures["node"] < 0).any() or self.failures["unknown"].all():
            return None
        return 1 - self.downtime_h / self.exposure_h


@dataclass(frozen=True)
class SeenNodes:
    """Nodes as numbers.

    Attributes
    ----------
    codes : ndarray of int
        Number of each event's node, from 0 in order of appearance; -1 where the node is unknown.
    names : ndarray
        What the caller calls each number.
    """

    codes: np.ndarray
    names: np.ndarray


def seen_nodes(node: Any, n_nodes: int | None = None) -> SeenNodes:
    """Number the nodes that failed.

    Parameters
    ----------
    node : array of int or str, or categorical
        Node of each event; missing or negative where unknown.
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
            f"n_nodes must be >= {len(names)}, the nodes that failed, got {n_nodes}; count the healthy nodes too"
        )
    return SeenNodes(codes, np.asarray(names))


def starts_in_window(start_h: Any, window_h: float, **same_length: Any) -> np.ndarray:
    """Starts as float64, known to lie in the window.

    Parameters
    ----------
    start_h : array
        Starts of failures since the window's start, in any order. [h]
    window_h : float
        Length of the window. [h]
    **same_length : array or None
        Other columns, which must be as long.

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
    """Decide what a missing end means.

    An end after the window is open. A missing end is *unknown* if the node failed again later: it must have come back.
    Otherwise it is *open* (out until the window's end) if the log keeps its ends well, that is if at most a tenth of
    the failures whose node failed again lack theirs (of all failures, if no node failed twice or nodes are not given),
    and unknown if it does not.

    Parameters
    ----------
    start_h, end_h : array
        Start and end of each failure since the window's start, NaN where the end is missing; ``end_h`` may be None.
        [h]
    node : array of int or str, categorical, or None
        Node of each failure.
    window_h : float
        Length of the window. [h]

    Returns
    -------
    DataFrame
        In the order given: ``node`` (number, -1 unknown), ``start_h``, ``end_h`` [h] (the window's end where open, the
        start where unknown), ``open``, ``unknown`` (bool).

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
    again = (codes >= 0) & (start < pd.Series(start).groupby(codes).transform("max").to_numpy())
    judged = again if again.any() else np.ones(len(start), dtype=bool)
    kept_well = len(start) > 0 and missing[judged].mean() <= MISSING_MEANS_OUT
    is_open = (end > window_h) | (missing & ~again & kept_well)
    unknown = missing & ~is_open
    end = np.where(is_open, window_h, np.where(unknown, start, end))
    return pd.DataFrame({"node": codes, "start_h": start, "end_h": end, "open": is_open, "unknown": unknown})


def find_outages(
    start_h: Any, end_h: Any, node: Any, window_h: float, n_nodes: int, stays: pd.DataFrame | None = None
) -> Outages:
    """Find when nodes were out of service, from a log's failures.

    Parameters
    ----------
    start_h, end_h : array
        Start and end of each failure since the window's start, NaN where the end is missing (see `settled_ends`);
        ``end_h`` may be None. [h]
    node : array of int or str, categorical, or None
        Node of each failure; those of unknown nodes are never joined.
    window_h : float
        Length of the window. [h]
    n_nodes : int
        Nodes watched, the healthy ones included. [count]
    stays : DataFrame, optional
        When each node was watched: ``node``, ``in_h``, ``out_h`` [h]; for the whole window if not given.

    Returns
    -------
    Outages

    Raises
    ------
    InputError
        A start outside the window, an end before its start, columns of different lengths, or more nodes seen than
        watched.

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
    """A row an outage, with all failures of its node that begin before those before it are over (``until``)."""
    order = np.lexsort((ends["start_h"].to_numpy(), ends["node"].to_numpy()))
    codes, start, end = (ends[name].to_numpy()[order] for name in ("node", "start_h", "end_h"))
    lasting = pd.Series(until.to_numpy()[order])
    back = lasting.groupby(codes).cummax().to_numpy() if len(end) else end
    new = np.ones(len(start), dtype=bool)
    new[1:] = (codes[1:] != codes[:-1]) | (codes[1:] < 0) | (start[1:] > back[:-1])
    first = np.flatnonzero(new)
    return pd.DataFrame(
        {
            "node": codes[first],
            "start_h": start[first],
            "end_h": np.maximum.reduceat(end, first) if len(first) else end,
            "n_events": np.diff(first, append=len(start)),
        }
    )
