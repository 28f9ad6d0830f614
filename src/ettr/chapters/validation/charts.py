"""The chart and the table of published results beside those computed here."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.table import Table, named
from ettr.chapters.common.theme import finish, need


def validation(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Computed over published, for every published result with a computation.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.validation.run`: ``quantity``, ``published``, ``computed``, ``unit``, ``verdict``, ``kind``.
    title, subtitle : str
        The statement, and what is shown.
    """
    need(frame, "quantity", "published", "computed", "unit", "verdict", "kind")
    ratios = frame.assign(ratio=frame["computed"] / frame["published"])
    base = alt.Chart(ratios).encode(y=alt.Y("quantity:N", sort=None, title=None, axis=alt.Axis(labelLimit=300)))
    line = alt.Chart(pd.DataFrame({"ratio": [1.0]})).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("ratio:Q"))
    colours = {"reproduced": "#289561", "consistent": "#1f95ec", "not reproduced": "#ad470c"}
    present = [name for name in colours if name in set(ratios["verdict"])]
    dots = base.mark_point(size=90).encode(
        x=alt.X("ratio:Q", title="Computed / published", scale=alt.Scale(type="log", nice=False, padding=10)),
        color=alt.Color(
            "verdict:N",
            title="Verdict",
            scale=alt.Scale(domain=present, range=[colours[name] for name in present]),
        ),
        shape=alt.Shape("verdict:N", title="Verdict", scale=alt.Scale(domain=present)),
        tooltip=[
            alt.Tooltip("quantity:N", title="Result"),
            alt.Tooltip("published:Q", title="Published", format=",.4~g"),
            alt.Tooltip("computed:Q", title="Computed", format=",.4~g"),
            alt.Tooltip("unit:N", title="Unit"),
            alt.Tooltip("kind:N", title="Kind"),
            alt.Tooltip("verdict:N", title="Verdict"),
        ],
    )
    off = ratios.loc[ratios["verdict"] == "not reproduced", "quantity"]
    return finish(
        line + dots,
        title=title,
        subtitle=subtitle,
        description=f"Dots of computed over published for {len(frame)} results; not reproduced: "
        f"{', '.join(off) or 'none'}.",
        height=22 * len(frame) + 20,
    )


def table(frame: pd.DataFrame) -> Table:
    """Every published result; columns as from :func:`ettr.validation.run`."""
    names = {
        "quantity": "Result",
        "published": "Published",
        "computed": "Computed",
        "unit": "Unit",
        "verdict": "Verdict",
        "kind": "Kind",
        "tolerance": "Tolerance",
        "tolerance_reason": "Because",
        "source": "Source",
        "status": "Status",
        "comment": "Note",
    }
    return named(frame, names, f"{len(frame)} published results, computed again")
