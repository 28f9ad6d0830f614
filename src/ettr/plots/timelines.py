"""A simulated run, day by day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.sentences import count, roughly
from ettr.core.units import H_PER_DAY, MIN_PER_H, ROUNDING
from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import PART_COLOURS, finish

if TYPE_CHECKING:
    from ettr.simulation import Simulation

_STATES = {
    "training" if part == "productive" else part: PART_COLOURS[part]
    for part in ("productive", "checkpoint", "rework", "detection", "queue", "restart", "maintenance")
}
_DOWN = ("detection", "queue", "restart", "maintenance")
_FAINT = 0.4
"""Opacity of training, so that the stops stand out."""
_SHORTEST_H = 1 / MIN_PER_H
"""Shortest stall that is visible in a chart of a day."""
_MOST_STRETCHES = 2000


def timeline_data(simulation: Simulation, n_days: int = 14) -> pd.DataFrame:
    """Return the stretches of the first days of the first run of a timeline, one row per stretch and day.

    Parameters
    ----------
    simulation : Simulation
        Simulation with a timeline, as from ``simulate(run, 1, timeline=[0])``.
    n_days : int
        Days from submission, fewer if the run ends earlier or has too many stretches for a page. [days]

    Returns
    -------
    DataFrame
        ``day`` (from 1), ``from_h``, ``to_h`` (hours of that day, 0 to 24) [h], ``state``, ``lasts_min`` (within the
        day) [min], in the order of time. Stalls of less than a minute count as training.

    Raises
    ------
    InputError
        The simulation has no timeline, or fewer days than one are wanted.
    """
    if simulation.timeline.empty:
        raise InputError("the simulation has no timeline: simulate(run, 1, timeline=[0])")
    if n_days < 1:
        raise InputError(f"n_days must be >= 1, got {n_days}")
    timeline = simulation.timeline[simulation.timeline["run"] == simulation.timeline["run"].iloc[0]]
    until_h = min(n_days * H_PER_DAY, float(timeline["end_h"].iloc[-1]))
    state, start_h = _merged(timeline)
    # cut at each midnight
    edges = np.union1d(start_h[start_h < until_h], np.arange(0.0, until_h, H_PER_DAY))
    ends = np.append(edges[1:], until_h)
    day = np.floor(edges / H_PER_DAY + ROUNDING).astype(int)
    stretches = pd.DataFrame(
        {
            "day": day + 1,
            "from_h": edges - day * H_PER_DAY,
            "to_h": ends - day * H_PER_DAY,
            "state": state[np.searchsorted(start_h, edges, side="right") - 1],
            "lasts_min": MIN_PER_H * (ends - edges),
        }
    )
    return _whole_days(stretches)


def _merged(timeline: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return states and starts of the stretches, with consecutive stretches of one state merged."""
    state, lasts_h = timeline["state"].astype(str), timeline["end_h"] - timeline["start_h"]
    state = np.where((state == "checkpoint") & (lasts_h < _SHORTEST_H), "training", state)
    begins = np.append(True, state[1:] != state[:-1])
    return state[begins], timeline["start_h"].to_numpy()[begins]


def _whole_days(stretches: pd.DataFrame) -> pd.DataFrame:
    """Return the first days that a page can hold, or the start of the first day."""
    if len(stretches) <= _MOST_STRETCHES:
        return stretches
    complete = stretches["day"] < stretches["day"].iloc[_MOST_STRETCHES]
    return stretches[complete] if complete.any() else stretches.iloc[:_MOST_STRETCHES]


def timeline(simulation: Simulation, *, n_days: int = 14, title: str = "", subtitle: str = "") -> Any:
    """Draw a simulated run with one strip per day, coloured by activity.

    Parameters
    ----------
    simulation : Simulation
        Simulation with a timeline, as from ``simulate(run, 1, timeline=[0])``.
    n_days : int
        Days from submission. [days]
    title : str
        Finding of the chart; by default the number of stops.
    subtitle : str
        Whose numbers these are; by default the title of the run.

    Examples
    --------
    >>> import ettr
    >>> runs = ettr.simulate(ettr.Scenario.load("rsc-1"), 1, timeline=[0])
    >>> ettr.plots.timeline(runs, n_days=3).title.text
    '37 stops in the first 3 days of a simulated run'
    """
    frame = timeline_data(simulation, n_days)
    down = frame["state"].isin(_DOWN)
    stops = int((down & ~down.shift(fill_value=False)).sum())
    lasts = roughly(frame["lasts_min"].sum() / MIN_PER_H)
    present = builders.present(_STATES, frame["state"])
    rows = sorted(frame["day"].unique())
    x = builders.along("from_h", title="Hour of the day [h]", domain=[0, 24], nice=False)
    strips = (
        alt.Chart(rounded(frame))
        .mark_bar(cornerRadius=0, cornerRadiusEnd=0)
        .encode(
            y=alt.Y("day:O", title="Day since submission", sort=rows, axis=alt.Axis(ticks=False, grid=False)),
            x=x.axis(values=list(range(0, 25, 3))),
            x2=alt.X2("to_h:Q"),
            color=builders.squares("state", present, symbolOpacity=1),
            opacity=alt.condition("datum.state == 'training'", alt.value(_FAINT), alt.value(1)),
            tooltip=tooltips("state", "day", "from_h", "lasts_min", state="State", day=Column("Day")),
        )
    )
    hours = frame.groupby("state")["lasts_min"].sum().div(60).reindex(list(present))
    totals = ", ".join(f"{state} {value:,.1f} h" for state, value in hours.items())
    return finish(
        strips,
        title=title or f"{count(stops)} stop{'' if stops == 1 else 's'} in the first {lasts} of a simulated run",
        subtitle=subtitle or simulation.scenario.title,
        description=f"A strip of 24 hours for each of the days {rows[0]} to {rows[-1]} of one run. In all: {totals}.",
        height=18 * len(rows) + 24,
    )
