"""Failures by cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from ettr.core.sentences import pct
from ettr.failures import Fit, count_intervals
from ettr.failures.groups import OTHER, UNKNOWN
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.theme import CATEGORY_COLOURS, NoChart, finish

_MOST_ROWS, _ROW_PX, _LONGEST_NAME = 20, 28, 60


def failure_breakdown(
    counts: Fit | pd.DataFrame, *, title: str = "", subtitle: str = "", sources: Sequence[str] = ()
) -> Any:
    """Draw the number of failures by cause, each with the exact 95% CI of its mean.

    Parameters
    ----------
    counts : Fit or DataFrame
        A fitted failure log, or a table with ``component`` and ``n_events`` [count], and ``category`` for the colour.
    title : str
        Finding of the chart; by default the share of the largest cause.
    subtitle : str
        Whose failures these are.
    sources : sequence of str
        Bibliography keys of the counts, if they are published.

    Returns
    -------
    altair chart
        Bars of the 20 causes with the most failures.

    Examples
    --------
    >>> from ettr import evidence
    >>> failure_breakdown(evidence.table("llama3_interruptions")).title.text
    'Faulty GPU accounts for 35% of the failures'
    """
    table = counts if isinstance(counts, pd.DataFrame) else counts.components.rename(columns={"group": "component"})
    if table["n_events"].sum() == 0:
        return NoChart("nothing failed.")
    if not subtitle and not isinstance(counts, pd.DataFrame):
        subtitle = counts.log.source
    ranked = table[[name for name in ("component", "category", "n_events") if name in table]]
    ranked = count_intervals(ranked).sort_values("n_events", ascending=False, kind="stable").head(_MOST_ROWS)
    base = alt.Chart(ranked).encode(y=builders.rows("component", ranked["component"]))
    bars = base.mark_bar().encode(
        x=alt.X("n_events:Q", title="Failures [count]", scale=alt.Scale(zero=True)),
        tooltip=tooltips(*ranked.columns, component="Cause"),
    )
    if "category" in ranked:
        pick = alt.selection_point(fields=["category"], bind="legend")
        look = builders.colours("category", builders.present(CATEGORY_COLOURS, ranked["category"]), "Category")
        bars = bars.encode(color=look, opacity=alt.condition(pick, alt.value(1.0), alt.value(0.2))).add_params(pick)
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    most = ", ".join(f"{str(row.component)[:_LONGEST_NAME]} {row.n_events:.0f}" for row in ranked.head(3).itertuples())
    return finish(
        bars + whiskers,
        title=title or _finding(table),
        subtitle=f"{subtitle}{'; lines' if subtitle else 'Lines'}: exact 95% CI",
        description=f"Bars of the failures by {len(ranked)} causes, with 95% CI. Most failures: {most}.",
        height=_ROW_PX * len(ranked) + 20,
        sources=sources,
    )


def _finding(table: pd.DataFrame) -> str:
    """Return the share of the largest cause with a name."""
    causes = table[~table["component"].isin([UNKNOWN, OTHER])]
    if causes.empty:
        return "The log has no component names"
    first = causes.loc[causes["n_events"].idxmax()]
    share = pct(first["n_events"] / table["n_events"].sum(), 0)
    return f"{str(first['component'])[:_LONGEST_NAME]} accounts for {share} of the failures"
