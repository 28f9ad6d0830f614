"""Charts on failures that are announced, and on failures that are found late."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ettr.plots.theme import (
    BLUE,
    CATEGORY_COLOURS,
    DARK_GREEN,
    ORANGE,
    PURPLE,
    finish,
    need,
)
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import tooltips

_PRECISIONS = (CATEGORY_COLOURS["GPU"], BLUE, DARK_GREEN, PURPLE)


def announced(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """ETTR over the share of failures that is announced.

    Parameters
    ----------
    frame : DataFrame
        As from ``prediction_tables.announced``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "recall", "precision", "interval_min", "ettr")
    curves = frame.assign(alarms=[f"{value:.0%}" for value in frame["precision"]])
    looks = builders.series([f"{value:.0%}" for value in sorted(frame["precision"].unique())], _PRECISIONS)
    tips = tooltips("alarms", "recall", "interval_min", "ettr", interval_min="Best interval")
    up = builders.up("ettr", zero=False)
    ends = "; ".join(f"precision {p:.0%} to {part['ettr'].iloc[-1]:.1%}" for p, part in frame.groupby("precision"))
    return finish(
        builders.lines(curves, builders.along("recall"), up, "alarms", looks, tips, "Precision"),
        title=title,
        subtitle=subtitle,
        description=(
            f"Curves of ETTR over the share of failures that is announced, by precision. From "
            f"{frame['ettr'].iloc[0]:.1%} without announcements: {ends} at the right end."
        ),
        height=260,
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
    names = {"all": "all silent", "share": f"{share:.1%} silent"}
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
        height=260,
    )
