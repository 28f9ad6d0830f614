"""Calibration against published runs

Published runs beside what the model of throughput makes of them.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.core.sentences import Finding
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.theme import BLUE, ORANGE, finish, layered
from ettr.scaling import calibration
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import axis_title, tooltips
from ettr_book.chapters.common.table import CaptionedTable

AIM_POINTS = 3.0
"""How far a published run that a fit used may lie off the model. [% of utilisation]"""


def calibrated_runs() -> pd.DataFrame:
    """Published runs beside what the model makes of them, with the constants fitted to their study.

    Returns
    -------
    DataFrame
        ``study``, ``run_id``, ``title``, ``n_gpus`` [GPUs], ``measured_pct``, ``computed_pct``, ``residual_points``
        [%], ``relative_to``, ``used``, ``source``, ``status``, ``note``, ``kernel_efficiency``.
        Rows that others are given relative to are left out: they agree by definition.
    """
    frames = []
    for study in calibration.studies():
        fitted = calibration.fit(study)
        efficiency = fitted.constants.kernel_efficiency
        frames.append(fitted.rows.assign(study=study, kernel_efficiency=efficiency))
    rows = pd.concat(frames, ignore_index=True)
    return rows[rows["relative_to"].fillna("") != rows["run_id"]].reset_index(drop=True)


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


def calibrated_chart(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Residuals of the published runs, those that the fits used apart from those left out.

    Parameters
    ----------
    frame : DataFrame
        As from ``calibrated_runs``.
    title, subtitle : str
        The statement, and what is shown.
    """
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
        As from ``calibrated_runs``.
    """
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


def calibrated(frame: pd.DataFrame) -> Finding:
    """How far the model is off published runs; ``frame`` as from ``calibrated_runs``."""
    off = frame["residual_points"].abs()
    used, left = frame[frame["used"]], frame[~frame["used"]]
    worst, most = frame.loc[off.idxmax()], off[used.index].max()
    kept = "is kept" if most <= AIM_POINTS else "is missed"
    low, high = (frame.loc[frame["kernel_efficiency"].agg(which)] for which in ("idxmin", "idxmax"))
    return Finding(
        title=f"Rows in a fit are off by at most {most:.1f} points, the others by up to {off[left.index].max():.1f}",
        text=(
            f"Constants are estimated for each study, from priors and the rows marked as used: {len(used)} of "
            f"{len(frame)}. The aim of "
            f"{AIM_POINTS:g} points on these {kept}, the worst of them being off by {most:.1f}. The {len(left)} rows "
            f"left out are the test: in the mean they are off by {off[left.index].mean():.1f} points. Worst of all is "
            f"*{worst['title']}*, by {worst['residual_points']:+.1f} points. No constants hold for all: the "
            f"efficiency of kernels goes from {low['kernel_efficiency']:.2f} ({low['study']}) to "
            f"{high['kernel_efficiency']:.2f} ({high['study']}), by GPU, precision and software."
        ),
    )
