"""The values that models return. Nothing here computes a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import count, duration, number, pct

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


@dataclass(frozen=True, repr=False)
class TimeBudget(Answer):
    """Where the wall-clock hours of a run go.

    Every field is a float or an array; arrays share one shape. All are expected values unless
    the budget comes from one simulated run.

    Attributes
    ----------
    productive_h : float or ndarray
        Training that counts, in full-speed hours. [h]
    checkpoint_h : float or ndarray
        Stalls for checkpoints that were kept. [h]
    slowdown_h : float or ndarray
        Throughput lost to background writes, as full-speed hours. [h]
    degraded_h : float or ndarray
        Throughput lost while replicas are out, as full-speed hours. [h]
    rework_h : float or ndarray
        Time spent on work that a failure (or a stop) threw away. [h]
    detection_h : float or ndarray
        From a failure until it is noticed. [h]
    queue_h : float or ndarray
        Waiting for a scheduler or for a node. [h]
    restart_h : float or ndarray
        Initialising and loading, also attempts that failed. [h]
    maintenance_h : float or ndarray
        Planned work on the cluster. [h]
    n_failures : float or ndarray
        Failures met; outside the sum.
    spare_gpu_h : float or ndarray
        GPU-hours held as spares; outside the sum. [GPU h]
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
        """Wall-clock hours: the sum of all parts; a float, or an array of their shape. [h]"""
        return sum(getattr(self, part) for part in PARTS)

    @property
    def mtbf_h(self) -> Any:
        """Mean time between failures on the wall clock, downtime included; infinite without failures. [h]

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
        """Effective Training Time Ratio: productive / total, in [0, 1]; a float, or an array of their shape."""
        return self.productive_h / self.total_h

    def to_frame(self) -> pd.DataFrame:
        """One row a part with its hours and its share of the wall clock; of arrays one row a point.

        Returns
        -------
        DataFrame
            Of floats ``part`` (str), ``hours`` [h], ``share`` in [0, 1]. Of arrays ``point``, the parts by the names
            of their fields [h], ``total_h`` [h], ``ettr`` in [0, 1], ``n_failures``: as many rows as the arrays have
            elements, the last axis varying fastest (C order), so that a column reshaped to their shape is the array.

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
        """All fields with ``total_h`` and ``ettr``, as plain numbers for JSON."""
        named = {field.name: float(getattr(self, field.name)) for field in fields(TimeBudget)}
        return named | {"total_h": float(self.total_h), "ettr": float(self.ettr)}

    @property
    def headline(self) -> str:
        """ETTR and hours; of arrays the range of the ETTR."""
        low, high = np.min(self.ettr), np.max(self.ettr)
        if np.ndim(self.ettr):
            return f"ETTR {pct(low)} to {pct(high)} at {count(np.size(self.ettr))} points"
        return f"ETTR {pct(low)}, {number(float(self.total_h))} h"

    def report(self) -> Report:
        """Hours and share of each part; of arrays their range alone."""
        if np.ndim(self.ettr):
            return [Headline("Time budget"), Note(f"{self.headline}.")]
        rows = [
            (row.part, f"{row.hours:,.1f} h", pct(row.share)) for row in self.to_frame().itertuples() if row.hours > 0
        ]
        total = ("total", f"{self.total_h:,.1f} h", "")
        return [Headline("Time budget"), Table(("part", "hours", "share"), [*rows, total], total=True)]


LOG_COLUMNS = ("start", "end", "node", "component", "cause", "planned")
"""The columns that every failure log has, in this order; others may follow, to split by."""
OF_EVERY_NODE = ("component", "cause")
"""Columns that do not part the nodes: one node can have several of their values, each with the whole exposure."""
_FIRST_EVENTS = 5
"""Failures of a log that its report shows."""


def _no_records() -> pd.DataFrame:
    """A ledger of nothing."""
    import pandas as pd

    return pd.DataFrame(columns=["action", "reason", "n", "example"])


@dataclass(frozen=True, repr=False, eq=False)
class FailureLog(Answer):
    """Failures, and what was watched for how long.

    Attributes
    ----------
    events : DataFrame
        One row a failure, sorted by ``start``. ``start`` and ``end`` are UTC (``end`` is NaT where it is unknown, and
        may lie after the window, at whose end the outage was open then); ``node``, ``component`` and ``cause`` are
        categories, missing where the log is silent; ``planned`` is true for work that somebody scheduled. Further
        columns are cohorts to split by.
    n_nodes : int
        Nodes that were watched, the healthy ones included.
    window : tuple of Timestamp
        First and last instant of the observation, UTC.
    node_days : float
        Exposure. Nodes times window, unless the log itself holds how long nodes were in use. [node-days]
    format : str
        Name of the format that it was read from.
    source : str
        File that it was read from.
    resolution_h : float
        Step of the time stamps: failures closer than this cannot be told apart. [h]
    calendar : bool
        False if times are counted from an origin that nobody named, so that dates mean nothing.
    cohort_nodes : mapping of str to mapping of str to int
        Nodes watched in each value of a cohort column, where known.
    ledger : DataFrame
        What was done with the records that are no row of ``events``: ``action`` (``merged``, ``dropped``,
        ``not parsed``), ``reason``, ``n`` [count], ``example`` (where the first one stands).
    n_records : int
        Records met in the file, those of the ledger included.
    notes : tuple of str
        What was assumed while reading, a sentence each.
    doubts : tuple of str
        What a reader must know before any number of the log, a sentence each.
    exposure : str
        Where the nodes and the window come from, in a few words.
    stays : DataFrame or None
        When each node was watched, where an inventory says so: ``node``, ``in_h``, ``out_h`` since the window's start
        [h], a row a stay.
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
        """The events that nobody planned."""
        planned = self.events["planned"]
        return self.events[~planned].reset_index(drop=True) if planned.any() else self.events

    @property
    def window_h(self) -> float:
        """Length of the observation. [h]"""
        import pandas as pd

        return float((self.window[1] - self.window[0]) / pd.Timedelta(hours=1))

    def hours(self, column: str = "start") -> np.ndarray:
        """Times of the unplanned events since the start of the window; NaN where unknown. [h]"""
        import pandas as pd

        since = self.events.loc[~self.events["planned"], column] - self.window[0]
        return np.asarray(since / pd.Timedelta(hours=1), dtype=float)

    @property
    def headline(self) -> str:
        """Failures, nodes and how long they were watched."""
        return f"{self.source}: {self._counted}"

    @property
    def _counted(self) -> str:
        return f"{count(len(self.failures))} failures of {count(self.n_nodes)} nodes in {duration(self.window_h)}"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the events, which are counted, as plain values for JSON."""
        about = {
            field.name: getattr(self, field.name) for field in fields(self) if field.name not in ("events", "stays")
        }
        counts = {"n_events": len(self.failures), "n_planned": int(self.events["planned"].sum())}
        return dict(plain_values({**about, **counts}))

    def report(self) -> Report:
        """What was watched, what was set aside and assumed, and the first failures."""
        sections: Report = [Headline(f"{self.source} ({self.format})"), Note(f"{self._counted}.")]
        sections += [Note(f"But {doubt}.") for doubt in self.doubts]
        for row in self.ledger.itertuples():
            sections.append(Note(f"{count(row.n)} {row.action}: {row.reason}"))
        sections += [Note(note, dim=True) for note in self.notes]
        shown = self.failures[list(LOG_COLUMNS[:-1])].head(_FIRST_EVENTS)
        cells = shown.astype(object).where(shown.notna(), "").astype(str)
        return [*sections, Table(tuple(shown.columns), cells.to_numpy().tolist(), words=tuple(shown.columns))]
