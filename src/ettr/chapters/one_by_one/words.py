"""What the chapter on single mitigations says of their worth, their costs and their hours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from ettr.chapters.common.mitigations import PARTS_IN_WORDS, saved, small
from ettr.chapters.one_by_one.tables import COSTS_TIME, IN_PLACE, NO_FIT, NO_PROGRESS, PAYS, SAME, SAVES, TRIED, savers
from ettr.core.sentences import Finding, count, days, gpus, listed, number, pct, usd

if TYPE_CHECKING:
    from ettr.compare import Comparison

_FREE_USD = 500.0
_BY_CHANCE = 1e6
"""Above this ratio of runs a difference depends on chance by rounding alone."""


def answer(comparison: Comparison, worth: pd.DataFrame) -> Finding:
    """Which single mitigation saves most, in one paragraph; ``worth`` as from ``tables.worth_in_days``."""
    base = comparison.baseline
    takes = f"the run takes {days(base.mean('days'))} at an ETTR of {pct(base.ettr)}"
    saving = savers(worth)
    ranked = saving[saving["rank"].notna()].sort_values("rank")
    if ranked.empty:
        return Finding(
            title="No mitigation with evidence saves time for certain",
            text=f"**Here {takes}, and no mitigation of which anything was published saves time for certain.**",
        )
    first = ranked.iloc[0]
    next_ones = [f"{small(row.title)} ({saved(row.days)})" for row in ranked.iloc[1:3].itertuples()]
    follow = f" Next {'come' if len(next_ones) > 1 else 'comes'} {listed(next_ones)}." if next_ones else ""
    known = f" What it changes is {first['basis']}." if first["basis"] != "assumed" else " What it changes is assumed."
    hollow = saving[saving["rank"].isna()]
    unranked = ""
    if len(hollow) and hollow["days"].max() > ranked["days"].min():
        unranked = (
            f" {count(len(hollow))} more would save time and {'has' if len(hollow) == 1 else 'have'} no rank, since "
            "nothing was published of what they do."
        )
    return Finding(
        title=f"{first['title']}: {saved(first['days'])} saved",
        text=(
            f"**Without any of them {takes}; the mitigation that saves most alone is {small(first['title'])}: "
            f"{saved(first['days'])} ({number(first['low'])} to {number(first['high'])}).**{known}{follow}{unranked}"
        ),
    )


def saving(comparison: Comparison, worth: pd.DataFrame) -> Finding:
    """The ranking of what would save time; ``worth`` as from ``tables.worth_in_days``."""
    tried = worth[worth["state"] == TRIED]
    rows = savers(worth)
    if rows.empty:
        return Finding(
            title="No mitigation saves time for certain",
            text=f"Of {count(len(tried))} that were tried, none saves time for certain here.",
        )
    ranked = rows[rows["rank"].notna()]
    unsure = ranked[ranked["rank_low"] < ranked["rank_high"]]
    sentences = [
        f"Of {count(len(tried))} mitigations that change something here, {count(len(rows))} save time to 95%; "
        f"{count(len(ranked))} of those have a rank, as something was published of what they do."
    ]
    if len(unsure):
        sentences.append(f"The order is not certain for {count(len(unsure))} of these.")
    elif len(ranked) > 1:
        sentences.append("Their order is certain to 95%, given the inputs.")
    soft = int((rows["basis"] == "assumed").sum())
    sentences.append(
        f"For {count(soft)} of the {count(len(rows))} the size of the effect is assumed, which no interval shows: "
        f"these hold chance alone. Another effect, or another assumption, would reverse ranks sooner than more runs "
        f"would."
    )
    nothing = tried[tried["effect"] == SAME]
    if len(nothing):
        names = [small(title) for title in nothing["title"]]
        sentences.append(f"Within the error of nothing: {listed(names)}.")
    best = rows.iloc[0]
    return Finding(title=f"{best['title']} would save most: {saved(best['days'])}", text=" ".join(sentences))


def others(worth: pd.DataFrame) -> Finding:
    """What is in place, and what takes time; ``worth`` as from ``tables.worth_in_days``."""
    there = worth[worth["state"] == IN_PLACE].sort_values("days", ascending=False)
    slower = worth[(worth["state"] == TRIED) & (worth["effect"] == COSTS_TIME)].sort_values("days")
    sentences = []
    if len(there):
        names = [f"{small(row.title)} ({saved(row.days)})" for row in there.itertuples() if row.effect == SAVES]
        idle = [small(row.title) for row in there.itertuples() if row.effect != SAVES]
        if names:
            worth_it = "Already in place, or taken to be, and worth what the run takes longer without it"
            sentences.append(f"{worth_it}: {listed(names)}.")
        if idle:
            sentences.append(f"In place, and worth nothing for certain: {listed(idle)}.")
    else:
        sentences.append("No mitigation is found in place.")
    if len(slower):
        names = [f"{small(row.title)} ({saved(row.days)})" for row in slower.itertuples()]
        sentences.append(
            f"The run takes longer with {listed(names)}: what they take of the throughput is more than what they give "
            f"back here. They are meant for something else, or for other jobs."
        )
    else:
        sentences.append("None that was tried takes time for certain.")
    title = "Nothing is in place, and nothing takes time"
    if len(there) or len(slower):
        title = f"{count(len(there))} in place, and {count(len(slower))} that would take time"
    return Finding(title=title, text=" ".join(sentences))


def pairing(worth: pd.DataFrame, n_runs: int) -> Finding:
    """How many runs pairing saves; ``worth`` as from ``tables.worth_in_days``."""
    known = worth["runs_ratio"].astype(float)
    known = known[known < _BY_CHANCE]
    if known.empty:
        return Finding(title="Nothing differs by chance", text="No difference between two runs depends on chance here.")
    middle, low, high = known.median(), known.min(), known.max()
    return Finding(
        title=f"Pairing saves a factor of {number(middle)} in runs",
        text=(
            f"The same failures strike the run with and without a mitigation, so that {count(n_runs)} runs of each are "
            f"enough: for the same error, independent simulations would need {number(middle)} times as many in the "
            f"median, {number(low)} to {number(high)} times over all mitigations."
        ),
    )


def closed(frame: pd.DataFrame) -> Finding:
    """Whether the closed form agrees; ``frame`` as from ``tables.beside_closed_form``."""
    if frame.empty:
        text = "The closed form has no term for what these mitigations change, or they change nothing of the ETTR."
        return Finding(title="The closed form has nothing to say", text=text)
    off = frame["apart"].abs()
    worst = frame.loc[off.idxmax()]
    inside = int(frame["agrees"].sum())
    typical = float(off.median())
    return Finding(
        title=f"The closed form is off by {_hundredths(typical)} points in the median",
        text=(
            f"Of {count(len(frame))} mitigations that the closed form has a term for, it lies within the simulation's "
            f"95% for {count(inside)}, and is off by {_hundredths(typical)} points of ETTR in the median; most for "
            f"{small(worst['title'])}, with {_hundredths(worst['closed'])} for {_hundredths(worst['simulated'])} "
            f"points. It "
            f"leaves out nodes in repair, slow nodes and people, so that gains beside those come out different."
        ),
    )


def _hundredths(fraction: float) -> str:
    """A difference of fractions in points, to a hundredth of one."""
    return f"{100 * fraction + 0.0:.2f}".replace("-0.00", "0.00")


def money(frame: pd.DataFrame) -> Finding:
    """Which pay; ``frame`` as from ``tables.costs_and_savings``."""
    if frame.empty:
        return Finding(title="Nothing to pay for", text="No mitigation was tried.")
    pays, not_paying = frame[frame["pays"] == "yes"], frame[frame["pays"] == "no"]
    sentences = []
    title = "No mitigation pays for certain"
    if len(pays):
        best = pays.iloc[0]
        title = f"{count(len(pays))} of {count(len(frame))} mitigations save more than they cost"
        sentences.append(
            f"Most is left over by {small(best['title'])}: it saves {usd(best['saved_usd'])} and costs "
            f"{usd(best['cost_usd'])}."
        )
    dear = not_paying[not_paying["saved_usd"] > 0]
    if len(dear):
        worst = dear.iloc[-1]
        sentences.append(
            f"{count(len(dear))} save money and cost more than that on this one job, most {small(worst['title'])}: "
            f"{usd(worst['cost_usd'])} for {usd(worst['saved_usd'])}. What serves later jobs too is charged to this "
            f"one in full."
        )
    takes = frame[frame["saved_usd"] < -_FREE_USD]
    if len(takes):
        sentences.append(f"{count(len(takes))} make the job dearer even before their price.")
    sentences.append("Nearly all prices are assumed; at a tenth of them, or ten times, other ones would pay.")
    return Finding(title=title, text=" ".join(sentences))


def hours(frame: pd.DataFrame) -> Finding:
    """Where the saved hours come from; ``frame`` as from ``tables.hours_given_back``."""
    if frame.empty:
        return Finding(title="No hours to give back", text="No mitigation saves hours for certain.")
    by_part = frame.groupby("part")["hours"].sum().sort_values(ascending=False)
    sentences = []
    for _, group in list(frame.groupby("title", sort=False))[:3]:
        kept = group[group["hours"] >= 1].sort_values("hours", ascending=False)
        parts = [f"{PARTS_IN_WORDS[row.part]} ({number(row.hours)} h)" for row in kept.head(3).itertuples()]
        lost = group[group["hours"] <= -1].sort_values("hours")
        more = [f"{PARTS_IN_WORDS[row.part]} ({number(-row.hours)} h)" for row in lost.head(2).itertuples()]
        takes = f", and more go to {listed(more)}" if more else ""
        if parts:
            sentences.append(f"With {small(group['title'].iloc[0])} they come from {listed(parts)}{takes}.")
    part = str(by_part.index[0])
    n = frame["id"].nunique()
    return Finding(
        title=f"Most hours come back from {PARTS_IN_WORDS[part]}",
        text=(
            f"{' '.join(sentences)} Over the {count(n)} mitigations most comes from {PARTS_IN_WORDS[part]}. Two that "
            f"save the same part get in each other's way, and what they save does not add up."
        ).strip(),
    )


def by_size(frame: pd.DataFrame) -> Finding:
    """Where mitigations pay by size; ``frame`` as from ``tables.worth_by_size``."""
    if frame.empty:
        return Finding(title="No mitigation to look at", text="No mitigation saves time for certain here.")
    alone = frame[frame["ettr_before"].isna().groupby(frame["value"]).transform("all")]
    stuck, unfit = (sorted(set(alone.loc[alone["state"] == state, "value"])) for state in (NO_PROGRESS, NO_FIT))
    known = frame[frame["saved"].notna()]
    sentences = []
    if len(known):
        paying = known[known["state"] == PAYS]
        among = known if paying.empty else paying
        leaders = among.loc[among.groupby("value")["saved"].idxmax()].sort_values("value")
        least, most = leaders.iloc[0], leaders.iloc[-1]
        where = "" if paying.empty else ", where they pay"
        small_job, large_job = (f"{pct(one['saved'])} of it on {gpus(one['value'])}" for one in (least, most))
        if least["title"] == most["title"]:
            by = f"{small(least['title'])}: {small_job}, {large_job}"
        else:
            by = f"{small(least['title'])}, {small_job}, and by {small(most['title'])}, {large_job}"
        sentences.append(f"Of these {count(frame['title'].nunique())}{where}, most time is saved by {by}.")
        never = [str(name) for name, group in known.groupby("title", sort=False) if not (group["state"] == PAYS).any()]
        if never:
            sentences.append(f"Paying for itself at no size: {listed([small(name) for name in never])}.")
        least_gpus = known["value"].min()
        lose = known.loc[(known["value"] == least_gpus) & (known["state"] != PAYS), "title"]
        few = [small(name) for name in lose if name not in never]
        if few:
            sentences.append(f"Not paying on {gpus(least_gpus)}, where there is less to save: {listed(few)}.")
    if stuck:
        sentences.append(
            f"On {listed([gpus(size) for size in stuck])} the job practically never gets on without mitigations, so "
            f"that none can be compared with it alone."
        )
    if unfit:
        sentences.append(f"The job cannot be cut for {listed([gpus(size) for size in unfit])}.")
    sentences.append(
        "Failure rate of a node, times to restart and prices of people stay as they are at every size, which is an "
        "extrapolation above some ten thousand GPUs."
    )
    title = "What pays depends on the size"
    if len(known) and len(set(leaders["title"])) == 1:
        title = f"Most is saved by the same at every size: {leaders['title'].iloc[0]}"
    elif len(known):
        title = f"Most on {gpus(least['value'])}: {least['title']}; on {gpus(most['value'])}: {most['title']}"
    return Finding(title=title, text=" ".join(sentences))


def break_evens(frame: pd.DataFrame) -> Finding:
    """From where on mitigations pay; ``frame`` as from ``tables.break_even_values``."""
    if frame.empty:
        return Finding(title="No break-even to look for", text="No mitigation saves time for certain here.")
    given = float(frame["given_usd_per_gpu_h"].iloc[0])
    below = frame[frame["usd_per_gpu_h"] <= given]
    dear = frame[frame["usd_per_gpu_h"] > given].sort_values("usd_per_gpu_h")
    sentences = [
        f"At the scenario's {number(given)} USD for a GPU-hour {count(len(below))} of {count(len(frame))} pay."
    ]
    if len(dear):
        least = dear.iloc[0]
        sentences.append(
            f"Of the others {small(least['title'])} comes next, from {number(least['usd_per_gpu_h'])} USD on."
        )
    everywhere = frame[frame["rate_pays"] == "everywhere"]
    if len(everywhere):
        sentences.append(f"{count(len(everywhere))} pay at every failure rate that was tried.")
    return Finding(
        title=f"{count(len(below))} of {count(len(frame))} pay at {number(given)} USD for a GPU-hour",
        text=" ".join(sentences),
    )


def break_even_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Break-even values as a table shows them."""
    rates = [_limit(row.rate_pays, row.rate, number) for row in frame.itertuples()]
    return pd.DataFrame(
        {
            "Mitigation": frame["title"],
            "Pays from [GPUs]": [_limit(row.size_pays, row.n_gpus, gpus) for row in frame.itertuples()],
            "Pays from [failures per 1000 node-days]": rates,
            "Pays from [USD/(GPU h)]": [_price(value) for value in frame["usd_per_gpu_h"]],
        }
    )


def _limit(pays: str, value: float, words: Callable[[float], str]) -> str:
    return words(value) if pays == "from there on" else pays


def _price(value: float) -> str:
    if math.isnan(value):
        return "at no price"
    return "any" if value == 0 else number(value)
