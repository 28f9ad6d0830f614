"""Charts on the size of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.core.sentences import gpus, limit
from ettr.plots.encodings import rounded, shared_names
from ettr.plots.theme import BLUE, BRICK, GREEN, MODEL_COLOURS, PALE_GREY, finish, layered
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import tooltips
from ettr_book.chapters.common.table import CaptionedTable
from ettr_book.chapters.scale.tables import DIARY_SOURCES

if TYPE_CHECKING:
    from ettr.scenario import Scenario


def needs(frame: pd.DataFrame, as_given: float, target: float, title: str, subtitle: str = "") -> Any:
    """What each field leaves at its ideal, alone, between the ETTR as given and the target.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.needs_alone``, with at least a row.
    as_given : float
        ETTR as the scenario is, at its best interval.
    target : float
        The ETTR to reach.
    title, subtitle : str
        The statement, and the scenario.
    """
    drawn = rounded(frame)
    drawn["says"] = [_needed(row) for row in frame.itertuples()]
    drawn["from"] = as_given
    drawn["reaches"] = ["yes" if pd.notna(value) else "no" for value in frame["value"]]
    y = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(labelLimit=200))
    x = alt.X("from:Q", title="ETTR with this one at its ideal", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False))
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
        description=f"Bars from the ETTR as it is, {as_given:.0%}, to that with one field at its ideal: {each}. A "
        f"dashed line marks the target of {target:.0%}.",
        height=46 * len(frame) + 16,
    )


def _needed(row: Any) -> str:
    unit = f" {row.unit}" if len(row.unit) <= _LONGEST_UNIT else ""
    if pd.isna(row.value):
        return f"not even at its ideal (now {row.given:.2g}{unit})"
    return f"at most {limit(row.value, 'at most')}{unit} (now {row.given:.2g})"


_LONGEST_UNIT = 4
"""Characters of a unit for which the text above a bar has room."""


def frontiers(frame: pd.DataFrame, published: pd.DataFrame, scenario: Scenario, title: str, subtitle: str = "") -> Any:
    """Lines of failure rate and restart time that just reach a target, with the presets named.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.frontiers``; may be empty.
    published : DataFrame
        As from ``tables.rates_and_restarts``.
    scenario : Scenario
        The run, which is marked.
    title, subtitle : str
        The statement, and the scenario.
    """
    curves = rounded(frame.assign(size=[f"{value:,.0f} GPUs" for value in frame["n_gpus"]]))
    across, up = builders.across("rate"), builders.up("restart_min", log=True)
    tips = tooltips("size", "rate", "restart_min", "interval_min", rate="Failures per 1,000 node-days at most")
    sizes = list(dict.fromkeys(curves["size"]))
    lines = builders.lines(
        curves, across, up, "size", sizes, tips, "Reached below the line on", "restart_min", clip=True
    )
    same = (published["rate"] == scenario.failure_rate) & (published["restart_min"] == scenario.recovery.restart_min)
    presets = rounded(published[~same & (published["name"] != scenario.name)].drop(columns="sources"))
    wide, high = (np.log10(presets[name]) / size for name, size in _NAME_DECADES.items())
    presets["names"] = shared_names(presets, wide, high, "name")
    shape = alt.Shape("restart_is:N", title="Preset, its restart", scale=_RESTART_SHAPES)
    tips = tooltips("run", "rate", "restart_min", "restart_is")
    marks = alt.Chart(presets).mark_point(size=80, color=MODEL_COLOURS["published"], opacity=1)
    dots = marks.encode(x=across, y=up, shape=shape, tooltip=tips)
    words = alt.Chart(presets).mark_text(align="right", dx=-8, dy=-3, fontSize=11, lineBreak="\n")
    named = words.encode(x=across, y=up, text="names:N")
    here = alt.Chart(
        pd.DataFrame(
            {"rate": [scenario.failure_rate], "restart_min": [scenario.recovery.restart_min], "what": ["this run"]}
        )
    )
    on_axes = scenario.failure_rate > 0 and scenario.recovery.restart_min > 0
    own = [
        here.mark_point(size=140, color=BLUE, filled=True, opacity=1).encode(x=across, y=up),
        here.mark_text(dy=-14, fontWeight=600).encode(x=across, y=up, text="what:N"),
    ]
    return finish(
        layered(*([lines] if len(curves) else []), dots, named, *(own if on_axes else [])),
        title=title,
        subtitle=subtitle,
        description=_description(frame, published),
        height=360,
        beside=list(dict.fromkeys(key for keys in published["sources"] for key in keys)),
    )


_NAME_DECADES = {"rate": 0.5, "restart_min": 0.15}
"""Within which two names would touch."""
_RESTART_SHAPES = alt.Scale(domain=["published", "assumed"], range=["diamond", "cross"])


def _description(frame: pd.DataFrame, published: pd.DataFrame) -> str:
    ends = []
    for n_gpus, line in frame.groupby("n_gpus"):
        first, last = line.iloc[0], line.iloc[-1]
        ends.append(
            f"on {n_gpus:,.0f} GPUs {first.rate:.2g} with a restart of {first.restart_min:.2g} minutes and "
            f"{last.rate:.2g} with one of {last.restart_min:.2g}"
        )
    lines = "; ".join(ends) or "no size reaches it with any restart shown"
    return (
        f"Lines of the largest failure rate, per 1,000 node-days, that reaches the target with each restart time, both "
        f"logarithmic: {lines}. {len(published)} marks stand for the presets."
    )


_KINDS = {"realised": "as the diary shows", "modelled": "hardware, checkpoints and restarts only"}
_LOOKS = {_KINDS["realised"]: (BRICK, "circle"), _KINDS["modelled"]: (MODEL_COLOURS["exact"], "diamond")}


def against_model(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """The ETTR that runs really had, beside the modelled one.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.against_model``: ``run``, ``realised``, ``low``, ``high``, ``modelled``.
    title, subtitle : str
        The statement, and what holds the chart together.
    """
    tidy = frame.melt(
        id_vars=["run", "low", "high"], value_vars=list(_KINDS), var_name="kind", value_name="ettr"
    ).assign(kind=lambda rows: rows["kind"].map(_KINDS))
    y = builders.rows("run", frame["run"], labelLimit=220)
    x = alt.X("ettr:Q", title="ETTR", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False, padding=30))
    dots = builders.shapes(tidy, x, y, "kind", _LOOKS, 130, tooltips("run", "kind", "ettr", kind="It is"))
    labels = alt.Chart(tidy).mark_text(dy=-16).encode(x=x, y=y, text=alt.Text("ettr:Q", format=".1%"))
    known = alt.Chart(frame).encode(y=y)
    links = known.mark_rule(strokeDash=[3, 3]).encode(x="realised:Q", x2="modelled:Q")
    whiskers = known.mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q")
    pairs = "; ".join(f"{row.run} {row.realised:.1%} against {row.modelled:.1%}" for row in frame.itertuples())
    return finish(
        links + whiskers + dots + labels,
        title=title,
        subtitle=subtitle or "Thick lines: what the resolution of the diary's time stamps leaves open.",
        description=f"Pairs of dots of the ETTR that runs really had against the modelled one: {pairs}.",
        height=70 * len(frame) + 20,
        sources=DIARY_SOURCES,
    )


def reported(published: pd.DataFrame) -> CaptionedTable:
    """The useful shares that operators reported, each with what it is a share of.

    Parameters
    ----------
    published : DataFrame
        As from :func:`ettr.evidence.published_ettr`.
    """
    shown = [
        {
            "Run or platform": row.run,
            "Share": f"{row.bound} {100 * row.share:.4g}%".strip(),
            "Of what": row.quantity,
            "Size": _size(row.n_gpus, row.n_gpus_high),
            "Status": row.status,
            "Source": row.source,
        }
        for row in published.itertuples()
    ]
    return CaptionedTable(pd.DataFrame(shown), "Useful shares as operators report them")


def _size(low: float, high: float) -> str:
    if pd.isna(low):
        return "not stated"
    return gpus(low) if low == high else f"{low:,.0f} to {gpus(high)}"
