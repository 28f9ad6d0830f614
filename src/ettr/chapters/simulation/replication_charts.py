"""Charts on how far to trust a simulation."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import AT_COMMAS, PERCENT, logarithmic, rounded, with_marks
from ettr.chapters.common.theme import MODEL_COLOURS, finish, need

_ESTIMATES = {"plain means": "#e46d09", "control variates": MODEL_COLOURS["simulated"]}
_WAYS = {
    "different seeds": "#e46d09",
    "different seeds, control variates": MODEL_COLOURS["simulated"],
    "the same seed": "#289561",
}
_POOLS = {"spares never run out": "#289561", "few spares": "#e46d09"}
_MARKS = ["circle", "square"]


def errors(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Error of the ETTR over the number of runs, measured and expected.

    Parameters
    ----------
    frame : DataFrame
        As from ``replication_tables.error_by_runs``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "estimate", "n_runs", "n_groups", "error_points", "low_points", "high_points", "expected_points")
    present = {name: colour for name, colour in _ESTIMATES.items() if name in set(frame["estimate"])}
    x = logarithmic("n_runs", "Runs", padding=14)
    y = alt.Y(
        "error_points:Q",
        title="Error of the ETTR [points]",
        scale=alt.Scale(type="log" if (frame["low_points"] > 0).all() else "linear", nice=False, padding=8),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    colour, shape = _colour_and_shape("estimate", present)
    base = alt.Chart(rounded(frame))
    layers = [
        base.mark_line(strokeDash=[5, 3], strokeWidth=1.5).encode(x=x, y=alt.Y("expected_points:Q"), color=colour),
        base.mark_rule(strokeWidth=2).encode(x=x, y=alt.Y("low_points:Q"), y2=alt.Y2("high_points:Q"), color=colour),
        base.mark_point(size=80, opacity=1).encode(
            x=x,
            y=y,
            color=colour,
            shape=shape,
            tooltip=[
                alt.Tooltip("estimate:N", title="Estimate"),
                alt.Tooltip("n_runs:Q", title="Runs", format=",.0f"),
                alt.Tooltip("n_groups:Q", title="Groups measured", format=",.0f"),
                alt.Tooltip("error_points:Q", title="Error [points]", format=".3~g"),
                alt.Tooltip("low_points:Q", title="95%: from", format=".3~g"),
                alt.Tooltip("high_points:Q", title="to", format=".3~g"),
                alt.Tooltip("expected_points:Q", title="Expected", format=".3~g"),
            ],
        ),
    ]
    ends = "; ".join(
        f"{name} {rows['error_points'].iloc[0]:.3g} points with {rows['n_runs'].iloc[0]} runs and "
        f"{rows['error_points'].iloc[-1]:.3g} with {rows['n_runs'].iloc[-1]}"
        for name, rows in frame.groupby("estimate", sort=False)
    )
    return finish(
        alt.layer(*layers),
        title=title,
        subtitle=with_marks(subtitle, "dashed: what the spread of runs promises"),
        description=(
            f"Measured errors of the ETTR over the number of runs, both logarithmic, on dashed lines that fall with "
            f"the root of the number: {ends}."
        ),
        height=280,
    )


def common_random_numbers(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """A difference between two intervals with its 95% interval, by how random numbers were shared.

    Parameters
    ----------
    frame : DataFrame
        As from ``replication_tables.difference_by_seed``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "way", "saved_h", "low_h", "high_h", "runs_ratio", "closed_h")
    y = alt.Y("way:N", sort=list(_WAYS), title=None, axis=alt.Axis(labelLimit=210, labelExpr=AT_COMMAS))
    colour = alt.Color("way:N", legend=None, scale=alt.Scale(domain=list(_WAYS), range=list(_WAYS.values())))
    base = alt.Chart(rounded(frame)).encode(y=y, color=colour)
    scale = alt.Scale(zero=False, padding=20)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="Hours saved by the other interval [h]", scale=scale)

    tooltip = [
        alt.Tooltip("way:N", title="Random numbers"),
        alt.Tooltip("saved_h:Q", title="Saved [h]", format=".4~g"),
        alt.Tooltip("low_h:Q", title="95%: from", format=".4~g"),
        alt.Tooltip("high_h:Q", title="to", format=".4~g"),
        alt.Tooltip("runs_ratio:Q", title="Worth so many times the runs", format=".3~g"),
    ]
    closed = float(frame["closed_h"].iloc[0])
    formula = alt.Chart(pd.DataFrame({"saved_h": [closed]}))
    layers = [
        formula.mark_rule(color=MODEL_COLOURS["exact"], strokeWidth=2).encode(x=x("saved_h")),
        base.mark_bar(height=5, cornerRadius=2).encode(x=x("low_h"), x2=alt.X2("high_h:Q"), tooltip=tooltip),
        base.mark_point(size=110, opacity=1).encode(x=x("saved_h"), tooltip=tooltip),
    ]
    ranges = "; ".join(f"{row.way} {row.low_h:.3g} to {row.high_h:.3g} h" for row in frame.itertuples())
    return finish(
        alt.layer(*layers),
        title=title,
        subtitle=with_marks(subtitle, "bars: 95%; blue line: closed form"),
        description=(
            f"Dots with 95% intervals of the hours that another checkpoint interval saves: {ranges}. A line marks the "
            f"closed form, {closed:.3g} h."
        ),
        height=50 * len(frame) + 24,
    )


def lengths(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """ETTR over the length of the work.

    Parameters
    ----------
    frame : DataFrame
        As from ``replication_tables.ettr_by_length``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "pool", "productive_days", "n_spares", "n_runs", "ettr", "low", "high", "closed_ettr")
    estimates = rounded(frame[["pool", "productive_days", "n_spares", "n_runs", "ettr", "low", "high"]])
    x = logarithmic("productive_days", "Length of the work [days]", padding=14)
    percent = alt.Y("ettr:Q", title="ETTR", axis=PERCENT, scale=alt.Scale(zero=False))
    colour, shape = _colour_and_shape("pool", _POOLS)
    base = alt.Chart(estimates).encode(x=x)
    line = alt.Chart(pd.DataFrame({"ettr": [float(frame["closed_ettr"].iloc[-1])]}))
    points = base.mark_point(size=70, opacity=1).encode(
        y=percent,
        color=colour,
        shape=shape,
        tooltip=[
            alt.Tooltip("pool:N", title="Pool"),
            alt.Tooltip("productive_days:Q", title="Work [days]", format=".3~g"),
            alt.Tooltip("ettr:Q", title="ETTR", format=".2%"),
            alt.Tooltip("low:Q", title="95%: from", format=".2%"),
            alt.Tooltip("high:Q", title="to", format=".2%"),
            alt.Tooltip("n_runs:Q", title="Runs", format=",.0f"),
        ],
    )
    layers = [
        line.mark_rule(color=MODEL_COLOURS["exact"], strokeWidth=2).encode(y=percent),
        base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour),
        base.mark_line(strokeWidth=1.5).encode(y=percent, color=colour),
        points,
    ]
    ends = frame[frame["productive_days"].isin([frame["productive_days"].min(), frame["productive_days"].max()])]
    ettrs = "; ".join(f"{row.pool}, {row.productive_days:.3g} days, {row.ettr:.1%}" for row in ends.itertuples())
    return finish(
        alt.layer(*layers),
        title=title,
        subtitle=with_marks(subtitle, "bars: 95%; blue line: closed form"),
        description=(
            f"ETTR with 95% intervals over the length of the work on a logarithmic axis: {ettrs}. A line marks the "
            f"closed form, {frame['closed_ettr'].iloc[-1]:.1%}."
        ),
        height=280,
    )


def _colour_and_shape(field: str, colours: dict[str, str]) -> tuple[alt.Color, alt.Shape]:
    """Colour and shape by name, in one legend."""
    names, shades = list(colours), list(colours.values())
    return (
        alt.Color(f"{field}:N", title=None, scale=alt.Scale(domain=names, range=shades)),
        alt.Shape(f"{field}:N", title=None, scale=alt.Scale(domain=names, range=_MARKS[: len(names)])),
    )
