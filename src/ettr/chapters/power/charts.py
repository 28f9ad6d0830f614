"""Charts of power over time, and of its spectrum."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.chapters.common.encodings import dash, line_colour, rounded
from ettr.chapters.common.theme import PART_COLOURS, finish, layered, need, touchable

RANGE_COLOUR, MEAN_COLOUR = "#1f95ec", "#2a7057"
_MOMENTS = {"a failure": "#a8480a", "the return": "#289561", "a checkpoint": "#2a8ff5", "the start": "#289561"}
_MOMENT_DASHES = {"a failure": [1, 0], "the return": [6, 3], "a checkpoint": [1, 0], "the start": [1, 0]}
_STOPS = {"failure": PART_COLOURS["rework"], "maintenance": PART_COLOURS["maintenance"]}
_NODES = {"as given": "#1f95ec", "all nodes at once": "#e46d09"}
_NODE_DASHES = {"as given": [1, 0], "all nodes at once": [2, 3]}
_LEAST_DENSITY = 1e-12
"""Of the highest: what lies below is rounding."""


def day(frame: pd.DataFrame, events: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """A day at the grid's meter: range and mean in every few minutes, with what stopped the run.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.power_of_day``.
    events : DataFrame
        As from ``tables.stops_of_day``; may be empty.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "hour", "low_mw", "mean_mw", "high_mw")
    need(events, "hour", "what")
    span_h = float(frame["hour"].iloc[-1])
    x = alt.X("hour:Q", title="Hour [h]", scale=alt.Scale(domain=[0, max(1.0, float(np.ceil(span_h)))], nice=False))
    y = alt.Y("power_mw:Q", title="Power at the grid [MW]", scale=alt.Scale(zero=True))
    base = alt.Chart(rounded(frame.rename(columns={"mean_mw": "power_mw"})))
    area = base.mark_area(opacity=0.3, color=RANGE_COLOUR, clip=True).encode(
        x=x, y=alt.Y("low_mw:Q", title="Power at the grid [MW]", scale=alt.Scale(zero=True)), y2=alt.Y2("high_mw:Q")
    )
    line = base.mark_line(color=MEAN_COLOUR, clip=True).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("hour:Q", title="Hour", format=".2f"),
            alt.Tooltip("low_mw:Q", title="Lowest second [MW]", format=".3~g"),
            alt.Tooltip("power_mw:Q", title="Mean [MW]", format=".3~g"),
            alt.Tooltip("high_mw:Q", title="Highest second [MW]", format=".3~g"),
        ],
    )
    low, high = frame["low_mw"].min(), frame["high_mw"].max()
    counted = events["what"].value_counts()
    stops = " and ".join(f"{number} of {what}" for what, number in counted.items()) or "none"
    return finish(
        layered(area, touchable(line), *([_ticks(events, x)] if len(events) else [])),
        title=title,
        subtitle=subtitle,
        description=(
            f"Power at the grid over {span_h:.3g} hours: a band from the lowest to the highest second of every few "
            f"minutes, and a line of their mean. The mean is {frame['mean_mw'].mean():.3g} MW, the lowest second "
            f"{low:.3g} MW and the highest {high:.3g} MW. Ticks below mark stops: {stops}."
        ),
        height=300,
    )


def _ticks(events: pd.DataFrame, x: alt.X) -> Any:
    """What stopped the run, along the foot of the chart."""
    present = [what for what in _STOPS if what in set(events["what"])]
    return (
        alt.Chart(rounded(events[["hour", "what"]]))
        .mark_tick(thickness=2, size=12, yOffset=-6)
        .encode(
            x=x,
            y=alt.value("height"),
            color=alt.Color(
                "what:N",
                title=None,
                scale=alt.Scale(domain=present, range=[_STOPS[what] for what in present]),
                legend=alt.Legend(symbolType="square", symbolOpacity=1),
            ),
            tooltip=[
                alt.Tooltip("what:N", title="Stopped by"),
                alt.Tooltip("hour:Q", title="At hour", format=".2f"),
            ],
        )
    )


def moments(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """The seconds before and after a failure, and about the return of training.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.moments``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "moment", "since_s", "power_mw")
    present = [name for name in _MOMENTS if name in set(frame["moment"])]
    line = (
        alt.Chart(rounded(frame[["moment", "since_s", "power_mw"]]))
        .mark_line(strokeWidth=1.75)
        .encode(
            x=alt.X("since_s:Q", title="Time since the moment [s]", scale=alt.Scale(nice=False)),
            y=alt.Y("power_mw:Q", title="Power at the grid [MW]", scale=alt.Scale(zero=True)),
            color=line_colour("moment", None, {name: _MOMENTS[name] for name in present}),
            strokeDash=dash("moment", None, {name: _MOMENT_DASHES[name] for name in present}),
            tooltip=[
                alt.Tooltip("moment:N", title="About"),
                alt.Tooltip("since_s:Q", title="Since [s]", format=".1f"),
                alt.Tooltip("power_mw:Q", title="Power [MW]", format=".4~g"),
            ],
        )
    )
    means = []
    for name in present:
        own = frame[frame["moment"] == name]
        before, after = (own.loc[own["since_s"] * sign > 0, "power_mw"].mean() for sign in (-1, 1))
        means.append(
            f"about {name} a mean of {before:.3g} MW before and {after:.3g} MW after"
            if np.isfinite(before) and np.isfinite(after)
            else f"about {name} a mean of {own['power_mw'].mean():.3g} MW"
        )
    return finish(
        touchable(line),
        title=title,
        subtitle=subtitle,
        description=f"Power at the grid in the seconds about a moment: {'; '.join(means)}. Teeth are training steps.",
        height=300,
    )


def spectrum(frame: pd.DataFrame, low_hz: float, high_hz: float, title: str, subtitle: str = "") -> Any:
    """Spectral density of the power, against the band in which grids resonate.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.spectra``.
    low_hz, high_hz : float
        The band. [Hz]
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "nodes", "frequency_hz", "psd_mw2_per_hz", "band_share")
    least = _LEAST_DENSITY * float(frame["psd_mw2_per_hz"].max())
    drawn = frame[frame["psd_mw2_per_hz"] > least]
    present = [name for name in _NODES if name in set(drawn["nodes"])]
    ends = [float(frame["frequency_hz"].min()), float(frame["frequency_hz"].max())]
    x = alt.X(
        "frequency_hz:Q",
        title="Frequency [Hz]",
        scale=alt.Scale(type="log", domain=ends, nice=False),
        axis=alt.Axis(format="~g", values=[0.01, 0.1, 1, 10, 100]),
    )
    band = pd.DataFrame({"frequency_hz": [max(low_hz, ends[0])], "to_hz": [min(high_hz, ends[1])]})
    area = (
        alt.Chart(band)
        .mark_rect(opacity=0.12, color="#a27505")
        .encode(x=x, x2=alt.X2("to_hz:Q"), tooltip=alt.value(None))
    )
    lines = (
        alt.Chart(rounded(drawn.drop(columns="band_share"), 4))
        .mark_line(strokeWidth=1.5, clip=True)
        .encode(
            x=x,
            y=alt.Y(
                "psd_mw2_per_hz:Q",
                title="Density [MW²/Hz]",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format=".0e", tickCount=6),
            ),
            color=line_colour("nodes", "Phases change", {name: _NODES[name] for name in present}),
            strokeDash=dash("nodes", "Phases change", {name: _NODE_DASHES[name] for name in present}),
            tooltip=[
                alt.Tooltip("nodes:N", title="Phases change"),
                alt.Tooltip("frequency_hz:Q", title="Frequency [Hz]", format=".3~g"),
                alt.Tooltip("psd_mw2_per_hz:Q", title="Density [MW²/Hz]", format=".2e"),
            ],
        )
    )
    shares = drawn.groupby("nodes")["band_share"].first()
    in_band = "; ".join(f"{shares[name]:.0%} of the fluctuation lies in it, {name}" for name in present)
    own = drawn[drawn["nodes"] == present[0]]
    peak = own.loc[own["psd_mw2_per_hz"].idxmax()]
    return finish(
        layered(area, touchable(lines)),
        title=title,
        subtitle=subtitle,
        description=(
            f"Spectral density over frequency, both logarithmic, with the band from {low_hz:g} to {high_hz:g} hertz "
            f"shaded: {in_band}. The highest line is at {peak['frequency_hz']:.3g} hertz."
        ),
        height=320,
    )
