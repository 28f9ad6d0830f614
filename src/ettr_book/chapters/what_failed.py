"""What stopped a 16,384-GPU run, and how often?

Interruptions of a run on 16,384 GPUs: rate, uncertainty of a count, and MTBF without one category.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd

from ettr import evidence
from ettr.core.sentences import Finding, gpus, literal, say
from ettr.failures import poisson_interval
from ettr.plots.columns import tooltips
from ettr.plots.theme import CATEGORY_COLOURS, finish
from ettr_book.chapters.common.table import CaptionedTable, named

if TYPE_CHECKING:
    from ettr.plan import Plan

_NOTHING_COLOUR = "#7b7f80"


def answer(counts: pd.DataFrame, window_h: float, n_gpus: float) -> Finding:
    """Return what stopped the run, and its MTBF.

    Parameters
    ----------
    counts : DataFrame
        Interruptions by component: ``component``, ``category``, ``n_events``.
    window_h : float
        Length of the observation. [h]
    n_gpus : float
        Size of the job. [GPUs]
    """
    n = int(counts["n_events"].sum())
    low, high = poisson_interval(n)
    by_category = counts.groupby("category")["n_events"].sum() / n
    values = {"every": window_h / n, "first": by_category.idxmax(), "share": by_category.max()}
    return Finding(
        title=say("Llama 3 405B: a stop every {every:roughly}, {share:share0} attributed to {first}s", **values),
        text=say(
            "**In {days:.0f} days the job on {n_gpus:gpus} was interrupted unexpectedly {#n_stops:count} times, once "
            "every {#stop_every:roughly}; {share:share0} of the stops were attributed to {first}s.** The 95% CI of "
            "the MTBF is {short:roughly} to {long:roughly}. The number of GPUs is assumed (the paper: up to 16,000).",
            days=window_h / 24,
            n_gpus=n_gpus,
            n_stops=n,
            stop_every=values["every"],
            short=window_h / high,
            long=window_h / low,
            **values,
        ),
    )


def without_category(without: pd.DataFrame, *, subtitle: str = "") -> Any:
    """Draw the MTBF if one category never failed.

    Parameters
    ----------
    without : DataFrame
        As from :func:`ettr.failures.without_each`: ``category`` (with the row ``nothing``), ``mtbi_h``, ``low``,
        ``high``. [h]
    subtitle : str
        Whose failures these are.
    """
    best = without.loc[without["mtbi_h"].idxmax()]
    scale = alt.Scale(domain=["nothing", *CATEGORY_COLOURS], range=[_NOTHING_COLOUR, *CATEGORY_COLOURS.values()])
    y = alt.Y("category:N", sort=without.sort_values("mtbi_h")["category"].tolist(), title="Never fails")
    bars = (
        alt.Chart(without)
        .mark_bar()
        .encode(
            y=y,
            x=alt.X("mtbi_h:Q", title="MTBF [h]", scale=alt.Scale(zero=True)),
            color=alt.Color("category:N", scale=scale, legend=None),
            tooltip=tooltips("category", "mtbi_h", "low", "high", category="Never fails"),
        )
    )
    times = ", ".join(f"without {row.category} {row.mtbi_h:.1f} h" for row in without.itertuples())
    return finish(
        bars + alt.Chart(without).mark_rule(strokeWidth=1.5).encode(y=y, x="low:Q", x2="high:Q"),
        title=say("Without any {category} failure the run would still stop every {mtbi_h:roughly}", **best),
        subtitle=f"{subtitle}{'; lines' if subtitle else 'Lines'}: 95% CI",
        description=f"Bar chart of the MTBF if one category never failed: {times}.",
        height=34 * len(without) + 20,
        sources=["dubey2024"],
    )


def elsewhere() -> CaptionedTable:
    """Return the failure causes that other operators report."""
    ranked = evidence.table("failure_causes").sort_values(["title", "share_pct"], ascending=[True, False])
    heads = {"title": "Cluster", "cause": "Cause", "share_pct": "Share [%]", "status": "Status", "source": "Source"}
    return named(ranked, heads, "Causes of failures of two other clusters")


def of_scenario(plan: Plan) -> Finding:
    """Return the MTBF of the book's own scenario."""
    run = plan.scenario
    if math.isinf(plan.job_mttf_h):
        none = "has no failures: its rate is 0"
        return Finding(f"{run.title} {none}", f"*{literal(run.title)}* {none}.")
    return Finding(
        title=say("{title}: a failure every {mttf:roughly}", title=run.title, mttf=plan.wall_mttf_h),
        text=say(
            "*{title}* has {rate:about} failures per 1,000 node-days. On its {size} that is an MTBF of {#mttf:roughly} "
            "(wall clock).",
            title=literal(run.title),
            rate=run.failure_rate,
            size=gpus(run.cluster.n_gpus),
            mttf=plan.wall_mttf_h,
        ),
    )
