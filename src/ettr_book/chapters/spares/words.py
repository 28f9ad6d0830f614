"""Text of the chapter on spares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, about, count, listed, number, pct, say
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.spares import tables
from ettr_book.chapters.spares.tables import (
    IN_RACKS,
    ONE_BY_ONE,
    RACKS,
    SERVERS,
    PooledRun,
)

if TYPE_CHECKING:
    from ettr.plan import Requirement

_SMALL = 0.001
"""Share of time with a node missing at which pools are compared."""
_NOTHING = "No node fails in this run, so spares only add cost"


def nodes(value: float, what: str = "spare") -> str:
    """Return a number of spares, e.g. ``17 spares``."""
    return f"{count(value)} {what}{'' if round(value) == 1 else 's'}" if round(value) else f"no {what}s"


def extra(value: float) -> str:
    """Return an extra cost in percent, or as a factor above 100%, e.g. ``0.9%``."""
    return f"{number(about(100 * value))}%" if value <= 1 else f"{number(about(value))} times the work itself"


def answer(run: PooledRun) -> Finding:
    """Return the number of spares to hold, with the reason."""
    if run.in_repair == 0:
        return Finding("No spares are worth holding", f"**{_NOTHING}.**")
    best, size = run.best, run.scenario.n_nodes
    flat = (
        f"{count(best.low)} to {count(best.high)} cost hardly more"
        if best.high > best.low
        else "no other number is as cheap"
    )
    half, twice = (run.cheapest(run.in_repair * part) for part in (0.5, 2.0))
    texts = [
        f"**Hold [{nodes(best.n_spares)}]{{#q-spares}}; {flat}.**",
        say(
            "A repair takes {repair:roughly} on average{assumed}. With half the repair time it would be {half}, with "
            "twice {twice}.",
            repair=run.demand.repair_h,
            assumed="" if run.has_own_pool else " (assumed)",
            half=count(half.n_spares),
            twice=count(twice.n_spares),
        ),
        say(
            "{in_repair:about} of {size:count} nodes are in repair on average. Without spares the job would wait "
            "{waits:share0} of the time. The first curve below assumes that failures continue while the job waits: "
            "without spares a node is then missing {#missing_without:share} of the time.",
            in_repair=run.in_repair,
            size=size,
            waits=run.waiting_without,
            missing_without=run.missing_without,
        ),
        f"Left out: {listed(list(run.left_out))}." if run.left_out else "",
    ]
    return Finding(f"Hold {nodes(best.n_spares)} for {count(size)} nodes; {flat}", " ".join(filter(None, texts)))


def by_hand(run: PooledRun) -> Finding:
    """Return the pool in three lines of arithmetic."""
    if run.in_repair == 0:
        return Finding("By hand", f"{_NOTHING}.")
    return Finding(
        "By hand",
        say(
            "- {per_day:about} nodes fail per day and are away for {repair_h:about} h: {in_repair:about} are in repair "
            "on average.\n"
            "- The standard deviation of that number is its root, √{in_repair:about} = {deviation:about}.\n"
            "- One more spare costs one of {n_nodes:count} nodes, and one too few stops them all. So the pool may run "
            "out for 1 / {n_nodes:count} of the time, which is {n_deviations:about} standard deviations above the mean "
            "of a normal distribution.\n"
            "- {in_repair:about} + {n_deviations:about} × {deviation:about} = {n_spares:.0f} spares.\n\n"
            "The cheapest pool has {exact} spares.",
            exact=count(run.best.n_spares),
            **tables.by_hand(run),
        ),
    )


def cost(run: PooledRun, closed: pd.DataFrame, simulated: pd.DataFrame) -> Finding:
    """Return the cheapest pool, and the effect of racks and a faster repair; frames as from ``tables``."""
    if run.in_repair == 0:
        return Finding("Nothing fails, and no spares are needed", f"{_NOTHING}.")
    best, by = run.best, closed.set_index("n_spares")["extra"]
    cheapest = simulated.loc[simulated.groupby("pool")["cost"].idxmin()].set_index("pool")["n_spares"]
    half = run.cheapest(run.in_repair / 2)
    return Finding(
        f"The cost is least with {nodes(best.n_spares)}",
        say(
            "The cheapest pool adds {cheapest} to the cost of the work, {many} {largest}.{simulated}{racks} Repair in "
            "half the time would lower the minimum to {half}: beyond the cheapest pool only a shorter repair saves.",
            cheapest=extra(best.cost - 1),
            many=nodes(by.index[-1]),
            largest=extra(by.iloc[-1]),
            half=extra(half.cost - 1),
            simulated=say(" In simulation, {n:count} are cheapest.", n=cheapest.get(ONE_BY_ONE)),
            racks=say(" If 2% of failures take out a rack (assumed), it is {n:count}.", n=cheapest.get(RACKS)),
        ),
    )


def required(need: Requirement) -> Finding:
    """Return the fewest spares for a target; ``need`` as from ``plan.required``."""
    target = pct(need.target_ettr, 0)
    fewest = f"No pool reaches an ETTR of {target}"
    if need.value is not None:
        fewest = f"An ETTR of {target} takes at least {nodes(need.value)}"
    return Finding(fewest, f"{fewest}, simulated with the run's own interval.")


def racks(frame: pd.DataFrame, rack_gpus: int, spare_gpus: int) -> Finding:
    """Return the availability of spares in racks against shared pools; ``frame`` as from ``tables.rack_choices``."""
    enough = frame[frame["short"] < _SMALL].groupby("way")[["held", "n_spares"]].min()
    held, each = enough["held"], enough["n_spares"]
    return Finding(
        "Spares in each rack take more GPUs than a shared pool",
        say(
            "99.9% availability takes {shared:share} of the GPUs as a shared pool of servers, or {inside:share} as "
            "spares in each rack of {rack_gpus} GPUs ({each:.0f} spare, {used} in use). ",
            shared=held.get(SERVERS),
            inside=held.get(IN_RACKS),
            each=each.get(IN_RACKS),
            rack_gpus=rack_gpus,
            used=rack_gpus - spare_gpus,
        )
        + "A rack-scale group cannot use a server from elsewhere: it needs a spare inside, or a complete rack.",
    )


def exercises(run: PooledRun) -> Finding:
    """Return two exercises."""
    twice = run.cheapest(2 * run.in_repair)
    return numbered_exercises(
        Exercise(
            "The job doubles. Does it need twice the spares?",
            "No: the same number is enough. The number in repair varies only 1.4 times as much."
            if twice.n_spares == run.best.n_spares
            else f"No: {count(twice.n_spares)} instead of {count(run.best.n_spares)}. The mean number of nodes in "
            "repair doubles, but its standard deviation grows only 1.4 times.",
            {"cluster.n_gpus": 2 * run.scenario.cluster.n_gpus},
        ),
        Exercise(
            "Why is a pool that suffices 99% of the time not the cheapest?",
            "While one node is missing, all others wait. 1% of the time of the entire job costs more than some idle "
            "nodes, so the cheapest pool suffices more often.",
        ),
    )  # fmt: skip
