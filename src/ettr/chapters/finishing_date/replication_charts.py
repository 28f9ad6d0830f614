"""Charts on how far to trust a simulation."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import FINE_SHARES, tooltips
from ettr.chapters.common.encodings import rounded, with_marks
from ettr.chapters.common.theme import GREEN, MODEL_COLOURS, ORANGE, finish, need

_SIMULATED = MODEL_COLOURS["simulated"]
_ESTIMATES = {"plain means": (ORANGE, "circle"), "control variates": (_SIMULATED, "square")}
_WAYS = {"different seeds": ORANGE, "different seeds, control variates": _SIMULATED, "the same seed": GREEN}
_POOLS = {"spares never run out": (GREEN, "circle"), "few spares": (ORANGE, "square")}


def errors(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Error of the ETTR over the number of runs, measured and expected.

    Parameters
    ----------
    frame : DataFrame
        As from ``replication_tables.error_by_runs``.
    title, subtitle : str
        The statement, and the scenario.
    """
    columns = ("n_groups", "error_points", "low_points", "high_points", "expected_points")
    need(frame, "estimate", "n_runs", *columns)
    looks = builders.present(_ESTIMATES, frame["estimate"])
    x, drawn = builders.across("n_runs", padding=14), rounded(frame)
    y = builders.up("error_points", log=True, padding=8)
    if not (frame["low_points"] > 0).all():
        y = y.scale(type="linear", nice=False, padding=8)
    tips = tooltips("estimate", "n_runs", *columns)
    ends = ("low_points", "high_points")
    points = builders.measured(drawn, x, y, ends, "estimate", looks, 80, tips, joined=False)
    colour = builders.colours("estimate", {name: look[0] for name, look in looks.items()})
    expected = alt.Chart(drawn).mark_line(strokeDash=[5, 3], strokeWidth=1.5)
    layers = [expected.encode(x=x, y=alt.Y("expected_points:Q"), color=colour), *points]
    errors = "; ".join(
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
            f"the root of the number: {errors}."
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
    y = builders.rows("way", [*_WAYS], labelLimit=210, labelExpr=builders.AT_COMMAS)
    colour = alt.Color("way:N", legend=None, scale=alt.Scale(domain=[*_WAYS], range=[*_WAYS.values()]))
    base = alt.Chart(rounded(frame)).encode(y=y, color=colour)
    x = builders.along("saved_h", zero=False, padding=20)
    low = alt.X("low_h:Q", title=x["title"], scale=x["scale"])
    tips = tooltips("way", "saved_h", "low_h", "high_h", "runs_ratio", way="Random numbers")
    closed = float(frame["closed_h"].iloc[0])
    layers = [
        builders.rule(x, closed),
        base.mark_bar(height=5, cornerRadius=2).encode(x=low, x2=alt.X2("high_h:Q"), tooltip=tips),
        base.mark_point(size=110, opacity=1).encode(x=x, tooltip=tips),
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
    x, y = builders.across("productive_days", padding=14), builders.up("ettr", zero=False)
    tips = tooltips("pool", "productive_days", "ettr", "low", "high", "n_runs", **FINE_SHARES)
    layers = [
        builders.rule(y, float(frame["closed_ettr"].iloc[-1])),
        *builders.measured(estimates, x, y, ("low", "high"), "pool", _POOLS, 70, tips),
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
