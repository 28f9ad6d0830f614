"""What the chapter on what failed says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, gpus, literal, pct, roughly, say
from ettr_book.chapters.common.exercises import Exercise, exercises
from ettr_book.chapters.what_failed import tables

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
    count = tables.counted(shares)
    by_category = shares.groupby("category")["n_events"].sum().sort_values(ascending=False) / count.n
    values = {"n": count.n, "every": window_h / count.n, "first": by_category.index[0], "share": by_category.iloc[0]}
    return Finding(
        title=say("A stop every {every:roughly}, {share:share0} of them put down to {first}s", **values),
        text=say(
            "**In {days:.0f} days the job on {n_gpus:gpus} was interrupted unexpectedly {#n_stops:count} times, once "
            "every {#stop_every:roughly}; {share:share0} of the stops are put down to {first}s.** How many GPUs it "
            "held is assumed: the paper says up to 16,000. As far as chance goes, the mean lies between one every "
            "{short:roughly} and one every {long:roughly}.",
            days=window_h / 24,
            n_gpus=n_gpus,
            n_stops=count.n,
            stop_every=values["every"],
            first=values["first"],
            share=values["share"],
            short=window_h / count.high,
            long=window_h / count.low,
        ),
    )


def by_hand(shares: pd.DataFrame, window_h: float, n_gpus: float, gpus_per_node: float) -> Finding:
    """The same in three lines of arithmetic."""
    return Finding(
        "By hand",
        say(
            "- {days:.0f} days × 24 h / {n:.0f} = {every_h:about} h from stop to stop.\n"
            "- {nodes:count} servers × {days:.0f} days are {node_days:count} server-days: {per_1000_node_days:about} "
            "stops in 1,000 of them.\n"
            "- {n_of_gpus:.0f} stops by GPUs in {gpus:count} × {days:.0f} GPU-days: a GPU stops the run once in "
            "{gpu_years:about} years.",
            **tables.by_hand(shares, window_h, n_gpus, gpus_per_node),
        ),
    )


def components(shares: pd.DataFrame) -> Finding:
    """Which components lead; columns as in :func:`answer`."""
    ranked = shares.sort_values("n_events", ascending=False)
    total, top = ranked["n_events"].sum(), ranked["component"].iloc[:2].tolist()
    half = int((ranked["n_events"].cumsum() < total / 2).sum()) + 1
    count = tables.counted(shares)
    return Finding(
        title=f"{top[0]} and {top[1]} stop the run most often",
        text=(
            f"The first {half} of {len(ranked)} components are more than half of all interruptions; {top[0]} alone is "
            f"{pct(ranked['n_events'].iloc[0] / total, 0)}. {int((ranked['n_events'] <= 3).sum())} components were met "
            f"at most three times each: a ranking among them says nothing. Another 54 days of the same machine would "
            f"bring {count.next_low:.0f} to {count.next_high:.0f} stops, 19 times in 20."
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
        title=f"Without any {best['category']} failure the run would still stop every {roughly(best['mtbi_h'])}",
        text=say(
            "Without {category} failures a run would go on for {mtbi_h:roughly} instead of {base:roughly}. No other "
            "category alone gains more than {rest:about} times. At this size a run has to live with failures: better "
            "parts of one kind do not rid it of them.",
            base=base,
            rest=rest["mtbi_h"].max() / base,
            **best[["category", "mtbi_h"]],
        ),
    )


def of_scenario(scenario: Scenario, plan: Plan) -> Finding:
    """How often the book's own scenario fails."""
    if math.isinf(plan.job_mttf_h):
        none = "has no failures: its rate is 0"
        return Finding(f"{scenario.title} {none}", f"*{literal(scenario.title)}* {none}.")
    names, weights = scenario.mode_names[:-1], scenario.mode_weights
    kinds = "It does not say what fails."
    if names:
        category = pd.Series(weights[:-1]).groupby([mode.category for mode in scenario.failures.modes]).sum()
        kinds = f"{pct(category.max(), 0)} of its failures are of the category {category.idxmax()}."
    return Finding(
        title=say("{title}: a failure every {mttf:roughly}", title=scenario.title, mttf=plan.wall_mttf_h),
        text=say(
            "*{title}* has {rate:about} failures per 1,000 node-days. On its {size} that is one every {#mttf:roughly} "
            "of wall clock. {kinds}",
            title=literal(scenario.title),
            rate=scenario.failure_rate,
            size=gpus(scenario.cluster.n_gpus),
            mttf=plan.wall_mttf_h,
            kinds=kinds,
        ),
    )


def asked(shares: pd.DataFrame, window_h: float, n_gpus: float) -> Finding:
    """Two exercises."""
    count = tables.counted(shares)
    half = window_h / count.n * 2
    sdc = shares.loc[shares["component"] == "Silent Data Corruption", "n_events"].sum()
    return exercises(
        Exercise(
            say("A job on half as many of these GPUs: how often does it stop?"),
            say("Half as often: every {half:roughly}. Nodes fail as before, and are half as many.", half=half),
            {"cluster.n_gpus": n_gpus / 2},
            "../ettr/scale.html",
        ),
        Exercise(
            say("Silent data corruption was counted {n} times. Could its mean be twice that?", n=int(sdc)),
            say("Yes. The 95% interval of a mean behind a count of {n} reaches from {low:.1f} to {high:.1f}.",
                n=int(sdc), **tables.interval(int(sdc))),
        ),
    )  # fmt: skip
