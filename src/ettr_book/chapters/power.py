"""What does the grid see, and what does smoothing it cost?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import power
from ettr.core.sentences import Finding, capital, count, gpus, number, say
from ettr.core.units import H_PER_YEAR, S_PER_H
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.days import Day
from ettr.plots.encodings import rounded
from ettr.plots.theme import BLUE, GREEN, MODEL_COLOURS, ORANGE, PURPLE, TEAL, finish
from ettr.power import Drawn, PowerSeries, Profile, Sized
from ettr_book.chapters.common.table import CaptionedTable, heads, named

BARE = "no smoothing"
OPTION_LOOKS = {
    BARE: (MODEL_COLOURS["published"], [1, 0]),
    "secondary load": (ORANGE, [2, 3]),
    "GPU floor": (PURPLE, [6, 3]),
    "rack storage": (BLUE, [8, 2, 2, 2]),
    "battery": (GREEN, [8, 2]),
}
_MOST_BINS, _BINS_A_PHASE = 500_000, 5
_LEAD_S, _ROWS_OF_MOMENT = 600.0, 300
_COSTS = {
    "energy_usd": ("energy wasted", ORANGE),
    "throughput_usd": ("throughput lost", PURPLE),
    "capital_usd": ("capital", TEAL),
}
_KINDS = {"electricity_usd": ("electricity", ORANGE), "gpu_usd": ("GPU-hours", BLUE)}


def a_year(bill: pd.DataFrame) -> pd.DataFrame:
    """Return the bill of a run's mean hours, as from :func:`ettr.power.bill`, scaled to a year."""
    scale = H_PER_YEAR / float(bill["hours"].sum())
    amounts = [name for name in bill.columns if name not in ("part", "wasted")]
    return bill.assign(**{name: bill[name] * scale for name in amounts})


def mean_mw(bill: pd.DataFrame) -> float:
    """Return the mean power at the grid of a bill. [MW]"""
    return float(bill["facility_mwh"].sum() / bill["hours"].sum())


def answer(drawn: Drawn, bill: pd.DataFrame, options: pd.DataFrame) -> Finding:
    """Return the power swings at the grid, the cost of lost hours and of smoothing.

    Parameters
    ----------
    drawn : Drawn
        Power of a simulated run.
    bill : DataFrame
        As from :func:`a_year`.
    options : DataFrame
        As from :func:`ettr.power.compare`.
    """
    lost, measured = bill[bill["wasted"]], drawn.measured
    text = say(
        "**{size} {draw} {#mean_power:mw} on average, and between {low:mw} and {high:mw} in single seconds.** Most "
        "power levels are assumed; computing and idling are measured. {waste} {cheapest}",
        size=capital(gpus(drawn.profile.n_gpus)),
        draw="draw" if drawn.profile.n_gpus > 1 else "draws",
        mean_power=mean_mw(bill),
        low=measured.lowest_mw,
        high=measured.peak_mw,
        waste=_waste(bill, lost),
        cheapest=_cheapest(options),
    )
    title = say(
        "{mean:mw} on average, and a swing of {swing:mw}",
        mean=mean_mw(bill),
        swing=measured.peak_mw - measured.lowest_mw,
    )
    return Finding(title, text)


def _waste(bill: pd.DataFrame, lost: pd.DataFrame) -> str:
    if lost.empty:
        return "No hour is lost."
    return say(
        "Lost hours, {#lost_share:share} of the time, cost {#lost_usd_year:usd} of GPU-hours per year and "
        "{electricity:usd} of electricity.",
        "Lost hours are {#lost_share:share} of the time.",
        lost_share=float(lost["hours"].sum() / bill["hours"].sum()),
        lost_usd_year=float(lost["gpu_usd"].sum()) or None,
        electricity=float(lost["electricity_usd"].sum()) or None,
    )


def _cheapest(options: pd.DataFrame) -> str:
    priced = options[options["reached"] & options["total_usd"].notna()].sort_values("total_usd")
    if priced.empty:
        return "No option with a known price keeps the swing within the target."
    first = priced.iloc[0]
    return say(
        "Keeping the swing within the target costs {cost:usd} per year with {name}.",
        cost=first["total_usd"],
        name=_with_article(first["option"]),
    )


def _with_article(option: str) -> str:
    return "storage in the rack" if option == "rack storage" else f"a {option}"


def fine_series(day: Day, profile: Profile) -> PowerSeries:
    """Return the power of the computers in bins that resolve the phases of a step.

    A day with too many bins is limited to half a million around its failure.
    """
    step_s = min(profile.waveform.shortest_s / _BINS_A_PHASE, 1.0)
    start_h, end_h, longest_h = day.start_h, day.end_h, _MOST_BINS * step_s / S_PER_H
    if end_h - start_h > longest_h:
        middle_h = (start_h + end_h) / 2 if day.failure_h is None else day.failure_h
        start_h = min(max(middle_h - longest_h / 2, start_h), end_h - longest_h)
        end_h = start_h + longest_h
    return power.series(day.timeline, profile, step_s, start_h, end_h, at="computers")


def sized_options(series: PowerSeries, target: power.Target) -> dict[str, Sized]:
    """Return every option sized for a target, by name."""
    return {name: power.size(series, name, target) for name in power.options()}


def moment_h(day: Day) -> float:
    """Return an instructive moment of a day: a failure, else a checkpoint, else the start. [h]"""
    if day.failure_h is not None:
        return day.failure_h
    timeline = day.timeline
    saved = timeline[(timeline["start_h"] >= day.start_h) & (timeline["state"] == "checkpoint")]
    trains = timeline[timeline["state"].isin(["training", "rework"])]
    return float((saved if len(saved) else trains)["start_h"].iloc[0])


def smoothed_moment(day: Day, profile: Profile, options: Mapping[str, Sized], seconds: float = 30.0) -> pd.DataFrame:
    """Return the power around a failure, without smoothing and with each option as sized.

    Parameters
    ----------
    day : Day
        As from :func:`ettr.plots.days.typical_day`.
    profile : Profile
        As from :func:`ettr.power.profile`.
    options : mapping of str to Sized
        As from :func:`sized_options`; options without a setting are left out.
    seconds : float
        Time before and after the event. [s]

    Returns
    -------
    DataFrame
        ``option``, ``since_s`` (time from the event) [s], ``power_mw`` [MW], in about 300 bins per line.
    """
    at_h = moment_h(day)
    span_h = (seconds + _LEAD_S) / S_PER_H
    step_s = min(profile.waveform.shortest_s / _BINS_A_PHASE, seconds / 100)
    first_h, last_h = float(day.timeline["start_h"].iloc[0]), float(day.timeline["end_h"].iloc[-1])
    start_h, end_h = max(at_h - span_h, first_h), min(at_h + span_h, last_h)
    around = power.series(day.timeline, profile, step_s, start_h, end_h, at="computers")
    lines = {BARE: around.power_mw} | {
        name: power.smooth(around, sized.setting).after.power_mw for name, sized in options.items() if sized.setting
    }
    since_s = (around.to_frame()["time_h"].to_numpy() - at_h) * S_PER_H
    inside = np.abs(since_s) <= seconds
    n_shown = int(np.count_nonzero(inside))
    per = max(1, n_shown // _ROWS_OF_MOMENT)
    n_kept = (n_shown // per - 1) * per
    frames = [
        pd.DataFrame(
            {
                "option": name,
                "since_s": since_s[inside][:n_kept:per],
                "power_mw": power_mw[inside][:n_kept].reshape(-1, per).mean(axis=1),
            }
        )
        for name, power_mw in lines.items()
    ]
    return pd.concat(frames, ignore_index=True)


def moment(day: Day, profile: Profile, options: Mapping[str, Sized], subtitle: str = "") -> Any:
    """Draw the power around a failure, without smoothing and with each option."""
    frame = smoothed_moment(day, profile, options)
    present = builders.present(OPTION_LOOKS, frame["option"])
    tips = tooltips("option", "since_s", "power_mw")
    y = builders.up("power_mw", title="Power of the computers [MW]", zero=True)
    lines = builders.lines(
        rounded(frame), builders.along("since_s", nice=False), y, "option", OPTION_LOOKS, tips, strokeWidth=2
    )
    ranges = frame.groupby("option")["power_mw"].agg(["min", "max"])
    swings = "; ".join(f"{name} {ranges.loc[name, 'min']:.3g} to {ranges.loc[name, 'max']:.3g} MW" for name in present)
    return finish(
        lines,
        title=say("A failure drops the power from {max:mw} to {min:mw} at once", **ranges.loc[BARE])
        if day.failure_h is not None
        else say("A stop drops the power from {max:mw} to {min:mw} at once", **ranges.loc[BARE]),
        subtitle=subtitle,
        description=f"Power of the computers around an event in seconds, one line per option: {swings}.",
        height=320,
    )


def options_table(options: pd.DataFrame) -> CaptionedTable:
    """Return size, waste and cost of each option; ``options`` as from :func:`ettr.power.compare`."""
    size = [f"{number(row.size)} {row.size_unit}" if pd.notna(row.size) else "" for row in options.itertuples()]
    frame = options.assign(
        size=size,
        target=np.where(options["reached"], "met", options["why"]),
        wasted=100 * options["wasted_share"],
        lost=100 * options["throughput_loss"],
        cost=options["total_usd"] / 1e6,
    )
    names = {"option": "Option", "size": "Size", "target": "Target", "wasted": "Energy wasted [%]"}
    names |= {"lost": "Throughput lost [%]", "cost": "Cost [million USD/year]"}
    return named(frame, names, "Options sized for the same target; empty: no published price", digits=3)


def costs(options: pd.DataFrame, subtitle: str = "") -> Any:
    """Draw the yearly cost of each option, by kind; ``options`` as from :func:`ettr.power.compare`."""
    rows = [row.option if row.reached else f"{row.option}, misses the target" for row in options.itertuples()]
    y = builders.rows("option", rows, grid=False, labelExpr=builders.AT_COMMAS)
    reached = options[options["reached"]].sort_values("total_usd")
    title = "No option meets the target"
    if len(reached):
        title = f"{capital(_with_article(reached['option'].iloc[0]))} is the cheapest option that meets the target"
        if pd.isna(reached["total_usd"].iloc[0]):
            title = "The options that meet the target have no published price"
    return finish(
        _amounts(options.assign(option=rows), y, _COSTS, "Cost per year [million USD]"),
        title=title,
        subtitle=subtitle,
        description="Bars of the cost per year by option, in energy, throughput and capital: "
        f"{'; '.join(_cost_in_words(row) for row in options.itertuples())}.",
        height=44 * len(options) + 30,
    )


def _amounts(frame: pd.DataFrame, y: alt.Y, kinds: Mapping[str, tuple[str, str]], title: str) -> Any:
    """Draw stacked bars of millions of dollars, by columns of the frame with their names and colours."""
    row, colours = str(y.shorthand).removesuffix(":N"), dict(kinds.values())
    amounts = frame.melt([row], [*kinds], var_name="kind", value_name="million_usd").dropna()
    amounts = amounts.assign(
        kind=[kinds[kind][0] for kind in amounts["kind"]],
        million_usd=amounts["million_usd"] / 1e6,
        place=amounts["kind"].map([*kinds].index),
    )
    return (
        alt.Chart(rounded(amounts))
        .mark_bar()
        .encode(
            y=y,
            x=alt.X("sum(million_usd):Q", title=title, scale=alt.Scale(zero=True)),
            color=builders.squares("kind", colours, symbolOpacity=1),
            order=alt.Order("place:Q"),
            tooltip=tooltips(row, "kind", "million_usd", kind="Cost"),
        )
    )


def _cost_in_words(row: Any) -> str:
    if pd.isna(row.energy_usd):
        return f"{row.option} cannot reach the target"
    parts = [("energy", row.energy_usd), ("throughput", row.throughput_usd), ("capital", row.capital_usd)]
    priced = ", ".join(f"{name} {usd / 1e6:.3g}" for name, usd in parts if not pd.isna(usd))
    unpriced = ", capital without a price" if pd.isna(row.capital_usd) else ""
    return f"{row.option} {priced} million USD{unpriced}"


def waste(bill: pd.DataFrame, subtitle: str = "") -> Any:
    """Draw the cost of the lost hours of a year, by part and kind; ``bill`` as from :func:`a_year`."""
    lost = bill[bill["wasted"]].sort_values("gpu_usd", ascending=False)
    by_part = "; ".join(
        f"{row.part} {row.gpu_usd / 1e6:.3g} for GPU-hours and {row.electricity_usd / 1e6:.3g} for electricity"
        for row in lost.itertuples()
    )
    y = builders.rows("part", lost["part"].tolist(), grid=False)
    return finish(
        _amounts(lost, y, _KINDS, "Cost per year [million USD]"),
        title=say(
            "{hours:share} of the hours are lost, and {energy:share} of the energy",
            "No hour is lost",
            hours=float(lost["hours"].sum() / bill["hours"].sum()) or None,
            energy=float(lost["facility_mwh"].sum() / bill["facility_mwh"].sum()) or None,
        ),
        subtitle=subtitle,
        description=f"Bars of the yearly cost of lost hours by part, in million USD: {by_part or 'nothing is lost'}.",
        height=34 * max(1, len(lost)) + 30,
    )


def published_limits() -> pd.DataFrame:
    """Return the rules of all published specifications, with the column ``specification``; bands come last."""
    frames = [power.specification(name).assign(specification=name) for name in power.specifications()]
    return pd.concat(frames, ignore_index=True).sort_values("metric", key=lambda of: of == "band_share", kind="stable")


def limits(drawn: Drawn) -> CaptionedTable:
    """Return the check of a run against :func:`published_limits`, one row per rule."""
    assert drawn.limits is not None
    kept = drawn.limits.assign(specification=published_limits()["specification"].to_numpy())
    n_exceeded = int((kept["verdict"] == power.EXCEEDED).sum())
    names = heads("specification", "rule", "limit", "value", "unit", "verdict", value="This run")
    caption = f"Without smoothing the job exceeds {count(n_exceeded)} of {count(len(kept))} published limits"
    return named(kept.replace({"unit": {"1": ""}}), names, caption, digits=3)
