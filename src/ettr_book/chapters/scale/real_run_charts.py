"""Charts on runs whose diary is public, and what other operators reported."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.core.sentences import gpus
from ettr.plots.theme import BRICK, MODEL_COLOURS, finish, need
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import tooltips
from ettr_book.chapters.common.table import CaptionedTable
from ettr_book.chapters.scale.real_run_tables import DIARY_SOURCES

_KINDS = {"realised": "as the diary shows", "modelled": "hardware, checkpoints and restarts only"}
_LOOKS = {_KINDS["realised"]: (BRICK, "circle"), _KINDS["modelled"]: (MODEL_COLOURS["exact"], "diamond")}


def against_model(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """The ETTR that runs really had, beside the modelled one.

    Parameters
    ----------
    frame : DataFrame
        As from ``real_run_tables.against_model``: ``run``, ``realised``, ``low``, ``high``, ``modelled``.
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
        sources=DIARY_SOURCES,
    )


def reported(published: pd.DataFrame) -> CaptionedTable:
    """The useful shares that operators reported, each with what it is a share of.

    Parameters
    ----------
    published : DataFrame
        As from :func:`ettr.evidence.published_ettr`.
    """
    need(published, "run", "quantity", "n_gpus", "n_gpus_high", "share", "bound", "status", "source")
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
