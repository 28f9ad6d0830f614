"""What stopped a 16,384-GPU run, and how often?

Interruptions of a run on 16,384 GPUs: rate, uncertainty of a count, and MTBF without one category.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import altair as alt
import pandas as pd
from scipy import stats

from ettr.core.sentences import Finding, gpus, literal, pct, roughly, say
from ettr.core.units import H_PER_DAY
from ettr.failures import poisson_interval
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.theme import CATEGORY_COLOURS, finish
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.common.table import CaptionedTable, named

if TYPE_CHECKING:
    from ettr.plan import Plan
    from ettr.scenario import Scenario


_TAILS = (0.025, 0.975)


def another_count(n: int) -> tuple[float, float]:
    """Return the 95% prediction interval of the count of another window of the same length.

    Notes
    -----
    The count of another window is negative binomial: Poisson with the posterior of the mean (Jeffreys prior).

    Examples
    --------
    >>> another_count(419)
    (364.0, 478.0)
    """
    low, high = stats.nbinom(n + 0.5, 0.5).ppf(_TAILS)
    return float(low), float(high)


def sums_by_hand(shares: pd.DataFrame, window_h: float, n_gpus: float, gpus_per_node: float) -> dict[str, float]:
    """Return the rate by three lines of arithmetic.

    Returns
    -------
    dict
        ``days``, ``n`` (interruptions), ``every_h`` [h]; ``nodes``, ``node_days``, ``per_1000_node_days``;
        ``n_of_gpus`` (caused by GPUs), ``gpus``, ``gpu_years`` between two stops by the same GPU [years].
    """
    days, n = window_h / H_PER_DAY, float(shares["n_events"].sum())
    of_gpus = float(shares.loc[shares["category"] == "GPU", "n_events"].sum())
    nodes = n_gpus / gpus_per_node
    return {
        "days": days,
        "n": n,
        "every_h": window_h / n,
        "nodes": nodes,
        "node_days": nodes * days,
        "per_1000_node_days": 1000 * n / (nodes * days),
        "n_of_gpus": of_gpus,
        "gpus": n_gpus,
        "gpu_years": n_gpus * days / of_gpus / 365.25,
    }


def interruptions(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw interruptions by component, with exact intervals.

    Parameters
    ----------
    frame : DataFrame
        ``component``, ``category``, ``n_events``, ``low``, ``high`` (ends of the interval of the count).
    title : str
        Finding of the chart.
    subtitle : str
        Source of the counts.
    """
    pick = alt.selection_point(fields=["category"], bind="legend")
    ranked = frame.sort_values("n_events", ascending=False)
    base = alt.Chart(frame).encode(
        y=alt.Y("component:N", sort=ranked["component"].tolist(), title=None),
        opacity=alt.condition(pick, alt.value(1.0), alt.value(0.2)),
    )
    bars = base.mark_bar().encode(
        x=alt.X("n_events:Q", title="Interruptions [count]", scale=alt.Scale(zero=True)),
        color=builders.colours("category", CATEGORY_COLOURS, "Category"),
        tooltip=tooltips("component", "category", "n_events", "low", "high", n_events="Interruptions"),
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    top = ", ".join(f"{row.component} {row.n_events}" for row in ranked.head(3).itertuples())
    return finish(
        (bars + whiskers).add_params(pick),
        title=title,
        subtitle=subtitle or "Lines: 95% CI of the mean. Select a category in the legend.",
        description=f"Bar chart of interruptions by {len(frame)} components, coloured by category. Longest: {top}.",
        height=24 * len(frame) + 20,
        sources=["dubey2024"],
    )


def without_category(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the MTBF if one category never failed.

    Parameters
    ----------
    frame : DataFrame
        ``category`` (with the row ``nothing``), ``mtbi_h``, ``low``, ``high``. [h]
    title, subtitle
        As in :func:`interruptions`.
    """
    order = frame.sort_values("mtbi_h")["category"].tolist()
    scale = alt.Scale(domain=["nothing", *CATEGORY_COLOURS], range=["#7b7f80", *CATEGORY_COLOURS.values()])
    y = alt.Y("category:N", sort=order, title="Never fails")
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            y=y,
            x=alt.X("mtbi_h:Q", title="MTBF [h]", scale=alt.Scale(zero=True)),
            color=alt.Color("category:N", scale=scale, legend=None),
            tooltip=tooltips("category", "mtbi_h", "low", "high", category="Never fails"),
        )
    )
    times = ", ".join(f"without {row.category} {row.mtbi_h:.1f} h" for row in frame.itertuples())
    return finish(
        bars + alt.Chart(frame).mark_rule(strokeWidth=1.5).encode(y=y, x="low:Q", x2="high:Q"),
        title=title,
        subtitle=subtitle or "Lines: 95% CI.",
        description=f"Bar chart of the MTBF if one category never failed: {times}.",
        height=34 * len(frame) + 20,
        sources=["dubey2024"],
    )


def elsewhere(causes: pd.DataFrame) -> CaptionedTable:
    """Return the failure causes that other operators report.

    Parameters
    ----------
    causes : DataFrame
        The table ``failure_causes``: ``title``, ``cause``, ``share_pct``, ``status``, ``source``.
    """
    ranked = causes.sort_values(["title", "share_pct"], ascending=[True, False])
    heads = {"title": "Cluster", "cause": "Cause", "share_pct": "Share [%]", "status": "Status", "source": "Source"}
    return named(ranked, heads, "Causes of failures of two other clusters")


def answer(shares: pd.DataFrame, window_h: float, n_gpus: float) -> Finding:
    """Return what stopped the run, and its MTBF.

    Parameters
    ----------
    shares : DataFrame
        Interruptions by component: ``component``, ``category``, ``n_events``.
    window_h : float
        Length of the observation. [h]
    n_gpus : float
        Size of the job. [GPUs]
    """
    n = int(shares["n_events"].sum())
    low, high = poisson_interval(n)
    by_category = shares.groupby("category")["n_events"].sum() / n
    values = {"every": window_h / n, "first": by_category.idxmax(), "share": by_category.max()}
    return Finding(
        title=say("A stop every {every:roughly}, {share:share0} attributed to {first}s", **values),
        text=say(
            "**In {days:.0f} days the job on {n_gpus:gpus} was interrupted unexpectedly {#n_stops:count} times, once "
            "every {#stop_every:roughly}; {share:share0} of the stops were attributed to {first}s.** The number of "
            "GPUs is assumed (the paper: up to 16,000). The 95% CI of the mean is {short:roughly} to {long:roughly}.",
            days=window_h / 24,
            n_gpus=n_gpus,
            n_stops=n,
            stop_every=values["every"],
            short=window_h / high,
            long=window_h / low,
            **values,
        ),
    )


def by_hand(shares: pd.DataFrame, window_h: float, n_gpus: float, gpus_per_node: float) -> Finding:
    """Return the rate in three lines of arithmetic."""
    return Finding(
        "By hand",
        say(
            "- {days:.0f} days × 24 h / {n:.0f} = {every_h:about} h between stops (MTBF).\n"
            "- {nodes:count} servers × {days:.0f} days are {node_days:count} server-days: {per_1000_node_days:about} "
            "stops per 1,000 server-days.\n"
            "- {n_of_gpus:.0f} stops by GPUs in {gpus:count} × {days:.0f} GPU-days: each GPU stops the run once in "
            "{gpu_years:about} years.",
            **sums_by_hand(shares, window_h, n_gpus, gpus_per_node),
        ),
    )


def components(shares: pd.DataFrame) -> Finding:
    """Return the leading components; columns as in :func:`answer`."""
    ranked = shares.sort_values("n_events", ascending=False)
    total, top = ranked["n_events"].sum(), ranked["component"].iloc[:2].tolist()
    half = int((ranked["n_events"].cumsum() < total / 2).sum()) + 1
    fewest, most_stops = another_count(int(total))
    return Finding(
        title=f"{top[0]} and {top[1]} stop the run most often",
        text=(
            f"The first {half} of {len(ranked)} components are more than half of all interruptions; {top[0]} alone is "
            f"{pct(ranked['n_events'].iloc[0] / total, 0)}. {int((ranked['n_events'] <= 3).sum())} components failed "
            f"at most three times each, too few to rank. The 95% prediction interval for another 54 days on the same "
            f"machine is {fewest:.0f} to {most_stops:.0f} stops."
        ),
    )


def perfect_category(without: pd.DataFrame) -> Finding:
    """Return the MTBF without one category.

    Parameters
    ----------
    without : DataFrame
        As from :func:`ettr.failures.without_each`: ``category``, ``mtbi_h``, with the row ``nothing`` for all failures.
    """
    base = without.loc[without["category"] == "nothing", "mtbi_h"].iloc[0]
    others = without[without["category"] != "nothing"].sort_values("mtbi_h", ascending=False)
    best, rest = others.iloc[0], others.iloc[1:]
    return Finding(
        title=f"Without any {best['category']} failure the run would still stop every {roughly(best['mtbi_h'])}",
        text=say(
            "Without {category} failures the MTBF would be {mtbi_h:roughly} instead of {base:roughly}. Removing any "
            "other category raises it at most {rest:about} times. At this size a run has to live with failures: better "
            "parts of one kind do not remove them.",
            base=base,
            rest=rest["mtbi_h"].max() / base,
            **best[["category", "mtbi_h"]],
        ),
    )


def of_scenario(scenario: Scenario, plan: Plan) -> Finding:
    """Return the MTBF of the book's own scenario."""
    if math.isinf(plan.job_mttf_h):
        none = "has no failures: its rate is 0"
        return Finding(f"{scenario.title} {none}", f"*{literal(scenario.title)}* {none}.")
    return Finding(
        title=say("{title}: a failure every {mttf:roughly}", title=scenario.title, mttf=plan.wall_mttf_h),
        text=say(
            "*{title}* has {rate:about} failures per 1,000 node-days. On its {size} that is an MTBF of {#mttf:roughly} "
            "(wall clock).",
            title=literal(scenario.title),
            rate=scenario.failure_rate,
            size=gpus(scenario.cluster.n_gpus),
            mttf=plan.wall_mttf_h,
        ),
    )


def exercises(shares: pd.DataFrame, window_h: float, n_gpus: float) -> Finding:
    """Return two exercises."""
    half = window_h / shares["n_events"].sum() * 2
    sdc = shares.loc[shares["component"] == "Silent Data Corruption", "n_events"].sum()
    low, high = poisson_interval(int(sdc))
    return numbered_exercises(
        Exercise(
            say("A job runs on half of these GPUs. How often does it stop?"),
            say("Half as often: every {half:roughly}. The rate per node is the same, with half the nodes.", half=half),
            {"cluster.n_gpus": n_gpus / 2},
            "../ettr/scale.html",
        ),
        Exercise(
            say("Silent data corruption was counted {n} times. Could its mean be twice that?", n=int(sdc)),
            say("Yes. The 95% CI of the mean for a count of {n} is {low:.1f} to {high:.1f}.",
                n=int(sdc), low=low, high=high),
        ),
    )  # fmt: skip
