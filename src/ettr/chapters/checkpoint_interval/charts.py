"""Charts on the checkpoint interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.bands import ENDS, band_sentence
from ettr.chapters.common.columns import tooltips
from ettr.chapters.common.encodings import DASHES, MODEL_NAMES, but_size
from ettr.chapters.common.theme import (
    BLUE,
    DARK_GREEN,
    MODEL_COLOURS,
    ORANGE,
    PURPLE,
    RANGE_COLOURS,
    finish,
    layered,
    need,
)

if TYPE_CHECKING:
    from ettr.plan import Band

_FORMULAS = {name: (MODEL_COLOURS[key], DASHES[name]) for key, name in MODEL_NAMES.items()}
_RULES = {
    "Young": (BLUE, [1, 0]),
    "Daly, first order": (ORANGE, [6, 3]),
    "Daly, higher order": (DARK_GREEN, [2, 2]),
    "Availability": (PURPLE, [8, 2, 2, 2]),
}


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
    exact = curves[curves["formula"] == "exact"]
    near = exact.loc[exact["interval_min"].between(band.interval_min / 4, band.interval_min * 4), "ettr"]
    ends = [math.floor(20 * near.min()) / 20, math.ceil(20 * exact["ettr"].max()) / 20]
    tips = tooltips("formula", "interval_min", "ettr")
    across, up = builders.across("interval_min"), builders.up("ettr", domain=ends)
    lines = builders.lines(curves, across, up, "formula", _FORMULAS, tips, "Formula", clip=True)
    names = ", ".join(name for name in _FORMULAS if name in set(curves["formula"]))
    return finish(
        _flat(band.low_min, band.high_min, "what", "low_min", "high_min")
        + _interval_marks(band.interval_min, given_min)
        + lines,
        title=title,
        subtitle=subtitle,
        description=(
            f"Curves of ETTR over the checkpoint interval on a logarithmic axis, by {names}. The exact curve "
            f"is highest at {band.interval_min:.1f} minutes; a shaded range from {band.low_min:.1f} to "
            f"{band.high_min:.1f} minutes is within half a point of it. The scenario's own interval is "
            f"{given_min:g} minutes."
        ),
    )


def _flat(low_min: float, high_min: float, *tips: str) -> Any:
    """The intervals that cost at most half a point."""
    edges = pd.DataFrame({"low_min": [low_min], "high_min": [high_min], "what": ["at most half a point lost"]})
    area = alt.Chart(edges).mark_rect(opacity=0.14, color=RANGE_COLOURS["half a point lost"])
    return area.encode(x=alt.X("low_min:Q"), x2=alt.X2("high_min:Q"), tooltip=tooltips(*tips))


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
    across, up = builders.across("n_gpus"), builders.up("loss_points", domainMin=0)
    tips = tooltips("rule", "n_gpus", "interval_min", "loss_points")
    worst = published.groupby("rule")["loss_points"].max()
    largest = ", ".join(f"{rule} {loss:.2g}" for rule, loss in worst.items())
    return finish(
        builders.lines(published, across, up, "rule", _RULES, tips, "Rule", clip=True),
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
    intervals = frame["interval_min"]
    flat = _flat(max(band.low_min, intervals.min()), min(band.high_min, intervals.max()), "what")
    up = builders.up("ettr", domain=[lowest, highest])
    curve = builders.banded(frame, builders.across("interval_min"), up, ["interval_min", "ettr"])
    near = frame.iloc[(intervals - band.interval_min).abs().argmin()]
    known = band_sentence(near, f"Near the best interval of {band.interval_min:.1f} minutes")
    return finish(
        layered(flat, layered(*curve)),
        title=title,
        subtitle=subtitle,
        description=(
            f"Curve of ETTR over the checkpoint interval on a logarithmic axis, with bands from what is known of the "
            f"failure rate. {known} A shaded range costs at most half a point."
        ),
    )
