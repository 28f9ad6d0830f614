"""Results shared by all models: time budgets and failure logs. Nothing here computes a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import count, duration, joined_range, number, pct

if TYPE_CHECKING:
    import pandas as pd


PARTS = (
    "productive_h",
    "checkpoint_h",
    "slowdown_h",
    "degraded_h",
    "rework_h",
    "detection_h",
    "queue_h",
    "restart_h",
    "maintenance_h",
)
"""The parts of the wall clock, in the order in which they are shown. They sum to ``total_h``."""
PART_WORDS = {
    "productive_h": "productive training",
    "checkpoint_h": "checkpoint stalls",
    "slowdown_h": "slowdown during background writes",
    "degraded_h": "slow or missing nodes",
    "rework_h": "lost work (recomputed)",
    "detection_h": "failure detection",
    "queue_h": "queueing",
    "restart_h": "restarts",
    "maintenance_h": "planned maintenance",
}
"""The parts as all tables name them."""


@dataclass(frozen=True, repr=False)
class TimeBudget(Answer):
    """The wall-clock hours of a run, split into productive training and each kind of loss.

    Every field is a float or an array; arrays share one shape. All are expected values unless
    the budget comes from one simulated run.

    Attributes
    ----------
    productive_h : float or ndarray
        Training whose result is kept, in full-speed hours. [h]
    checkpoint_h : float or ndarray
        Stalls for checkpoints that were kept. [h]
    slowdown_h : float or ndarray
        Throughput lost to background writes, as full-speed hours. [h]
    degraded_h : float or ndarray
        Throughput lost while replicas are out, as full-speed hours. [h]
    rework_h : float or ndarray
        Training since the last checkpoint that a failure or a stop threw away, and that is recomputed. [h]
    detection_h : float or ndarray
        Time from a failure until it is detected. [h]
    queue_h : float or ndarray
        Waiting for a scheduler or for a node. [h]
    restart_h : float or ndarray
        Initialising and loading, failed attempts included. [h]
    maintenance_h : float or ndarray
        Planned work on the cluster. [h]
    n_failures : float or ndarray
        Number of failures; not part of the sum.
    spare_gpu_h : float or ndarray
        GPU-hours held as spares; not part of the sum. [GPU h]

    Examples
    --------
    >>> hours = TimeBudget(productive_h=90.0, checkpoint_h=4.0, rework_h=6.0, n_failures=10.0)
    >>> hours.total_h, hours.ettr, hours.mtbf_h
    (100.0, 0.9, 10.0)
    """

    productive_h: Any
    checkpoint_h: Any = 0.0
    slowdown_h: Any = 0.0
    degraded_h: Any = 0.0
    rework_h: Any = 0.0
    detection_h: Any = 0.0
    queue_h: Any = 0.0
    restart_h: Any = 0.0
    maintenance_h: Any = 0.0
    n_failures: Any = 0.0
    spare_gpu_h: Any = 0.0

    @property
    def total_h(self) -> Any:
        """Wall-clock time, the sum of all parts; a float, or an array of their shape. [h]"""
        return sum(getattr(self, part) for part in PARTS)

    @property
    def mtbf_h(self) -> Any:
        """Mean time between failures (MTBF) on the wall clock, downtime included; infinite without failures. [h]

        Examples
        --------
        >>> TimeBudget(productive_h=20.0, restart_h=4.0, n_failures=8.0).mtbf_h
        3.0
        """
        total_h, n = np.asarray(self.total_h, dtype=float), np.asarray(self.n_failures, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            between_h = np.where(n == 0, np.inf, total_h / n)
        return between_h if between_h.ndim else float(between_h)

    @property
    def ettr(self) -> Any:
        """Effective Training Time Ratio: productive time over wall-clock time, in [0, 1]; a float or an array."""
        return self.productive_h / self.total_h

    def to_frame(self) -> pd.DataFrame:
        """Return the hours and the share of the wall clock of each part, a row per part; of arrays a row per point.

        Returns
        -------
        DataFrame
            For floats the columns are ``part`` (str), ``hours`` [h] and ``share`` in [0, 1]. For arrays they are
            ``point``, the fields of the parts [h], ``total_h`` [h], ``ettr`` in [0, 1] and ``n_failures``, with a row
            per element. The last axis varies fastest (C order), so a column reshaped to the arrays' shape is the array.

        Examples
        --------
        >>> from ettr import Scenario, budget
        >>> hours = budget.exact(Scenario.load("llama3-405b"), {"checkpoint.interval_min": [5.0, 10.0]})
        >>> hours.to_frame()[["point", "rework_h", "ettr"]].round(3).to_dict("records")
        [{'point': 0, 'rework_h': 24.666, 'ettr': 0.907}, {'point': 1, 'rework_h': 41.038, 'ettr': 0.909}]
        """
        import pandas as pd

        values = {part: getattr(self, part) for part in PARTS}
        total_h = self.total_h
        if np.ndim(total_h) or np.ndim(self.n_failures):
            values |= {"total_h": total_h, "ettr": self.ettr, "n_failures": self.n_failures}
            columns = np.broadcast_arrays(*values.values())
            flat = {name: column.ravel() for name, column in zip(values, columns, strict=True)}
            return pd.DataFrame({"point": np.arange(columns[0].size), **flat})
        return pd.DataFrame(
            [
                {"part": part.removesuffix("_h"), "hours": float(hours), "share": float(hours / total_h)}
                for part, hours in values.items()
            ]
        )

    def to_dict(self) -> dict[str, float]:
        """Return all fields with ``total_h`` and ``ettr``, as numbers for JSON."""
        named = {field.name: float(getattr(self, field.name)) for field in fields(TimeBudget)}
        return named | {"total_h": float(self.total_h), "ettr": float(self.ettr)}

    @property
    def headline(self) -> str:
        """The ETTR and the wall-clock hours; of arrays the range of the ETTR."""
        low, high = np.min(self.ettr), np.max(self.ettr)
        if np.ndim(self.ettr):
            return f"ETTR {joined_range(pct(low), pct(high))} at {count(np.size(self.ettr))} points"
        return f"ETTR {pct(low)}, {number(float(self.total_h))} h"

    def report(self) -> Report:
        """Return a table of the hours and the share of each part; of arrays only the range of the ETTR."""
        if np.ndim(self.ettr):
            return [Headline("Time budget"), Note(f"{self.headline}.")]
        total_h = float(self.total_h)
        parts = [(words, float(getattr(self, part))) for part, words in PART_WORDS.items()]
        rows = [(words, f"{hours:,.1f} h", pct(hours / total_h)) for words, hours in parts if hours > 0]
        total = ("total", f"{self.total_h:,.1f} h", "")
        return [Headline("Time budget"), Table(("part", "hours", "share"), [*rows, total], total=True)]


LOG_COLUMNS = ("start", "end", "node", "component", "cause", "planned")
"""Columns of every failure log, in this order; further columns are cohorts to split by."""
OF_EVERY_NODE = ("component", "cause")
"""Columns that do not partition the nodes: one node can have several values, each with its full exposure."""
_FIRST_EVENTS = 5
"""Number of failures that the report of a log shows."""


def _no_records() -> pd.DataFrame:
    """Return an empty ledger."""
    import pandas as pd

    return pd.DataFrame(columns=["action", "reason", "n", "example"])


@dataclass(frozen=True, repr=False, eq=False)
class FailureLog(Answer):
    """The failures of a set of nodes over an observation window, and the exposure in node-days.

    Attributes
    ----------
    events : DataFrame
        One row per failure, sorted by ``start``. ``start`` and ``end`` are UTC. ``end`` is NaT where it is unknown,
        and later than the window for an outage that was open at its end. ``node``, ``component`` and ``cause`` are
        categories, missing where the log does not give them; ``planned`` is true for scheduled work. Further columns
        are cohorts to split by.
    n_nodes : int
        Observed nodes, including those without failures.
    window : tuple of Timestamp
        First and last instant of the observation, UTC.
    node_days : float
        Exposure: nodes times window, or the time in use where the log records it. [node-days]
    format : str
        Name of the log's format.
    source : str
        Name of the log file.
    resolution_h : float
        Resolution of the time stamps: the order of failures closer than this is unknown. [h]
    calendar : bool
        Whether times are dates; false if they count from an unknown origin.
    cohort_nodes : mapping of str to mapping of str to int
        Observed nodes for each value of a cohort column, where known.
    ledger : DataFrame
        The records that are not rows of ``events``: ``action`` (``merged``, ``dropped``, ``not parsed``), ``reason``,
        ``n`` [count] and ``example`` (the place of the first one).
    n_records : int
        Records in the file, those of the ledger included.
    notes : tuple of str
        Assumptions made while reading, a sentence each.
    doubts : tuple of str
        Problems that put the numbers in doubt, a sentence each.
    exposure : str
        Origin of the number of nodes and of the window, in a few words.
    stays : DataFrame or None
        When each node was part of the cluster, from an inventory: ``node``, ``in_h`` and ``out_h`` since the start of
        the window [h], a row per stay.

    Examples
    --------
    >>> import pandas as pd
    >>> from ettr import logs
    >>> frame = pd.DataFrame({"start": pd.to_datetime(["2026-01-03 10:00", "2026-01-09 22:00"]), "node": ["n1", "n7"]})
    >>> log = logs.from_frame(frame, n_nodes=16, window=("2026-01-01", "2026-01-10"))
    >>> len(log.failures), log.node_days
    (2, 160.0)
    """

    events: pd.DataFrame
    n_nodes: int
    window: tuple[pd.Timestamp, pd.Timestamp]
    node_days: float
    format: str
    source: str
    resolution_h: float
    calendar: bool = True
    cohort_nodes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ledger: pd.DataFrame = field(default_factory=_no_records)
    n_records: int = 0
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    exposure: str = ""
    stays: pd.DataFrame | None = None

    @property
    def failures(self) -> pd.DataFrame:
        """The unplanned events."""
        planned = self.events["planned"]
        return self.events[~planned].reset_index(drop=True) if planned.any() else self.events

    @property
    def window_h(self) -> float:
        """Length of the observation window. [h]"""
        import pandas as pd

        return float((self.window[1] - self.window[0]) / pd.Timedelta(hours=1))

    def hours(self, column: str = "start") -> np.ndarray:
        """Return the times of the unplanned events since the start of the window; NaN where unknown. [h]"""
        import pandas as pd

        since = self.events.loc[~self.events["planned"], column] - self.window[0]
        return np.asarray(since / pd.Timedelta(hours=1), dtype=float)

    @property
    def headline(self) -> str:
        """The number of failures and of nodes, and the length of the window."""
        return f"{self.source}: {self._counted}"

    @property
    def _counted(self) -> str:
        return f"{count(len(self.failures))} failures of {count(self.n_nodes)} nodes in {duration(self.window_h)}"

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes for JSON, with the number of events instead of the events."""
        about = {
            field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("events", "stays")
        }
        counts = {"n_events": len(self.failures), "n_planned": int(self.events["planned"].sum())}
        return dict(plain_values({**about, **counts}))

    def report(self) -> Report:
        """Return the exposure, the records left out, the assumptions and a table of the first failures."""
        sections: Report = [Headline(f"{self.source} ({self.format})"), Note(f"{self._counted}.")]
        sections += [Note(f"But {doubt}.") for doubt in self.doubts]
        for row in self.ledger.itertuples():
            sections.append(Note(f"{count(row.n)} {row.action}: {row.reason}"))
        sections += [Note(note, dim=True) for note in self.notes]
        first = self.failures[list(LOG_COLUMNS[:-1])].head(_FIRST_EVENTS)
        cells = first.astype(object).where(first.notna(), "").astype(str)
        return [*sections, Table(tuple(first.columns), cells.to_numpy().tolist(), words=tuple(first.columns))]
