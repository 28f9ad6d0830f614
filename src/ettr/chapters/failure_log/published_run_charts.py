"""Charts on runs whose diary is public."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import Column, tooltips
from ettr.chapters.common.theme import BLUE, BRICK, MODEL_COLOURS, PALE_GREY, finish, need
from ettr.chapters.failure_log.tables import MODELLED, NOT_MODELLED, NOT_TOLD

_KINDS = {"realised": "as the diary shows", "modelled": "hardware, checkpoints and restarts only"}
_LOOKS = {_KINDS["realised"]: (BRICK, "circle"), _KINDS["modelled"]: (MODEL_COLOURS["exact"], "diamond")}
_TERMS = {MODELLED: BLUE, NOT_MODELLED: BRICK, NOT_TOLD: PALE_GREY}
_LOSS = {
    "reason": Column("Put down to"),
    "lost_h": Column("Lost", "h", ".1f"),
    "share": Column("Share of what is lost", format=".1%"),
    "n": Column("Times"),
    "term": Column("By a model of hardware"),
}


def against_model(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """The ETTR that runs really had, beside the modelled one.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.against_model``: ``run``, ``realised``, ``low``, ``high``, ``modelled``.
    title, subtitle : str
        The statement, and what holds the chart together.
    """
    need(frame, "run", "realised", "low", "high", "modelled")
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
    )


def losses(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Where the lost hours of a run went.

    Parameters
    ----------
    frame : DataFrame
        The losses of ``tables.published_run``: ``reason``, ``lost_h`` [h], ``share``, ``n``, ``term``.
    title, subtitle : str
        The statement, and the run.
    """
    need(frame, "reason", "lost_h", "share", "n", "term")
    labelled = frame.assign(
        n=["not known" if pd.isna(n) else f"{n:,}" for n in frame["n"]],
        what=[f"{row.reason}\n{row.term}" for row in frame.itertuples()],
    )
    longest = float(frame["lost_h"].max())  # room for the label beside it
    order = labelled.sort_values("lost_h", ascending=False)["what"].tolist()
    two_lines = alt.Axis(labelExpr="split(datum.value, '\\n')", labelOffset=-7)
    base = alt.Chart(labelled).encode(y=alt.Y("what:N", sort=order, title=None, axis=two_lines))
    bars = base.mark_bar().encode(
        x=alt.X("lost_h:Q", title="Lost wall clock [h]", scale=alt.Scale(domain=[0, 1.25 * longest])),
        color=builders.colours("term", builders.present(_TERMS, frame["term"]), "By a model of hardware"),
        tooltip=tooltips(*_LOSS, **_LOSS),
    )
    labels = base.mark_text(align="left", dx=4).encode(x="lost_h:Q", text=alt.Text("lost_h:Q", format=".1f"))
    hours = ", ".join(f"{row.reason} {row.lost_h:.1f} h ({row.term})" for row in frame.itertuples())
    return finish(
        bars + labels,
        title=title,
        subtitle=subtitle,
        description=f"Bars of the hours that the run lost, by what its diary puts them down to: {hours}.",
        height=40 * len(frame) + 20,
    )
