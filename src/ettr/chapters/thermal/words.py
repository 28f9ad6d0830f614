"""Sentences of the chapter on heat."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.chapters.thermal.failure_tables import by_warming
from ettr.chapters.thermal.tables import (
    LARGEST_JOB,
    PLANTS,
    cooling_at,
    gpu_of,
    heat_of,
    heat_response_of,
    hottest_day,
    hours_of,
    observed_swing,
    plant_limits,
)
from ettr.core.sentences import Finding, capital, count, duration, gpus, listed, number, pct, points

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_HELD_BACK = {
    "clock": "its highest clock",
    "power": "the power limit",
    "heat": "the temperature of its die",
    "memory": "the temperature of its memory",
}
_VISIBLE = 5e-4
"""A difference in throughput that a tenth of a percent shows."""
_SMALL = 5e-5
"""A share of throughput that no decimal of a percentage shows."""


def answer(run: Scenario) -> Finding:
    """What heat costs this run, in one paragraph."""
    heat, losses = heat_of(run), _day_losses(run)
    beliefs = _at_warming(run, 10.0)
    unknown = ""
    if len(beliefs) > 1 and np.ptp(beliefs) > _SMALL:
        unknown = (
            f" What 10 K on every die would do to ETTR is not known: from nothing to "
            f"{points(beliefs.max() - beliefs.min())}, by what is believed about failures and heat."
        )
    hottest, gpu = hours_of(run)["hottest_c"].max(), gpu_of(run)
    statuses = gpu.to_frame()["status"]
    title = f"A hot afternoon costs {pct(losses['job'])} of throughput"
    waits = f"a mean GPU alone would lose {pct(losses['mean GPU'])}"
    if losses["job"] - losses["mean GPU"] > _VISIBLE:
        waits += f", but the job waits for the hottest of {count(run.cluster.n_gpus)}"
    lost = (
        f"**Between the coolest and the hottest hour of the hottest day, *{run.title}* loses {pct(losses['job'])} "
        f"of its throughput, in a hall cooled by {PLANTS[heat.cooling]}; {waits}.**"
    )
    if losses["job"] < _SMALL:
        title = "A hot afternoon costs no throughput"
        lost = f"***{run.title}* is as fast at every hour of the hottest day, cooled by {PLANTS[heat.cooling]}.**"
    return Finding(
        title=title,
        text=(
            f"{lost} The hottest die reaches {hottest:.0f} °C. {_bought(run)}{unknown} The GPU is taken as "
            f"{gpu.title}, with {(statuses == 'assumed').sum()} of its {len(statuses)} figures assumed."
        ),
    )


def _bought(run: Scenario) -> str:
    """What another kind of cooling would give."""
    own_name, here = heat_of(run).cooling, cooling_at(run).sort_values("effective")
    own, best = here[here["cooling"] == own_name].iloc[0], here.iloc[-1]
    if len(here) == 1:
        return f"The GPU has figures for no way of cooling but {PLANTS[own_name]}."
    if best["effective"] - own["effective"] <= _VISIBLE:
        return f"No other kind of cooling that the GPU has figures for gives this run more than {PLANTS[own_name]}."
    return (
        f"{capital(PLANTS[best['cooling']])} instead of {PLANTS[own_name]} would raise ETTR times speed "
        f"from {pct(own['effective'])} to {pct(best['effective'])}, if the assumed figures hold."
    )


def afternoon(run: Scenario) -> Finding:
    """Temperatures over the hottest day."""
    day = hottest_day(run)
    outdoors, inlet, die = (np.ptp(day[name]) for name in ("ambient_c", "inlet_c", "die_c"))
    title, ends = _ends(run, day)
    if outdoors < 0.05:
        follows = "Outdoors it is as warm at every hour."
    elif inlet < 0.05:
        follows = "The plant keeps the inlet constant: the afternoon does not reach the GPUs."
    else:
        follows = (
            f"Outdoors the day swings by {outdoors:.1f} K, the inlet by {inlet:.1f} K and the die of the mean GPU by "
            f"{die:.1f} K{_since(run, day)}."
        )
    return Finding(title=title, text=f"{follows} {ends}")


def _since(run: Scenario, day: pd.DataFrame) -> str:
    """Why the inlet does not follow the air, where it does not."""
    why = plant_limits(run, day)
    return f", since {listed(why)}" if why else ""


def _ends(run: Scenario, day: pd.DataFrame) -> tuple[str, str]:
    """How near to its limits the hottest GPU comes, as title and sentence."""
    limits, held = gpu_of(run).limits, set(day["limited_by"])
    whose, hottest = f"The hottest die of {count(run.cluster.n_gpus)}", day["hottest_c"].max()
    margin = limits.throttle_c - hottest
    throttles = f"the {limits.throttle_c:g} °C at which it throttles"
    if "memory" in held and "heat" not in held:
        return (
            f"The hottest die ends at {hottest:.0f} °C, where its memory throttles the GPU",
            f"{whose} ends at {hottest:.1f} °C, below {throttles}, but its memory reaches the {limits.memory_c:g} °C "
            "that lower clocks keep.",
        )
    close = f"at {throttles}" if margin < 0.5 else f"{margin:.0f} K below {throttles}"
    return f"The hottest die ends {close}", f"{whose} ends {close}."


def pace(run: Scenario) -> Finding:
    """Throughput over the hottest day."""
    losses, day = _day_losses(run), hottest_day(run)
    held = [_HELD_BACK[name] for name in dict.fromkeys(day["limited_by"])]
    if losses["job"] < _SMALL:
        return Finding(
            title="The afternoon costs no throughput",
            text=f"The pace is the same at every hour: the hottest GPU is held back by {listed(held)}.",
        )
    excess = losses["job"] - losses["mean GPU"]
    throttled = not {"heat", "memory"}.isdisjoint(day["limited_by"])
    whose = f"The job loses no more{'' if throttled else ': none of its GPUs throttles'}"
    if excess > _VISIBLE:
        whose = f"The job loses {points(excess)} more, since its hottest GPU sets the pace"
    return Finding(
        title=f"The job loses {pct(losses['job'])} by the hottest hour, the mean GPU {pct(losses['mean GPU'])}",
        text=(
            f"A warmer die leaks more{', and one that throttles draws less' if throttled else ''}, so that less power "
            f"is left for the clock: the mean GPU is {pct(losses['mean GPU'])} slower at the hottest hour than at "
            f"the coolest. {whose}; over the day that GPU is held back by {listed(held)}. The mean over all hours is "
            f"{pct(heat_response_of(run).speed)} of the observed speed."
        ),
    )


def swing(frame: pd.DataFrame, here: pd.DataFrame) -> Finding:
    """What it takes to lose one to two percent; as from ``tables.swing_for_loss`` and ``tables.swing_here``."""
    observed = observed_swing()
    low, high = observed.low_pct, observed.high_pct
    least, most, own = frame["low_k"].min(), frame["high_k"].max(), here.iloc[0]
    shares, doublings = frame["leakage_share"], frame["doubling_k"]
    leaks = "leaks nothing, or does nothing that follows the clock, so that no swing would do it"
    if math.isfinite(own["high_k"]):
        leaks = (
            f"leaks {pct(own['leakage_share'], 0)} and doubles in {own['doubling_k']:.0f} K, which puts it at "
            f"{own['low_k']:.1f} to {own['high_k']:.1f} K"
        )
    verdict = "So this day gives another loss than the one observed, which does not refute the model"
    if own["low_k"] <= own["swing_k"] <= own["high_k"]:
        verdict = "So the observation is consistent with the model, and no test of it"
    return Finding(
        title=f"A loss of {low:g}% to {high:g}% can mean {least:.0f} K of die swing, or {most:.0f} K",
        text=(
            f"Llama 3 lost {low:g} to {high:g}% of throughput at midday {{cite:p}}`dubey2024`. With leakage of "
            f"{100 * shares.min():.0f} to {pct(shares.max(), 0)} of the power limit that doubles in "
            f"{doublings.min():g} to {doublings.max():g} K, anything from {least:.1f} to {most:.1f} K of swing at the "
            f"die gives that. The GPU of this chapter {leaks}; its day swings by {own['swing_k']:.1f} K. "
            f"{verdict}: five inputs are open and one number is known."
        ),
    )


def validated(rows: pd.DataFrame) -> Finding:
    """What the model gives for the swing that Llama 3 reported; ``rows`` as from :func:`ettr.validation.run`."""
    row = rows.set_index("result_id").loc["llama3-diurnal"]
    inputs = json.loads(row["inputs"])
    return Finding(
        title=f"{inputs['warming_k']:g} K give {pct(row['computed'], 2)}: {row['verdict']}",
        text=(
            f"As an example, {inputs['warming_k']:g} K of swing with {inputs['leakage_w']:g} of {inputs['limit_w']:g} "
            f"W leaking give {pct(row['computed'], 2)}. The verdict in {{doc}}`../reference/validation` is "
            f"{row['verdict']}: these inputs were chosen with the published range in view."
        ),
    )


def by_size(frame: pd.DataFrame) -> Finding:
    """What the slowest of many costs; ``frame`` as from ``tables.pace_by_size``."""
    largest = frame[frame["n_gpus"] == frame["n_gpus"].max()].set_index("when")["speed"]
    one = frame[frame["n_gpus"] == frame["n_gpus"].min()].set_index("when")["speed"]
    cost = {when: 1 - largest[when] / one[when] for when in ("mean hour", "hottest hour")}
    throttled = frame[(frame["when"] == "hottest hour") & frame["limited_by"].isin(["heat", "memory"])]
    reach = "At no size shown does its hottest GPU throttle."
    if len(throttled):
        first = float(f"{throttled['n_gpus'].min():.2g}")
        start = (
            "Even a single GPU throttles" if first <= 1 else f"From about {gpus(first)} on its hottest GPU throttles"
        )
        reach = f"{start} at the hottest hour."
    if frame["n_gpus"].max() < LARGEST_JOB:
        reach += f" Of {count(LARGEST_JOB)} the hottest would have no power left to compute with."
    return Finding(
        title=f"The hottest of {count(frame['n_gpus'].max())} costs {pct(cost['hottest hour'])} at the hottest hour",
        text=(
            f"A synchronous job goes as fast as its slowest GPU. Of {count(frame['n_gpus'].max())} GPUs the hottest "
            f"costs {pct(cost['mean hour'])} at a mean hour and {pct(cost['hottest hour'])} at the hottest, against a "
            f"job of one GPU. {reach} How far GPUs differ is assumed; a few bad heat sinks, swapped, would win most "
            "of it back."
        ),
    )


def climate(run: Scenario, frame: pd.DataFrame) -> Finding:
    """What cooling buys; ``frame`` as from ``tables.by_climate``."""
    coldest_c, hottest_c = frame["mean_c"].min(), frame["mean_c"].max()
    ends = frame.groupby("cooling").agg(cold=("effective", "first"), hot=("effective", "last"), until=("mean_c", "max"))
    whole = ends[ends["until"] > hottest_c - 0.1]
    lost = (whole["cold"] - whole["hot"]).sort_values()
    losing = [f"{PLANTS[name]} {points(value)}" for name, value in lost[::-1].items() if value > _VISIBLE]
    steady = [PLANTS[name] for name, value in lost.items() if value <= _VISIBLE]
    sentences = [
        f"From {coldest_c:.0f} to {hottest_c:.0f} °C outdoors, {listed(losing)} of ETTR times speed are lost."
        if losing
        else "",
        f"{capital(listed(steady))} {'loses' if len(steady) == 1 else 'lose'} nothing." if steady else "",
        *(
            f"Above {row.until:.0f} °C {PLANTS[name]} would leave the hottest GPU no power to compute with."
            for name, row in ends[ends["until"] <= hottest_c - 0.1].iterrows()
        ),
        _in_own_weather(run),
        "Power for cooling is not in this figure.",
    ]
    title = f"At {hottest_c:.0f} °C outdoors, kinds of cooling differ by {points(np.ptp(whole['hot']))}"
    if len(whole) == 1:
        title = (
            f"From {coldest_c:.0f} to {hottest_c:.0f} °C outdoors, the run loses {points(max(lost.iloc[0], 0.0))} with "
            f"{PLANTS[lost.index[0]]}"
        )
    return Finding(title=title, text=" ".join(filter(None, sentences)))


def _in_own_weather(run: Scenario) -> str:
    """The run's kind of cooling against the best of them."""
    here, own = cooling_at(run), heat_of(run).cooling
    best = here.sort_values("effective").iloc[-1]
    mine = here[here["cooling"] == own].iloc[0]
    if best["effective"] - mine["effective"] <= _VISIBLE:
        return f"In this run's own weather ETTR times speed is {pct(mine['effective'])} with {PLANTS[own]}" + (
            ", and no kind gives more." if len(here) > 1 else "."
        )
    return (
        f"In this run's own weather ETTR times speed is {pct(best['effective'])} with {PLANTS[best['cooling']]} and "
        f"{pct(mine['effective'])} with {PLANTS[own]}: a difference of {points(best['speed'] - mine['speed'])} in "
        f"speed and {points(best['ettr'] - mine['ettr'])} in ETTR."
    )


def titan(frame: pd.DataFrame) -> Finding:
    """What Titan's cages say, and what they do not; ``frame`` as from ``failure_tables.titan_cages``."""
    top = frame[frame["cage"] == frame["cage"].max()].set_index("failure")["ratio"]
    ratios = listed(
        [f"{name}s {value:.2f}" if "error" in name else f"GPUs off the bus {value:.2f}" for name, value in top.items()]
    )
    return Finding(
        title=f"Titan's top cage: {listed([f'{value:.2f}' for value in top])} times the failures of the bottom one",
        text=(
            f"Air rose through Titan's cabinets, so that the top cage was the warmest. Its rates over those of the "
            f"bottom cage: {ratios} {{cite:p}}`ostrouchov2020`. Temperatures are not in the data, and many of these "
            f"GPUs failed by the corrosion of one resistor, so that no law of temperature follows. In other data "
            f"centres errors grew linearly with temperature or not at all, and node outages did not "
            f"{{cite:p}}`elsayed2012`."
        ),
    )


def warming(run: Scenario, frame: pd.DataFrame) -> Finding:
    """What beliefs about failures and heat are worth; ``frame`` as from ``failure_tables.by_warming``."""
    at = frame[frame["warming_k"] == 10]
    at = at if len(at) else frame[frame["warming_k"] == frame["warming_k"].max()]
    by_case = at.set_index("case")
    base = by_case["ettr"].max()
    costly = [f"{case}: {points(base - row.ettr)}" for case, row in by_case.iterrows() if base - row.ettr > _SMALL]
    costs, warmer = listed(costly), at["warming_k"].iloc[0]
    if not costly:
        return Finding(
            title="In this scenario no failure is activated by heat",
            text="No failure of this scenario is put down to GPUs, so that none can be activated by heat.",
        )
    return Finding(
        title=f"{warmer:g} K cost between nothing and {points(base - by_case['ettr'].min())} of ETTR",
        text=(
            f"All dies {warmer:g} K warmer than where the failures were counted cost, at the best interval, {costs}. "
            f"This run takes {number(run.heat_rate_factor)} times the observed failure rate in its own weather. No "
            f"published count separates failures by temperature for GPUs that train, so the lines are beliefs, not a "
            "band of uncertainty."
        ),
    )


def cycles(run: Scenario, frame: pd.DataFrame) -> Finding:
    """How deep the stops cool the GPUs; ``frame`` as from ``failure_tables.stop_and_restart``."""
    swings = frame.groupby("medium", sort=False)["die_c"].agg(np.ptp)
    depths = listed([f"{value:.0f} K by {medium.replace('_', ' ')}" for medium, value in swings.items()])
    stop_h, wall_days = max(run.recovery_h, 1 / 60), run.work_h / 24
    stops = run.work_h / run.job_mttf_h if math.isfinite(run.job_mttf_h) else 0.0
    smallest, largest = swings.min(), swings.max()
    law = ""
    if len(swings) > 1 and smallest > 0:
        law = (
            f" By Coffin and Manson with an exponent of 2, the deepest swing wears joints "
            f"{number((largest / smallest) ** 2)} times as fast as the shallowest."
        )
    met = f"{count(stops)} times in its {number(wall_days)} days of training" if stops >= 1 else "hardly ever"
    return Finding(
        title=f"A stop of {duration(stop_h)} cools the dies by {depths}",
        text=(
            f"In the {duration(stop_h)} of a mean recovery the mean die cools by {depths}. This run stops for a "
            f"failure {met}, and every stop is such a cycle.{law} How many failures are due to cycles is not "
            f"published: the share is a field of the scenario, `cycle_share`, and 0 unless it is set."
        ),
    )


def hazard_laws(frame: pd.DataFrame, reference_c: float) -> Finding:
    """What the laws give for 10 K; ``frame`` as from ``failure_tables.laws``."""
    ten = frame.assign(off=(frame["die_c"] - reference_c - 10).abs())
    at = ten.loc[ten.groupby("law", sort=False)["off"].idxmin()]
    laws = listed([f"{row.law}: {row.factor:.2f}" for row in at.itertuples() if row.law != "no effect"])
    return Finding(
        title=f"Ten kelvins multiply failures by 1 to {at['factor'].max():.1f}, by law",
        text=(
            f"For 10 K over {reference_c:.0f} °C the laws in use multiply the rate of the failures that heat "
            f"activates: {laws}. Which law and energy a failure follows depends on its mechanism; for software, cables "
            f"and switches it is none."
        ),
    )


def _day_losses(run: Scenario) -> dict[str, float]:
    """Share of the best hour's throughput that the worst hour of the hottest day lacks."""
    day = hottest_day(run)
    columns = {"mean GPU": day["mean_speed"], "job": day["speed"]}
    return {name: float(1 - speeds.min() / speeds.max()) for name, speeds in columns.items()}


def _at_warming(run: Scenario, warming_k: float) -> pd.Series:
    return by_warming(run, [warming_k])["ettr"]
