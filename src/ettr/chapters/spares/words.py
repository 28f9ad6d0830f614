"""What the chapter on spares says of pools of nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ettr.chapters.spares.tables import (
    CHEAPEST,
    CREWS,
    ONE_BY_ONE,
    RACKS,
    PooledRun,
    staged,
    unavailability_for,
)
from ettr.core.sentences import Finding, capital, count, duration, listed, number, pct, usd

if TYPE_CHECKING:
    from ettr.plan import Requirement

_PUBLISHED_LEVEL = 0.999


def nodes(value: float, what: str = "spare") -> str:
    """A number of spares, e.g. ``17 spares``."""
    return f"{count(value)} {what}{'' if round(value) == 1 else 's'}" if round(value) else f"no {what}s"


def extra(value: float) -> str:
    """An extra cost: in per cent, or as a factor where it is more than the work, e.g. ``0.90%``."""
    return pct(value, 2 if value < 0.1 else 0) if value <= 1 else f"{number(value)} times the work itself"


def given(run: PooledRun) -> Finding:
    """What is known of repair, and what had to be left out or assumed."""
    a, scenario = run.in_repair, run.scenario
    whose = (
        f"*{scenario.title}* says how its nodes are repaired: {duration(run.asked.repair_h)} on average."
        if run.own
        else f"*{scenario.title}* does not say how long a repair takes; {duration(run.asked.repair_h)} are assumed, "
        "and every failure is taken to send one node there."
    )
    left = f" Left out: {'; '.join(run.left_out)}." if run.left_out else ""
    known = (
        f" Its failure rate is known to within {pct(1 - run.rate_low, 0)} below and {pct(run.rate_high - 1, 0)} above, "
        "95%."
        if run.rate_high > 1
        else " How well its failure rate is known it does not say, so that closed forms have no band."
    )
    return Finding(
        title="Nodes in repair",
        text=(
            f"{whose} So {number(a)} of its nodes are in repair on average, of {count(scenario.n_nodes)} at work."
            f"{left}{known}"
        ),
    )


def answer(run: PooledRun, simulated: pd.DataFrame) -> Finding:
    """The cheapest pool, its flat range, and what it is worth; ``simulated`` as from ``tables.simulated_pools``."""
    if run.in_repair == 0:
        return Finding(
            title="No spares are worth holding", text="**Nothing fails here, so that any spare only costs.**"
        )
    best, size = run.best, run.scenario.n_nodes
    share = pct(best.n_spares / size, 2)
    title = f"{capital(nodes(best.n_spares))} {_is(best.n_spares)} cheapest, {share} of the {count(size)} nodes"
    if best.n_spares == 0:
        title = "No spares are worth holding"
    flat = (
        f"pools of {count(best.low)} to {count(best.high)} cost the same within a thousandth"
        if best.high > best.low
        else "one more or fewer costs at least a thousandth more"
    )
    sentences = [
        f"**{title}{' by the closed form' if run.beyond else ''}: one missing node stops all the others, so that a "
        f"pool is dear when it runs out and cheap to hold.** Spares and waits add {extra(best.cost - 1)} to the cost "
        f"of the work, and {flat}."
    ]
    if best.n_spares:
        sentences.append(f"Without any the job would wait {pct(run.waiting_without, 0)} of the time.")
    single = simulated[simulated["pool"] == ONE_BY_ONE]
    if len(single):
        least = single.loc[single["cost"].idxmin()]
        sentences.append(
            f"Of the sizes simulated, {count(least['n_spares'])} is the cheapest, with an ETTR of {pct(least['ettr'])} "
            f"({pct(least['ettr_low'])} to {pct(least['ettr_high'])})."
        )
        if run.beyond:
            sentences.append(
                "Where the two differ the simulation is right: the closed form knows nothing of "
                f"{listed([*run.beyond])}."
            )
    shorter = run.cheapest(run.in_repair / 2)
    sentences.append(
        f"Repair in half the time would take {nodes(shorter.n_spares)} and add {extra(shorter.cost - 1)}, which no "
        "pool does."
    )
    return Finding(title=title, text=" ".join(sentences))


def _is(number_of: float) -> str:
    return "is" if round(number_of) == 1 else "are"


def required(need: Requirement) -> Finding:
    """The fewest hot spares for a target; ``need`` as from ``plan.required``."""
    target = pct(need.target_ettr, 1 if need.target_ettr < 0.99 else 2)
    if need.value is None:
        return Finding(
            title=f"No pool reaches an ETTR of {target}",
            text=(
                f"No pool reaches an ETTR of {target} with this run's own interval: spares that never run out leave "
                f"{pct(need.best_ettr)}, simulated. That takes other changes than spares."
            ),
        )
    error = f", give or take {pct(need.ettr_error or 0.0, 2)}, simulated" if need.ettr_error else ", simulated"
    title = f"{capital(nodes(need.value))} {_is(need.value)} the fewest for an ETTR of {target}"
    return Finding(
        title=title,
        text=(
            f"{title}, with this run's own interval{error}. Spares that never run out would leave "
            f"{pct(need.best_ettr)}. What is cheapest and what a target takes are two questions."
        ),
    )


def levels(run: PooledRun, table: pd.DataFrame) -> Finding:
    """Why a service level is no answer; ``table`` as from ``tables.pools_by_level``."""
    title = "A service level does not say how many spares are worth holding"
    if run.in_repair == 0:
        return Finding(title=title, text="Nothing fails here: no spares are enough all the time, and cheapest.")
    rows = table.set_index("pool")
    best = rows.loc[CHEAPEST]
    sentences = [
        f"A pool that is enough {pool} has {nodes(row['n_spares'])} and lets the whole job wait "
        f"{_waits(row['waiting_share'])}, at an extra cost of {extra(row['cost'] - 1)}."
        for pool, row in rows.drop(CHEAPEST).iterrows()
    ]
    sentences.append(
        f"The cheapest, {nodes(best['n_spares'])}, is enough {_often(best['level'])}: an outcome of sizes and prices, "
        "which no level set beforehand knows."
    )
    gap = rows["binomial"] - rows["flow"]
    if gap.abs().max() < 1:
        sentences.append("Counting nodes (binomial) or repairs (Poisson) makes no difference here.")
    else:
        worst = gap.abs().idxmax()
        sentences.append(
            f"Spares fail as well, which only the binomial knows: {worst} it asks for {count(rows['binomial'][worst])} "
            f"instead of {count(rows['flow'][worst])}."
        )
    crews = rows["crews"].dropna()
    sentences.append(
        f"With few repair crews nodes queue, and to be enough {crews.index[-1]} takes {nodes(crews.iloc[-1])} in place "
        f"of {count(rows['flow'][crews.index[-1]])}."
    )
    return Finding(title=title, text=" ".join(sentences))


def _often(level: float) -> str:
    return f"{pct(level, 2)} of the time" if level < 0.99995 else "almost always"


def _waits(share: float) -> str:
    return f"{pct(share, 2)} of the time" if share >= 5e-5 else "hardly at all"


def shares(run: PooledRun, frame: pd.DataFrame, published: float, largest: int | None) -> Finding:
    """How the share falls with size, and where a published share is right.

    Parameters
    ----------
    run : PooledRun
        The run.
    frame : DataFrame
        As from ``tables.shares_by_size``.
    published : float
        The share that a published projection asks for.
    largest : int or None
        The largest job that needs it, as from ``tables.largest_for_share``.
    """
    size = run.scenario.n_nodes
    title = "The larger the job, the smaller the share of spares it needs"
    if run.in_repair == 0:
        return Finding(title=title, text="Without failures no size needs any.")
    wide = frame[frame["way"] == CHEAPEST]
    sizes = wide["n_nodes"].to_numpy()
    ends = [wide.iloc[int(np.abs(np.log(sizes / at)).argmin())] for at in (100, 10_000)]
    sentences = [
        f"The larger the job, the more evenly its nodes fail: with this rate and repair the cheapest pool is "
        f"{pct(ends[0]['share'], 1)} of {count(ends[0]['n_nodes'])} nodes, and {pct(ends[1]['share'], 2)} of "
        f"{count(ends[1]['n_nodes'])}."
    ]
    which = "a projection for larger systems, printed without size, repair time or the level it is for"
    limit = unavailability_for(size, published, _PUBLISHED_LEVEL)
    if largest is not None:
        sentences.append(
            f"Published are {pct(published, 0)} {{cite:p}}`cui2025delta`, {which}. For 99.9% of the time, of which "
            f"summaries of it speak, that is right here for jobs of up to about {count(largest)} nodes."
        )
    else:
        sentences.append(
            f"Published are {pct(published, 0)} {{cite:p}}`cui2025delta`, {which}; no size needs just that here."
        )
    sentences.append(
        f"On this job's {nodes(size, 'node')} it would be if a node were in repair {pct(limit, 2)} of the time; "
        f"here it is {pct(run.unavailable, 2)}."
    )
    return Finding(title=title, text=" ".join(sentences))


def cost(run: PooledRun, closed: pd.DataFrame, simulated: pd.DataFrame) -> Finding:
    """The cost curve, its minimum, and what simulation says; frames as from ``tables``."""
    if run.in_repair == 0:
        return Finding(title="Nothing fails, and no spares are needed", text="Without failures any spare only costs.")
    best = run.best
    title = f"The cost is least with {nodes(best.n_spares)}, flat around that, and steep below"
    if best.n_spares == 0:
        title = "The cost is least without spares"
    sentences = [_sides(run, closed)]
    single = simulated[simulated["pool"] == ONE_BY_ONE]
    if len(single):
        sentences.append(_beside(closed, single))
    for pool, words in ((RACKS, "If 2% of failures take a rack"), (CREWS, "With few repair crews")):
        rows = simulated[simulated["pool"] == pool]
        if len(rows):
            least = rows.loc[rows["cost"].idxmin()]
            sentences.append(
                f"{words}, {count(least['n_spares'])} of the sizes simulated cost least, and add "
                f"{extra(least['extra'])} ({_range(least)})."
            )
    return Finding(title=title, text=" ".join(sentences))


def _sides(run: PooledRun, closed: pd.DataFrame) -> str:
    """What a few spares too few cost, and as many too many."""
    by, best = closed.set_index("n_spares")["extra"], run.best.n_spares
    few = max(int(by.index[0]), math.ceil(0.75 * best))
    step = best - few
    if step == 0 or best + step not in by.index:
        return f"The closed form has its minimum at {nodes(best)}."
    return (
        f"With {nodes(few)}, {count(step)} too few, the extra cost is {extra(by[few])}; with as many too many it is "
        f"{extra(by[best + step])}, and with {count(best)} {extra(by[best])}."
    )


def _beside(closed: pd.DataFrame, single: pd.DataFrame) -> str:
    """How far the closed form is off the simulation, at most."""
    exact = closed.set_index("n_spares")["extra"].reindex(single["n_spares"]).to_numpy()
    inside = (single["extra_low"].to_numpy() <= exact) & (exact <= single["extra_high"].to_numpy())
    off = np.abs(exact - single["extra"].to_numpy())
    return (
        f"Runs of this job, all pools with the same random numbers, agree within their 95% at {inside.sum()} of "
        f"{len(single)} sizes; the largest difference is {_points(float(off.max()))} of cost. The closed form is "
        "exact only for long runs without detection and queue, on a clock that stops while the job "
        "waits; a run begins with a full pool."
    )


def _points(value: float) -> str:
    return f"{number(100 * value)} points" if value >= 5e-5 else "less than 0.01 points"


def _range(row: Any) -> str:
    return f"{pct(max(row['extra_low'], 0.0), 2)} to {pct(row['extra_high'], 2)}"


def money(frame: pd.DataFrame, run: PooledRun) -> Finding:
    """What is paid for spares and for waits; ``frame`` as from ``tables.paid_by_pool``."""
    if frame.empty:
        return Finding(title="Nothing to pay for", text="The job hardly gets on with any of these pools.")
    least = frame[frame["is_least"]].iloc[0]
    first = frame.iloc[0]
    assumed = "" if run.scenario.cost else " (assumed)"
    price = number(run.scenario.prices.usd_per_gpu_h)
    text = (
        f"At {price} USD an hour of a GPU{assumed}, a run with {nodes(least['n_spares'])} pays "
        f"{usd(least['held_usd'])} for {_gpu_h(least['held_gpu_h'])} of theirs, and {usd(least['waited_usd'])} for "
        f"{_gpu_h(least['waited_gpu_h'])} in which the job's own GPUs wait."
    )
    if first["n_spares"] < least["n_spares"]:
        text += f" With {nodes(first['n_spares'])} the waits would cost {usd(first['waited_usd'])}."
    held, waited = usd(least["held_usd"]), usd(least["waited_usd"])
    title = f"The cheapest of these pools costs {held}, and leaves waits for {waited}"
    return Finding(title=title, text=text)


def _gpu_h(value: float) -> str:
    return f"{count(value)} GPU-hours"


def repair(run: PooledRun, frame: pd.DataFrame, staged_h: float) -> Finding:
    """What repair time does and pools do not; ``frame`` as from ``tables.cost_by_repair``."""
    load, best = run.in_repair, run.best
    if load == 0:
        return Finding(
            title="Nothing fails, so that nothing is repaired", text="Without failures repair costs nothing."
        )
    half, twice = (run.cheapest(load * part) for part in (0.5, 2.0))
    doubled = run.extra_cost(2 * best.n_spares, load)
    slow = run.extra_cost(best.n_spares, 2 * load)
    staged = run.cheapest(load / run.asked.repair_h * staged_h)
    text = (
        f"Repair in half the time takes the least extra cost from {extra(best.cost - 1)} to {extra(half.cost - 1)}, "
        f"and half the nodes stand in repair. Twice as many spares take it to {extra(doubled)}: past the cheapest pool "
        f"they only cost. Repair that takes twice as long, with the same {nodes(best.n_spares)}, adds {extra(slow)}; "
        f"with the pool that is then cheapest, {nodes(twice.n_spares)}, {extra(twice.cost - 1)}. The distribution of "
        "repair times does not matter to the closed form, only its mean: the stages that a published simulator "
        f"assumes, {_stages()}, last {duration(staged_h)} "
        f"{{cite:p}}`pattabiraman2026airesim`, for which {nodes(staged.n_spares)} would be cheapest here."
    )
    return Finding(title="A pool can be too small; past that only a shorter repair lowers the cost", text=text)


def _stages() -> str:
    """The stages of a published simulator in words."""
    automatic_h, manual_h, manual_pct = (staged(name) for name in ("automatic_h", "manual_h", "manual_pct"))
    return f"{number(automatic_h)} h and for {manual_pct:g}% of the nodes {number(manual_h)} h by people"
