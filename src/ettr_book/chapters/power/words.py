"""Text of the chapter on power: a day, failures, the cost of smoothing, and waste."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ettr.core.sentences import (
    Finding,
    about,
    capital,
    count,
    duration,
    gpus,
    limit,
    listed,
    megawatts,
    pct,
    say,
)
from ettr.core.units import S_PER_H
from ettr_book.chapters.common.exercises import Exercise, numbered_exercises
from ettr_book.chapters.power import tables

if TYPE_CHECKING:
    from ettr.power import Metrics, PowerSeries, Profile, Target

_UNITS = {"of rated": "of the rated power", "J/GPU": "J per GPU"}


def answer(day: PowerSeries, metrics: Metrics, bill: pd.DataFrame, options: pd.DataFrame) -> Finding:
    """Return the power swings at the grid and the cost of smoothing.

    Parameters
    ----------
    day : PowerSeries
        Power at the grid, in seconds.
    metrics : Metrics
        Metrics of that day.
    bill : DataFrame
        As from ``tables.a_year``.
    options : DataFrame
        As from :func:`ettr.power.compare`.
    """
    assert day.profile is not None
    lost = bill[bill["wasted"]]
    values = {"mean": day.mean_mw, "swing": metrics.swing_mw, "low": metrics.lowest_mw, "high": metrics.peak_mw}
    waste = say(
        "Lost hours waste {electricity:usd} of electricity per year, and {#lost_usd_year:usd} of GPU-hours.",
        "No hour is lost.",
        electricity=float(lost["electricity_usd"].sum()) or None,
        lost_usd_year=float(lost["gpu_usd"].sum()) or None,
    )
    return Finding(
        title=say("{mean:mw} on average, and a swing of {swing:mw} within seconds", **values),
        text=say(
            "**{size} {draw} {#mean_power:mw} on average, and between {low:mw} and {high:mw} in single seconds.** Most "
            "power levels are assumed; computing and idling are measured. {waste} {cheapest}",
            size=capital(gpus(day.profile.n_gpus)),
            draw="draw" if day.profile.n_gpus > 1 else "draws",
            mean_power=day.mean_mw,
            low=metrics.lowest_mw,
            high=metrics.peak_mw,
            waste=waste,
            cheapest=_cheapest(options),
        ),
    )


def _cheapest(options: pd.DataFrame) -> str:
    priced = options[options["reached"] & options["total_usd"].notna()].sort_values("total_usd")
    if priced.empty:
        return "No option with a known price keeps the swing within the target."
    first = priced.iloc[0]
    return say(
        "Keeping the swing within the target costs {cost:usd} per year with {name}.",
        cost=first["total_usd"],
        name=_article(first["option"]),
    )


def by_hand(profile: Profile, day: PowerSeries) -> Finding:
    """Return the mean power and its drop at a failure in three lines of arithmetic."""
    return Finding(
        "By hand",
        say(
            "- A GPU draws {busy_w:about} W on average over a step, and its other components {other_w:about} W.\n"
            "- {n_gpus:count} × {both_w:about} W × {pue:about} for cooling and losses = {training_mw:mw} while "
            "it trains.\n"
            "- When one GPU fails, all others wait at {waiting_w:about} W: {n_gpus:count} × {less_w:about} W = "
            "{fall_mw:mw} less than the mean of a step.\n\n"
            "The simulated day has a mean of {mean:mw}, because it includes lost time.",
            mean=day.mean_mw,
            **tables.by_hand(profile),
        ),
    )


def day(series: PowerSeries, metrics: Metrics, events: pd.DataFrame) -> Finding:
    """Return a summary of one day; ``events`` as from ``tables.stops_of_day``."""
    counted = events["what"].value_counts()
    failed, planned = int(counted.get("failure", 0)), int(counted.get("maintenance", 0))
    stops = [
        f"{count(n)} {what}{'' if n == 1 else 's'}" for n, what in ((failed, "failure"), (planned, "planned stop")) if n
    ]
    ups, downs = metrics.ramp_up_1min_mw_per_min, metrics.ramp_down_1min_mw_per_min
    ramps = (
        f" From one minute to the next it falls by up to {megawatts(about(downs))} and rises by up to "
        f"{megawatts(about(ups))}."
        if ups is not None and downs is not None
        else ""
    )
    hours = duration(series.duration_h)
    return Finding(
        title=f"In {hours}: {listed(stops)}, and a swing of {megawatts(about(metrics.swing_mw))}"
        if stops
        else f"{hours} without a stop",
        text=(
            f"The highest second takes {megawatts(about(metrics.peak_mw))} and the lowest "
            f"{megawatts(about(metrics.lowest_mw))}.{ramps}"
        ),
    )


def moment(frame: pd.DataFrame) -> Finding:
    """Return a failure without smoothing and with each option; ``frame`` as from ``tables.smoothed_moment``."""
    bare = frame.loc[frame["option"] == tables.BARE, "power_mw"]
    return Finding(
        title=say("A failure drops the power from {high:mw} to {low:mw} at once", high=bare.max(), low=bare.min()),
        text="All GPUs wait for the failed one. To smooth such a fast change, a power floor burns energy and a battery "
        "stores it.",
    )


def _article(option: str) -> str:
    return _UNCOUNTED.get(option) or f"a{'n' if option[0] in 'aeiou' else ''} {option}"


_UNCOUNTED = {"rack storage": "storage in the rack"}


def options(table: pd.DataFrame, target: Target, series: PowerSeries) -> Finding:
    """Return the options at the same target; ``table`` as from :func:`ettr.power.compare`."""
    assert series.profile is not None
    reached = table[table["reached"]].sort_values("total_usd")
    failing = " ".join(
        f"{capital(_article(row.option))} misses the target: {row.why}."
        for row in table[~table["reached"]].itertuples()
    )
    requirement = say(
        "The target is a swing of at most {mw:mw} within {window:roughly}.",
        mw=target.range_share * series.profile.rated_mw,
        window=target.window_s / S_PER_H,
    )
    if reached.empty:
        return Finding(title="No option meets the target", text=f"{requirement} {failing}")
    cheapest, clauses = reached.iloc[0], [_reaching(row) for row in reached.itertuples()]
    return Finding(
        title=f"{capital(_article(cheapest['option']))} is the cheapest option that meets the target"
        if pd.notna(cheapest["total_usd"])
        else "The options that meet the target have no published price",
        text=f"{requirement} {capital('; '.join(clauses))}. {failing}",
    )


def _reaching(row: Any) -> str:
    size, unit = (1e3 * row.size, "kWh") if row.size_unit == "MWh" and row.size < 0.1 else (row.size, row.size_unit)
    needed = pct(size, 0) if unit == "of rated" else limit(about(size), "at least")
    cost = say("costs {cost:usd} per year", "has no published price", cost=row.total_usd)
    lost = f" and {pct(row.throughput_loss)} of the throughput" if row.throughput_loss > 0 else ""
    return (
        f"{_article(row.option)} needs {needed} {_UNITS.get(unit, unit)}, wastes {pct(row.wasted_share)} of the "
        f"energy{lost}, and {cost}"
    )


def bill(table: pd.DataFrame, carbon: pd.DataFrame) -> Finding:
    """Return the yearly cost of the lost hours.

    Parameters
    ----------
    table : DataFrame
        As from ``tables.a_year``.
    carbon : DataFrame
        As from :func:`ettr.power.carbon_by_country`, for all its energy.
    """
    lost = table[table["wasted"]]
    if lost.empty:
        return Finding(title="No hour is lost", text="The run trains from beginning to end, so nothing is wasted.")
    electricity, bought = lost["electricity_usd"].sum(), lost["gpu_usd"].sum()
    share, energy_share = (lost[name].sum() / table[name].sum() for name in ("hours", "facility_mwh"))
    highest, lowest = carbon.iloc[0], carbon.iloc[-1]
    return Finding(
        title=say(
            "Lost hours cost {bought:usd} of GPU-hours per year, and {electricity:usd} of electricity",
            bought=bought,
            electricity=electricity,
        ),
        text=say(
            "{#lost_share:share} of the hours are lost, but only {energy:share} of the energy, because a waiting job "
            "draws less. The largest part is {part}. A year of this job emits {lowest_t:about} t of CO2 on the grid of "
            "{lowest}, {highest_t:about} t on the grid of {highest}.",
            lost_share=share,
            energy=energy_share,
            part=lost.loc[lost["gpu_usd"].idxmax(), "part"],
            lowest=lowest["title"],
            lowest_t=lowest["t_co2"],
            highest=highest["title"],
            highest_t=highest["t_co2"],
        ),
    )


def limits(table: pd.DataFrame) -> Finding:
    """Return the limits that the run meets; ``table`` as from ``tables.limits_kept``."""
    exceeded = table[table["verdict"] == "exceeded"]
    each = [
        f"{count(int((exceeded['specification'] == name).sum()))} of {count(len(rows))} of {name}"
        for name, rows in table.groupby("specification", sort=False)
    ]
    return Finding(
        title=f"Without smoothing the job exceeds {count(len(exceeded))} of {count(len(table))} published limits",
        text=f"It exceeds {listed(each)}. The limits are examples and ranges from several plants, not one grid code.",
    )


def exercises(profile: Profile, table: pd.DataFrame) -> Finding:
    """Return two exercises; ``table`` as from ``tables.a_year``."""
    hand, lost = tables.by_hand(profile), table[table["wasted"]]
    ratio = float(lost["gpu_usd"].sum() / lost["electricity_usd"].sum()) if lost["electricity_usd"].sum() else None
    return numbered_exercises(
        Exercise(
            "After a failure the GPUs wait at their idle power instead. How large is the drop?",
            say("{n_gpus:count} × ({busy_w:about} - {idle:about}) W = {fall:mw} instead of {fall_mw:mw}.",
                idle=profile.levels_w["queue"],
                fall=profile.n_gpus * (hand["busy_w"] - profile.levels_w["queue"]) / 1e6,
                **hand),
        ),
        Exercise(
            "At which electricity price would the wasted energy cost as much as the wasted GPU-hours?",
            say("At {ratio:about} times the current price: lost hours waste mostly GPU-hours.",
                "At no price: nothing is lost.", ratio=ratio),
        ),
    )  # fmt: skip
