"""Charts on what comparisons of mitigations rest on: one input at a time, and all at once."""

from __future__ import annotations

import textwrap
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import Column, tooltips
from ettr.chapters.common.encodings import rounded, with_marks
from ettr.chapters.common.mitigations import BROKEN_OR_WHOLE, nothing
from ettr.chapters.common.theme import BLUE, GREEN, GREY, OCHRE, PINK, PURPLE, RUST, VIOLET, finish, layered, need
from ettr.chapters.portfolio.tables import EFFECT

_IDS = (BLUE, RUST, GREEN, VIOLET, OCHRE, PINK)
_ORDERS = {"first": ("alone", BLUE), "total": ("with others too", PURPLE)}
_SHARE: dict[str, str | Column] = {"value": Column("Share", format=".2f"), "low": "95%: from", "high": "95%: to"}
_HEADER_CHARACTERS = 20
_GAINS = ("gain", "gain_low", "gain_high")
_DRAWN = [-0.25, 1.25]
"""Indices lie between 0 and 1; what goes beyond is noise, and is cut here."""


def tornado(frame: pd.DataFrame, title: str, subtitle: str = "", n_inputs: int = 10) -> Any:
    """Gains with one input at a time at either end of its range.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.compare.tornado`; may be empty.
    title, subtitle : str
        The statement, and the scenario.
    n_inputs : int
        Inputs that are drawn: those with the largest swing.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "input", "status", "given", "low_value", "high_value", "title", *_GAINS, "swing")
    inputs = list(dict.fromkeys(frame["input"]))[:n_inputs]
    rows = frame[frame["input"].isin(inputs) & frame[["gain_low", "gain_high"]].notna().all(axis=1)]
    if rows.empty:
        return nothing(title)
    titles = list(dict.fromkeys(frame.sort_values("gain", ascending=False)["title"]))
    gains = rows[[*_GAINS]]
    named = [_both_fields(name) for name in rows["input"]]
    drawn = rows.drop(columns=["best_low", "best_high"])
    ranges = rounded(drawn.assign(least=gains.min(axis=1), most=gains.max(axis=1), label=named), 4)
    axis = alt.Axis(labelLimit=280, labelExpr=BROKEN_OR_WHOLE)
    y = alt.Y("label:N", title=None, sort=[_both_fields(name) for name in inputs], axis=axis)
    offset = alt.YOffset("title:N", sort=titles, scale=alt.Scale(paddingInner=0.3))
    colours = dict(zip(titles, _IDS, strict=False))
    colour = builders.squares("title", colours, columns=1, labelLimit=260)
    ends = ("low_value", "gain_low", "high_value", "gain_high")
    tips = tooltips("input", "status", "title", *ends, "gain", title="Mitigation", status="It is")
    x = alt.X("least:Q", title="Time saved [days]", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=6))
    bars = alt.Chart(ranges).mark_bar().encode(y=y, yOffset=offset, x=x, x2="most:Q", color=colour, tooltip=tips)
    given = alt.Chart(ranges).mark_tick(thickness=2, color=GREY)
    spans = "; ".join(
        f"{row.input}, {row.title}: {row.gain_low:.2f} to {row.gain_high:.2f}" for row in rows.itertuples(index=False)
    )
    return finish(
        layered(bars, given.encode(y=y, yOffset=offset, x=alt.X("gain:Q"))),
        title=title,
        subtitle=with_marks(subtitle, "ticks: as given"),
        description=f"Ranges of days saved with each input from the low to the high end of its range: {spans}.",
        height=max(18, 14 * len(titles) + 6) * len(inputs) + 10,
    )


def _both_fields(field: str) -> str:
    """A field's path, or whose effect it is, in two lines, as on a phone, and whole."""
    of = field.removeprefix(EFFECT)
    lines = field.rsplit(".", 1) if of == field else (EFFECT.strip(), of)
    return f"{'|'.join(lines)}||{field}"


def indices(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Sobol indices, a panel an answer.

    Parameters
    ----------
    frame : DataFrame
        ``indices`` of :class:`ettr.compare.Sobol`; may be empty.
    title, subtitle : str
        The statement, and the scenario.

    Returns
    -------
    altair chart or Table
        A table that says so where there is nothing to draw.
    """
    need(frame, "of", "title", "input", "first", "first_error", "total", "total_error")
    known = frame[frame[["first", "total"]].notna().all(axis=1)]
    if known.empty:
        return nothing(title)
    parts = [
        known[["title", "input"]].assign(
            order=name,
            value=known[kind],
            low=known[kind] - known[f"{kind}_error"],
            high=known[kind] + known[f"{kind}_error"],
        )
        for kind, (name, _) in _ORDERS.items()
    ]
    values = pd.concat(parts, ignore_index=True)
    values["panel"] = ["|".join(textwrap.wrap(name, _HEADER_CHARACTERS)) for name in values["title"]]
    ends = {f"{name}_drawn": values[name].clip(*_DRAWN) for name in ("value", "low", "high")}
    values = rounded(values.assign(**ends), 4)
    label = "replace(datum.label, regexp('^.*[.]'), '')"
    y = alt.Y("input:N", title=None, sort=list(dict.fromkeys(known["input"])), axis=alt.Axis(labelExpr=label))
    base = alt.Chart(values).encode(y=y, yOffset=alt.YOffset("order:N", sort=[name for name, _ in _ORDERS.values()]))
    bars = base.mark_bar().encode(
        x=alt.X(
            "value_drawn:Q",
            title="Share of variance",
            scale=alt.Scale(domain=_DRAWN),
            axis=alt.Axis(values=[0, 0.5, 1]),
        ),
        color=builders.squares("order", dict(_ORDERS.values()), "The input explains"),
        tooltip=tooltips("title", "input", "order", *_SHARE, title="Of", **_SHARE),
    )
    rules = base.mark_rule(strokeWidth=1.6).encode(x=alt.X("low_drawn:Q"), x2="high_drawn:Q")
    panels = list(dict.fromkeys(values["panel"]))
    header = alt.Header(labelLimit=180, labelExpr="split(datum.label, '|')")
    facet = alt.Facet("panel:N", title=None, sort=panels, header=header)
    chart = alt.layer(bars, rules).facet(facet, columns=min(3, len(panels)))
    explained = "; ".join(
        f"{row.title}, {row.input}: {row.first:.2f} alone, {row.total:.2f} with others" for row in known.itertuples()
    )
    return finish(
        chart,
        title=title,
        subtitle=with_marks(subtitle, f"lines: 95%, cut at {_DRAWN[0]:g} and {_DRAWN[1]:g}"),
        description=f"Bars of Sobol indices of the days saved, a panel an answer: {explained}.",
        height=44 * known["input"].nunique() + 10,
    )
