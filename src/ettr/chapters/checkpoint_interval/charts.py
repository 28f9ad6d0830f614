"""Charts on the checkpoint interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.bands import ENDS, band_sentence
from ettr.chapters.common.encodings import (
    DASHES,
    MODEL_NAMES,
    PERCENT,
    but_size,
    dash,
    line_colour,
    logarithmic,
)
from ettr.chapters.common.theme import MODEL_COLOURS, PART_COLOURS, RANGE_COLOURS, finish, layered, need, touchable

if TYPE_CHECKING:
    from ettr.plan import Band


def curve(frame: pd.DataFrame, band: Band, given_min: float, title: str, subtitle: str = "") -> Any:
    """ETTR over the checkpoint interval, with the best one, its band and the scenario's own.

    The vertical axis begins at the ETTR of a fourfold error, so that the flat top is seen; curves leave the picture
    below it.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.by_interval``: ``interval_min`` [min], ``formula``, ``ettr``.
    band : Band
        Best interval and band.
    given_min : float
        The scenario's own interval. [min]
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "interval_min", "formula", "ettr")
    curves = frame.assign(formula=frame["formula"].map(MODEL_NAMES))
    names = [name for name in DASHES if name in set(curves["formula"])]
    colours = {MODEL_NAMES[key]: colour for key, colour in MODEL_COLOURS.items() if key in MODEL_NAMES}
    exact = curves[curves["formula"] == "exact"]
    near = exact.loc[exact["interval_min"].between(band.interval_min / 4, band.interval_min * 4), "ettr"]
    lowest, highest = math.floor(20 * near.min()) / 20, math.ceil(20 * exact["ettr"].max()) / 20
    lines = (
        alt.Chart(curves)
        .mark_line(clip=True)
        .encode(
            x=logarithmic("interval_min", "Checkpoint interval [min]"),
            y=alt.Y("ettr:Q", title="ETTR", axis=PERCENT, scale=alt.Scale(domain=[lowest, highest])),
            color=line_colour("formula", "Formula", {name: colours[name] for name in names}),
            strokeDash=dash("formula", "Formula", {name: DASHES[name] for name in names}),
            tooltip=[
                alt.Tooltip("formula:N", title="Formula"),
                alt.Tooltip("interval_min:Q", title="Interval [min]", format=".3~g"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".2%"),
            ],
        )
    )
    visible = curves["ettr"].between(lowest, highest)
    return finish(
        _band_area(band) + _interval_marks(band.interval_min, given_min) + touchable(lines, curves[visible]),
        title=title,
        subtitle=subtitle,
        description=(
            f"Curves of ETTR over the checkpoint interval on a logarithmic axis, by {', '.join(names)}. The exact "
            f"curve "
            f"is highest at {band.interval_min:.1f} minutes; a shaded range from {band.low_min:.1f} to "
            f"{band.high_min:.1f} minutes is within half a point of it. The scenario's own interval is "
            f"{given_min:g} minutes."
        ),
    )


def _band_area(band: Band) -> Any:
    edges = pd.DataFrame({"low": [band.low_min], "high": [band.high_min], "what": ["at most half a point lost"]})
    return (
        alt.Chart(edges)
        .mark_rect(opacity=0.14, color=PART_COLOURS["productive"])
        .encode(
            x=alt.X("low:Q"),
            x2=alt.X2("high:Q"),
            tooltip=[
                alt.Tooltip("what:N", title="Range"),
                alt.Tooltip("low:Q", title="from [min]", format=".3~g"),
                alt.Tooltip("high:Q", title="to [min]", format=".3~g"),
            ],
        )
    )


def _interval_marks(best_min: float, given_min: float) -> Any:
    """Named dashed lines at two intervals, each name on the side away from the other."""
    marks = pd.DataFrame({"at": [best_min, given_min], "what": ["best", "scenario"]}).sort_values("at")
    rules = alt.Chart(marks).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("at:Q"))
    text = {"x": alt.X("at:Q"), "y": alt.value("height"), "text": alt.Text("what:N")}
    left = alt.Chart(marks.iloc[[0]]).mark_text(align="right", dx=-4, dy=-8).encode(**text)
    right = alt.Chart(marks.iloc[[1]]).mark_text(align="left", dx=4, dy=-8).encode(**text)
    return rules + left + right


def rules(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """What each published rule for the interval costs against the best one.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.interval_rules``: ``n_gpus``, ``rule``, ``interval_min`` [min], ``loss_points``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "rule", "interval_min", "loss_points")
    published = frame[frame["rule"] != "Exact"]
    names = ["Young", "Daly, first order", "Daly, higher order", "Availability"]
    colours = ["#1f95ec", "#e46d09", "#2a7057", "#8d48b3"]
    dashes = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]
    chart = (
        alt.Chart(published)
        .mark_line(clip=True)
        .encode(
            x=logarithmic("n_gpus", "Job size [GPUs]"),
            y=alt.Y("loss_points:Q", title="ETTR lost [points]", scale=alt.Scale(domainMin=0)),
            color=line_colour("rule", "Rule", dict(zip(names, colours, strict=True))),
            strokeDash=dash("rule", "Rule", dict(zip(names, dashes, strict=True))),
            tooltip=[
                alt.Tooltip("rule:N", title="Rule"),
                alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
                alt.Tooltip("interval_min:Q", title="Interval [min]", format=".3~g"),
                alt.Tooltip("loss_points:Q", title="Lost [points]", format=".3f"),
            ],
        )
    )
    worst = published.groupby("rule")["loss_points"].max()
    largest = ", ".join(f"{rule} {loss:.2g}" for rule, loss in worst.items())
    return finish(
        touchable(chart),
        title=title,
        subtitle=but_size(subtitle),
        description=f"Curves of the ETTR that four rules lose against the best interval, over the job size. Largest "
        f"losses in points: {largest}.",
    )


def interval_with_bands(frame: pd.DataFrame, band: Band, title: str, subtitle: str = "") -> Any:
    """ETTR over the checkpoint interval, with what the uncertain failure rate makes of it.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.interval_with_bands``.
    band : Band
        Best interval and the range that costs at most half a point.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "interval_min", "ettr", *ENDS)
    lowest = max(0.0, float(frame["low_95"].min()) - 0.01)
    highest = min(1.0, float(frame["high_95"].max()) + 0.01)
    flat = pd.DataFrame({"low": [band.low_min], "high": [band.high_min], "what": ["at most half a point lost"]})
    ends = {
        "low": max(band.low_min, frame["interval_min"].min()),
        "high": min(band.high_min, frame["interval_min"].max()),
    }
    shade = (
        alt.Chart(flat.assign(**ends))
        .mark_rect(opacity=0.14, color=RANGE_COLOURS["half a point lost"])
        .encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), tooltip=[alt.Tooltip("what:N", title="Range")])
    )
    up = builders.up("ettr", domain=[lowest, highest])
    curve = builders.banded(frame, builders.across("interval_min"), up, ["interval_min", "ettr"])
    near = frame.iloc[(frame["interval_min"] - band.interval_min).abs().argmin()]
    known = band_sentence(near, f"Near the best interval of {band.interval_min:.1f} minutes")
    return finish(
        layered(shade, layered(*curve)),
        title=title,
        subtitle=subtitle,
        description=(
            f"Curve of ETTR over the checkpoint interval on a logarithmic axis, with bands from what is known of the "
            f"failure rate. {known} A shaded range costs at most half a point."
        ),
    )
