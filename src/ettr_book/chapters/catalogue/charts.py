"""Tables of the catalogue, and the chart of the exact model against simulation."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from ettr.core.sentences import count
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import MODEL_COLOURS, NoChart
from ettr_book.chapters.common.mitigations import ranked, rows_of
from ettr_book.chapters.common.table import CaptionedTable, heads, named

_WAYS = {"simulation": (MODEL_COLOURS["simulated"], "circle"), "exact model": (MODEL_COLOURS["exact"], "diamond")}


def places(frame: pd.DataFrame) -> CaptionedTable:
    """Return the rank of each mitigation; ``frame`` as from ``tables.places``."""
    ends = ["" if pd.isna(row.low) else f"{row.low:+.2f} to {row.high:+.2f}" for row in frame.itertuples()]
    names = {"title": "Mitigation", "place": "Rank", "days": "Days saved", "ends": "95% CI", "group": "Acts on"}
    names |= {"evidence": "Evidence", "effect": "Effect size", "why": "Why not", "aliases": "Also called"}
    cells = frame.assign(days=_signed(frame["days"]), ends=ends)
    return named(cells, names, f"{count(len(frame))} mitigations and their ranks")


def published(frame: pd.DataFrame) -> CaptionedTable:
    """Return published and computed effects; ``frame`` as from ``tables.published_pairs``."""
    units = ["" if unit == "1" else f" {unit}" for unit in frame["unit"]]
    before, after = (
        ["" if math.isnan(value) else f"{value:g}{unit}" for value, unit in zip(frame[name], units, strict=True)]
        for name in ("before", "after")
    )
    names = {"title": "Mitigation", "quantity": "Published"} | heads("before", "after", "verdict", "computed")
    names |= heads("days", "why", "source", "status", days="Here [days]")
    underived = int((frame["verdict"] == "not derivable").sum())
    caption = f"{count(underived)} of {count(len(frame))} published figures cannot be derived"
    return named(frame.assign(before=before, after=after, days=_signed(frame["days"])), names, caption)


def assumed(values: pd.DataFrame) -> CaptionedTable:
    """Return the assumed inputs of the scenario; ``values`` as from ``tables.assumed_values``."""
    n_assumed = int((values["status"] == "assumed").sum())
    caption = f"{count(len(values))} assumed values, {count(n_assumed)} without evidence"
    return named(values, heads("field", "value", "unit", "status", "source", "note"), caption)


def _signed(values: pd.Series) -> list[str]:
    return ["" if math.isnan(value) else f"{value:+.2f}" for value in values.astype(float)]


def closed(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the ETTR gain by the exact model against the simulated gain.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.beside_closed_form``.
    title, subtitle : str
        Finding of the chart, and the scenario.

    Returns
    -------
    altair chart or NoChart
        The title alone if there is nothing to draw.
    """
    if frame.empty:
        return NoChart(title)
    hundredths = frame.assign(**{name: 100 * frame[name] for name in ("closed", "simulated", "low", "high", "apart")})
    gains = rounded(hundredths, 4)
    y = rows_of(frame["title"])
    long = gains.melt(["title", "apart"], ["simulated", "closed"], "way", "points")
    long = long.replace({"way": {"closed": "exact model", "simulated": "simulation"}})
    bars = alt.Chart(gains).mark_rule(strokeWidth=6, opacity=0.35, color=MODEL_COLOURS["simulated"])
    axis = alt.X("points:Q", title="ETTR gained [points]", axis=alt.Axis(tickCount=6))
    tips = tooltips("title", "way", "points", "apart", title="Mitigation", way="By")
    dots = builders.shapes(long, axis, y, "way", _WAYS, 80, tips, filled=True)
    return ranked(
        [bars.encode(y=y, x=alt.X("low:Q"), x2="high:Q"), dots],
        len(frame),
        title,
        subtitle,
        "Points of ETTR gained by the exact model, and by simulation",
        (f"{row.title} {100 * row.closed:.2f} for {100 * row.simulated:.2f}" for row in frame.itertuples()),
        "bars: 95% CI of the simulation",
    )
