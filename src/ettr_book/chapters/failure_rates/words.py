"""Text of the chapter on failure rates of clusters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, about, listed, literal, number, say
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.failure_rates import tables
from ettr_book.chapters.failure_rates.tables import HARDWARE, MEMORY, STOPS, THIS_SCENARIO

if TYPE_CHECKING:
    from ettr.scenario import Scenario


def answer(rates: pd.DataFrame, n_gpus: float) -> Finding:
    """Return the comparison of rates and the MTTF of a large job; ``rates`` as from ``tables.rates``."""
    published, scenario_rate = tables.comparable(rates), rates[rates["counted"] == THIS_SCENARIO]
    low, high = published.quantile([0.25, 0.75])
    values = {"n": len(published), "least": published.min(), "most": published.max(), "low": low, "high": high}
    values |= {"n_gpus": n_gpus, "times": tables.mttf_ends_h(rates, n_gpus)}
    return Finding(
        title=say("{least:about} to {most:about} failures per 1,000 node-days, half {low:about} to {high:about}",
                  **values),
        text=say(
            "**{n} published rates count job stops or hardware failures: {least:about} to {most:about} per 1,000 "
            "node-days, the middle half {#rate_low:about} to {#rate_high:about}.** {scenario} At these rates a job on "
            "{n_gpus:gpus} fails every {times:span}. Clusters differ by far more than sampling error, so the question "
            "is which one yours resembles.",
            rate_low=low, rate_high=high, scenario=_of_scenario(scenario_rate), **values,
        ),
    )  # fmt: skip


def _of_scenario(scenario_rate: pd.DataFrame) -> str:
    """Return a sentence on the scenario's own rate, if it has one."""
    if scenario_rate.empty:
        return "The run of this book has no failures."
    row = scenario_rate.iloc[0]
    interval = ", with no interval"
    if row["low"] < row["high"]:
        interval = f" (95% CI {number(about(row['low']))} to {number(about(row['high']))})"
    return say("The run of this book has {#rate:about}{interval}.", rate=row["rate"], interval=interval)


def by_hand(rates: pd.DataFrame, n_gpus: float) -> Finding:
    """Return the step from a rate to an MTTF in three lines of arithmetic."""
    rate = float(tables.comparable(rates).median())
    nodes = n_gpus / 8
    return Finding(
        "By hand",
        say(
            "- {n_gpus:gpus} are {nodes:count} nodes of eight.\n"
            "- At the median rate of {rate:about} per 1,000 node-days they fail {nodes:count} / 1,000 × {rate:about} = "
            "{per_day:about} times per day.\n"
            "- The MTTF is 24 h / {per_day:about} = {every:roughly}.",
            n_gpus=n_gpus,
            nodes=nodes,
            rate=rate,
            per_day=nodes / 1000 * rate,
            every=24 / (nodes / 1000 * rate),
        ),
    )


def counted(rates: pd.DataFrame) -> Finding:
    """Return what the rates count; columns as from ``tables.rates``."""
    published = rates[rates["counted"] != THIS_SCENARIO]
    ranges = [
        say("{kind} {low:about} to {high:about}", kind=kind, low=rows["rate"].min(), high=rows["rate"].max())
        for kind, rows in published.groupby("counted")
        if kind in (STOPS, HARDWARE, MEMORY)
    ]
    n = int(published["n_events"].notna().sum())
    return Finding(
        title="The definition of a failure matters as much as the cluster",
        text=(
            f"Per 1,000 node-days: {listed(ranges)}. {n} of {len(published)} figures rest on a published count; the "
            "others are published as a rate or a range, without an uncertainty."
        ),
    )


def by_size(points: pd.DataFrame, lines: pd.DataFrame, n_gpus: float, mtbf_h: float = math.nan) -> Finding:
    """Return how MTTF falls with job size.

    Parameters
    ----------
    points : DataFrame
        As from ``tables.rsc_points``.
    lines : DataFrame
        As from ``tables.mttf_by_size``.
    n_gpus : float
        A size on the lines. [GPUs]
    mtbf_h : float
        Wall-clock MTBF of this run at that size, if it has an answer. [h]
    """
    observed = points[points["kind"] == "observed"]
    off = observed.loc[observed["times_rsc1"].idxmax()]
    mttf_h = lines[(lines["line"] == THIS_SCENARIO) & (lines["n_gpus"] == n_gpus)]["mttf_h"]
    return Finding(
        title=say("On {n_gpus:gpus} RSC-1 fails {times_rsc1:about} times as often as its published rate implies",
                  **off),
        text=say("At this run's rate the MTTF of a job on {n_gpus:gpus} is {every:roughly} of exposed time{wall}. ",
                 n_gpus=n_gpus, every=float(mttf_h.iloc[0]) if len(mttf_h) else None,
                 wall=say(" (MTBF {#mtbf_larger:roughly} on the wall clock)", mtbf_larger=mtbf_h))
        + say(
            "The observed MTTFs of RSC-1 at small sizes imply {high:about} failures per 1,000 node-days, but the "
            "paper's own rate, counted on jobs of more than 128 GPUs, is {rate:about}. The projected points lie on "
            "its line because they were computed from that rate. Use it for large jobs only.",
            high=off["rate"], rate=off["rate"] / off["times_rsc1"],
        ),
    )  # fmt: skip


def ages(scenario: Scenario, first: pd.DataFrame, days: float) -> Finding:
    """Return the failures of a new fleet with infant mortality or wear-out.

    Parameters
    ----------
    scenario : Scenario
        Scenario with the long-run rate of the fleet.
    first : DataFrame
        As from ``tables.first_failures``.
    days : float
        Length of the first days. [d]
    """
    settled = float(first["settled"].iloc[0])
    if settled == 0:
        none = "has no failures at any age"
        return Finding(f"{scenario.title} {none}", f"*{literal(scenario.title)}* {none}.")
    early, late = first.loc[first["shape"].idxmin()], first.loc[first["shape"].idxmax()]
    values = {"days": days, "shape": early["shape"], "early": early["n_failures"], "settled": settled}
    return Finding(
        title=say("With a shape of {shape:about} new nodes fail {times:about} times as often for {days:.0f} days",
                  times=early["n_failures"] / settled, **values),
        text=say(
            "In its first {days:.0f} days a new fleet of this size would have {early:about} failures at a shape of "
            "{shape:about}, {late:about} at {wear:about}, and {settled:about} at the long-run rate. The shapes are "
            "assumed. Far from 1, the rate of a new cluster is a poor guide to an old one.",
            late=late["n_failures"], wear=late["shape"], **values,
        ),
    )  # fmt: skip


def exercises(scenario: Scenario, rates: pd.DataFrame, n_gpus: float) -> Finding:
    """Return two exercises."""
    short, long = tables.mttf_ends_h(rates, n_gpus)
    few, published = scenario.n_nodes * 30, tables.comparable(rates)
    return numbered_exercises(
        Exercise(
            say("Your cluster of {nodes} had 30 failures in 30 days. What is its rate, and is it high?",
                nodes=f"{scenario.n_nodes:,} node{'' if scenario.n_nodes == 1 else 's'}"),
            say("30 / {few:count} node-days is {rate:about} per 1,000 node-days: higher than {n:count} of {all:count} "
                "published rates.",
                few=few, rate=1000 * 30 / few, n=(published < 1000 * 30 / few).sum(), all=len(published)),
        ),
        Exercise(
            say("By the published rates a job on {n_gpus:gpus} fails every {short:roughly} to every {long:roughly}. "
                "What narrows that down most?", n_gpus=n_gpus, short=short, long=long),
            say("Your own count. The 95% CI of 30 failures spans a factor of two, the published rates a factor of "
                "{times:about}. Enter your count in the inputs above.", times=long / short),
        ),
    )  # fmt: skip
