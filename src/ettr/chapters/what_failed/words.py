"""What the chapter on what failed says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.chapters.what_failed.tables import rates_compared, total_interval
from ettr.core.sentences import Finding, count, duration, fails, gpus, number, pct

if TYPE_CHECKING:
    from ettr.plan import Plan
    from ettr.scenario import Scenario


def answer(shares: pd.DataFrame, window_h: float, n_gpus: float) -> Finding:
    """What stopped the run, and how often.

    Parameters
    ----------
    shares : DataFrame
        Interruptions by component: ``component``, ``category``, ``n_events``.
    window_h : float
        Length of the observation. [h]
    n_gpus : float
        Size of the job. [GPUs]
    """
    total = shares["n_events"].sum()
    interval = total_interval(shares)
    by_category = shares.groupby("category")["n_events"].sum().sort_values(ascending=False)
    first, second = by_category.index[:2]
    return Finding(
        title=f"One unexpected interruption every {duration(window_h / total)}",
        text=(
            f"**In {number(window_h / 24)} days the job on {gpus(n_gpus)} was interrupted unexpectedly {count(total)} "
            f"times: once every {duration(window_h / total)}** (95% interval {number(window_h / interval.high)} to "
            f"{number(window_h / interval.low)} h). {pct(by_category.iloc[0] / total)} of the interruptions are put "
            f"down to the {first} category, {pct(by_category.iloc[1] / total)} to {second}, and "
            f"{pct(1 - by_category.iloc[:2].sum() / total)} to all else."
        ),
    )


def components(shares: pd.DataFrame) -> Finding:
    """Which components lead; columns as in :func:`answer`."""
    ranked = shares.sort_values("n_events", ascending=False)
    total = ranked["n_events"].sum()
    top = ranked.iloc[:2]
    half = int((ranked["n_events"].cumsum() < total / 2).sum()) + 1
    rare = ranked[ranked["n_events"] <= 3]
    return Finding(
        title=f"{top['component'].iloc[0]} and {top['component'].iloc[1]} stop the run most often",
        text=(
            f"The first {half} of {len(ranked)} components make up more than half of all interruptions; "
            f"{top['component'].iloc[0]} alone is {pct(top['n_events'].iloc[0] / total)}. At the other end {len(rare)} "
            f"components were met at most three times each: for them the interval is wider than the count, and a "
            f"ranking among them says nothing."
        ),
    )


def perfect_category(without: pd.DataFrame) -> Finding:
    """What a perfect category would leave.

    Parameters
    ----------
    without : DataFrame
        As from :func:`ettr.failures.without_each`: ``category``, ``mtbi_h``, and the row ``nothing`` as it was.
    """
    base = without.loc[without["category"] == "nothing", "mtbi_h"].iloc[0]
    others = without[without["category"] != "nothing"].sort_values("mtbi_h", ascending=False)
    best, rest = others.iloc[0], others.iloc[1:]
    return Finding(
        title=f"Without any {best['category']} failure the run would still stop every {duration(best['mtbi_h'])}",
        text=(
            f"If the {best['category']} category never failed, the time between interruptions would grow from "
            f"{duration(base)} to {duration(best['mtbi_h'])}, {number(best['mtbi_h'] / base)} times as long. No other "
            f"category alone gains more than {number(rest['mtbi_h'].max() / base)} times. At this size a run has to "
            f"live with failures; it cannot be rid of them by better parts of one kind."
        ),
    )


def rates(published: pd.DataFrame, name: str = "llama3-unexpected", other: str = "byterobust-dense") -> Finding:
    """How a cluster's rate compares with the published ones.

    Parameters
    ----------
    published : DataFrame
        As from :func:`ettr.evidence.published_rates`.
    name, other : str
        ``cluster_id`` of the row to speak of, and of a row with a count to compare it with.
    """
    rows = published.set_index("cluster_id")
    mine, their = rows.loc[name], rows.loc[other]
    ratio = rates_compared(published, name, other)
    middle = published["rate"].quantile([0.25, 0.75])
    return Finding(
        title=f"Half of the published rates lie between {number(middle.iloc[0])} and {number(middle.iloc[1])} per "
        f"1000 node-days",
        text=(
            f"*{mine['title']}* stands at {number(mine['rate'])} failures per 1000 node-days. The published figures "
            f"reach from {number(published['rate'].min())} to {number(published['rate'].max())}, but they do not count "
            f"the same: some count every restart, some only hardware or only memory. Between counts that can be "
            f"compared the difference is real all the same: *{mine['title']}* has {number(ratio.ratio)} times as many "
            f"failures per node as *{their['title']}* (95% interval {number(ratio.low)} to {number(ratio.high)})."
        ),
    )


def of_scenario(scenario: Scenario, plan: Plan) -> Finding:
    """How often the book's own scenario fails."""
    interval = plan.job_mttf_95_h
    known = f" (95% interval {duration(interval[0])} to {duration(interval[1])})" if interval else ""
    names, weights = scenario.mode_names[:-1], scenario.mode_weights
    if names:
        category = pd.Series(weights[:-1]).groupby([mode.category for mode in scenario.failures.modes]).sum()
        of_kinds = f" Of these failures {pct(category.max())} are of the category {category.idxmax()}."
    else:
        of_kinds = " It does not say what fails: no kinds of failure are given."
    if math.isinf(plan.job_mttf_h):
        return Finding(
            title=f"{scenario.title}: no failures",
            text=f"The scenario of this book, *{scenario.title}*, has no failures: its rate is 0.",
        )
    return Finding(
        title=f"{scenario.title}: {fails(plan.job_mttf_h)}",
        text=(
            f"The scenario of this book, *{scenario.title}*, has {number(scenario.failure_rate)} failures per 1000 "
            f"node-days{'' if scenario.failures.rate_clock == 'exposed' else ' of wall clock'}. On its "
            f"{gpus(scenario.cluster.n_gpus)} that is one every {duration(plan.job_mttf_h)} in which failures can "
            f"strike{known}, and {number(plan.failures_per_day)} a day of wall clock.{of_kinds}"
        ),
    )
