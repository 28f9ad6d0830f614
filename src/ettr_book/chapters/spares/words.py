"""What the chapter on spares says of pools of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, about, count, listed, number, pct, say
from ettr_book.chapters.common.exercises import Exercise, exercises
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
"""Time in which something is missing that pools are compared at."""
_NOTHING = "Nothing fails here, so that any spare only costs"


def nodes(value: float, what: str = "spare") -> str:
    """A number of spares, e.g. ``17 spares``."""
    return f"{count(value)} {what}{'' if round(value) == 1 else 's'}" if round(value) else f"no {what}s"


def extra(value: float) -> str:
    """An extra cost: in per cent, or as a factor where it is more than the work, e.g. ``0.9%``."""
    return f"{number(about(100 * value))}%" if value <= 1 else f"{number(about(value))} times the work itself"


def answer(run: PooledRun) -> Finding:
    """How many to hold, and why."""
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
            "A repair takes {repair:roughly} on average{assumed}: with half of that it would be {half}, with twice "
            "{twice}.",
            repair=run.asked.repair_h,
            assumed="" if run.own else " (assumed)",
            half=count(half.n_spares),
            twice=count(twice.n_spares),
        ),
        say(
            "{in_repair:about} of {size:count} nodes are in repair on average. Without spares the job would wait "
            "{waits:share0} of the time. The first curve below counts failures as if it never waited: without spares "
            "a node is then missing {#missing_without:share} of the time.",
            in_repair=run.in_repair,
            size=size,
            waits=run.waiting_without,
            missing_without=run.missing_without,
        ),
        f"Left out: {listed(list(run.left_out))}." if run.left_out else "",
    ]
    return Finding(f"Hold {nodes(best.n_spares)} beside {count(size)} nodes; {flat}", " ".join(filter(None, texts)))


def by_hand(run: PooledRun) -> Finding:
    """The pool in three lines of arithmetic."""
    if run.in_repair == 0:
        return Finding("By hand", f"{_NOTHING}.")
    return Finding(
        "By hand",
        say(
            "- {per_day:about} nodes leave a day and are away for {repair_h:about} h: {in_repair:about} are in repair "
            "on average.\n"
            "- That number varies by its root, √{in_repair:about} = {deviation:about}.\n"
            "- One more spare costs one of {n_nodes:count} nodes, and one too few stops them all: hold so many that "
            "more are in repair 1 / {n_nodes:count} of the time, which is {n_deviations:about} deviations above the "
            "mean of a normal distribution.\n"
            "- {in_repair:about} + {n_deviations:about} × {deviation:about} = {n_spares:.0f} spares.\n\n"
            "The cheapest pool has {exact}.",
            exact=count(run.best.n_spares),
            **tables.by_hand(run),
        ),
    )


def cost(run: PooledRun, closed: pd.DataFrame, simulated: pd.DataFrame) -> Finding:
    """The cost curve, its minimum, and what racks and a faster repair change; frames as from ``tables``."""
    if run.in_repair == 0:
        return Finding("Nothing fails, and no spares are needed", f"{_NOTHING}.")
    best, by = run.best, closed.set_index("n_spares")["extra"]
    cheapest = simulated.loc[simulated.groupby("pool")["cost"].idxmin()].set_index("pool")["n_spares"]
    half = run.cheapest(run.in_repair / 2)
    return Finding(
        f"The cost is least with {nodes(best.n_spares)}",
        say(
            "The cheapest pool adds {least} to the cost of the work, {many} {most}.{simulated}{racks} Repair in half "
            "the time would lower the least to {half}: past the cheapest pool only a shorter repair saves.",
            least=extra(best.cost - 1),
            many=nodes(by.index[-1]),
            most=extra(by.iloc[-1]),
            half=extra(half.cost - 1),
            simulated=say(" Simulated, {n:count} are cheapest.", n=cheapest.get(ONE_BY_ONE)),
            racks=say(" If 2% of failures take a rack with them (assumed), {n:count} are.", n=cheapest.get(RACKS)),
        ),
    )


def required(need: Requirement) -> Finding:
    """The fewest spares for a target; ``need`` as from ``plan.required``."""
    target = pct(need.target_ettr, 0)
    fewest = f"No pool reaches an ETTR of {target}"
    if need.value is not None:
        fewest = f"An ETTR of {target} takes at least {nodes(need.value)}"
    return Finding(fewest, f"{fewest}, simulated with the run's own interval.")


def racks(frame: pd.DataFrame, rack_gpus: int, spare_gpus: int) -> Finding:
    """What spares in racks reach against shared pools; ``frame`` as from ``tables.rack_choices``."""
    enough = frame[frame["short"] < _SMALL].groupby("way")[["held", "n_spares"]].min()
    held, each = enough["held"], enough["n_spares"]
    return Finding(
        "Spares in each rack hold more GPUs than a shared pool",
        say(
            "For something to be missing less than a thousandth of the time takes {shared:share} of the GPUs as a "
            "pool of servers, and {inside:share} as spares in each rack of {rack_gpus}: {each:.0f} beside {used} in "
            "use. ",
            shared=held.get(SERVERS),
            inside=held.get(IN_RACKS),
            each=each.get(IN_RACKS),
            rack_gpus=rack_gpus,
            used=rack_gpus - spare_gpus,
        )
        + "A server elsewhere is no help to a group that is a rack: it takes a spare inside, or a whole rack.",
    )


def asked(run: PooledRun) -> Finding:
    """Two exercises."""
    twice = run.cheapest(2 * run.in_repair)
    return exercises(
        Exercise(
            "The job doubles. Does it need twice the spares?",
            "No: as many still do. The number in repair varies only 1.4 times as much."
            if twice.n_spares == run.best.n_spares
            else f"No: {count(twice.n_spares)} instead of {count(run.best.n_spares)}. Twice as many nodes are in "
            "repair, but the number varies only 1.4 times as much.",
            {"cluster.n_gpus": 2 * run.scenario.cluster.n_gpus},
        ),
        Exercise(
            "Why is a pool that is enough 99% of the time not the cheapest?",
            "While one node is missing all others wait. A hundredth of the time of the whole job costs more than some "
            "idle nodes, so the cheapest pool is enough more often.",
        ),
    )  # fmt: skip
