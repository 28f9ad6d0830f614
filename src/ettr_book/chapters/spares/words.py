"""What the chapter on spares says of pools of nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.sentences import Finding, about, capital, count, listed, number, pct, points, say
from ettr_book.chapters.common.exercises import Exercise, exercises
from ettr_book.chapters.spares import tables
from ettr_book.chapters.spares.tables import (
    CREWS,
    IN_RACKS,
    IN_RACKS_WHOLE,
    ONE_BY_ONE,
    RACKS,
    SERVERS,
    PooledRun,
    RackChoices,
)

if TYPE_CHECKING:
    from ettr.plan import Requirement

_SAME = 2e-3
"""ETTRs that differ by less are the same."""
_NOTHING = "Nothing fails here, so that any spare only costs"


def nodes(value: float, what: str = "spare") -> str:
    """A number of spares, e.g. ``17 spares``."""
    return f"{count(value)} {what}{'' if round(value) == 1 else 's'}" if round(value) else f"no {what}s"


def extra(value: float) -> str:
    """An extra cost: in per cent, or as a factor where it is more than the work, e.g. ``0.9%``."""
    return f"{number(about(100 * value))}%" if value <= 1 else f"{number(about(value))} times the work itself"


def answer(run: PooledRun, simulated: pd.DataFrame) -> Finding:
    """How many to hold, and why; ``simulated`` as from ``tables.simulated_pools``."""
    if run.in_repair == 0:
        return Finding("No spares are worth holding", f"**{_NOTHING}.**")
    best, size = run.best, run.scenario.n_nodes
    flat = (
        f"{count(best.low)} to {count(best.high)} cost hardly more"
        if best.high > best.low
        else "no other number is as cheap"
    )
    hold = f"Hold {nodes(best.n_spares)}"
    half, twice = (run.cheapest(run.in_repair * part) for part in (0.5, 2.0))
    texts = [
        f"**Hold [{nodes(best.n_spares)}]{{#q-spares}}; {flat}.**",
        say(
            "That a node is back from repair after {repair:roughly} is assumed: with half of that it would be "
            "{half}, with twice {twice}.",
            repair=run.asked.repair_h, half=count(half.n_spares), twice=count(twice.n_spares),
        )
        if not run.own
        else say("A repair takes {repair:roughly} on average.", repair=run.asked.repair_h),
        say(
            "{in_repair:about} of {size:count} nodes are in repair on average. Without spares the job would wait "
            "{waits:share0} of the time (nothing fails while it waits). The first curve below counts failures as if "
            "it never waited: without spares a node is then missing {#missing_without:share} of the time.",
            in_repair=run.in_repair, size=size, waits=run.waiting_without, missing_without=run.missing_without,
        ),
        _simulated(run, simulated),
        f"Left out: {listed(list(run.left_out))}." if run.left_out else "",
    ]  # fmt: skip
    return Finding(f"{hold} beside {count(size)} nodes; {flat}", " ".join(filter(None, texts)))


def _simulated(run: PooledRun, simulated: pd.DataFrame) -> str:
    single = simulated[simulated["pool"] == ONE_BY_ONE]
    if single.empty or not run.own:
        return ""
    least = single.loc[single["cost"].idxmin()]
    return f"Simulated, {nodes(least['n_spares'])} are cheapest; where the two differ the simulation is right."


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
    """The cost curve, its minimum, and what racks and crews change; frames as from ``tables``."""
    if run.in_repair == 0:
        return Finding("Nothing fails, and no spares are needed", f"{_NOTHING}.")
    best, by = run.best, closed.set_index("n_spares")["extra"]
    few = max(int(by.index[0]), math.ceil(0.75 * best.n_spares))
    many = min(2 * best.n_spares - few, int(by.index[-1]))
    sentences = [
        f"{capital(nodes(best.n_spares - few))} too few add {extra(by[few] - by[best.n_spares])} to the cost of the "
        f"work, as many too many {extra(by[many] - by[best.n_spares])}."
        if few < best.n_spares < many
        else f"The cost is least with {nodes(best.n_spares)}."
    ]
    for pool, words in ((RACKS, "If 2% of failures take a rack with them (assumed)"), (CREWS, "With few repair crews")):
        rows = simulated[simulated["pool"] == pool]
        if len(rows):
            least = rows.loc[rows["cost"].idxmin()]
            sentences.append(f"{words}, {count(least['n_spares'])} are cheapest, and add {extra(least['extra'])}.")
    return Finding(
        f"Too few are dear, too many cheap: least with {nodes(best.n_spares)}"
        if best.n_spares
        else "Cheapest without spares",
        " ".join(sentences),
    )


def required(need: Requirement, ettr: float) -> Finding:
    """The fewest spares for a target, and the step to this chapter's ETTR; ``need`` as from ``plan.required``."""
    target = pct(need.target_ettr, 0)
    title = f"No pool reaches an ETTR of {target}"
    fewest = f"{title} with the run's own interval."
    if need.value is not None:
        title = f"{capital(nodes(need.value))} {'is' if need.value == 1 else 'are'} the fewest for an ETTR of {target}"
        fewest = f"{title}, with the run's own interval, simulated."
    off = abs(ettr - need.best_ettr)
    return Finding(
        title,
        say(
            "{fewest} The run has {#ettr:share0} where a spare is always at hand; simulated, spares that never run "
            "out leave {same}.",
            fewest=fewest, ettr=ettr,
            same="the same" if off < _SAME else points(off) + (" more" if need.best_ettr > ettr else " less"),
        ),
    )  # fmt: skip


def repair(run: PooledRun, frame: pd.DataFrame, staged_h: float) -> Finding:
    """What repair time does and pools do not; ``frame`` as from ``tables.cost_by_repair``."""
    if run.in_repair == 0:
        return Finding("Nothing fails, so that nothing is repaired", f"{_NOTHING}.")
    load, best = run.in_repair, run.best
    half, staged = run.cheapest(load / 2), run.cheapest(load / run.asked.repair_h * staged_h)
    return Finding(
        "Past the cheapest pool only a shorter repair lowers the cost",
        say(
            "Repair in half the time lowers the extra cost from {own} to {half}; twice as many spares raise it to "
            "{doubled}. A published simulator takes {staged_h:roughly} for a repair "
            "{{cite:p}}`pattabiraman2026airesim`: {staged} would be cheapest then.",
            own=extra(best.cost - 1),
            half=extra(half.cost - 1),
            doubled=extra(float(run.extra_cost(2 * best.n_spares, load))),
            staged_h=staged_h,
            staged=nodes(staged.n_spares),
        ),
    )


def racks(choices: RackChoices, rack_gpus: int, spare_gpus: int) -> Finding:
    """What spares in racks reach against shared pools; ``choices`` as from ``tables.rack_choices``."""
    if choices.unavailable == 0:
        return Finding("Nothing fails, so that no rack is short", f"{_NOTHING}.")
    enough = tables.enough_in_racks(choices)
    whole = choices.frame.loc[choices.frame["way"] == IN_RACKS_WHOLE, "short"]
    return Finding(
        "Spares in each rack hold more GPUs than a shared pool",
        say(
            "For something to be missing less than a thousandth of the time takes {shared:share} of the GPUs as a "
            "pool of servers, and {inside:share} as spares in each rack of {rack_gpus}: {each:.0f} beside {used} in "
            "use. ",
            "Spares in each rack of {rack_gpus} with {used} in use do not reach what a pool of servers does. ",
            shared=enough.get(SERVERS),
            inside=enough.get(IN_RACKS),
            each=tables.spares_of_rack(choices),
            rack_gpus=rack_gpus,
            used=rack_gpus - spare_gpus,
        )
        + "A server elsewhere is no help to a group that is a rack: it takes a spare inside, or a whole rack. "
        + say(
            "Where racks fail whole, with 2% of the failures, something is missing {least:share} of the time however "
            "many spares are inside.",
            least=float(whole.min()) if len(whole) else None,
        ),
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
