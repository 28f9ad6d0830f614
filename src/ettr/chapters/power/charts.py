"""Charts of power over time, and of its spectrum."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import tooltips
from ettr.chapters.common.encodings import rounded
from ettr.chapters.common.theme import (
    AZURE,
    BLUE,
    DARK_GREEN,
    GREEN,
    OCHRE,
    ORANGE,
    PART_COLOURS,
    RUST,
    finish,
    layered,
    need,
    touchable,
)

_AT_GRID = "Power at the grid [MW]"
_MOMENTS = {
    "a failure": (RUST, [1, 0]),
    "the return": (GREEN, [6, 3]),
    "a checkpoint": (AZURE, [1, 0]),
    "the start": (GREEN, [1, 0]),
}
_STOPS = {"failure": PART_COLOURS["rework"], "maintenance": PART_COLOURS["maintenance"]}
_NODES = {"as given": (BLUE, [1, 0]), "all nodes at once": (ORANGE, [2, 3])}
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
    x = builders.along("hour", domain=[0, max(1.0, float(np.ceil(span_h)))], nice=False)
    low_y, y = (alt.Y(f"{name}:Q", title=_AT_GRID, scale=alt.Scale(zero=True)) for name in ("low_mw", "power_mw"))
    base = alt.Chart(rounded(frame.rename(columns={"mean_mw": "power_mw"}))).encode(x=x)
    area = base.mark_area(opacity=0.3, color=BLUE, clip=True).encode(y=low_y, y2=alt.Y2("high_mw:Q"))
    tips = tooltips("hour", "low_mw", "power_mw", "high_mw", power_mw="Mean")
    line = base.mark_line(color=DARK_GREEN, clip=True).encode(y=y, tooltip=tips)
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
    drawn = rounded(events[["hour", "what"]])
    colour = builders.squares("what", builders.present(_STOPS, drawn["what"]), symbolOpacity=1)
    ticks = alt.Chart(drawn).mark_tick(thickness=2, size=12, yOffset=-6)
    tips = tooltips("what", "hour", what="Stopped by", hour="At hour")
    return ticks.encode(x=x, y=alt.value("height"), color=colour, tooltip=tips)


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
    curves = rounded(frame[["moment", "since_s", "power_mw"]])
    x, y = builders.along("since_s", nice=False), builders.up("power_mw", title=_AT_GRID, zero=True)
    tips = tooltips("moment", "since_s", "power_mw")
    lines = builders.lines(curves, x, y, "moment", _MOMENTS, tips, strokeWidth=1.75)
    means = []
    for name in builders.present(_MOMENTS, frame["moment"]):
        own = frame[frame["moment"] == name]
        before, after = (own.loc[own["since_s"] * sign > 0, "power_mw"].mean() for sign in (-1, 1))
        means.append(
            f"about {name} a mean of {before:.3g} MW before and {after:.3g} MW after"
            if np.isfinite(before) and np.isfinite(after)
            else f"about {name} a mean of {own['power_mw'].mean():.3g} MW"
        )
    return finish(
        lines,
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
    present = [*builders.present(_NODES, drawn["nodes"])]
    ends = [float(frame["frequency_hz"].min()), float(frame["frequency_hz"].max())]
    x = builders.across("frequency_hz", domain=ends).axis(format="~g", values=[0.01, 0.1, 1, 10, 100])
    y = builders.up("psd_mw2_per_hz", log=True, ticks=6)
    band = pd.DataFrame({"frequency_hz": [max(low_hz, ends[0])], "to_hz": [min(high_hz, ends[1])]})
    area = (
        alt.Chart(band).mark_rect(opacity=0.12, color=OCHRE).encode(x=x, x2=alt.X2("to_hz:Q"), tooltip=alt.value(None))
    )
    curves, tips = rounded(drawn.drop(columns="band_share"), 4), tooltips("nodes", "frequency_hz", "psd_mw2_per_hz")
    lines = builders.lines(curves, x, y, "nodes", _NODES, tips, "Phases change", clip=True, strokeWidth=1.5)
    shares = drawn.groupby("nodes")["band_share"].first()
    in_band = "; ".join(f"{shares[name]:.0%} of the fluctuation lies in it, {name}" for name in present)
    own = drawn[drawn["nodes"] == present[0]]
    peak = own.loc[own["psd_mw2_per_hz"].idxmax()]
    return finish(
        layered(area, lines),
        title=title,
        subtitle=subtitle,
        description=(
            f"Spectral density over frequency, both logarithmic, with the band from {low_hz:g} to {high_hz:g} hertz "
            f"shaded: {in_band}. The highest line is at {peak['frequency_hz']:.3g} hertz."
        ),
        height=320,
    )
