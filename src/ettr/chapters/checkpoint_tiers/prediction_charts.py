"""Charts on failures that are announced, and on failures that are found late."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import axis_title, tooltips
from ettr.chapters.common.encodings import DASHES, MODEL_NAMES
from ettr.chapters.common.theme import (
    BLUE,
    CATEGORY_COLOURS,
    DARK_GREEN,
    ORANGE,
    PURPLE,
    finish,
    need,
)

_PRECISIONS = (CATEGORY_COLOURS["GPU"], BLUE, DARK_GREEN, PURPLE)
_EVERY = (BLUE, PURPLE)
_LATENCIES = {"constant": [1, 0], "exponential": [5, 3]}


def announced(frame: pd.DataFrame, published: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """ETTR over the share of failures that is announced.

    Parameters
    ----------
    frame : DataFrame
        As from ``prediction_tables.announced``: ``recall``, ``precision``, ``formula``, ``interval_min`` [min],
        ``ettr``.
    published : DataFrame
        As from ``prediction_tables.predictors_here``: ``predictor``, ``precision``, ``recall``, ``ettr``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "recall", "precision", "formula", "interval_min", "ettr")
    need(published, "predictor", "precision", "recall", "ettr")
    curves = frame.assign(
        alarms=[f"{value:.1%}" for value in frame["precision"]], model=frame["formula"].map(MODEL_NAMES)
    )
    names = [f"{value:.1%}" for value in sorted(frame["precision"].unique())]
    looks = builders.series(names, _PRECISIONS)
    x = builders.along("recall")
    tips = tooltips("alarms", "model", "recall", "interval_min", "ettr", interval_min="Best interval")
    up = builders.up("ettr", zero=False)
    lines = builders.lines(curves, x, up, "alarms", looks, tips, "Precision", dashes=("model", DASHES))
    exact = frame[frame["formula"] == "exact"]
    shape = alt.Shape("predictor:N", title=None, scale=alt.Scale(range=["diamond"]))
    tips = tooltips("predictor", "precision", "recall", "ettr", ettr="ETTR here")
    dots = builders.dots(published, alt.X("recall:Q"), alt.Y("ettr:Q"), shape, 120, tips)
    ends = "; ".join(f"precision {p:.1%} to {part['ettr'].iloc[-1]:.1%}" for p, part in exact.groupby("precision"))
    return finish(
        lines + dots,
        title=title,
        subtitle=subtitle,
        description=(
            f"Curves of ETTR over the share of failures that is announced, by precision, exact and to first order. "
            f"From {exact['ettr'].iloc[0]:.1%} without announcements, exact: {ends} at the right end."
        ),
    )


def to_keep(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """How many old checkpoints to keep, over the latency of silent failures.

    Parameters
    ----------
    frame : DataFrame
        As from ``prediction_tables.kept_checkpoints``: ``latency_h`` [h], ``interval_min`` [min], ``distribution``,
        ``n_kept``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "latency_h", "interval_min", "distribution", "n_kept")
    curves = frame.assign(every=[f"{value:.3g} min" for value in frame["interval_min"]])
    every = list(dict.fromkeys(curves["every"]))
    looks = builders.series(every, _EVERY)
    axis = alt.Axis(format=",~g", tickCount=5, labelOverlap=True)
    up = alt.Y("n_kept:Q", title=axis_title("n_kept"), scale=alt.Scale(type="log"), axis=axis)
    tips = tooltips("every", "distribution", "latency_h", "n_kept")
    across, dashes = builders.across("latency_h", ticks=5), ("distribution", _LATENCIES)
    lines = builders.lines(curves, across, up, "every", looks, tips, "One kept every", dashes=dashes)
    last = frame.groupby(["interval_min", "distribution"])["n_kept"].max()
    most = ", ".join(f"{n:,.0f} ({kind}, every {tau:.3g} min)" for (tau, kind), n in last.items())
    return finish(
        lines,
        title=title,
        subtitle=subtitle,
        description=f"Rising curves of the checkpoints to keep over the mean latency, both logarithmic. At the longest "
        f"latency: {most}.",
    )


def found_late(frame: pd.DataFrame, share: float, title: str, subtitle: str = "") -> Any:
    """ETTR lost to silent failures, over their latency.

    Parameters
    ----------
    frame : DataFrame
        As from ``prediction_tables.found_late``: ``latency_h`` [h], ``which``, ``ettr``, ``lost_points``.
    share : float
        Share of failures that are silent.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "latency_h", "which", "ettr", "lost_points")
    names = {"all": "all silent, exact", "share": f"{share:.1%} silent, first order"}
    curves = frame.assign(line=frame["which"].map(names))
    present = [name for name in names.values() if name in set(curves["line"])]
    looks = dict(zip(present, ((BLUE, [1, 0]), (ORANGE, [6, 3])), strict=False))
    across, up = builders.across("latency_h", ticks=5), builders.up("lost_points", domainMin=0)
    tips = tooltips("line", "latency_h", "lost_points", "ettr", line="Failures")
    lines = builders.lines(curves, across, up, "line", looks, tips, "Failures")
    most = curves.groupby("line")["lost_points"].max()
    largest = ", ".join(f"{name} {lost:.1f}" for name, lost in most.items())
    return finish(
        lines,
        title=title,
        subtitle=subtitle,
        description=f"Rising curves of the ETTR lost over the mean latency of silent failures, on a logarithmic axis. "
        f"At most, in points: {largest}.",
    )
