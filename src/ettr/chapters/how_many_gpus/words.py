"""What the chapter on the number of GPUs says of its size, its steps, its cost, and the published runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ettr.chapters.how_many_gpus.tables import (
    AIM_POINTS,
    CHEAPEST,
    FASTEST,
    GREENEST,
    SAID_BY_ROWS,
    GivenByTokens,
    gain_of_doubling,
    on_size,
)
from ettr.core.sentences import Finding, amount, capital, count, days, gpus, listed, number, pct

if TYPE_CHECKING:
    from ettr import sizing
    from ettr.scenario import Scenario

_IDEAL = "computing, at the peak"


def given(job: GivenByTokens, answer: sizing.Sizing) -> Finding:
    """What the scenario had to be given, and what the bands come from."""
    run = job.scenario
    text = f"*{run.title}* gives its job by tokens, so that its throughput is known at any size."
    if job.changes:
        text = f"*{run.title}* is taken with changes: {'; '.join(job.changes)}. What else it lacks has default values."
    better = ""
    if answer.better_gpus is not None:
        fewer, gain = gpus(answer.better_gpus), pct(answer.better_gain, 0)
        better = f" Few layouts divide that number: with {fewer} it would be {gain} faster."
    return Finding(
        title="What this job is",
        text=(
            f"{text} Its {count(run.cluster.n_gpus)} GPUs are cut as follows: {answer.layout}.{better} Brackets hold "
            f"90%, {answer.band_source}. What else is uncertain is not in them."
        ),
    )


def answer(sizes: sizing.Sizing) -> Finding:
    """Where the next GPU stops paying, and the best sizes, in one paragraph."""
    own, share = sizes.scenario.cluster.n_gpus, sizes.next.share
    adds = f"adds {pct(share, 0)} of" if share >= 0 else f"takes away {pct(-share, 0)} of"
    now = f"With {gpus(own)}, the next one {adds} what a GPU of this job yields on average"
    fastest = sizes.best[FASTEST]
    ends = fastest.n_gpus if sizes.turning_gpus is None else sizes.turning_gpus
    title = f"The next GPU stops paying at {gpus(ends)}, where the batch ends"
    until = (
        f"GPUs pay up to {count(ends)}, where a batch of {amount(sizes.batch_tokens)} tokens leaves nothing "
        "for one more replica"
    )
    if not sizes.batch_ends and sizes.turning_gpus is not None:
        title = f"The next GPU stops paying at {gpus(sizes.turning_gpus)}"
        until = f"from {count(sizes.turning_gpus)} on, one more takes more than it gives"
    if math.isnan(share):
        now = f"With {gpus(own)} the batch has no work for one more"
    if sizes.next.mean_tokens_per_day == 0:
        now = f"With {gpus(own)} this job gets nowhere"
    sentences = [f"**{now}; {until}.**"]
    sentences += [_best(sizes.best[goal], goal, sizes) for goal in (FASTEST, CHEAPEST) if goal in sizes.best]
    if GREENEST in sizes.best:
        greenest = sizes.best[GREENEST]
        same = [goal for goal, one in sizes.best.items() if one.n_gpus == greenest.n_gpus and goal != GREENEST]
        carbon = f"{amount(float(greenest.yields.t_co2))} t of CO2"
        sentences.append(
            f"The {same[0]} is the greenest as well, with {carbon}."
            if same
            else f"{_best(greenest, GREENEST, sizes)[:-1]}, and {carbon}."
        )
    sentences += [
        f"No size is the {goal}, since nothing has a price here." for goal in sizes.unanswered if goal == CHEAPEST
    ]
    return Finding(title=title, text=" ".join(sentences))


def _best(one: sizing.BestSize, goal: str, sizes: sizing.Sizing) -> str:
    at, low, high = one.yields, one.low, one.high
    size = f"{gpus(one.n_gpus)}{_band(one.n_gpus_low, one.n_gpus_high, _round)}"
    first, *years = days(float(at.days)).split(", or ")
    lasts = f"{first}{_band(float(low.days), float(high.days), number)}" + "".join(
        f", or {years_more}" for years_more in years
    )
    priced = CHEAPEST in sizes.best
    costs = f", {amount(float(at.usd))} USD{_band(float(low.usd), float(high.usd), amount)}" if priced else ""
    return f"The {goal} size is {size}: {lasts}{costs}, and {number(float(at.power_mw))} MW."


def _band(low: float, high: float, words: Callable[[float], str]) -> str:
    """Both ends in brackets; empty where they are one, or the upper one is infinite."""
    if not (math.isfinite(low) and math.isfinite(high)) or words(low) == words(high):
        return ""
    return f" ({words(low)} to {words(high)})"


def returns(run: Scenario, frame: pd.DataFrame, sizes: sizing.Sizing) -> Finding:
    """What waiting, heat and failures leave; ``frame`` as from ``tables.returns_by_size``."""
    lines = frame.pivot_table(index="n_gpus", columns="line", values="tokens_per_day")
    per_gpu = float((lines["linear"] / lines.index).iloc[0])
    own = run.cluster.n_gpus
    sentences = [_left(run, own, per_gpu, "On this job's ")]
    fastest = sizes.best[FASTEST].n_gpus
    if fastest != own:
        sentences.append(_left(run, fastest, per_gpu, "On "))
    title = "Waiting and failures make every GPU worth less than the one before"
    doubled = gain_of_doubling(run)
    if doubled is not None:
        title = f"Twice the GPUs would yield {number(doubled)} times the tokens"
        sentences.append(f"Twice this job's GPUs would yield {number(doubled)} times as much.")
    if "and heat" not in lines:
        why = "the scenario has no section on it" if run.heat is None else "its hottest GPU is as fast as observed"
        sentences.append(f"Heat costs nothing here: {why}.")
    return Finding(title=title, text=" ".join(sentences))


def _left(run: Scenario, size: float, per_gpu: float, before: str) -> str:
    at = on_size(run, size)
    useful, ettr, speed = (float(value[0]) for value in (at.useful_tokens_per_day, at.ettr, at.speed))
    if useful <= 0:
        return f"{before}{gpus(size)} nothing is left."
    waits = useful / ettr / speed / (size * per_gpu)
    heat = f", heat {pct(speed)} of that" if speed < 1 - 1e-4 else ""
    return (
        f"{before}{gpus(size)}, waiting for each other leaves {pct(waits, 0)} of what as many GPUs of the most "
        f"efficient size would yield{heat}, and failures and stops {pct(ettr)} of the rest: {amount(useful)} useful "
        "tokens a day."
    )


def step(frame: pd.DataFrame, own_gpus: float, other_gpus: float) -> Finding:
    """Where a step goes on two sizes; ``frame`` as from ``tables.step_by_size``."""
    shares = frame.pivot_table(index="n_gpus", columns="term", values="share").fillna(0.0)
    own = shares.loc[_nearest(shares, own_gpus)]
    sentences = [
        f"On {gpus(_nearest(shares, own_gpus))}, {pct(own[_IDEAL], 0)} of a step is what the model alone would need at "
        f"the peak of all GPUs: the model FLOPs utilisation. Of the rest, {_lost(own)}."
    ]
    title = f"On {gpus(own_gpus)}, {pct(own[_IDEAL], 0)} of a step is the computing that the model needs"
    if other_gpus != own_gpus:
        there = shares.loc[_nearest(shares, other_gpus)]
        sentences.append(
            f"On {gpus(_nearest(shares, other_gpus))} that is {pct(there[_IDEAL], 0)}; of the rest, {_lost(there)}."
        )
        moved = (there - own).drop(_IDEAL).sort_values(ascending=False)
        more = "more" if other_gpus > own_gpus else "fewer"
        if moved.iloc[0] > 0.005:
            sentences.append(f"What grows most with {more} GPUs is {_of(str(moved.index[0]))}.")
    return Finding(title=title, text=" ".join(sentences))


def _of(term: str) -> str:
    return {"empty pipeline": "the empty pipeline", "hand-over between stages": "the hand-over between stages"}.get(
        term, f"the {term}" if term.startswith("exchange") else term
    )


def _nearest(shares: pd.DataFrame, size: float) -> float:
    return float(shares.index[np.abs(np.log(shares.index / size)).argmin()])


def _lost(at: pd.Series) -> str:
    """The four largest of the other parts."""
    lost = at.drop(_IDEAL).sort_values(ascending=False)
    terms = [f"{_of(str(name))} ({pct(value, 0)})" for name, value in lost.items() if value >= 0.01]
    return f"most goes to {listed(terms[:4])}" if terms else "no part takes more than 1%"


def cost(frame: pd.DataFrame, marked: pd.DataFrame, in_time: sizing.BestSize | None, sizes: sizing.Sizing) -> Finding:
    """What being faster costs; ``frame`` as from ``tables.cost_by_size``, ``marked`` from ``tables.marked_sizes``."""
    unit = frame["unit"].iloc[0]
    fast, slow = marked.loc[marked["days"].idxmin()], _least(frame, sizes)
    what = "electricity" if unit == "MWh" else "cost"
    sentences = ["Nothing has a price in this scenario, so that the chart shows electricity."] if unit == "MWh" else []
    title = f"The fastest size takes {number(fast['cost'] / slow['cost'])} times the least {what}"
    sentences.append(
        f"Least {what} is at {gpus(round(slow['n_gpus']))}, which take {days(slow['days'])}; the fastest size is "
        f"{number(slow['days'] / fast['days'])} times as fast for {number(fast['cost'] / slow['cost'])} times the "
        f"{what}."
    )
    if in_time is not None:
        at, of = in_time.yields, sizes.best[FASTEST].yields
        sentences.append(
            f"In at most twice the days of the fastest, the greenest size is {gpus(in_time.n_gpus)}, with "
            f"{pct(float(at.t_co2 / of.t_co2), 0)} of its carbon"
            + (f" and {pct(float(at.usd / of.usd), 0)} of its cost." if float(of.usd) > 0 else ".")
        )
    beyond = frame[frame["n_gpus"] > fast["n_gpus"]]
    if len(beyond):
        sentences.append("Beyond the fastest size the curve turns back: more is paid for more days.")
    return Finding(title=title, text=" ".join(sentences))


def _least(frame: pd.DataFrame, sizes: sizing.Sizing) -> pd.Series:
    """The cheapest size in whole replicas; that of the chart's grid, rounded, where nothing has a price or carbon."""
    of_usd = frame["unit"].iloc[0] == "USD"
    goal, column = (CHEAPEST, "usd") if of_usd else (GREENEST, "mwh")
    if goal not in sizes.best:
        return frame.loc[frame["cost"].idxmin()]
    one = sizes.best[goal]
    at = {"days": float(one.yields.days), "cost": float(getattr(one.yields, column))}
    return pd.Series({"n_gpus": float(one.n_gpus), **at})


_LIMITS = {"power": ("MW", "power_mw"), "budget": ("USD", "usd"), "deadline": ("days", "days")}
"""Unit of a limit, and what of a size it holds for."""


def limit_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of best sizes within limits; ``frame`` as from ``tables.sizes_within_limits``."""
    rows = []
    for row in frame.itertuples():
        cells: dict[str, object] = {
            "Limit": f"{row.limit} {amount(row.value)} {_LIMITS[row.limit][0]}",
            "Best for": row.goal,
        }
        if row.why:
            rows.append({**cells, "GPUs": "none", "Why": capital(row.why)})
            continue
        cells |= {"GPUs": row.n_gpus, "90%": f"{_round(row.n_gpus_low)} to {_round(row.n_gpus_high)}"}
        rows.append({**cells, "Days": row.days, "Million USD": row.usd / 1e6, "MW": row.power_mw, "t CO2": row.t_co2})
    columns = ["Limit", "Best for", "GPUs", "90%", "Days", "Million USD", "MW", "t CO2", "Why"]
    wide = pd.DataFrame(rows, columns=columns)
    if not (frame["usd"].fillna(0) > 0).any():
        wide = wide.drop(columns="Million USD")
    return wide if (frame["why"] != "").any() else wide.drop(columns="Why")


def _round(size: float) -> str:
    return gpus(size).split()[0]


def limits(frame: pd.DataFrame, sizes: sizing.Sizing) -> Finding:
    """What limits make of the size; ``frame`` as from ``tables.sizes_within_limits``, ``sizes`` without limits.

    A limit binds where the best size without limits breaks it; only those are named.
    """
    binds = pd.Series([_binds(row, sizes) for row in frame.itertuples()], index=frame.index, dtype=bool)
    kept = frame["why"] == ""
    sentences = []
    title = "The best sizes within limits"
    of_power = frame["limit"] == "power"
    if of_power.any():
        title, *sentences = _within_power(
            frame[of_power & binds & kept], frame[of_power & ~binds & kept], bool((of_power & ~kept).any()), sizes
        )
    missed = int((~kept).sum())
    if missed:
        sentences.append(f"{missed} of the limits {'are' if missed > 1 else 'is'} kept by no size.")
    others = frame[~of_power & kept]
    if len(others):
        names = {"budget": "budgets", "deadline": "deadlines"}
        which = listed([names[name] for name in dict.fromkeys(others["limit"])])
        loose = int((~binds[others.index]).sum())
        sentences.append(
            f"{capital(which)} lie between those of the best sizes without limits."
            if loose == 0
            else f"Of the {which}, {loose} of {len(others)} {'do' if loose > 1 else 'does'} not bind: the best size "
            "without limits keeps " + ("them." if loose > 1 else "it.")
        )
    return Finding(title=title, text=" ".join(sentences))


def _binds(row: Any, sizes: sizing.Sizing) -> bool:
    """Whether the best size without limits, for one of the row's goals, breaks its limit."""
    goals = [goal for goal in str(row.goal).split(" and ") if goal in sizes.best]
    values = [float(getattr(sizes.best[goal].yields, _LIMITS[row.limit][1])) for goal in goals]
    return any(value > row.value for value in values)


def _within_power(power: pd.DataFrame, loose: pd.DataFrame, missed: bool, sizes: sizing.Sizing) -> list[str]:
    """The title, and sentences on the limits of power that bind and are kept, and on those that do not bind.

    ``missed``: others are kept by no size.
    """
    takes = f"{number(float(sizes.best[FASTEST].yields.power_mw))} MW"
    if power.empty and loose.empty:
        return ["No size keeps the limits of power"]
    limits_nothing = f"{number(loose['value'].min())} MW limit nothing: the fastest size takes {takes}."
    if power.empty:
        if missed:
            return [f"The fastest size takes {takes}, which some limits of power allow", limits_nothing]
        return ["Power does not limit this job", f"Power does not limit this job: its fastest size takes {takes}."]
    first, last = power.iloc[0], power.iloc[-1]
    sentences = [
        f"{number(first['value'])} MW allow {gpus(first['n_gpus'])} and {number(first['days'])} days",
        f"Within {number(first['value'])} MW the fastest size is {gpus(first['n_gpus'])}: {days(first['days'])}.",
    ]
    if last["n_gpus"] != first["n_gpus"]:
        sentences.append(
            f"Within {number(last['value'])} MW it is {gpus(last['n_gpus'])}: "
            f"{number(first['days'] / last['days'])} times as fast for "
            f"{number(last['power_mw'] / first['power_mw'])} times the power."
        )
    if len(loose):
        sentences.append(limits_nothing)
    return sentences


def calibrated(frame: pd.DataFrame) -> Finding:
    """How far the model is off published runs; ``frame`` as from ``tables.calibrated_runs``."""
    off = frame["residual_points"].abs()
    used, left = frame[frame["used"]], frame[~frame["used"]]
    worst, most = frame.loc[off.idxmax()], off[used.index].max()
    kept = "is kept" if most <= AIM_POINTS else "is missed"
    low, high = (frame.loc[frame["kernel_efficiency"].agg(which)] for which in ("idxmin", "idxmax"))
    why = ""
    if isinstance(worst["relative_to"], str) and worst["relative_to"]:
        why = (
            f" Its study gives only ratios of throughput, which say little about jitter, so that the assumed one of "
            f"about {pct(worst['jitter'], 0)} a node shows: the nodes of that run vary less."
        )
    return Finding(
        title=f"Rows in a fit are off by at most {most:.1f} points, the others by up to {off[left.index].max():.1f}",
        text=(
            f"Constants are estimated for each study, from priors and the rows marked as used: {len(used)} of "
            f"{len(frame)}. {_moved(frame)} The aim of "
            f"{AIM_POINTS:g} points on these {kept}, the worst of them being off by {most:.1f}. The {len(left)} rows "
            f"left out are the test: in the mean they are off by {off[left.index].mean():.1f} points. Worst of all is "
            f"*{worst['title']}*, by {worst['residual_points']:+.1f} points.{why} No constants hold for all: the "
            f"efficiency of kernels goes from {low['kernel_efficiency']:.2f} ({low['study']}) to "
            f"{high['kernel_efficiency']:.2f} ({high['study']}), by GPU, precision and software."
        ),
    )


_CONSTANTS = {
    "kernel_efficiency": "the efficiency of kernels",
    "jitter": "jitter",
    "overlap": "overlap",
    "latency_us": "the latency of a hop",
}


def _moved(frame: pd.DataFrame) -> str:
    """Which constants the rows moved, and in which studies."""
    by = frame.drop_duplicates("study").set_index("study")["moved"].str.split(", ")
    studies = {name: [str(study) for study, moved in by.items() if name in moved] for name in _CONSTANTS}
    by_constant = [f"{_CONSTANTS[name]} in {_of_studies(those, len(by))}" for name, those in studies.items() if those]
    kept = [_CONSTANTS[name] for name, those in studies.items() if not those]
    text = f"The rows moved {listed(by_constant)}" if by_constant else "The rows moved none of them"
    if by_constant and kept:
        text += f", and nowhere {listed(kept)}"
    return (
        f"{text}; a constant counts as moved where they leave less than {pct(SAID_BY_ROWS, 0)} of its prior's "
        "standard deviation. The others are mostly the priors'."
    )


def _of_studies(names: list[str], n_studies: int) -> str:
    return "all studies" if len(names) == n_studies else f"{len(names)} of {n_studies} studies ({listed(names)})"
