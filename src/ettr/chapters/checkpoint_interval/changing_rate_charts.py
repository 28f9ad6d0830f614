"""Charts on a failure rate that changes while the job runs."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import axis_title, tooltips
from ettr.chapters.common.encodings import rounded
from ettr.chapters.common.theme import BLUE, DARK_GREEN, ORANGE, PURPLE, finish, need

_CASES = {"settled": (BLUE, [1, 0]), "burn-in": (ORANGE, [6, 3]), "new nodes": (PURPLE, [2, 3])}
_KEPT = {"settled rate": "for the settled rate", "mean rate": "for the run's mean rate"}
_KEPT_LOOKS = {"for the settled rate": (ORANGE, [6, 3]), "for the run's mean rate": (DARK_GREEN, [1, 0])}


def rates(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Failure rate of the job while it runs.

    Parameters
    ----------
    frame : DataFrame
        As from ``changing_rate_tables.rates_and_intervals``.
    title, subtitle : str
        The statement, and the scenario.
    """
    return _over_run(frame, "per_day", axis_title("per_day"), title, subtitle)


def intervals(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """The best interval while the failure rate changes; arguments as of :func:`rates`."""
    return _over_run(frame, "interval_min", "Best interval [min]", title, subtitle)


def _over_run(frame: pd.DataFrame, field: str, name: str, title: str, subtitle: str) -> Any:
    need(frame, "case", "exposed_d", "per_day", "interval_min")
    some = bool((frame[field] > 0).any())  # none without failures
    points = rounded(frame[frame[field] > 0] if some else frame)
    up = builders.up(field, log=some, title=name, **({"padding": 14} if some else {"zero": True}))
    tips = tooltips("case", "exposed_d", "per_day", "interval_min", interval_min="Best interval")
    ends = [rows.iloc[[0, -1]] for _, rows in frame.groupby("case", sort=False)]
    spans = "; ".join(f"{rows['case'].iloc[0]} {rows[field].iloc[0]:.3g} to {rows[field].iloc[1]:.3g}" for rows in ends)
    return finish(
        builders.lines(points, builders.across("exposed_d"), up, "case", _CASES, tips, "Rate", clip=True),
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
    across, up = builders.across("factor"), builders.up("loss_points", domainMin=0, zero=True)
    tips = tooltips("kept", "factor", "interval_min", "ettr", "following", "loss_points")
    worst = losses.groupby("kept", sort=False)["loss_points"].max()
    largest = ", ".join(f"{name} {loss:.2g}" for name, loss in worst.items())
    return finish(
        builders.lines(losses, across, up, "kept", _KEPT_LOOKS, tips, "One interval"),
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of the ETTR that one interval for the whole run loses against one that follows the rate, over the "
            f"rate of a new fleet, up to {frame['factor'].max():.3g} times the settled one. Largest losses in points: "
            f"{largest}."
        ),
    )
