"""What the chapter on heat says."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.curves import by_warming, cooling_at, hottest_day
from ettr.findings.words import Finding, count, duration, gpus, listed, number, pct, points
from ettr.scenario import Part, Scenario
from ettr.scenario.heat import Heat
from ettr.scenario.warmth import Warmth

_PLANTS = {
    "air_economiser": "outdoor air",
    "chiller": "chilled air",
    "cold_plate": "cold plates",
    "immersion": "immersion",
}
_HELD_BACK = {
    "clock": "its highest clock",
    "power": "the power limit",
    "heat": "the temperature of its die",
    "memory": "the temperature of its memory",
}
_SMALL = 5e-5
"""A share of throughput that no decimal of a percentage shows."""


def answer(run: Scenario) -> Finding:
    """What heat costs this run, in one paragraph."""
    heat, warmth = _heat(run), _warmth(run)
    losses = _day_losses(run)
    here = cooling_at(run).sort_values("effective")
    own = here[here["cooling"] == heat.cooling].iloc[0]
    best = here.iloc[-1]
    bought = f"No other kind of cooling in the table gives this run more than {_PLANTS[heat.cooling]}."
    if best["cooling"] != heat.cooling and best["effective"] - own["effective"] > 5e-4:
        bought = (
            f"{_capital(_PLANTS[best['cooling']])} instead of {_PLANTS[heat.cooling]} would raise ETTR times speed "
            f"from {pct(own['effective'])} to {pct(best['effective'])}, if the assumed figures hold."
        )
    beliefs = _at_warming(run, 10.0)
    unknown = ""
    if len(beliefs) > 1 and np.ptp(beliefs) > _SMALL:
        unknown = (
            f" What 10 K on every die would do to ETTR is not known: from nothing to "
            f"{points(beliefs.max() - beliefs.min())}, by what is believed about failures and heat."
        )
    hottest, part = warmth.hours["hottest_c"].max(), Part.load(heat.part)
    n_assumed = sum(origin.status == "assumed" for origin in part.evidence.values())
    return Finding(
        title=f"A hot afternoon costs {pct(losses['job'])} of throughput",
        text=(
            f"**Between the coolest and the hottest hour of the hottest day, *{run.title}* loses {pct(losses['job'])} "
            f"of its throughput, in a hall cooled by {_PLANTS[heat.cooling]}; a mean part alone would lose "
            f"{pct(losses['mean part'])}, but the job waits for the hottest of {count(run.cluster.n_gpus)}.** The "
            f"hottest die reaches {hottest:.0f} °C. {bought}{unknown} The part is taken as {part.title}, "
            f"with {n_assumed} of its {len(part.evidence)} figures assumed."
        ),
    )


def afternoon(run: Scenario) -> Finding:
    """Temperatures over the hottest day."""
    day, part = hottest_day(run), Part.load(_heat(run).part)
    outdoors, inlet, die = (np.ptp(day[name]) for name in ("ambient_c", "inlet_c", "die_c"))
    margin = part.limits.throttle_c - day["hottest_c"].max()
    close = f"{margin:.0f} K below the {part.limits.throttle_c:g} °C at which it throttles"
    if margin < 0.5:
        close = f"at the {part.limits.throttle_c:g} °C at which it throttles"
    flat = "The plant keeps the inlet constant: the afternoon does not reach the parts."
    follows = (
        f"Outdoors the day swings by {outdoors:.1f} K, the inlet by {inlet:.1f} K and the die of the mean part by "
        f"{die:.1f} K"
    )
    if inlet < outdoors - 0.1:
        follows += ", since the plant delivers nothing below its set point"
    return Finding(
        title=f"The hottest die ends {close}",
        text=f"{f'{follows}.' if inlet > 0.05 else flat} The hottest die of {count(run.cluster.n_gpus)} ends {close}.",
    )


def pace(run: Scenario) -> Finding:
    """Throughput over the hottest day."""
    losses, day = _day_losses(run), hottest_day(run)
    held = [_HELD_BACK[name] for name in dict.fromkeys(day["limited_by"])]
    if losses["job"] < _SMALL:
        return Finding(
            title="The afternoon costs no throughput",
            text=f"The pace is the same at every hour: the hottest part is held back by {listed(held)}.",
        )
    excess = losses["job"] - losses["mean part"]
    whose = (
        f"The job loses {points(excess)} more, since its hottest part sets the pace"
        if excess > 5e-4
        else "The job loses no more: none of its parts throttles"
    )
    return Finding(
        title=f"The job loses {pct(losses['job'])} by the hottest hour, the mean part {pct(losses['mean part'])}",
        text=(
            f"At the power limit a warmer die leaks more, so that less power is left for the clock: the mean part is "
            f"{pct(losses['mean part'])} slower at the hottest hour than at the coolest. {whose}; over the day that "
            f"part is held back by {listed(held)}. The mean over all hours is {pct(_warmth(run).speed)} of the "
            "observed speed."
        ),
    )


def swing(frame: pd.DataFrame, here: pd.DataFrame) -> Finding:
    """What it takes to lose one to two percent; ``frame`` as from ``curves.swing_for_loss``."""
    low, high = (evidence.figure(f"llama3_throughput_swing_{end}_pct").value for end in ("low", "high"))
    least, most = frame["low_k"].min(), frame["high_k"].max()
    own = here.iloc[0]
    near = frame.iloc[
        np.hypot(
            (frame["leakage_share"] - own["leakage_share"]) / 0.2, (frame["doubling_k"] - own["doubling_k"]) / 15
        ).argmin()
    ]
    return Finding(
        title=f"A loss of {low:g}% to {high:g}% can mean {least:.0f} K of die swing, or {most:.0f} K",
        text=(
            f"Llama 3 lost {low:g} to {high:g}% of throughput at midday {{cite:p}}`dubey2024`. With leakage of 5 to "
            f"25% of the power limit that doubles in 10 to 25 K, anything from {least:.1f} to {most:.1f} K of swing at "
            f"the die gives that. The part of this chapter leaks {pct(own['leakage_share'], 0)} and doubles in "
            f"{own['doubling_k']:.0f} K, which puts it at {near['low_k']:.1f} to {near['high_k']:.1f} K; its day "
            f"swings by {own['swing_k']:.1f} K. So the observation is consistent with the model, and no test of it: "
            f"five inputs are open and one number is known."
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
    """What the slowest of many costs; ``frame`` as from ``curves.pace_by_size``."""
    largest = frame[frame["n_gpus"] == frame["n_gpus"].max()].set_index("when")["speed"]
    one = frame[frame["n_gpus"] == frame["n_gpus"].min()].set_index("when")["speed"]
    cost = {when: 1 - largest[when] / one[when] for when in ("mean hour", "hottest hour")}
    throttled = frame[(frame["when"] == "hottest hour") & frame["limited_by"].isin(["heat", "memory"])]
    reach = "At no size shown does its hottest part throttle."
    if len(throttled):
        first = float(f"{throttled['n_gpus'].min():.2g}")
        start = (
            "Even a single part throttles" if first <= 1 else f"From about {gpus(first)} on its hottest part throttles"
        )
        reach = f"{start} at the hottest hour."
    return Finding(
        title=f"The hottest of {count(frame['n_gpus'].max())} costs {pct(cost['hottest hour'])} at the hottest hour",
        text=(
            f"A synchronous job goes as fast as its slowest part. Of {count(frame['n_gpus'].max())} parts the hottest "
            f"costs {pct(cost['mean hour'])} at a mean hour and {pct(cost['hottest hour'])} at the hottest, against a "
            f"job of one part. {reach} How far parts differ is assumed; a few bad heat sinks, swapped, would win most "
            "of it back."
        ),
    )


def climate(run: Scenario, frame: pd.DataFrame) -> Finding:
    """What cooling buys; ``frame`` as from ``curves.by_climate``."""
    ends = frame.groupby("cooling").agg(cold=("effective", "first"), hot=("effective", "last"))
    lost = (ends["cold"] - ends["hot"]).sort_values()
    hottest_c = frame["mean_c"].max()
    own = _PLANTS[_heat(run).cooling]
    losing_plants = [f"{_PLANTS[name]} {points(value)}" for name, value in lost[::-1].items() if value > 5e-4]
    told = listed(losing_plants)
    steady = [_PLANTS[name] for name, value in lost.items() if value <= 5e-4]
    never = f" {_capital(listed(steady))} loses nothing." if len(steady) == 1 else ""
    never = f" {_capital(listed(steady))} lose nothing." if len(steady) > 1 else never
    here = cooling_at(run)
    best = here.sort_values("effective").iloc[-1]
    mine = here[here["cooling"] == _heat(run).cooling].iloc[0]
    gain = (
        f"In this run's own weather {_PLANTS[best['cooling']]} give {pct(best['effective'])} and {own} "
        f"{pct(mine['effective'])}, of which {points(best['speed'] - mine['speed'])} are speed and "
        f"{points(best['ettr'] - mine['ettr'])} failures."
    )
    if best["cooling"] == _heat(run).cooling:
        gain = f"In this run's own weather {own} is the best of them, with {pct(best['effective'])}."
    losing = (
        f"From {frame['mean_c'].min():.0f} to {hottest_c:.0f} °C outdoors, {told} of ETTR times speed are lost."
        if losing_plants
        else ""
    )
    return Finding(
        title=f"At {hottest_c:.0f} °C outdoors, kinds of cooling differ by {points(np.ptp(ends['hot']))}",
        text=f"{losing}{never} {gain} Power for cooling, which differs more, is not in this figure.".strip(),
    )


def titan(frame: pd.DataFrame) -> Finding:
    """What Titan's cages say, and what they do not; ``frame`` as from ``curves.titan_cages``."""
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
    """What beliefs about failures and heat are worth; ``frame`` as from ``curves.by_warming``."""
    at = frame[frame["warming_k"] == 10]
    at = at if len(at) else frame[frame["warming_k"] == frame["warming_k"].max()]
    by_case = at.set_index("case")
    base = by_case["ettr"].max()
    costly = [f"{case}: {points(base - row.ettr)}" for case, row in by_case.iterrows() if base - row.ettr > _SMALL]
    told, warmer = listed(costly), at["warming_k"].iloc[0]
    if not costly:
        return Finding(
            title="In this scenario no failure is activated by heat",
            text="No failure of this scenario is put down to GPUs, so that none can be activated by heat.",
        )
    return Finding(
        title=f"{warmer:g} K cost between nothing and {points(base - by_case['ettr'].min())} of ETTR",
        text=(
            f"All dies {warmer:g} K warmer than where the failures were counted cost, at the best interval, {told}. "
            f"This run takes {number(run.heat_rate_factor)} times the observed failure rate in its own weather. No "
            f"published count separates failures by temperature for GPUs that train, so the lines are beliefs, not a "
            "band of uncertainty."
        ),
    )


def cycles(run: Scenario, frame: pd.DataFrame) -> Finding:
    """How deep the stops cool the parts; ``frame`` as from ``curves.stop_and_restart``."""
    swings = frame.groupby("medium", sort=False)["die_c"].agg(np.ptp)
    told = listed([f"{value:.0f} K by {medium.replace('_', ' ')}" for medium, value in swings.items()])
    wall_days = run.work_h / 24
    stops = wall_days * 24 / run.job_mttf_h if math.isfinite(run.job_mttf_h) else 0.0
    smallest, largest = swings.min(), swings.max()
    law = ""
    if len(swings) > 1 and smallest > 0:
        law = (
            f" By Coffin and Manson with an exponent of 2, the deepest swing wears joints "
            f"{number((largest / smallest) ** 2)} times as fast as the shallowest."
        )
    met = f"{count(stops)} times in its {number(wall_days)} days of training" if stops >= 1 else "hardly ever"
    return Finding(
        title=f"A stop of {duration(run.recovery_h)} cools the dies by {told}",
        text=(
            f"In the {duration(run.recovery_h)} of a mean recovery the mean die cools by {told}. This run stops for a "
            f"failure {met}, and every stop is such a cycle.{law} How many failures are due to cycles is not "
            f"published: the share is a field of the scenario, `cycle_share`, and 0 unless it is set."
        ),
    )


def hazard_laws(frame: pd.DataFrame, reference_c: float) -> Finding:
    """What the laws give for 10 K; ``frame`` as from ``curves.laws``."""
    ten = frame.assign(off=(frame["die_c"] - reference_c - 10).abs())
    at = ten.loc[ten.groupby("law", sort=False)["off"].idxmin()]
    told = listed([f"{row.law}: {row.factor:.2f}" for row in at.itertuples() if row.law != "no effect"])
    return Finding(
        title=f"Ten kelvins multiply failures by 1 to {at['factor'].max():.1f}, by law",
        text=(
            f"For 10 K over {reference_c:.0f} °C the laws in use multiply the rate of the failures that heat "
            f"activates: {told}. Which law and energy a failure follows depends on its mechanism; for software, cables "
            f"and switches it is none."
        ),
    )


def _day_losses(run: Scenario) -> dict[str, float]:
    """Share of the best hour's throughput that the worst hour of the hottest day lacks."""
    day = hottest_day(run)
    columns = {"mean part": day["mean_speed"], "job": day["speed"]}
    return {name: float(1 - speeds.min() / speeds.max()) for name, speeds in columns.items()}


def _at_warming(run: Scenario, warming_k: float) -> pd.Series:
    return by_warming(run, [warming_k])["ettr"]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _heat(run: Scenario) -> Heat:
    assert run.heat is not None
    return run.heat


def _warmth(run: Scenario) -> Warmth:
    assert run.warmth is not None
    return run.warmth
