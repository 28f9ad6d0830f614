"""What the chapter on spares says of racks, fewer replicas, and the jobs of others."""

from __future__ import annotations

import math

import pandas as pd

from ettr.chapters.spares.option_tables import (
    IN_RACKS,
    IN_RACKS_WHOLE,
    SERVERS,
    WHOLE_RACKS,
    RackChoices,
    domain_sizes,
    enough_to_wait,
    retaken_share,
    second_order_pct,
    uniform_loss,
)
from ettr.chapters.spares.tables import PooledRun
from ettr.chapters.spares.words import nodes
from ettr.core.sentences import Finding, count, number, pct, points
from ettr.core.units import ROUNDING

_NONE = 0.05
"""Fewer nodes than this count as none."""
_OPTIONS = {
    1: "Pre-emption behind the spares",
    2: "Half the spares, with pre-emption behind them,",
    3: "Pre-emption instead of spares",
    4: "Pre-emption instead of spares, nodes lost each time,",
    5: "Failing half as often",
    6: "Repair in half the time",
}
_SMALL = 0.001
"""Time in which something is missing that pools are compared at."""


def racks(choices: RackChoices, rack_gpus: int, spare_gpus: int) -> Finding:
    """What spares in racks reach against shared pools; ``choices`` as from ``option_tables.rack_choices``."""
    if choices.unavailable == 0:
        return Finding(
            title="Nothing fails, so that no rack is short", text="Without failures no rack is short of GPUs."
        )
    needed = {way: _first(choices.frame, way) for way in (IN_RACKS, SERVERS, WHOLE_RACKS)}
    words = {IN_RACKS: "spares in each rack", SERVERS: "a pool of servers", WHOLE_RACKS: "a pool of whole racks"}
    reached = [
        f"{words[way]} {pct(row['held'], 1)} ({count(row['n_spares'])}{' a rack' if way == IN_RACKS else ''})"
        for way, row in needed.items()
        if row is not None
    ]
    sentences = [
        f"The job fills {nodes(choices.n_racks, 'rack')} with {count(rack_gpus - spare_gpus)} of {count(rack_gpus)} "
        f"GPUs each, and a GPU is in repair {pct(choices.unavailable, 3)} of the time."
    ]
    if reached:
        sentences.append(
            f"For something to be missing less than {pct(_SMALL)} of the time, so many spare GPUs are needed over "
            f"those of the job: {', '.join(reached)}."
        )
    held = needed[IN_RACKS]
    if held is not None:
        sentences.append(_at_equal(choices.frame, float(held["held"])))
    sentences.append(
        "A pool of servers is open only to jobs whose tightly coupled groups fit a server. Where a group is a rack, a "
        "server elsewhere is no help, and what stands in for it is a whole rack, or a spare inside."
    )
    broken = choices.frame[choices.frame["way"] == IN_RACKS_WHOLE]
    if len(broken):
        sentences.append(
            f"Spares inside do nothing against racks that fail whole: with 2% of the failures, something is missing "
            f"{_share(float(broken['short'].min()))} of the time however many they are. For those it takes racks in "
            "reserve."
        )
    return Finding(title=_rack_title(needed), text=" ".join(sentences))


def _rack_title(needed: dict[str, pd.Series | None]) -> str:
    """Which ways need fewer GPUs than which."""
    held = {way: float("inf") if row is None else float(row["held"]) for way, row in needed.items()}
    if held[IN_RACKS] < held[WHOLE_RACKS]:
        against = "fewer" if held[IN_RACKS] < held[SERVERS] else "more"
        return f"Spares inside racks take fewer GPUs than whole racks, and {against} than a pool of servers"
    return "Spares inside racks take no fewer GPUs than whole racks here"


def _first(frame: pd.DataFrame, way: str) -> pd.Series | None:
    """The fewest GPUs with which little is missing."""
    rows = frame[(frame["way"] == way) & (frame["short"] <= _SMALL)]
    return rows.iloc[0] if len(rows) else None


def _at_equal(frame: pd.DataFrame, held: float) -> str:
    """What each way reaches with as many GPUs."""
    shares = []
    for way, words in ((IN_RACKS, "spares in each rack"), (SERVERS, "servers"), (WHOLE_RACKS, "racks")):
        rows = frame[(frame["way"] == way) & (frame["held"] <= held * (1 + ROUNDING))]
        short = float(rows["short"].iloc[-1])
        shares.append(f"{_share(short)} of the time with {words}")
    return (
        f"With {pct(held, 1)} held in any of these ways, something is missing {shares[0]}, {shares[1]} and {shares[2]}."
    )


def _share(value: float) -> str:
    return pct(value, 2 if value < 0.1 else 0) if value >= 1e-4 else "less than 0.01%"


def losses(choices: RackChoices, published: tuple[float, float]) -> Finding:
    """What a lost GPU takes with it; ``choices`` as from ``option_tables.rack_choices``."""
    down, lost = published
    small, large = domain_sizes()
    servers, whole = (uniform_loss(down, size) for size in (small, large))
    sentences = [
        f"A job without spares that goes on with the domains that are whole loses {pct(servers)} of its throughput in "
        f"domains of {small} GPUs and {pct(whole)} in domains of {large}, if {pct(down)} of the GPUs are down. "
        f"Published are nearly {pct(lost, 0)} at high degrees of tensor parallelism {{cite:p}}`arfeen2025ntp`: "
        f"consistent, and just that in domains of about {number(math.log1p(-lost) / math.log1p(-down))}."
    ]
    if choices.unavailable > 0:
        own = [uniform_loss(choices.unavailable, size) for size in (small, large)]
        sentences.append(
            f"With the {pct(choices.unavailable, 3)} of this run they would be {pct(own[0], 2)} and {pct(own[1])}."
        )
    sentences.append(
        "Replicas that go on with the GPUs that they have left, as non-uniform tensor parallelism lets them, lose no "
        "more than the GPUs that are down."
    )
    title = f"In domains of {large} GPUs one that fails takes {large - 1} others with it"
    return Finding(title=title, text=" ".join(sentences))


def elastic(frame: pd.DataFrame, run: PooledRun) -> Finding:
    """Going on with fewer replicas against waiting; ``frame`` as from ``option_tables.elastic_pools``."""
    if run.in_repair == 0:
        return Finding(
            title="Nothing fails, so that waiting and shrinking are one", text="Without failures no node is missing."
        )
    if frame.empty:
        return Finding(
            title="Nothing to simulate",
            text="A job of a single node, or one that hardly gets on, has no replicas to go on with.",
        )
    first, meets = frame.iloc[0], enough_to_wait(frame)
    replicas, least = int(first["n_replicas"]), int(first["n_least"])
    sentences = [
        f"With {nodes(first['n_spares'], 'hot spare')} a job that waits reaches an ETTR of {pct(first['ettr_waits'])}; "
        f"one of {replicas} replicas that goes on with {least} of them or more {pct(first['ettr_shrinks'])}."
    ]
    cheap = {kind: frame.loc[frame[f"cost_{kind}"].idxmin()] for kind in ("waits", "shrinks")}
    gain = cheap["waits"]["cost_waits"] / cheap["shrinks"]["cost_shrinks"] - 1
    sentences.append(
        f"Per unit of work it is cheapest with {nodes(cheap['shrinks']['n_spares'])}, the one that waits with "
        f"{count(cheap['waits']['n_spares'])}; at these the shrinking job costs {_less(gain)}."
    )
    worse = frame[frame["more_high"] < 0]
    if meets is None:
        title = "Going on with fewer replicas beats waiting with any of these pools"
        sentences.append("It is surely better at the largest pool tried as well.")
    elif len(worse):
        title = f"Going on with fewer replicas is better below {count(meets)} spares, and waiting from there"
        sentences.append(
            f"From {nodes(meets)} on waiting is as good or better, by up to {points(float(-worse['more'].min()))}: a "
            "replica that comes back costs a restart."
        )
    else:
        title = f"Going on with fewer replicas beats waiting until the pool has {nodes(meets)}"
        sentences.append(
            f"From {nodes(meets)} on the 95% interval of the difference holds 0: the lines meet, and do not cross, "
            "since a pool that never runs out leaves nothing to shrink for."
        )
    return Finding(title=title, text=" ".join(sentences))


def _less(gain: float) -> str:
    if abs(gain) < 5e-5:
        return "the same"
    return f"{pct(abs(gain), 2)} {'less' if gain > 0 else 'more'}"


def shared(frame: pd.DataFrame, small_nodes: int, preempt_min: float) -> Finding:
    """What is done for a large job does to small ones; ``frame`` as from ``option_tables.shared_options``."""
    rows = frame.set_index("order")
    if rows["preemptions_per_day"].max() == 0 and rows["total_more"].abs().max() < _NONE:
        return Finding(
            title="Nothing fails, and nothing is pre-empted", text="Without failures no job takes from others."
        )
    first, none, lost = rows.loc[0], rows.loc[3], rows.loc[4]
    rarer, faster = rows.loc[5], rows.loc[6]
    slow = f", since each node takes {number(preempt_min)} min to come (assumed)" if none["large_more"] < -_NONE else ""
    sentences = [
        f"On {count(first['n_cluster'])} nodes, with small jobs of {nodes(small_nodes, 'node')} and "
        f"{nodes(first['n_spares'])} for a large job that waits when they run out, {number(first['total'])} nodes do "
        f"useful work: {number(first['large'])} of the large job's and {number(first['small'])} of the others'.",
        f"Without hot spares the large job takes nodes from {_jobs(none['preemptions_per_day'])} a day. The others "
        "then "
        f"have {_change(none['small_more'])} useful nodes, and it has {_change(none['large_more'])}{slow}.",
        f"A job that loses its nodes when it stops, and takes {pct(retaken_share(), 0)} of them back from others each "
        f"time, as one on RSC did {{cite:p}}`kokolis2025`, pre-empts {_jobs(lost['preemptions_per_day'])} a day. They "
        f"lose the work of {_lost(lost['preempted_lost'])}, {pct(lost['second_order_share'], 0)} of all that is lost; "
        f"published for RSC are {second_order_pct():g}% of what hardware failures cost.",
        f"With half as many failures the large job has {_change(rarer['large_more'])} useful nodes, and the small "
        f"ones, which fail less too, {_change(rarer['small_more'])}; with repair in half the time "
        f"{_change(faster['large_more'])} and {_change(faster['small_more'])}.",
    ]
    return Finding(title=_best_title(rows.drop(index=0)["total_more"]), text=" ".join(sentences))


def _best_title(more: pd.Series) -> str:
    best = int(more.idxmax())
    if more[best] < _NONE:
        return "No option makes the whole cluster do more"
    return f"{_OPTIONS[best]} wins most for the whole cluster: {number(more[best])} useful nodes"


def _jobs(per_day: float) -> str:
    return f"{number(per_day)} small jobs" if per_day >= 0.01 else "hardly any small job"


def _lost(value: float) -> str:
    return f"{number(value)} nodes" if value >= _NONE else "hardly any node"


def _change(value: float) -> str:
    if abs(value) < _NONE:
        return "as many"
    return f"{number(abs(value))} {'more' if value > 0 else 'fewer'}"
