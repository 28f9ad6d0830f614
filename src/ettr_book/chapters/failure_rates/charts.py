"""Charts on failure rates of clusters, and the MTTF of jobs of any size."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.theme import BLUE, BRICK, STEEL, VIOLET, finish
from ettr_book.chapters.failure_rates.tables import THIS_SCENARIO

_LINES = {"RSC-1": (BRICK, [1, 0]), "RSC-2": (BLUE, [6, 3]), THIS_SCENARIO: (VIOLET, [2, 3])}
_POINT_SHAPES = {"observed": "circle", "projected": "diamond"}
_POINT_TIPS = {"kind": "Kind", "rate": "Implied failures per 1,000 node-days"}


def mttf_by_size(frame: pd.DataFrame, points: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the MTTF over job size: one line per rate, and published points.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.mttf_by_size``: ``line``, ``n_gpus``, ``mttf_h``, ``low``, ``high`` [h].
    points : DataFrame
        As from ``tables.rsc_points``: ``n_gpus``, ``mttf_h``, ``low``, ``high`` [h], ``kind``, ``rate``,
        ``status``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    x = builders.across("n_gpus", padding=8).axis(format="~s", values=_powers(frame["n_gpus"]))
    y = builders.up("mttf_h", log=True, title="MTTF [h]")
    y = y.axis(format="~g", values=_powers(frame["mttf_h"]))
    tips = tooltips("line", "n_gpus", "mttf_h", "low", "high", line="Rate of", low="From [h]", high="To [h]")
    lines = builders.lines(frame, x, y, "line", _LINES, tips, "Rate of")
    bounded = frame[frame["high"] > frame["low"]]
    band = alt.Chart(bounded).mark_area(opacity=0.18, color=VIOLET).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    published = alt.Chart(points)
    dots = published.mark_point(size=110, opacity=1, color=STEEL).encode(
        x=x,
        y=y,
        shape=alt.Shape(
            "kind:N",
            title="Published for RSC-1",
            scale=alt.Scale(domain=list(_POINT_SHAPES), range=list(_POINT_SHAPES.values())),
        ),
        tooltip=tooltips("n_gpus", "kind", "mttf_h", "rate", "status", **_POINT_TIPS),
    )
    whiskers = published.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    layers = (band + lines) if len(bounded) else lines
    sizes = "; ".join(f"{row.n_gpus:,} GPUs {row.kind} {row.mttf_h:.3g} h" for row in points.itertuples())
    return finish(
        layers + whiskers + dots,
        title=title,
        subtitle=subtitle,
        description=(
            f"Falling lines of the mean time to failure over the job size, both axes logarithmic, at the rates of "
            f"{', '.join(builders.present(_LINES, frame['line']))}, and published points: {sizes}. Those at 8 and "
            f"1,024 GPUs lie below the line of RSC-1."
        ),
        height=380,
        beside=["kokolis2025"],
    )


def _powers(values: pd.Series) -> list[float]:
    """Return the powers of ten within a range, as ticks of two logarithmic axes."""
    low, high = math.ceil(math.log10(values.min())), math.floor(math.log10(values.max()))
    return [10.0**power for power in range(low, high + 1)]
