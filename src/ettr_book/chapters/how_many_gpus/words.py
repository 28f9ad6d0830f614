"""Text of the chapter on the number of GPUs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.core.sentences import Finding, about, amount, capital, days, gpus, listed, literal, number, pct, say
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.how_many_gpus.tables import FASTEST, THIS_JOB, GivenByTokens, gain_of_doubling, on_size

if TYPE_CHECKING:
    from ettr import sizing
    from ettr.scenario import Scenario

_IDEAL = "computing, at the peak"


def answer(sizes: sizing.Sizing, rarer_gpus: float, often_gpus: float, patient: sizing.BestSize | None) -> Finding:
    """Return the size at which the next GPU stops paying.

    Parameters
    ----------
    sizes : Sizing
        The best sizes.
    rarer_gpus, often_gpus : float
        The sizes that yield most with half and with twice the failure rate.
    patient : BestSize or None
        As from ``tables.in_time``.
    """
    n_gpus, share, fastest = sizes.scenario.cluster.n_gpus, sizes.next.share, sizes.best[FASTEST]
    ends = fastest.n_gpus if sizes.turning_gpus is None else sizes.turning_gpus
    values = {"own": n_gpus, "share": abs(share), "ends": ends, "rarer": rarer_gpus, "often": often_gpus}
    now = say(
        "The next GPU adds {share:share0} of the yield of the average GPU"
        if share >= 0
        else "The next GPU reduces the yield by {share:share0} of the average GPU's",
        "The batch has no work for one more GPU",
        **values,
    )
    until = say("beyond {#turning:gpus2} the batch has no work for one more replica", turning=ends)
    if not sizes.batch_ends and sizes.turning_gpus is not None:
        until = say("beyond about {#turning:gpus2} each extra GPU slows the job down", turning=ends)
    at = fastest.yields
    texts = [
        f"**{now}; {until}.**",
        say(
            "This assumes the same failure rate per node at every size: with half the rate the limit is {rarer:gpus2}, "
            "with twice the rate {often:gpus2}.",
            **values,
        )
        if sizes.scenario.failure_rate
        else "",
        say(
            "The fastest size takes {days} and {usd:usd}.",
            "The fastest size takes {days}.",
            days=days(about(float(at.days))),
            usd=float(at.usd) or None,
        ),
        _patient(sizes, patient),
    ]
    return Finding(
        title=say("{now}; beyond {ends:gpus2} each extra GPU slows the job down", now=now, ends=ends),
        text=" ".join(filter(None, texts)),
    )


def _patient(sizes: sizing.Sizing, patient: sizing.BestSize | None) -> str:
    if patient is None:
        return ""
    at, of = patient.yields, sizes.best[FASTEST].yields
    return say(
        "If you can wait twice as long, {n_gpus:gpus2} are enough, for {part:share0} of that cost.",
        "If you can wait twice as long, {n_gpus:gpus2} are enough.",
        n_gpus=patient.n_gpus,
        part=float(at.usd / of.usd) if float(of.usd) > 0 else None,
    )


def assumptions(job: GivenByTokens, answer: sizing.Sizing) -> Finding:
    """Return the assumptions and changes behind the job, and its layout."""
    run = job.scenario
    named = f"*{literal(run.title)}*"
    text = f"{named} has its work in tokens, so its throughput can be computed at any size."
    if job.changes:
        text = f"{named} is used with these changes: {'; '.join(job.changes)}. Other missing values are defaults."
    better = ""
    if answer.better_gpus is not None:
        fewer, gain = gpus(answer.better_gpus), number(about(1 + answer.better_gain))
        better = f" Few layouts fit that number: with {fewer} it would be {gain} times as fast."
    return Finding(
        title="The job",
        text=(f"{text} Its layout on {gpus(run.cluster.n_gpus)}: {answer.layout}.{better}"),
    )


def by_hand(run: Scenario, frame: pd.DataFrame) -> Finding:
    """Return the days of the job in three lines of arithmetic; ``frame`` as from ``tables.step_by_size``."""
    at = on_size(run, run.cluster.n_gpus)
    if run.job.tokens is None or run.model is None or not np.isfinite(at.days[0]):
        return Finding("By hand", "The job has no end to calculate.")
    shares = frame[frame["n_gpus"] == run.cluster.n_gpus].set_index("term")["share"]
    flop, mfu = 6 * run.model.n_parameters * run.job.tokens, float(shares.get(_IDEAL, math.nan))
    peak = run.cluster.n_gpus * run.part.compute.peak_tflops * 1e12 if run.part.compute else 0.0
    ettr = float(at.ettr[0])
    return Finding(
        "By hand",
        say(
            "- 6 × {weights} weights × {tokens} tokens = {flop} operations.\n"
            "- {gpus:gpus} reach {peak_text} per second at their peak, and {mfu:share0} of that in a step.\n"
            "- {flop} / ({mfu:.2f} × {peak_text}) / {ettr:.2f} for failures / 86,400 = {days:about} days.\n\n"
            "The exact model gives {exact:about} days.",
            "The data lack the peak throughput of its GPU.",
            weights=amount(run.model.n_parameters),
            tokens=amount(run.job.tokens),
            flop=_scientific(flop),
            gpus=run.cluster.n_gpus,
            peak_text=_scientific(peak) if peak else None,
            mfu=mfu,
            ettr=ettr,
            days=flop / (mfu * peak) / ettr / 86_400 if peak and ettr else None,
            exact=float(at.days[0]),
        ),
    )


def _scientific(value: float) -> str:
    digits, power = f"{value:.1e}".split("e")
    return f"{digits} × 10^{int(power)}"


def returns(run: Scenario, frame: pd.DataFrame, sizes: sizing.Sizing) -> Finding:
    """Return the losses to waiting, heat and failures; ``frame`` as from ``tables.returns_by_size``."""
    lines = frame.pivot_table(index="n_gpus", columns="line", values="tokens_per_day")
    per_gpu = float((lines["linear"] / lines.index).iloc[0])
    n_gpus, fastest, doubled = run.cluster.n_gpus, sizes.best[FASTEST].n_gpus, gain_of_doubling(run)
    sentences = [_left(run, size, per_gpu) for size in dict.fromkeys((n_gpus, fastest))]
    return Finding(
        say("Twice the GPUs would yield {times:about} times the tokens",
            "Waiting and failures make each extra GPU worth less", times=doubled),
        " ".join(sentences),
    )  # fmt: skip


def _left(run: Scenario, size: float, per_gpu: float) -> str:
    at = on_size(run, size)
    useful, ettr, speed = (float(value[0]) for value in (at.useful_tokens_per_day, at.ettr, at.speed))
    if useful < 1:
        return f"On {gpus(size)} there are no useful tokens."
    return say(
        "On {size} throughput is {waits:share0} of linear scaling and ETTR is {ettr:share0}: {useful} useful tokens "
        "per day.",
        size=gpus(size if size == run.cluster.n_gpus else about(size)),
        waits=useful / ettr / speed / (size * per_gpu),
        ettr=ettr,
        useful=amount(about(useful)),
    )


def step(frame: pd.DataFrame, own_gpus: float, other_gpus: float) -> Finding:
    """Return the parts of a step on two sizes; ``frame`` as from ``tables.step_by_size``."""
    shares = frame.pivot_table(index="n_gpus", columns="term", values="share").fillna(0.0)
    shares_here, shares_other = (
        shares.loc[shares.index[np.abs(np.log(shares.index / size)).argmin()]] for size in (own_gpus, other_gpus)
    )
    lost = shares_here.drop(_IDEAL).sort_values(ascending=False)
    terms = [f"{name} ({pct(value, 0)})" for name, value in lost.items() if value >= 0.01]
    moved = (shares_other - shares_here).drop(_IDEAL).sort_values(ascending=False)
    grows = say(
        " On {other:gpus2} it is {mfu:share0}; the largest increase is in {term}.",
        other=other_gpus,
        mfu=shares_other[_IDEAL],
        term=moved.index[0] if own_gpus != other_gpus and moved.iloc[0] > 0.005 else None,
    )
    return Finding(
        title=f"On {gpus(own_gpus)} the model FLOPs utilisation is {pct(shares_here[_IDEAL], 0)}",
        text=f"This is the share of a step that computes at the peak. The largest other parts are "
        f"{listed(terms[:3])}.{grows}",
    )


def cost(frame: pd.DataFrame, marked: pd.DataFrame) -> Finding:
    """Return the cost of speed; ``frame`` as from ``tables.cost_by_size``, ``marked`` from ``tables.marked_sizes``."""
    what = "electricity" if frame["unit"].iloc[0] == "MWh" else "money"
    fast = marked.loc[marked["days"].idxmin()]
    others = marked[marked["n_gpus"] != fast["n_gpus"]].sort_values("days")
    each = [
        f"{'this job takes' if row.goal == THIS_JOB else f'{gpus(about(row.n_gpus))} take'} "
        f"{number(about(row.days / fast['days']))} times as long for {_part(row.cost / fast['cost'])} the {what}"
        for row in others.itertuples()
    ]
    free = "This scenario has no prices, so the chart shows electricity. " if what == "electricity" else ""
    against = (
        f"Against the fastest size, {gpus(about(fast['n_gpus']))}, {listed(each)}." if each else "It is the fastest."
    )
    times = number(about(fast["cost"] / marked["cost"].min()))
    return Finding(f"The fastest size costs {times} times the {what} of the cheapest", f"{free}{against}")


def _part(ratio: float) -> str:
    return f"{pct(ratio, 0)} of" if ratio < 1 else f"{number(about(ratio))} times"


def ways(peaks: pd.DataFrame) -> Finding:
    """Return the training method with the largest gain; ``peaks`` as from ``way_tables.peaks_of_ways``."""
    ranked = peaks.iloc[1:].dropna(subset="gain").sort_values("gain", ascending=False)
    if ranked.empty:
        return Finding("No other training method fits this job", "No layout fits another training method.")
    each = [f"{row.way} {_gain(row.gain)}" for row in ranked.itertuples()]
    return Finding(
        title=f"{capital(ranked['way'].iloc[0])} would yield most: {_gain(ranked['gain'].iloc[0])} tokens per day",
        text=f"Most tokens per day of each method, against the current one: {listed(each)}. The token cost of local "
        f"SGD and compressed gradients is assumed; no results are published for hundreds of replicas at this size "
        f"{{cite:p}}`charles2025diloco`.",
    )


def _gain(fraction: float) -> str:
    return f"{round(100 * fraction):+d}%"


def exercises(run: Scenario) -> Finding:
    """Return two exercises."""
    doubled = gain_of_doubling(run)
    return numbered_exercises(
        Exercise(
            "You pay by the GPU-hour, and twice the GPUs yield less than twice the tokens. What happens to the cost?",
            say("It grows by 2 / {times:number} = {more:about}, and the job ends {times:about} times as soon.",
                "It grows: the same tokens take more GPU-hours.", times=doubled, more=2 / doubled if doubled else None),
        ),
        Exercise(
            "A larger batch keeps more GPUs busy. Why not double it?",
            "Beyond the critical batch size, twice the batch needs more tokens to reach the same loss, so the gain is "
            "lost.",
        ),
    )  # fmt: skip
