"""Charts on the size of a job."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.core.sentences import gpus, limit
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import BRICK, GREEN, MODEL_COLOURS, PALE_GREY, finish, layered
from ettr_book.chapters.common.table import CaptionedTable, named
from ettr_book.chapters.scale.tables import DIARY_SOURCES


def needs(frame: pd.DataFrame, current_ettr: float, target: float, title: str, subtitle: str = "") -> Any:
    """Draw the ETTR with each field at its ideal, one at a time, from the current ETTR to the target.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.needs_alone``, with at least one row.
    current_ettr : float
        ETTR of the scenario at its best interval.
    target : float
        The ETTR to reach.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    drawn = rounded(frame)
    drawn["says"] = [_needed(row) for row in frame.itertuples()]
    drawn["from"] = current_ettr
    drawn["reaches"] = ["yes" if pd.notna(value) else "no" for value in frame["value"]]
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=200))
    x = alt.X(
        "from:Q", title="ETTR with this input at its ideal [%]", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)
    )
    colour = builders.colours("reaches", {"yes": GREEN, "no": PALE_GREY}, "Enough alone", symbolType="square")
    bars = (
        alt.Chart(drawn).mark_bar(size=16).encode(x=x, x2="ettr:Q", y=y, color=colour, tooltip=tooltips("name", "ettr"))
    )
    text = alt.Chart(drawn).mark_text(align="left", dx=5, dy=-15).encode(x="from:Q", y=y, text="says:N")
    each = ", ".join(f"{row.name} {row.ettr:.0%}" for row in frame.itertuples())
    return finish(
        layered(bars, text, builders.rule(alt.X("from:Q"), target, strokeDash=[3, 3])),
        title=title,
        subtitle=subtitle,
        description=f"Bars from the current ETTR, {current_ettr:.0%}, to the ETTR with one field at its ideal: {each}. "
        f"A dashed line marks the target of {target:.0%}.",
        height=46 * len(frame) + 16,
    )


def _needed(row: Any) -> str:
    unit = f" {row.unit}" if len(row.unit) <= _LONGEST_UNIT else ""
    if pd.isna(row.value):
        return f"not enough at its ideal (now {row.given:.2g}{unit})"
    return f"at most {limit(row.value, 'at most')}{unit} (now {row.given:.2g}{unit})"


_LONGEST_UNIT = 4
"""Longest unit, in characters, that fits into the text above a bar."""


_KINDS = {"realised": "measured", "modelled": "modelled (hardware, checkpoints, restarts)"}
_LOOKS = {_KINDS["realised"]: (BRICK, "circle"), _KINDS["modelled"]: (MODEL_COLOURS["exact"], "diamond")}


def against_model(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the measured ETTR of published runs against the modelled one.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.against_model``: ``run``, ``realised``, ``low``, ``high``, ``modelled``.
    title, subtitle : str
        Finding of the chart, and the compared runs.
    """
    tidy = frame.melt(
        id_vars=["run", "low", "high"], value_vars=list(_KINDS), var_name="kind", value_name="ettr"
    ).assign(kind=lambda rows: rows["kind"].map(_KINDS))
    y = builders.rows("run", frame["run"], labelLimit=220)
    x = alt.X("ettr:Q", title="ETTR [%]", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False, padding=30))
    dots = builders.shapes(tidy, x, y, "kind", _LOOKS, 130, tooltips("run", "kind", "ettr", kind="Value"))
    labels = alt.Chart(tidy).mark_text(dy=-16).encode(x=x, y=y, text=alt.Text("ettr:Q", format=".1%"))
    published = alt.Chart(frame).encode(y=y)
    links = published.mark_rule(strokeDash=[3, 3]).encode(x="realised:Q", x2="modelled:Q")
    whiskers = published.mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q")
    pairs = "; ".join(f"{row.run} {row.realised:.1%} against {row.modelled:.1%}" for row in frame.itertuples())
    return finish(
        links + whiskers + dots + labels,
        title=title,
        subtitle=subtitle or "Thick lines: uncertainty from the resolution of the diary's time stamps.",
        description=f"Pairs of dots of measured against modelled ETTR: {pairs}.",
        height=70 * len(frame) + 20,
        sources=DIARY_SOURCES,
    )


def reported(published: pd.DataFrame) -> CaptionedTable:
    """Draw the useful shares that operators reported, each with its denominator.

    Parameters
    ----------
    published : DataFrame
        As from :func:`ettr.evidence.published_ettr`.
    """
    cells = published.assign(
        percent=[f"{row.bound} {100 * row.share:.4g}%".strip() for row in published.itertuples()],
        size=[_size(row.n_gpus, row.n_gpus_high) for row in published.itertuples()],
    )
    heads = {"run": "Run or platform", "percent": "Share", "quantity": "Quantity", "size": "Size"}
    return named(cells, heads | {"status": "Status", "source": "Source"}, "Useful shares reported by operators")


def _size(low: float, high: float) -> str:
    if pd.isna(low):
        return "not stated"
    return gpus(low) if low == high else f"{low:,.0f} to {gpus(high)}"
