"""Sentences of the chapter on failure rates of clusters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, about, listed, literal, number, say
from ettr_book.chapters.common.exercises import Exercise, exercises
from ettr_book.chapters.failure_rates import tables
from ettr_book.chapters.failure_rates.tables import HARDWARE, MEMORY, OWN, STOPS

if TYPE_CHECKING:
    from ettr.scenario import Scenario


def answer(rates: pd.DataFrame, n_gpus: float) -> Finding:
    """How rates compare, and what they mean for a large job; ``rates`` as from ``tables.rates``."""
    known, own = tables.comparable(rates), rates[rates["counted"] == OWN]
    low, high = known.quantile([0.25, 0.75])
    values = {"n": len(known), "least": known.min(), "most": known.max(), "low": low, "high": high}
    values |= {"n_gpus": n_gpus, "times": tables.mttf_ends_h(rates, n_gpus)}
    return Finding(
        title=say("{least:about} to {most:about} failures per 1,000 node-days, half {low:about} to {high:about}",
                  **values),
        text=say(
            "**{n} published rates count stops of a job or failures of hardware: {least:about} to {most:about} per "
            "1,000 node-days, half of them {#rate_low:about} to {#rate_high:about}.** {own} At these rates a job on "
            "{n_gpus:gpus} fails every {times:span}. Which cluster a new one will resemble matters more than chance.",
            rate_low=low, rate_high=high, own=_own(own), **values,
        ),
    )  # fmt: skip


def _own(own: pd.DataFrame) -> str:
    """A sentence on the scenario's own rate, where it has one."""
    if own.empty:
        return "The run of this book has no failures."
    row = own.iloc[0]
    known = ", given without an interval"
    if row["low"] < row["high"]:
        known = f" ({number(about(row['low']))} to {number(about(row['high']))} as far as it was counted)"
    return say("The run of this book has {#rate:about}{known}.", rate=row["rate"], known=known)


def by_hand(rates: pd.DataFrame, n_gpus: float) -> Finding:
    """From a rate to a time between failures, in three lines."""
    rate = float(tables.comparable(rates).median())
    nodes = n_gpus / 8
    return Finding(
        "By hand",
        say(
            "- {n_gpus:gpus} are {nodes:count} nodes of eight.\n"
            "- At the middle rate of {rate:about} per 1,000 node-days they fail {nodes:count} / 1,000 × {rate:about} = "
            "{a_day:about} times a day.\n"
            "- That is one every 24 h / {a_day:about} = {every:roughly}.",
            n_gpus=n_gpus,
            nodes=nodes,
            rate=rate,
            a_day=nodes / 1000 * rate,
            every=24 / (nodes / 1000 * rate),
        ),
    )


def counted(rates: pd.DataFrame) -> Finding:
    """What the rates count; columns as from ``tables.rates``."""
    published = rates[rates["counted"] != OWN]
    ranges = [
        say("{kind} {low:about} to {high:about}", kind=kind, low=rows["rate"].min(), high=rows["rate"].max())
        for kind, rows in published.groupby("counted")
        if kind in (STOPS, HARDWARE, MEMORY)
    ]
    n = int(published["n_events"].notna().sum())
    return Finding(
        title="What is counted moves a rate as much as the cluster does",
        text=(
            f"Per 1,000 node-days: {listed(ranges)}. {n} of {len(published)} figures rest on a published count; for "
            f"the others only a rate or a range is stated, and nobody has said how far it may be off."
        ),
    )


def by_size(points: pd.DataFrame, lines: pd.DataFrame, n_gpus: float, mtbf_h: float = math.nan) -> Finding:
    """How the mean time to failure falls with the size of the job.

    Parameters
    ----------
    points : DataFrame
        As from ``tables.rsc_points``.
    lines : DataFrame
        As from ``tables.mttf_by_size``.
    n_gpus : float
        A size to speak of, one of those of the lines. [GPUs]
    mtbf_h : float
        Of this run at that size on the wall clock, where it has an answer. [h]
    """
    observed = points[points["kind"] == "observed"]
    off = observed.loc[observed["times_rsc1"].idxmax()]
    own = lines[(lines["line"] == OWN) & (lines["n_gpus"] == n_gpus)]["mttf_h"]
    return Finding(
        title=say("On {n_gpus:gpus} RSC-1 fails {times_rsc1:about} times as often as its published rate says", **off),
        text=say("At this run's rate the MTTF of a job on {n_gpus:gpus} is {every:roughly} of exposed time{wall}. ",
                 n_gpus=n_gpus, every=float(own.iloc[0]) if len(own) else None,
                 wall=say(" (MTBF {#mtbf_larger:roughly} on the wall clock)", mtbf_larger=mtbf_h))
        + say(
            "The observed times of RSC-1 at small sizes imply {high:about} failures per 1,000 node-days, where the "
            "paper's own rate, counted on jobs of more than 128 GPUs, is {rate:about}. The projected points lie on "
            "its line because they were computed from it. Use the rate for large jobs only.",
            high=off["rate"], rate=off["rate"] / off["times_rsc1"],
        ),
    )  # fmt: skip


def ages(scenario: Scenario, first: pd.DataFrame, days: float) -> Finding:
    """What a new fleet would meet if its nodes failed early or wore out.

    Parameters
    ----------
    scenario : Scenario
        Whose settled rate the fleet has.
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
            "In its first {days:.0f} days a new fleet of this size would meet {early:about} failures at a shape of "
            "{shape:about}, {late:about} at {wear:about}, and {settled:about} once it has settled. The shapes are "
            "assumed. Far from 1 a rate that was counted on a new cluster says little about an old one.",
            late=late["n_failures"], wear=late["shape"], **values,
        ),
    )  # fmt: skip


def asked(scenario: Scenario, rates: pd.DataFrame, n_gpus: float) -> Finding:
    """Two exercises."""
    short, long = tables.mttf_ends_h(rates, n_gpus)
    few, known = scenario.n_nodes * 30, tables.comparable(rates)
    return exercises(
        Exercise(
            say("Your cluster of {nodes} had 30 failures in 30 days. What is its rate, and is it high?",
                nodes=f"{scenario.n_nodes:,} node{'' if scenario.n_nodes == 1 else 's'}"),
            say("30 / {few:count} node-days is {rate:about} per 1,000 node-days: higher than {n:count} of {all:count} "
                "published ones.",
                few=few, rate=1000 * 30 / few, n=(known < 1000 * 30 / few).sum(), all=len(known)),
        ),
        Exercise(
            say("A job on {n_gpus:gpus} will fail every {short:roughly} or every {long:roughly}, as published rates "
                "differ. What narrows that down most?", n_gpus=n_gpus, short=short, long=long),
            say("Your own count. 30 failures leave a factor of two between the ends of the 95% interval, where the "
                "published rates leave {times:about}: give it to the inputs above.", times=long / short),
        ),
    )  # fmt: skip
