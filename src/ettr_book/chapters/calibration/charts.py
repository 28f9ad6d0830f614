"""Residuals of the published runs, and a table of them."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots.encodings import rounded, with_marks
from ettr.plots.theme import BLUE, ORANGE, finish, layered, need
from ettr_book.chapters.calibration.tables import AIM_POINTS
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import axis_title, tooltips
from ettr_book.chapters.common.table import CaptionedTable

_SHORTER = {
    " with sharded weights": "",
    " with long sequences": ", long",
    " GPUs": "",
    " H100": "",
    " on ": " ",
    " 405B": "",
}
"""So that a name of a run and its GPUs fit beside a chart on a phone; the tooltip has it whole."""
_USED = {"used for the fit": (BLUE, "circle"), "left out": (ORANGE, "diamond")}


def calibrated(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Residuals of the published runs, those that the fits used apart from those left out.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.calibrated_runs``.
    title, subtitle : str
        The statement, and what is shown.
    """
    need(frame, "title", "measured_pct", "computed_pct", "residual_points", "used")
    used, left_out = _USED
    short = frame["title"].replace(_SHORTER, regex=True)
    kind = frame["used"].map({True: used, False: left_out})
    drawn = ["run", "kind", "zero", "title", "measured_pct", "computed_pct", "residual_points"]
    runs = rounded(frame.assign(kind=kind, zero=0.0, run=short)[drawn], 4)
    y = alt.Y("run:N", sort=list(short), title=None)
    stems = alt.Chart(runs).mark_rule(strokeWidth=1.4).encode(y=y, x=alt.X("zero:Q"), x2="residual_points:Q")
    tips = tooltips("title", "kind", "measured_pct", "computed_pct", "residual_points")
    dots = builders.shapes(
        runs, alt.X("residual_points:Q", title=axis_title("residual_points")), y, "kind", _USED, 80, tips
    )
    ends = pd.DataFrame({"aim": [-AIM_POINTS, AIM_POINTS]})
    rules = alt.Chart(ends).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("aim:Q"))
    residuals = "; ".join(f"{row.title} {row.residual_points:+.1f}" for row in frame.itertuples())
    return finish(
        layered(rules, stems, dots),
        title=title,
        subtitle=with_marks(subtitle, f"dashed: {AIM_POINTS:g} points"),
        description=f"Points of computed less measured utilisation, in points, a row a published run: {residuals}.",
        height=19 * len(runs) + 20,
    )


def calibrated_table(frame: pd.DataFrame) -> CaptionedTable:
    """Every published run beside its computed value.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.calibrated_runs``.
    """
    need(frame, "study", "title", "measured_pct", "computed_pct", "residual_points", "used", "relative_to", "note")
    relative = frame["relative_to"].fillna("")
    cells = pd.DataFrame(
        {
            "Study": frame["study"],
            "Run": frame["title"],
            "Of": ["throughput a GPU" if name else "peak" for name in relative],
            "Measured [%]": frame["measured_pct"],
            "Computed [%]": frame["computed_pct"].round(1),
            "Off [points]": frame["residual_points"].round(1),
            "In the fit": ["used" if used else "left out" for used in frame["used"]],
            "Source": frame["source"],
            "Status": frame["status"],
            "Note": frame["note"].fillna(""),
        }
    )
    return CaptionedTable(cells, f"{len(frame)} published runs, and what the model makes of them")
