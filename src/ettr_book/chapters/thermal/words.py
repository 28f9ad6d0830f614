"""Sentences of the chapter on heat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.core.sentences import Finding, capital, count, listed, pct, points, say
from ettr_book.chapters.common.exercises import Exercise, exercises
from ettr_book.chapters.thermal import tables
from ettr_book.chapters.thermal.tables import PLANTS, gpu_of, heat_of, hottest_day

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_VISIBLE = 5e-4
"""A difference in throughput that a tenth of a percent shows."""
_WARMER_K = 10.0
"""A warming that is spoken of."""


def answer(run: Scenario) -> Finding:
    """What heat costs this run."""
    losses, gpu = tables.day_losses(run), gpu_of(run)
    beliefs = tables.by_warming(run, [_WARMER_K])["ettr"]
    statuses = gpu.to_frame()["status"]
    hot = losses["job"] if losses["job"] > _VISIBLE else None
    slower = say("loses {#hot_afternoon:share} of its throughput", "loses no throughput", hot_afternoon=hot)
    assumed = int((statuses == "assumed").sum())
    first = (
        f"**On the hottest afternoon the run {slower}, as its hottest GPU sets the pace; what heat does to failures is "
        f"not known.**"
    )
    texts = [
        first,
        f"{assumed} of the {len(statuses)} figures of the GPU ({gpu.title}) are assumed, and so is the climate.",
        say(
            "Ten kelvins more on every die would cost from nothing to {most:points} of ETTR, by what one believes of "
            "heat and failures.",
            most=float(np.ptp(beliefs)) or None,
        ),
        _bought(run),
    ]
    return Finding(
        title=say(
            "A hot afternoon costs {job:share} of throughput; 10 K more, nothing to {most:points} of ETTR",
            "A hot afternoon costs {job:share} of throughput",
            job=losses["job"],
            most=float(np.ptp(beliefs)) or None,
        ),
        text=" ".join(filter(None, texts)),
    )


def _bought(run: Scenario) -> str:
    """What another kind of cooling would give, from the ETTR of all other pages."""
    own_name, here = heat_of(run).cooling, tables.cooling_at(run).sort_values("effective")
    own, best = here[here["cooling"] == own_name].iloc[0], here.iloc[-1]
    if best["effective"] - own["effective"] <= _VISIBLE:
        return f"No other kind of cooling that the GPU has figures for gives this run more than {PLANTS[own_name]}."
    return say(
        "{best} instead of {own} would gain {speed:points} in speed and {ettr:points} in ETTR, if what is assumed "
        "holds.",
        best=capital(PLANTS[best["cooling"]]),
        own=PLANTS[own_name],
        speed=best["speed"] - own["speed"],
        ettr=best["ettr"] - own["ettr"],
    )


def by_hand(run: Scenario) -> Finding:
    """What a warm afternoon takes from the clock, in three lines."""
    return Finding(
        "By hand",
        say(
            "- The mean die swings by {swing_k:about} K over the hottest day, and its leakage of {leakage_w:about} W "
            "grows by {more_w:about} W.\n"
            "- That is {less:share} of the {power_w:about} W that compute at the power limit. Power goes with the "
            "clock to the {exponent:about}: the clock falls by {less:share} / {exponent:about} = {clock:share}.\n"
            "- {compute_share:share0} of a step follows the clock: {lost:share} of throughput.\n\n"
            "The model says {exact:share} for a mean GPU, and more for the hottest.",
            exact=tables.day_losses(run)["mean GPU"],
            **tables.by_hand(run),
        ),
    )


def afternoon(run: Scenario) -> Finding:
    """Temperatures and pace over the hottest day."""
    day, losses = hottest_day(run), tables.day_losses(run)
    outdoors, inlet, die = (float(np.ptp(day[name])) for name in ("ambient_c", "inlet_c", "die_c"))
    follows = "The inlet is as warm at every hour: the afternoon does not reach the GPUs."
    if inlet >= 0.05:
        follows = f"Outdoors the day swings by {outdoors:.0f} K, the die of a mean GPU by {die:.0f} K."
    waits = ""
    if losses["job"] - losses["mean GPU"] > _VISIBLE:
        waits = (
            f" A mean GPU is {pct(losses['mean GPU'])} slower at the hottest hour; the job loses {pct(losses['job'])}, "
            f"as it waits for the hottest of {count(run.cluster.n_gpus)}."
        )
    return Finding(
        title=_hottest(run, day),
        text=f"{follows}{waits} Llama 3 lost 1 to 2% at midday {{cite:p}}`dubey2024`: the model can give that, so "
        f"could many others, for five of its inputs are open.",
    )


def _hottest(run: Scenario, day: pd.DataFrame) -> str:
    """How near to its limits the hottest GPU comes."""
    limits, held, hottest = gpu_of(run).limits, set(day["limited_by"]), day["hottest_c"].max()
    if "memory" in held and "heat" not in held:
        return f"The hottest die ends at {hottest:.0f} °C, where its memory throttles the GPU"
    margin = limits.throttle_c - hottest
    close = "at" if margin < 0.5 else f"{margin:.0f} K below"
    return f"The hottest die ends {close} the {limits.throttle_c:g} °C at which it throttles"


def climate(frame: pd.DataFrame) -> Finding:
    """What cooling buys; ``frame`` as from ``tables.by_climate``."""
    coldest_c, hottest_c = frame["mean_c"].min(), frame["mean_c"].max()
    ends = frame.groupby("cooling").agg(cold=("effective", "first"), hot=("effective", "last"), until=("mean_c", "max"))
    whole = ends[ends["until"] > hottest_c - 0.1]
    lost = (whole["cold"] - whole["hot"]).sort_values()
    losing = [f"{points(value)} with {PLANTS[str(name)]}" for name, value in lost[::-1].items() if value > _VISIBLE]
    steady = [PLANTS[str(name)] for name, value in lost.items() if value <= _VISIBLE]
    sentences = [
        f"From {coldest_c:.0f} to {hottest_c:.0f} °C outdoors ETTR times speed falls by {listed(losing)}."
        if losing
        else "",
        f"With {listed(steady)} it loses nothing." if steady else "",
        *(
            f"Above {row.until:.0f} °C {PLANTS[str(name)]} would leave the hottest GPU no power to compute with."
            for name, row in ends[ends["until"] <= hottest_c - 0.1].iterrows()
        ),
        "Much of it is what heat is taken to do to failures. Power for cooling is not in it.",
    ]
    title = f"At {hottest_c:.0f} °C outdoors, kinds of cooling differ by {points(float(np.ptp(whole['hot'])))}"
    if len(whole) == 1:
        title = f"From {coldest_c:.0f} to {hottest_c:.0f} °C outdoors the run loses {points(max(lost.iloc[0], 0.0))}"
    return Finding(title=title, text=" ".join(filter(None, sentences)))


def titan() -> Finding:
    """What Titan's cages say, and what they do not."""
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
            f"did not {{cite:p}}`elsayed2012`."
        ),
    )


def warming(run: Scenario, frame: pd.DataFrame) -> Finding:
    """What beliefs about failures and heat are worth; ``frame`` as from ``tables.by_warming``."""
    by_case = frame[frame["warming_k"] == _WARMER_K].set_index("case")["ettr"]
    if not len(by_case) or np.ptp(by_case) < _VISIBLE:
        none = "In this run no failure is activated by heat"
        return Finding(none, f"{none}: none is put down to GPUs.")
    costs = [f"{points(by_case.max() - ettr)} with {case}" for case, ettr in by_case.items() if by_case.max() > ettr]
    return Finding(
        title=f"{_WARMER_K:g} K cost between nothing and {points(float(np.ptp(by_case)))} of ETTR",
        text=(
            f"Say heat activates some share of the GPU failures, with some energy. Then {_WARMER_K:g} K more on all "
            f"dies than where the failures were counted cost {listed(costs)}. No published count separates failures of "
            f"GPUs in training by temperature, so these are beliefs, not a band of uncertainty."
        ),
    )


def asked(run: Scenario) -> Finding:
    """An exercise."""
    return exercises(
        Exercise(
            "A heat sink with half the swing: what does the afternoon cost a mean GPU then?",
            say("About half: leakage grows nearly in proportion, and everything after it is a product. {half:share}.",
                half=tables.by_hand(run)["lost"] / 2),
        ),
    )  # fmt: skip
