"""Hours that a run lost by the kind of stop, from the diary of its team."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from ettr.checkpoint.achieved import realised_ettr
from ettr.core.errors import InputError, UnknownName
from ettr.core.units import S_PER_H

_HOUR = pd.Timedelta(hours=1)

HARDWARE, LOSS, EXPERIMENT, PLANNED, MIXED = (
    "hardware or network",
    "loss spike",
    "experiment",
    "planned",
    "several kinds",
)

GROUPS = {
    "start": PLANNED,
    "node": HARDWARE,
    "node+filesystem": HARDWARE,
    "node_nvlink": HARDWARE,
    "network": HARDWARE,
    "suspect_slow_node": HARDWARE,
    "loss": LOSS,
    "experiment": EXPERIMENT,
    "planned": PLANNED,
    "maintenance": PLANNED,
}
"""Kinds of stop by what a reader would do about them."""


def lost_by_kind(events: pd.DataFrame, step_s: float) -> pd.DataFrame:
    """Hours that a run lost, by the kind of stop that ended each stretch.

    A stretch lies between two restarts whose step is known. What it lost is its wall clock less its steps: what was
    computed in vain, and the time until the run went on. All of it is put down to the stop at its end. Stops without a
    known step lie inside a stretch; if they are of another kind than its end, nobody can tell whose the hours are, and
    the stretch counts as ``several kinds``.

    Parameters
    ----------
    events : DataFrame
        In order of time: ``time``, ``kind`` and ``restart_step`` (missing where unknown, but known in the first and the
        last row); with ``restarted``, when the run went on, where known. The window starts at the first ``time``.
    step_s : float
        Time of one step. [s]

    Returns
    -------
    DataFrame
        ``group``, ``lost_h`` [h], ``share`` of all that is lost, ``n_stops`` (those inside a stretch included) and
        ``n_stretches``, the largest first.

    Raises
    ------
    InputError
        A missing column, an unknown kind, a first or last step that is not known, steps or times that fall, or a
        stretch whose steps take longer than it lasts.

    Examples
    --------
    >>> diary = pd.DataFrame({
    ...     "time": ["2022-05-01 00:00", "2022-05-01 12:00", "2022-05-02 00:00"],
    ...     "kind": ["start", "node", "loss"],
    ...     "restart_step": [0, 100, 250],
    ... })
    >>> lost_by_kind(diary, 180.0)[["group", "lost_h"]].to_dict("list")
    {'group': ['hardware or network', 'loss spike'], 'lost_h': [7.0, 4.5]}
    """
    for column in ("time", "kind", "restart_step"):
        if column not in events.columns:
            raise InputError(f"events need the column {column}; there are: {', '.join(map(str, events.columns))}")
    for kind in sorted(set(events["kind"]) - set(GROUPS)):
        raise UnknownName("kind of stop", kind, GROUPS)
    events = events.reset_index(drop=True)
    goes_on = pd.to_datetime(events["time"])
    if "restarted" in events.columns:
        named = events["restarted"].notna() & (events["restarted"] != "")
        goes_on = pd.to_datetime(events["restarted"].where(named, events["time"]))
    has_step = np.flatnonzero(events["restart_step"].notna())
    if has_step.size < 2 or has_step[0] != 0 or has_step[-1] != len(events) - 1:
        raise InputError("restart_step must be known in the first and in the last of at least two rows of events")
    groups = events["kind"].map(GROUPS).tolist()
    done = realised_ettr(goes_on[has_step], events["restart_step"][has_step], step_s).segments
    idle_h = float((goes_on[0] - pd.to_datetime(events["time"])[0]) / _HOUR)
    rows = [(groups[0], idle_h, 1)] if idle_h > 0 else []
    for stretch, (start, end) in zip(done.itertuples(), itertools.pairwise(has_step), strict=True):
        lost_h = stretch.wall_h - stretch.steps * float(step_s) / S_PER_H
        if lost_h < 0:
            raise InputError(
                f"step_s must fit every stretch, got {step_s:g} s: {stretch.steps} steps from {stretch.start} take "
                f"longer than the {stretch.wall_h:.4g} h until {stretch.end}; leave out stretches of other steps"
            )
        kinds = set(groups[start + 1 : end + 1])
        rows.append((kinds.pop() if len(kinds) == 1 else MIXED, lost_h, int(end - start)))
    table = pd.DataFrame(rows, columns=["group", "lost_h", "n_stops"]).assign(n_stretches=1)
    table = table.groupby("group", as_index=False).sum().sort_values("lost_h", ascending=False, ignore_index=True)
    table.insert(2, "share", table["lost_h"] / table["lost_h"].sum())
    return table
