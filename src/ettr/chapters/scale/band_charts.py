"""Charts with bands from what is known of the failure rate."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.checkpoint_interval.charts import ENDS
from ettr.chapters.common.bands import BAND_NAMES, COLOUR, band_sentence, banded
from ettr.chapters.common.encodings import but_size, logarithmic, rounded
from ettr.chapters.common.theme import finish, layered, need, touchable


def size_with_bands(frame: pd.DataFrame, target: float, title: str, subtitle: str = "") -> Any:
    """ETTR over the size of the job at the best interval, with what the uncertain failure rate makes of it.

    Parameters
    ----------
    frame : DataFrame
        As from ``band_tables.size_with_bands``.
    target : float
        An ETTR to draw a line at.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "ettr", *ENDS)
    goal = alt.Chart(pd.DataFrame({"ettr": [target]})).mark_rule(strokeDash=[3, 3]).encode(y=alt.Y("ettr:Q"))
    near = frame.iloc[(frame["ettr"] - target).abs().argmin()]
    return finish(
        layered(*banded(frame, "n_gpus", logarithmic("n_gpus", "Job size [GPUs]"), (0.0, 1.0)), goal),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"Curve of ETTR at the best interval over the job size on a logarithmic axis, with bands from what is "
            f"known of the failure rate. {band_sentence(near, f'At {near.n_gpus:,.0f} GPUs')}"
        ),
    )


def band_by_size(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Best interval over the size of the job, with the range that is nearly as good.

    Parameters
    ----------
    frame : DataFrame
        As from ``band_tables.band_by_size``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "interval_min", "low_min", "high_min", "low_95_min", "high_95_min")
    shown = rounded(frame)
    x_axis = logarithmic("n_gpus", "Job size [GPUs]")
    y_axis = alt.Y(
        "low_min:Q",
        title="Checkpoint interval [min]",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    ranges = [("half a point lost", "low_min", "high_min", 0.25)]
    if (frame["high_95_min"] > frame["low_95_min"] * (1 + 1e-9)).any():
        ranges.append(("rate, 95%", "low_95_min", "high_95_min", 0.55))
    names = [name for name, *_ in ranges]
    colours = alt.Scale(domain=names, range=[BAND_NAMES[name] for name in names])
    areas = [
        alt.Chart(shown[["n_gpus", low, high]].rename(columns={low: "low_min", high: "high_min"}).assign(what=name))
        .mark_area(opacity=opacity)
        .encode(x=x_axis, y=y_axis, y2=alt.Y2("high_min:Q"), color=alt.Color("what:N", title="Range", scale=colours))
        for name, low, high, opacity in ranges
    ]
    line = (
        alt.Chart(shown)
        .mark_line(color=COLOUR)
        .encode(
            x=x_axis,
            y=alt.Y("interval_min:Q"),
            tooltip=[
                alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
                alt.Tooltip("interval_min:Q", title="Best [min]", format=".3~g"),
                alt.Tooltip("low_min:Q", title="Half a point: from [min]", format=".3~g"),
                alt.Tooltip("high_min:Q", title="to [min]", format=".3~g"),
                alt.Tooltip("low_95_min:Q", title="Rate 95%: from [min]", format=".3~g"),
                alt.Tooltip("high_95_min:Q", title="to [min]", format=".3~g"),
            ],
        )
    )
    first, last = frame.iloc[0], frame.iloc[-1]
    return finish(
        layered(*areas, touchable(line)),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"Best checkpoint interval over the job size, both logarithmic: {first.interval_min:.3g} minutes at "
            f"{first.n_gpus:,.0f} GPUs, where {first.low_min:.3g} to {first.high_min:.3g} cost at most half a point, "
            f"and {last.interval_min:.3g} minutes at {last.n_gpus:,.0f}, where {last.low_min:.3g} to "
            f"{last.high_min:.3g} do."
        ),
    )
