"""Sentences on the ladder of tiers, on placement and on intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.chapters.checkpoint_tiers.tables import published_survival
from ettr.core.sentences import Finding, count, duration, gpus, listed, number, pct, points

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_LEAST_POINTS = 5e-4
"""Smaller differences of ETTR are nothing to speak of."""
_HOPELESS_ETTR = 1e-6
"""Below this a run practically never ends, and shares of its losses say nothing."""
_LEAST_LOSS = 5e-5
"""Smaller shares would be shown as zero."""


def answer(rungs: pd.DataFrame, scenario: Scenario) -> Finding:
    """What all tiers together buy; columns as from ``tables.ladder``."""
    each = _each(rungs)
    first, best = each.iloc[0], each.loc[each["ettr"].idxmax()]
    gain = best["ettr"] - first["ettr"]
    start = f"{_named(first['rung'])} {scenario.title} reaches an ETTR of {pct(first['ettr'])}"
    title, bought = "Faster tiers gain nothing here", f"**{start}, and no faster tier adds to it**"
    if gain >= _LEAST_POINTS:
        title = f"Faster tiers gain {points(gain)} of ETTR"
        bought = f"**{start}; {_named(best['rung'], small=True)} it reaches {pct(best['ettr'])}**"
    text = f"{bought}, planned stops left out. {_left(rungs, best['rung'])}{_set_aside(scenario)}"
    return Finding(title=title, text=text)


def _set_aside(scenario: Scenario) -> str:
    """What the scenario has and no closed form combines with tiers."""
    names = {
        "its announced failures": scenario.prediction is not None,
        "the latency of its silent failures": bool(scenario.latencies_h),
        "the slowdown by its background write": scenario.checkpoint.persist_slowdown * scenario.persist_h > 0,
    }
    there = [name for name, has in names.items() if has]
    return f" Set aside, because no closed form holds them together with tiers: {listed(there)}." if there else ""


def _left(rungs: pd.DataFrame, rung: str) -> str:
    lost = rungs[(rungs["rung"] == rung) & rungs["part"].isin(["detection", "queue", "restart"])]["share"].sum()
    if lost < _LEAST_POINTS:
        return "Next to nothing is left that other checkpoints could not reach."
    return f"Then {pct(lost)} goes into detection, queue and restart, which no other checkpoint would save."


def _named(rung: str, small: bool = False) -> str:
    """A rung as the beginning of a clause."""
    what = {"Store only": "with the store alone", "The scenario's own tiers": "with its own tiers"}.get(rung)
    if what is None and rung.startswith("+ "):
        what = f"with all tiers up to {rung.removeprefix('+ ')}"
    what = what or f"with {rung.removesuffix(', instead').lower().replace(' ', '-')} checkpoints instead"
    return what if small else what[0].upper() + what[1:]


def ladder(rungs: pd.DataFrame) -> Finding:
    """What each tier adds; columns as from ``tables.ladder``."""
    each = _each(rungs)
    steps = each.assign(gain=each["ettr"].diff())[each["rung"].str.startswith("+")]
    if steps.empty:
        text = f"No other set of tiers has an answer here. {_store_interval(each)}"
        return Finding(title="Only the store alone has an answer", text=text)
    gains = listed([f"{_change(row.gain)} with {row.rung.removeprefix('+ ')}" for row in steps.itertuples()])
    added = f"One after the other, that is {gains}."
    instead = [f"{_named(row.rung)} the ETTR is {pct(row.ettr)}" for row in each.itertuples() if not _climbs(row.rung)]
    others = "".join(f" {sentence}." for sentence in instead)
    largest = steps.loc[steps["gain"].idxmax()]
    if largest["gain"] < _LEAST_POINTS:
        title = "No tier gains anything here"
    else:
        title = f"The largest step is {largest['rung'].removeprefix('+ ')}: {points(largest['gain'])}"
    return Finding(title=title, text=f"{added}{others} {_store_interval(each)} {_reverse(each)}")


def _climbs(rung: str) -> bool:
    return rung.startswith("+") or rung == "Store only"


def _change(gain: float) -> str:
    if abs(gain) < _LEAST_POINTS:
        return "next to nothing"
    return f"a gain of {points(gain)}" if gain > 0 else f"a loss of {points(-gain)}"


def _store_interval(each: pd.DataFrame) -> str:
    """How the best interval of the store grows."""
    climbing = each[[_climbs(rung) for rung in each["rung"]]]
    first, last = climbing.iloc[0], climbing.iloc[-1]
    if len(climbing) < 2 or last["interval_min"] < 1.05 * first["interval_min"]:
        return f"The store's best interval is {duration(first['interval_min'] / 60)}."
    few = (
        f"only {pct(last['from_store'], 2)} of failures still need it"
        if last["from_store"] >= _LEAST_LOSS
        else "practically no failure needs it"
    )
    return (
        f"The store's best interval grows from {duration(first['interval_min'] / 60)} to "
        f"{duration(last['interval_min'] / 60)}, because {few}."
    )


def _reverse(each: pd.DataFrame) -> str:
    """The condition that the first step rests on."""
    host = each[each["rung"] == "+ host memory"]
    if host.empty:
        return "It would be otherwise if failures left less of the memory than is taken here."
    kept = 1 - host["from_store"].iloc[0]
    if kept < _LEAST_POINTS:
        return (
            "Host memory alone saves nothing, because every failure is taken to cost the memory of a node; a scenario "
            "that says which failures do not (n_lost_nodes: 0) would gain."
        )
    return (
        f"Host memory alone serves the {pct(kept)} of failures that are taken to leave all memory alone; peer memory "
        f"would fall back to that if losing one node often took its copies along."
    )


def placements(frame: pd.DataFrame, n_nodes: int, n_lost: int) -> Finding:
    """Which placement outlives more; columns as from ``tables.placements``."""
    lost = min(n_lost, n_nodes)
    at = frame[frame["n_lost"] == lost].set_index(["copies", "placement"])["survival"]
    fewest, most = int(frame["copies"].min()), int(frame["copies"].max())
    cases = [
        f"{count(copies)} {'copies are' if copies > 1 else 'copy is'} enough in {pct(at[copies, 'group'])} of cases if "
        f"placed in groups, and in {pct(at[copies, 'ring'])} in a ring"
        for copies in sorted({fewest, most})
    ]
    better = at[fewest, "group"] - at[fewest, "ring"]
    bound = ""
    if (fewest, "bound") in at.index:
        bound = f" The published bound for groups of {fewest} is {pct(at[fewest, 'bound'])}."
    title = f"With {count(lost)} of {count(n_nodes)} nodes lost at once {fewest} copies are enough in"
    return Finding(
        title=f"{title} {pct(at[fewest, 'group'])} of cases" if fewest > 1 else "One node has no peer",
        text=(
            f"With {count(lost)} of {count(n_nodes)} nodes lost at once {'; '.join(cases)}.{bound} "
            f"{_against_ring(better)} {_gemini()} Every set of nodes is taken as equally likely: a "
            f"rack or a switch that takes neighbours along is survived only if the copies stand elsewhere."
        ),
    )


def _against_ring(better: float) -> str:
    if better < _LEAST_POINTS:
        return "The two placements do equally well there."
    return f"A group is safer than a ring, here by {points(better)}: fewer sets of nodes hold all copies of a part."


def _gemini() -> str:
    """The published example by its bound, and counted."""
    known = published_survival()
    return (
        f"For two of {count(known.n_nodes)} machines, in groups of two, the bound gives {known.published_pct:.1f}%; "
        f"counted here: {pct(known.exact)}."
    )


def intervals(choices: pd.DataFrame) -> Finding:
    """What the choice of all intervals is worth; columns as from ``tables.interval_choices``."""
    of = choices.drop_duplicates("choice").set_index("choice")
    best = choices[choices["choice"] == "exact best"]
    if not best["ettr"].max() > _HOPELESS_ETTR:
        text = "With these tiers the run practically never ends, whatever the intervals."
        return Finding(title="No choice of intervals ends the run", text=text)
    best_intervals = listed([f"{row.tier.lower()} {duration(row.interval_s / 3600)}" for row in best.itertuples()])
    if of.loc["exact best", "loss"] < _LEAST_LOSS:
        text = f"Stalls and rework cost next to nothing with the best intervals: {best_intervals}."
        return Finding(title="The choice of intervals hardly matters here", text=text)
    lost = {name: of.loc["exact best", "ettr"] - of.loc[name, "ettr"] for name in ("as given", "first order")}
    given, simple = (_loses(lost[name]) for name in ("as given", "first order"))
    same = " Tiers that share an interval are written together." if best["interval_s"].duplicated().any() else ""
    return Finding(
        title=f"Setting the intervals by the first-order rule {simple}",
        text=(
            f"Best, exactly: {best_intervals}.{same} Against these the rule that takes each tier alone, √(2w/λ) "
            f"of its stall and of the failures that it is the fastest to survive, {simple}, and keeping the intervals "
            f"as given, with the best one for the store, {given}. By the rule stalls and rework together are "
            f"{_share(of.loc['first order', 'loss_first_order'])} of the productive hours, the sum of "
            f"√(2wλ) unless tiers share an interval or a write sets it; exactly, they are "
            f"{_share(of.loc['first order', 'loss'])}, since a copy is not safe before it is written and work is also "
            f"lost between two failures in a row."
        ),
    )


def _share(value: float) -> str:
    return pct(value, 2) if value < 1 else f"{number(value)} times"


def _loses(lost: float) -> str:
    if math.isnan(lost):
        return "has no answer"
    return f"costs {points(lost)}" if lost >= _LEAST_POINTS else "costs next to nothing"


def _each(rungs: pd.DataFrame) -> pd.DataFrame:
    return rungs.drop_duplicates("rung", ignore_index=True)


def by_bandwidth(scenario: Scenario, crossings: pd.DataFrame, published: pd.DataFrame, n_bytes: float) -> Finding:
    """When the write to the store sets the interval.

    Parameters
    ----------
    scenario : Scenario
        The run.
    crossings : DataFrame
        As from ``tables.bandwidth_crossings``.
    published : DataFrame
        As from ``tables.published_stores``.
    n_bytes : float
        Size of a checkpoint. [B]
    """
    at = published.itertuples()
    times = [f"{duration(row.write_s / 3600)} ({row.store}, {count(row.write_gb_s)} GB/s)" for row in at]
    written = f"A checkpoint of {number(n_bytes / 1e12)} TB is written in {listed(times)}."
    if scenario.job_rate_per_h == 0:
        return Finding(title="Without failures no store sets the interval", text=f"{written} There are no failures.")
    own, short = (crossings[crossings["stall"] == stall] for stall in ("own", "published"))
    first = own.iloc[0]
    above = f"the stall of {number(first['stall_s'])} s does" if first["stall_s"] > 0 else "nothing does"
    return Finding(
        title=f"Below {number(first['crossing_gb_s'])} GB/s the store sets the interval",
        text=(
            f"{written} The write sets the best interval below {_bends(own)}; above, {above}, at "
            f"{duration(first['interval_min'] / 60)} on {gpus(first['n_gpus'])}. With a stall of "
            f"{number(short['stall_s'].iloc[0])} s, as published for 405 billion parameters, the bend is at "
            f"{_bends(short)}: the better the stall is hidden, the more bandwidth it takes to gain from it. What the "
            f"job gets of a shared store counts, not what the store can do."
        ),
    )


def _bends(crossings: pd.DataFrame) -> str:
    return listed([f"{number(row.crossing_gb_s)} GB/s on {gpus(row.n_gpus)}" for row in crossings.itertuples()])
