"""Charts on failures that are announced, and on failures that are found late."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import DASHES, MODEL_NAMES, PERCENT, dash, line_colour
from ettr.chapters.common.theme import MODEL_COLOURS, finish, need, touchable

_LINES = ["#ad470c", "#1f95ec", "#2a7057", "#8d48b3"]
_DISTRIBUTIONS = {"constant": [1, 0], "exponential": [5, 3]}


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
    models = [name for name in DASHES if name in set(curves["model"])]
    lines = (
        alt.Chart(curves)
        .mark_line()
        .encode(
            x=alt.X("recall:Q", title="Announced failures: recall [%]", axis=PERCENT),
            y=alt.Y("ettr:Q", title="ETTR", axis=PERCENT, scale=alt.Scale(zero=False)),
            color=line_colour("alarms", "Precision", dict(zip(names, _LINES, strict=False))),
            strokeDash=dash("model", "Formula", {name: DASHES[name] for name in models}).legend(
                symbolType="stroke", symbolSize=300
            ),
            tooltip=[
                alt.Tooltip("alarms:N", title="Precision"),
                alt.Tooltip("model:N", title="Formula"),
                alt.Tooltip("recall:Q", title="Recall", format=".0%"),
                alt.Tooltip("interval_min:Q", title="Best interval [min]", format=",.3~g"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".2%"),
            ],
        )
    )
    exact = frame[frame["formula"] == "exact"]
    dots = (
        alt.Chart(published)
        .mark_point(size=120, color=MODEL_COLOURS["published"], opacity=1)
        .encode(
            x=alt.X("recall:Q"),
            y=alt.Y("ettr:Q"),
            shape=alt.Shape("predictor:N", title=None, scale=alt.Scale(range=["diamond"])),
            tooltip=[
                alt.Tooltip("predictor:N", title="Published"),
                alt.Tooltip("precision:Q", title="Precision", format=".1%"),
                alt.Tooltip("recall:Q", title="Recall", format=".1%"),
                alt.Tooltip("ettr:Q", title="ETTR here", format=".2%"),
            ],
        )
    )
    ends = "; ".join(f"precision {p:.1%} to {part['ettr'].iloc[-1]:.1%}" for p, part in exact.groupby("precision"))
    return finish(
        touchable(lines) + dots,
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
    lines = (
        alt.Chart(curves)
        .mark_line()
        .encode(
            x=_latency(),
            y=alt.Y(
                "n_kept:Q",
                title="Checkpoints to keep",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format=",~g", tickCount=5, labelOverlap=True),
            ),
            color=line_colour("every", "One kept every", dict(zip(every, _LINES[1::2], strict=False))),
            strokeDash=dash("distribution", "Latency", _DISTRIBUTIONS).legend(symbolType="stroke", symbolSize=300),
            tooltip=[
                alt.Tooltip("every:N", title="One kept every"),
                alt.Tooltip("distribution:N", title="Latency is"),
                alt.Tooltip("latency_h:Q", title="Latency [h]", format=",.3~g"),
                alt.Tooltip("n_kept:Q", title="Checkpoints", format=",.0f"),
            ],
        )
    )
    last = frame.groupby(["interval_min", "distribution"])["n_kept"].max()
    most = ", ".join(f"{n:,.0f} ({kind}, every {tau:.3g} min)" for (tau, kind), n in last.items())
    return finish(
        touchable(lines),
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
    lines = (
        alt.Chart(curves)
        .mark_line()
        .encode(
            x=_latency(),
            y=alt.Y("lost_points:Q", title="ETTR lost [points]", scale=alt.Scale(domainMin=0)),
            color=line_colour("line", "Failures", dict(zip(present, ("#1f95ec", "#e46d09"), strict=False))),
            strokeDash=dash("line", "Failures", dict(zip(present, ([1, 0], [6, 3]), strict=False))),
            tooltip=[
                alt.Tooltip("line:N", title="Failures"),
                alt.Tooltip("latency_h:Q", title="Latency [h]", format=",.3~g"),
                alt.Tooltip("lost_points:Q", title="Lost [points]", format=".2f"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
            ],
        )
    )
    most = curves.groupby("line")["lost_points"].max()
    largest = ", ".join(f"{name} {lost:.1f}" for name, lost in most.items())
    return finish(
        touchable(lines),
        title=title,
        subtitle=subtitle,
        description=f"Rising curves of the ETTR lost over the mean latency of silent failures, on a logarithmic axis. "
        f"At most, in points: {largest}.",
    )


def _latency() -> alt.X:
    return alt.X(
        "latency_h:Q",
        title="Latency: from the corruption to its discovery [h]",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", tickCount=5, labelOverlap=True),
    )
