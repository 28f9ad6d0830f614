"""Text of the chapter on heat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.core.sentences import Finding, count, listed, pct, points, say
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.thermal import tables
from ettr_book.chapters.thermal.tables import PLANTS, gpu_of, heat_of, hottest_day

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_VISIBLE = 5e-4
"""Smallest difference in throughput worth mentioning."""
_WARMER_K = 10.0
"""Warming quoted in the text. [K]"""


def answer(run: Scenario) -> Finding:
    """Return the cost of heat for this run."""
    losses, gpu = tables.day_losses(run), gpu_of(run)
    beliefs = tables.by_warming(run, [_WARMER_K])["ettr"]
    statuses = gpu.to_frame()["status"]
    hot = losses["job"] if losses["job"] > _VISIBLE else None
    slower = say("loses {#hot_afternoon:share} of its throughput", "loses no throughput", hot_afternoon=hot)
    assumed = int((statuses == "assumed").sum())
    first = (
        f"**On the hottest afternoon the run {slower}, because its hottest GPU sets the pace; the effect of heat on "
        f"failures is not known.**"
    )
    texts = [
        first,
        f"{assumed} of the {len(statuses)} figures of the GPU ({gpu.title}) are assumed, and so is the climate.",
        say(
            "Running every die 10 K hotter costs between 0 and {most:points} of ETTR, depending on how strongly heat "
            "drives failures, which nobody has measured.",
            most=float(np.ptp(beliefs)) or None,
        ),
        _bought(run),
    ]
    return Finding(
        title=say(
            "A hot afternoon costs {job:share} of throughput; 10 K more, 0 to {most:points} of ETTR",
            "A hot afternoon costs {job:share} of throughput",
            job=losses["job"],
            most=float(np.ptp(beliefs)) or None,
        ),
        text=" ".join(filter(None, texts)),
    )


def _bought(run: Scenario) -> str:
    """Return the gain from another kind of cooling."""
    cooling, plants = heat_of(run).cooling, tables.cooling_at(run).sort_values("effective")
    current, best = plants[plants["cooling"] == cooling].iloc[0], plants.iloc[-1]
    if best["effective"] - current["effective"] <= _VISIBLE:
        return f"No other kind of cooling with published figures improves on {PLANTS[cooling]} for this run."
    return say(
        "Under these assumptions, {best} instead of {current} would gain {speed:points} in speed and {ettr:points} in "
        "ETTR.",
        best=PLANTS[best["cooling"]],
        current=PLANTS[cooling],
        speed=best["speed"] - current["speed"],
        ettr=best["ettr"] - current["ettr"],
    )


def by_hand(run: Scenario) -> Finding:
    """Return the effect of a warm afternoon on the clock in three lines of arithmetic."""
    return Finding(
        "By hand",
        say(
            "- The mean die swings by {swing_k:about} K over the hottest day, and its leakage of {leakage_w:about} W "
            "grows by {more_w:about} W.\n"
            "- That is {less:share} of the {power_w:about} W for computing at the power limit. Power scales as "
            "clock^{exponent:about}: the clock falls by {less:share} / {exponent:about} = {clock:share}.\n"
            "- {compute_share:share0} of a step follows the clock: {lost:share} of throughput.\n\n"
            "The full model gives {exact:share} for a mean GPU, and more for the hottest.",
            exact=tables.day_losses(run)["mean GPU"],
            **tables.by_hand(run),
        ),
    )


def afternoon(run: Scenario) -> Finding:
    """Return temperatures and speed over the hottest day."""
    day, losses = hottest_day(run), tables.day_losses(run)
    outdoors, inlet, die = (float(np.ptp(day[name])) for name in ("ambient_c", "inlet_c", "die_c"))
    follows = "The inlet has the same temperature at every hour: the afternoon does not reach the GPUs."
    if inlet >= 0.05:
        follows = f"The outdoor temperature swings by {outdoors:.0f} K, the die of a mean GPU by {die:.0f} K."
    waits = ""
    if losses["job"] - losses["mean GPU"] > _VISIBLE:
        waits = (
            f" A mean GPU is {pct(losses['mean GPU'])} slower at the hottest hour; the job loses {pct(losses['job'])}, "
            f"because it waits for the hottest of {count(run.cluster.n_gpus)}."
        )
    return Finding(
        title=_hottest(run, day),
        text=f"{follows}{waits} Llama 3 lost 1 to 2% at midday {{cite:p}}`dubey2024`. The model can reproduce that, "
        f"but so could many others, because five of its inputs are unknown.",
    )


def _hottest(run: Scenario, day: pd.DataFrame) -> str:
    """Return the margin of the hottest GPU to its limits."""
    limits, held, hottest = gpu_of(run).limits, set(day["limited_by"]), day["hottest_c"].max()
    if "memory" in held and "heat" not in held:
        return f"The hottest die ends at {hottest:.0f} °C, where its memory throttles the GPU"
    margin = limits.throttle_c - hottest
    close = "at" if margin < 0.5 else f"{margin:.0f} K below"
    return f"The hottest die ends {close} the {limits.throttle_c:g} °C at which it throttles"


def climate(frame: pd.DataFrame) -> Finding:
    """Return the effect of cooling; ``frame`` as from ``tables.by_climate``."""
    coldest_c, hottest_c = frame["mean_c"].min(), frame["mean_c"].max()
    ends = frame.groupby("cooling").agg(cold=("effective", "first"), hot=("effective", "last"), until=("mean_c", "max"))
    complete = ends[ends["until"] > hottest_c - 0.1]
    lost = (complete["cold"] - complete["hot"]).sort_values()
    losing = [f"{points(value)} with {PLANTS[str(name)]}" for name, value in lost[::-1].items() if value > _VISIBLE]
    steady = [PLANTS[str(name)] for name, value in lost.items() if value <= _VISIBLE]
    sentences = [
        f"From {coldest_c:.0f} to {hottest_c:.0f} °C outdoors ETTR times speed falls by {listed(losing)}."
        if losing
        else "",
        f"With {listed(steady)} it does not fall." if steady else "",
        *(
            f"Above {row.until:.0f} °C {PLANTS[str(name)]} would leave the hottest GPU no power to compute with."
            for name, row in ends[ends["until"] <= hottest_c - 0.1].iterrows()
        ),
        "Much of this comes from the assumed effect of heat on failures. Power for cooling is not included.",
    ]
    title = f"At {hottest_c:.0f} °C outdoors, kinds of cooling differ by {points(float(np.ptp(complete['hot'])))}"
    if len(complete) == 1:
        title = f"From {coldest_c:.0f} to {hottest_c:.0f} °C outdoors the run loses {points(max(lost.iloc[0], 0.0))}"
    return Finding(title=title, text=" ".join(filter(None, sentences)))


def titan() -> Finding:
    """Return the evidence from Titan's cages and its limits."""
    top = tables.titan_ratios()
    ratios = [
        f"{name}s {value:.1f} times" if "error" in str(name) else f"GPUs off the bus {value:.1f} times"
        for name, value in top.items()
    ]
    return Finding(
        title=f"The warmest cage failed {top.min():.1f} to {top.max():.1f} times as often as the coolest",
        text=(
            f"Air rose through Titan's cabinets, so the top cage was the warmest: {listed(ratios)} "
            f"{{cite:p}}`ostrouchov2020`. Temperatures are not in the data, and many of these GPUs failed by one "
            f"corroding resistor. In other data centres errors grew with temperature or not at all, and node outages "
            f"did not grow {{cite:p}}`elsayed2012`."
        ),
    )


def warming(run: Scenario, frame: pd.DataFrame) -> Finding:
    """Return the effect of the assumed activation energy; ``frame`` as from ``tables.by_warming``."""
    by_case = frame[frame["warming_k"] == _WARMER_K].set_index("case")["ettr"]
    if not len(by_case) or np.ptp(by_case) < _VISIBLE:
        none = "In this run no failure is activated by heat"
        return Finding(none, f"{none}: it has no GPU failures.")
    costs = [f"{points(by_case.max() - ettr)} with {case}" for case, ettr in by_case.items() if by_case.max() > ettr]
    return Finding(
        title=f"{_WARMER_K:g} K cost between 0 and {points(float(np.ptp(by_case)))} of ETTR",
        text=(
            f"Suppose heat activates a share of the GPU failures with a given activation energy. Then running all dies "
            f"{_WARMER_K:g} K hotter costs {listed(costs)}. No published count separates GPU failures in training by "
            f"temperature, so these are assumptions, not an uncertainty interval."
        ),
    )


def exercises(run: Scenario) -> Finding:
    """Return an exercise."""
    return numbered_exercises(
        Exercise(
            "A better heat sink halves the swing. What does the afternoon cost a mean GPU then?",
            say("About half, {half:share}: leakage grows nearly in proportion, and the rest is a product.",
                half=tables.by_hand(run)["lost"] / 2),
        ),
    )  # fmt: skip
