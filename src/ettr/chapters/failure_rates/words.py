"""Sentences of the chapter on failure rates of clusters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from ettr.chapters.failure_rates.tables import COMPATIBLE, DIFFERENT, HARDWARE, MEMORY, OWN, STOPS, UNTOLD
from ettr.core.sentences import Finding, duration, gpus, listed, number, pct

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_COMPARABLE = (STOPS, HARDWARE)
_EXAMPLE_GPUS = 1e5


def answer(rates: pd.DataFrame, projected: pd.DataFrame) -> Finding:
    """How rates compare, and what they mean for large jobs.

    Parameters
    ----------
    rates : DataFrame
        As from ``tables.rates``.
    projected : DataFrame
        As from ``tables.projections``, of the same rates.
    """
    known = rates[rates["counted"].isin(_COMPARABLE)]["rate"]
    own = rates[rates["counted"] == OWN]
    times = [
        f"on {gpus(float(size))} a job fails every {duration(rows['mttf_h'].min())} to {duration(rows['mttf_h'].max())}"
        for size, rows in projected[projected["counted"].isin(_COMPARABLE)].groupby("n_gpus")
    ]
    low, high = known.quantile([0.25, 0.75])
    return Finding(
        title=f"Published failure rates differ by a factor of {number(known.max() / known.min())}",
        text=(
            f"**The {len(known)} published rates that count stops of a job or hardware failures lie between "
            f"{number(known.min())} and {number(known.max())} per 1000 node-days, half of them between {number(low)} "
            f"and {number(high)}.** {_own(own)} The mean time to failure falls in proportion to the number of GPUs: at "
            f"these rates {listed(times)}."
        ),
    )


def _own(own: pd.DataFrame) -> str:
    """A sentence on the scenario's own rate, where it has one."""
    if own.empty:
        return "The scenario of this book has no failures."
    row = own.iloc[0]
    title = row["title"].partition(": ")[2]
    known = (
        f" (95% interval {number(row['low'])} to {number(row['high'])})"
        if row["low"] < row["high"]
        else ", given without an interval"
    )
    return f"The scenario of this book, *{title}*, has {number(row['rate'])}{known}."


def side_by_side(rates: pd.DataFrame) -> Finding:
    """What the rates count; columns as from ``tables.rates``."""
    published = rates[rates["counted"] != OWN]
    ranges = [
        f"{kind} from {number(rows['rate'].min())} to {number(rows['rate'].max())}"
        for kind, rows in published.groupby("counted")
        if kind in (STOPS, HARDWARE, MEMORY)
    ]
    counted = int(published["n_events"].notna().sum())
    first = published.loc[published["rate"].idxmax()]
    return Finding(
        title=f"What is counted moves a rate as much as the cluster does: {number(published['rate'].min())} to "
        f"{number(published['rate'].max())}",
        text=(
            f"Per 1000 node-days {listed(ranges)} are published. The highest, *{first['title']}*, is of "
            f"{first['scope']}. {counted} of the {len(published)} figures rest on a published count, so that the "
            f"part of chance is known; for the other {len(published) - counted} only a rate or a range is stated, and "
            f"a dot without a line means that nobody has said how far it may be off."
        ),
    )


def ratios(compared: pd.DataFrame) -> Finding:
    """Which clusters may have the same rate as one; columns as from ``tables.ratios``."""
    reference = compared["reference"].iloc[0]
    titles = {verdict: [f"*{title}*" for title in rows["title"]] for verdict, rows in compared.groupby("verdict")}
    same, untold = titles.get(COMPATIBLE, []), titles.get(UNTOLD, [])
    others = compared[compared["verdict"] == DIFFERENT].sort_values("ratio")
    unlike = [f"*{row.title}* {_ratio(row)}" for row in others.itertuples()]
    return Finding(
        title=f"{len(same)} of {len(compared)} rates may be the same as that of {reference}",
        text=(
            f"Chance and what the sources leave open can explain how *{reference}* differs from {listed(same)}. They "
            f"cannot for {listed(unlike)}. "
            + (f"It cannot be told for {listed(untold)}: one figure is all that is known of them. " if untold else "")
            + "That two rates may be the same does not make them equal: a short diary agrees with almost anything."
        ),
    )


def _ratio(row: Any) -> str:
    """Times the rate, with the interval, whose ends do not become 1 by rounding."""
    low = "just over 1" if row.low > 1 and number(row.low) == "1" else number(row.low)
    high = "just under 1" if row.high < 1 and number(row.high) == "1" else number(row.high)
    return f"({number(row.ratio)} times, {low} to {'any' if row.at_least else high})"


def by_size(points: pd.DataFrame, lines: pd.DataFrame) -> Finding:
    """How the mean time to failure falls with the size of the job.

    Parameters
    ----------
    points : DataFrame
        As from ``tables.rsc_points``.
    lines : DataFrame
        As from ``tables.mttf_by_size``.
    """
    observed, projected = (points[points["kind"] == kind] for kind in ("observed", "projected"))
    off = observed.loc[observed["times_rsc1"].idxmax()]
    rates = listed([f"{number(row.rate)} at {gpus(row.n_gpus)}" for row in observed.itertuples()])
    own = lines[(lines["line"] == OWN) & (lines["n_gpus"] == _EXAMPLE_GPUS)]
    here = (
        f" At the rate of this book's scenario a job of {gpus(_EXAMPLE_GPUS)} fails every "
        f"{duration(own['mttf_h'].iloc[0])}."
        if len(own)
        else ""
    )
    return Finding(
        title=f"At {gpus(off['n_gpus'])} the observed time to failure implies {number(off['times_rsc1'])} times the "
        f"published rate",
        text=(
            f"A point implies a rate: {rates}, in failures per 1000 node-days, where the paper's own rate of RSC-1 is "
            f"{number(off['rate'] / off['times_rsc1'])}. The projected points "
            f"({listed([number(r) for r in projected['rate']])}) lie on its line because they were computed from it. "
            f"So no single rate describes that cluster at all sizes, and a job of {gpus(off['n_gpus'])} that trusted "
            f"the published one would expect to last {number(off['times_rsc1'])} times as long as observed.{here}"
        ),
    )


def projections(projected: pd.DataFrame) -> Finding:
    """How long large jobs would last; columns as from ``tables.projections``."""
    alike = projected[projected["counted"].isin((*_COMPARABLE, OWN))]
    sentences = []
    for size, rows in alike.groupby("n_gpus"):
        shortest, longest = rows.loc[rows["mttf_h"].idxmin()], rows.loc[rows["mttf_h"].idxmax()]
        sentences.append(
            f"On {gpus(float(size))} a job would fail every {duration(shortest['mttf_h'])} (*{shortest['title']}*) to "
            f"{duration(longest['mttf_h'])} (*{longest['title']}*), in the middle every "
            f"{duration(rows['mttf_h'].median())}."
        )
    largest = alike[alike["n_gpus"] == alike["n_gpus"].max()]
    spread = largest["mttf_h"].max() / largest["mttf_h"].min()
    bounded = largest[largest["mttf_high_h"] < math.inf]
    widest = (bounded["mttf_high_h"] / bounded["mttf_low_h"]).max()
    return Finding(
        title=f"{gpus(float(alike['n_gpus'].max()))}: a failure every {duration(largest['mttf_h'].min())} to "
        f"{duration(largest['mttf_h'].max())}",
        text=(
            " ".join(sentences)
            + f" The rates differ by a factor of {number(spread)}; the widest interval of one of them spans a factor "
            f"of {number(widest)}."
            + (" Which cluster a new one will resemble matters more than chance." if spread > widest else "")
        ),
    )


def ages(scenario: Scenario, first: pd.DataFrame, weekly: pd.DataFrame, days: float) -> Finding:
    """What a new fleet would meet if its nodes failed early or wore out.

    Parameters
    ----------
    scenario : Scenario
        Whose settled rate the fleet has.
    first : DataFrame
        As from ``tables.first_failures``.
    weekly : DataFrame
        As from ``tables.by_age``.
    days : float
        Length of the first days. [d]
    """
    settled = float(first["settled"].iloc[0])
    if settled == 0:
        return Finding(
            title=f"{scenario.title}: no failures at any age",
            text="The scenario of this book has no failures, so its fleet has none at any age.",
        )
    early, late = first.loc[first["shape"].idxmin()], first.loc[first["shape"].idxmax()]
    weeks = weekly[weekly["shape"] == early["shape"]]
    return Finding(
        title=f"New nodes with shape {number(early['shape'])} fail {number(early['n_failures'] / settled)} times as "
        f"often in the first {number(days)} days",
        text=(
            f"In its first {number(days)} days a new fleet would meet {number(early['n_failures'])} failures at a "
            f"shape of {number(early['shape'])} and {number(late['n_failures'])} at {number(late['shape'])}, against "
            f"{number(settled)} once it has settled at the {number(scenario.failure_rate)} per 1000 node-days of "
            f"*{scenario.title}*. At {number(early['shape'])} the first week has {number(weeks['rate'].iloc[0])} per "
            f"1000 node-days, and after {number(weeks['age_end_days'].iloc[-1])} days the rate is still "
            f"{_off(weeks['rate'].iloc[-1] / scenario.failure_rate)}. The shapes are assumed. With a shape far "
            f"from 1 a rate that was counted on a new cluster says little about an old one."
        ),
    )


def _off(ratio: Any) -> str:
    """A ratio as a distance from 1, e.g. ``8.7% above the settled one``."""
    if math.isclose(ratio, 1, abs_tol=5e-4):
        return "within a thousandth of the settled one"
    if ratio > 2:
        return f"{number(ratio)} times the settled one"
    return f"{pct(abs(ratio - 1))} {'above' if ratio > 1 else 'below'} the settled one"
