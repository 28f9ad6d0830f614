"""Charts on a failure rate that changes while the job runs."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import dash, line_colour, logarithmic, rounded
from ettr.chapters.common.theme import finish, need, touchable

_COLOURS = {"settled": "#1f95ec", "burn-in": "#e46d09", "new nodes": "#8d48b3"}
_DASHES = {"settled": [1, 0], "burn-in": [6, 3], "new nodes": [2, 3]}
_KEPT = {"settled rate": "for the settled rate", "mean rate": "for the run's mean rate"}


def rates(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Failure rate of the job while it runs.

    Parameters
    ----------
    frame : DataFrame
        As from ``changing_rate_tables.rates_and_intervals``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "case", "exposed_d", "per_day", "interval_min")
    return _over_run(frame, "per_day", "Failures a day", title, subtitle)


def intervals(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """The best interval while the failure rate changes.

    Parameters
    ----------
    frame : DataFrame
        As from ``changing_rate_tables.rates_and_intervals``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "case", "exposed_d", "per_day", "interval_min")
    return _over_run(frame, "interval_min", "Best interval [min]", title, subtitle)


def _over_run(frame: pd.DataFrame, field: str, name: str, title: str, subtitle: str) -> Any:
    present = [case for case in _COLOURS if case in set(frame["case"])]
    some = bool((frame[field] > 0).any())  # none without failures
    lines = (
        alt.Chart(rounded(frame[frame[field] > 0] if some else frame))
        .mark_line(clip=True)
        .encode(
            x=logarithmic("exposed_d", "Time into the run [days at risk]"),
            y=alt.Y(
                f"{field}:Q",
                title=name,
                scale=alt.Scale(type="log", nice=False, padding=14) if some else alt.Scale(zero=True),
                axis=alt.Axis(format="~g", tickCount=5),
            ),
            color=line_colour("case", "Rate", {case: _COLOURS[case] for case in present}),
            strokeDash=dash("case", "Rate", {case: _DASHES[case] for case in present}),
            tooltip=[
                alt.Tooltip("case:N", title="Rate"),
                alt.Tooltip("exposed_d:Q", title="Days at risk", format=".3~g"),
                alt.Tooltip("per_day:Q", title="Failures a day", format=".3~g"),
                alt.Tooltip("interval_min:Q", title="Best interval [min]", format=".3~g"),
            ],
        )
    )
    ends = [frame[frame["case"] == case].iloc[[0, -1]] for case in present]
    spans = "; ".join(f"{rows['case'].iloc[0]} {rows[field].iloc[0]:.3g} to {rows[field].iloc[1]:.3g}" for rows in ends)
    return finish(
        touchable(lines),
        title=title,
        subtitle=subtitle,
        description=f"Lines of {name} over the days of exposed time since the start, both logarithmic: {spans}.",
        height=260,
    )


def one_interval(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """What one interval for the whole run costs, over how much more often a new fleet fails.

    Parameters
    ----------
    frame : DataFrame
        As from ``changing_rate_tables.one_interval_by_factor``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "factor", "kept", "interval_min", "ettr", "following", "loss_points")
    losses = rounded(frame.assign(kept=frame["kept"].map(_KEPT), loss_points=frame["loss_points"].clip(lower=0)))
    names = list(_KEPT.values())
    lines = (
        alt.Chart(losses)
        .mark_line()
        .encode(
            x=logarithmic("factor", "Rate of the new fleet over the settled rate"),
            y=alt.Y("loss_points:Q", title="ETTR lost [points]", scale=alt.Scale(domainMin=0, zero=True)),
            color=line_colour("kept", "One interval", dict(zip(names, ["#e46d09", "#2a7057"], strict=True))),
            strokeDash=dash("kept", "One interval", dict(zip(names, [[6, 3], [1, 0]], strict=True))),
            tooltip=[
                alt.Tooltip("kept:N", title="One interval"),
                alt.Tooltip("factor:Q", title="Times as often", format=".3~g"),
                alt.Tooltip("interval_min:Q", title="Interval [min]", format=".3~g"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
                alt.Tooltip("following:Q", title="if it follows", format=".1%"),
                alt.Tooltip("loss_points:Q", title="Lost [points]", format=".2f"),
            ],
        )
    )
    worst = losses.groupby("kept")["loss_points"].max()
    largest = ", ".join(f"{name} {worst[name]:.2g}" for name in names if name in worst.index)
    return finish(
        touchable(lines),
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of the ETTR that one interval for the whole run loses against one that follows the rate, over the "
            f"rate of a new fleet, up to {frame['factor'].max():.3g} times the settled one. Largest losses in points: "
            f"{largest}."
        ),
    )
