"""Charts with bands from what is known of the failure rate."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.charts.encodings import PERCENT, but_size, logarithmic, rounded
from ettr.charts.theme import MODEL_COLOURS, finish, layered, need, touchable
from ettr.plan import Band

_COLOUR = MODEL_COLOURS["exact"]
_ENDS = ("low_50", "high_50", "low_95", "high_95")
_BAND_NAMES = {"half a point lost": "#289561", "rate, 95%": "#e46d09"}


def interval_with_bands(frame: pd.DataFrame, band: Band, title: str, subtitle: str = "") -> Any:
    """ETTR over the checkpoint interval, with what the uncertain failure rate makes of it.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.interval_with_bands`.
    band : Band
        Best interval and the range that costs at most half a point.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "interval_min", "ettr", *_ENDS)
    lowest = max(0.0, float(frame["low_95"].min()) - 0.01)
    highest = min(1.0, float(frame["high_95"].max()) + 0.01)
    flat = pd.DataFrame({"low": [band.low_min], "high": [band.high_min], "what": ["at most half a point lost"]})
    ends = {
        "low": max(band.low_min, frame["interval_min"].min()),
        "high": min(band.high_min, frame["interval_min"].max()),
    }
    shade = (
        alt.Chart(flat.assign(**ends))
        .mark_rect(opacity=0.14, color=_BAND_NAMES["half a point lost"])
        .encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), tooltip=[alt.Tooltip("what:N", title="Range")])
    )
    curve = _banded(frame, "interval_min", logarithmic("interval_min", "Checkpoint interval [min]"), (lowest, highest))
    near = frame.iloc[(frame["interval_min"] - band.interval_min).abs().argmin()]
    return finish(
        layered(shade, layered(*curve)),
        title=title,
        subtitle=subtitle,
        description=(
            f"Curve of ETTR over the checkpoint interval on a logarithmic axis, with bands from what is known of the "
            f"failure rate. {_told(near, f'Near the best interval of {band.interval_min:.1f} minutes')} A shaded range "
            f"costs at most half a point."
        ),
    )


def size_with_bands(frame: pd.DataFrame, target: float, title: str, subtitle: str = "") -> Any:
    """ETTR over the size of the job at the best interval, with what the uncertain failure rate makes of it.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.size_with_bands`.
    target : float
        An ETTR to draw a line at.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "ettr", *_ENDS)
    goal = alt.Chart(pd.DataFrame({"ettr": [target]})).mark_rule(strokeDash=[3, 3]).encode(y=alt.Y("ettr:Q"))
    near = frame.iloc[(frame["ettr"] - target).abs().argmin()]
    return finish(
        layered(*_banded(frame, "n_gpus", logarithmic("n_gpus", "Job size [GPUs]"), (0.0, 1.0)), goal),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"Curve of ETTR at the best interval over the job size on a logarithmic axis, with bands from what is "
            f"known of the failure rate. {_told(near, f'At {near.n_gpus:,.0f} GPUs')}"
        ),
    )


def band_by_size(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Best interval over the size of the job, with the range that is nearly as good.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.band_by_size`.
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
    colours = alt.Scale(domain=names, range=[_BAND_NAMES[name] for name in names])
    areas = [
        alt.Chart(shown[["n_gpus", low, high]].rename(columns={low: "low_min", high: "high_min"}).assign(what=name))
        .mark_area(opacity=opacity)
        .encode(x=x_axis, y=y_axis, y2=alt.Y2("high_min:Q"), color=alt.Color("what:N", title="Range", scale=colours))
        for name, low, high, opacity in ranges
    ]
    line = (
        alt.Chart(shown)
        .mark_line(color=_COLOUR)
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


def _banded(frame: pd.DataFrame, axis: str, x_axis: alt.X, ends: tuple[float, float]) -> list[Any]:
    """Layers of a curve on its bands of 50% and 95%, which are drawn where they have a width."""
    shown = rounded(frame)
    y_axis = alt.Y("ettr:Q", title="ETTR", axis=PERCENT, scale=alt.Scale(domain=list(ends)))
    tooltip = [
        alt.Tooltip(
            f"{axis}:Q",
            title="GPUs" if axis == "n_gpus" else "Interval [min]",
            format=".3~s" if axis == "n_gpus" else ".3~g",
        ),
        alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
    ]
    layers = []
    if _known(frame):
        names = alt.Scale(domain=["50%", "95%"], range=[_COLOUR, "#8fbfe8"])
        for level, opacity in ((95, 0.45), (50, 0.6)):
            band = shown[[axis, f"low_{level}", f"high_{level}"]].assign(level=f"{level}%")
            area = alt.Chart(band.rename(columns={f"low_{level}": "ettr"})).mark_area(opacity=opacity, clip=True)
            colour = alt.Color("level:N", title="Probability", scale=names)
            layers.append(area.encode(x=x_axis, y=y_axis, y2=alt.Y2(f"high_{level}:Q"), color=colour))
            tooltip += [
                alt.Tooltip(f"low_{level}:Q", title=f"{level}%: from", format=".1%"),
                alt.Tooltip(f"high_{level}:Q", title="to", format=".1%"),
            ]
    line = alt.Chart(shown).mark_line(color=_COLOUR, clip=True).encode(x=x_axis, y=y_axis, tooltip=tooltip)
    return [*layers, touchable(line)]


def _known(frame: pd.DataFrame) -> bool:
    return bool((frame["high_95"] > frame["low_95"]).any())


def _told(row: Any, where: str) -> str:
    if row.high_95 <= row.low_95:
        return f"{where} it is {row.ettr:.1%}; nothing is known of the rate's uncertainty, so there are no bands."
    return (
        f"{where} it is {row.ettr:.1%}, from {row.low_50:.1%} to {row.high_50:.1%} with 50% and from {row.low_95:.1%} "
        f"to {row.high_95:.1%} with 95% probability."
    )
