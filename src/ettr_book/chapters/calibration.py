"""Calibration against published runs

Published runs compared with the throughput model.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.core.sentences import Finding
from ettr.plots import builders
from ettr.plots.columns import axis_title, tooltips
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.theme import BLUE, ORANGE, finish, layered
from ettr.scaling import calibration
from ettr_book.chapters.common.table import CaptionedTable

AIM_POINTS = 3.0
"""Accepted error of the model for a run that its fit used. [% of utilisation]"""


def calibrated_runs() -> pd.DataFrame:
    """Return the published runs with the throughput that the model computes, with the constants fitted to their study.

    Returns
    -------
    DataFrame
        ``study``, ``run_id``, ``title``, ``n_gpus`` [GPUs], ``measured_pct``, ``computed_pct``, ``residual_points``
        [%], ``relative_to``, ``used``, ``source``, ``status``, ``note``, ``kernel_efficiency``.
        Reference rows of relative figures are left out: they agree by definition.
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
"""Shorter run names for a chart on a phone; the tooltip has the full name."""
_USED = {"used for the fit": (BLUE, "circle"), "left out": (ORANGE, "diamond")}


def calibrated_chart(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the residuals of the published runs, fitted and held-out runs apart.

    Parameters
    ----------
    frame : DataFrame
        As from ``calibrated_runs``.
    title, subtitle : str
        Finding of the chart, and its data.
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
        description=f"Computed minus measured utilisation in points, one row per published run: {residuals}.",
        height=19 * len(runs) + 20,
    )


def calibrated_table(frame: pd.DataFrame) -> CaptionedTable:
    """Return every published run with its computed value.

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
            "Of": ["throughput per GPU" if name else "peak" for name in relative],
            "Measured [%]": frame["measured_pct"],
            "Computed [%]": frame["computed_pct"].round(1),
            "Off [points]": frame["residual_points"].round(1),
            "In the fit": ["used" if used else "left out" for used in frame["used"]],
            "Source": frame["source"],
            "Status": frame["status"],
            "Note": frame["note"].fillna(""),
        }
    )
    return CaptionedTable(cells, f"{len(frame)} published runs, measured and computed")


def calibrated(frame: pd.DataFrame) -> Finding:
    """Return the error of the model on published runs; ``frame`` as from ``calibrated_runs``."""
    off = frame["residual_points"].abs()
    used, left = frame[frame["used"]], frame[~frame["used"]]
    worst, most = frame.loc[off.idxmax()], off[used.index].max()
    kept = "is met" if most <= AIM_POINTS else "is missed"
    low, high = (frame.loc[frame["kernel_efficiency"].agg(which)] for which in ("idxmin", "idxmax"))
    return Finding(
        title=f"Rows in a fit are off by at most {most:.1f} points, the others by up to {off[left.index].max():.1f}",
        text=(
            f"Constants are estimated for each study, from priors and the rows marked as used: {len(used)} of "
            f"{len(frame)}. The aim of "
            f"{AIM_POINTS:g} points on these {kept}, the worst of them being off by {most:.1f}. The {len(left)} rows "
            f"left out are the test: their mean error is {off[left.index].mean():.1f} points. The worst is "
            f"*{worst['title']}*, by {worst['residual_points']:+.1f} points. No constants fit all studies: kernel "
            f"efficiency ranges from {low['kernel_efficiency']:.2f} ({low['study']}) to "
            f"{high['kernel_efficiency']:.2f} ({high['study']}), depending on GPU, precision and software."
        ),
    )
