"""Charts on the checkpoint interval."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import but_size, rounded
from ettr.plots.theme import (
    BLUE,
    DARK_GREEN,
    GREEN,
    ORANGE,
    PURPLE,
    finish,
    layered,
)

_RULES = {
    "Young": (BLUE, [1, 0]),
    "Daly, first order": (ORANGE, [6, 3]),
    "Daly, higher order": (DARK_GREEN, [2, 2]),
    "Availability": (PURPLE, [8, 2, 2, 2]),
}
_BASES = {"assumed": ORANGE, "counted, 95% CI": BLUE}


def rules(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the ETTR lost by each published interval rule against the best interval.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.interval_rules``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    across, up = builders.across("n_gpus"), builders.up("loss_points", domainMin=0)
    tips = tooltips("rule", "n_gpus", "interval_min", "loss_points")
    worst = frame.groupby("rule")["loss_points"].max()
    largest = ", ".join(f"{rule} {loss:.2g}" for rule, loss in worst.items())
    return finish(
        builders.lines(frame, across, up, "rule", _RULES, tips, "Rule", clip=True),
        title=title,
        subtitle=but_size(subtitle),
        description=f"Curves of the ETTR that four rules lose against the best interval, over the job size. Largest "
        f"losses in points: {largest}.",
        height=260,
    )


def moved_by(frame: pd.DataFrame, best_min: float, band: tuple[float, float], title: str, subtitle: str = "") -> Any:
    """Draw the best interval over the range of each input, with the range of intervals that are as good.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.moved_by``, with at least one row.
    best_min : float
        The best interval. [min]
    band : (float, float)
        Ends of the range that costs at most half a point. [min]
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    drawn = rounded(frame)
    drawn["named"] = [
        f"{row.input}, {row.low_value:.3g} to {row.high_value:.3g} {row.unit}" for row in frame.itertuples()
    ]
    y = alt.Y("named:N", sort=None, title=None, axis=alt.Axis(labelLimit=300))
    x = builders.across("low_min", title="Best interval [min]", padding=12)
    flat = pd.DataFrame({"low_min": [band[0]], "high_min": [band[1]], "what": ["costs at most half a point"]})
    area = alt.Chart(flat).mark_rect(color=GREEN, opacity=0.16).encode(x=x, x2="high_min:Q", tooltip=tooltips("what"))
    tips = tooltips("input", "basis", "low_min", "high_min", low_min="Best from", high_min="to")
    colour = builders.colours(
        "basis", builders.present(_BASES, frame["basis"]), "Basis of the range", symbolType="square"
    )
    bars = alt.Chart(drawn).mark_bar(size=14).encode(x=x, x2="high_min:Q", y=y, color=colour, tooltip=tips)
    spans = "; ".join(f"{row.input} from {row.low_min:.2g} to {row.high_min:.2g}" for row in frame.itertuples())
    return finish(
        layered(area, bars, builders.rule(alt.X("low_min:Q"), best_min, strokeDash=[3, 3])),
        title=title,
        subtitle=subtitle,
        description=f"Bars of the best interval in minutes over the range of each input: {spans}. A shaded range of "
        f"intervals costs at most half a point.",
        height=34 * len(frame) + 30,
    )
