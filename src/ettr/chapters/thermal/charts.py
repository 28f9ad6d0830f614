"""Charts on heat: temperatures and pace over a day, what a percent takes, cooling, and failures by temperature."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import tooltips
from ettr.chapters.common.encodings import but_size, rounded
from ettr.chapters.common.theme import BLUE, BRICK, GREEN, GREY, ORANGE, TEAL, VIOLET, finish, layered, need

_TEMPERATURES = {
    "outdoors": (BLUE, [1, 0]),
    "inlet": (TEAL, [8, 2]),
    "die, mean GPU": (ORANGE, [6, 3]),
    "die, hottest GPU": (VIOLET, [2, 2]),
}
_WHOSE = {"mean GPU": (ORANGE, [6, 3]), "job": (VIOLET, [1, 0])}
_WHEN = {"mean hour": (BLUE, [1, 0]), "hottest hour": (BRICK, [6, 3])}
_COOLING = {
    "outdoor air": (BLUE, [1, 0]),
    "chilled air": (VIOLET, [8, 2]),
    "cold plates": (GREEN, [6, 3]),
    "immersion": (BRICK, [2, 3]),
}
_CASES = ((GREY, [2, 3]), (BLUE, [1, 0]), (ORANGE, [8, 2]), (VIOLET, [6, 3]))
_CAGES = {"rate": "Per 1000 GPU-years", "ratio": "Over the bottom cage"}
_MEDIA = {"air": BLUE, "cold plate": GREEN, "immersion": BRICK}
_HOURS = alt.X(
    "hour:Q",
    title="Hour of the day [h]",
    scale=alt.Scale(domain=[0, 24], nice=False),
    axis=alt.Axis(values=list(range(0, 25, 3))),
)


def afternoon(frame: pd.DataFrame, limits: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Temperatures over the hottest day, with the limits of the GPU.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.afternoon``.
    limits : DataFrame
        As from ``tables.limits_of``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "hour", "what", "temperature_c")
    need(limits, "limit", "temperature_c")
    tips = tooltips("what", "hour", "temperature_c", what="Of")
    up = builders.up("temperature_c")
    lines = builders.lines(rounded(frame, 4), _HOURS, up, "what", _TEMPERATURES, tips)
    limit = alt.Chart(limits).encode(y=alt.Y("temperature_c:Q"))
    label = limit.mark_text(align="left", baseline="bottom", dx=4, dy=-2).encode(x=alt.value(0), text="limit:N")
    ranges = "; ".join(
        f"{what} {group['temperature_c'].min():.1f} to {group['temperature_c'].max():.1f}"
        for what, group in frame.groupby("what", sort=False)
    )
    limited = ", ".join(f"{row.limit} {row.temperature_c:g}" for row in limits.itertuples())
    return finish(
        layered(limit.mark_rule(strokeDash=[3, 3]), lines, label),
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of temperature in degrees Celsius over the hours of a day: {ranges}. Dashed rules: {limited}."
        ),
        height=340,
    )


def pace(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Throughput over the hottest day, of the mean GPU and of the job.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.pace``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "hour", "whose", "speed", "limited_by")
    tips = tooltips("whose", "hour", "speed", "limited_by", limited_by="Hottest GPU held back by")
    up = builders.up("speed", title="Throughput over that as observed", zero=False)
    ranges = "; ".join(
        f"{whose} {group['speed'].min():.2%} to {group['speed'].max():.2%}" for whose, group in frame.groupby("whose")
    )
    return finish(
        builders.lines(rounded(frame), _HOURS, up, "whose", _WHOSE, tips),
        title=title,
        subtitle=subtitle,
        description=f"Lines of throughput over the hours of a day, the axis cut: {ranges}.",
        height=240,
    )


def swing_for_loss(frame: pd.DataFrame, here: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Die swings that cost one to two percent, by leakage, a panel a steepness.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.swing_for_loss``.
    here : DataFrame
        As from ``tables.swing_here``: the GPU of this scenario, as a point of its own.
    title, subtitle : str
        The statement, and what is held.
    """
    need(frame, "leakage_share", "doubling_k", "low_k", "high_k")
    need(here, "leakage_share", "swing_k", "doubling_k")
    names = {value: f"doubles in {value:g} K" for value in sorted(frame["doubling_k"].unique())}
    colours = dict(zip(names.values(), (BRICK, VIOLET, BLUE), strict=False))
    swings = rounded(frame.assign(leakage=frame["doubling_k"].map(names)), 4)
    across = alt.X("leakage_share:Q", title="Leakage over the power limit", axis=alt.Axis(format="%"))
    bands = (
        alt.Chart(swings)
        .mark_area(opacity=0.45)
        .encode(
            x=across,
            y=alt.Y("low_k:Q", title="Swing of the die [K]"),
            y2=alt.Y2("high_k:Q"),
            color=builders.squares("leakage", colours, "Leakage", symbolOpacity=0.6),
            tooltip=tooltips("leakage", "leakage_share", "low_k", "high_k"),
        )
    )
    point = (
        alt.Chart(rounded(here.assign(kind="this chapter's GPU and day"), 4))
        .mark_point(size=150, opacity=1, filled=True, color=ORANGE)
        .encode(
            x=across,
            y=alt.Y("swing_k:Q"),
            shape=alt.Shape("kind:N", title=None, scale=alt.Scale(range=["diamond"])),
            tooltip=tooltips("leakage_share", "doubling_k", "swing_k"),
        )
    )
    ranges = "; ".join(
        f"leakage that {names[value]}: {group['low_k'].min():.1f} to {group['high_k'].max():.1f} K"
        for value, group in frame.groupby("doubling_k")
    )
    return finish(
        layered(bands, point),
        title=title,
        subtitle=subtitle,
        description=(
            "Bands of the die's swing over a day that cost one to two percent of throughput, over leakage as a share "
            f"of the power limit: {ranges}."
        ),
        height=320,
    )


def pace_by_size(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Pace of a synchronous job over its size, at the mean and at the hottest hour.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.pace_by_size``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "when", "hottest_c", "speed", "limited_by")
    tips = tooltips("when", "n_gpus", "hottest_c", "speed", "limited_by")
    up = builders.up("speed", title="Throughput over that of one mean GPU", zero=False)
    speeds = "; ".join(
        f"{when} {group['speed'].iloc[0]:.1%} with one GPU, {group['speed'].iloc[-1]:.1%} with "
        f"{group['n_gpus'].iloc[-1]:,.0f}"
        for when, group in frame.sort_values("n_gpus").groupby("when")
    )
    return finish(
        builders.lines(rounded(frame), builders.across("n_gpus"), up, "when", _WHEN, tips),
        title=title,
        subtitle=but_size(subtitle),
        description=f"Lines of throughput over the size of a job, logarithmic, the axis cut: {speeds}.",
        height=280,
    )


def by_climate(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Effective throughput over the outdoor temperature, a line a kind of cooling.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.by_climate``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "plant", "mean_c", "speed", "rate_factor", "ettr", "effective", "hottest_c")
    tips = tooltips("plant", "mean_c", "hottest_c", "speed", "rate_factor", "ettr", "effective")
    across = alt.X("mean_c:Q", title="Outdoors, mean of the day [°C]")
    by_plant = "; ".join(
        f"{name} {group['effective'].iloc[0]:.1%} at {group['mean_c'].iloc[0]:.0f} degrees, "
        f"{group['effective'].iloc[-1]:.1%} at {group['mean_c'].iloc[-1]:.0f}"
        for name, group in frame.groupby("plant", sort=False)
    )
    return finish(
        builders.lines(rounded(frame), across, builders.up("effective", zero=False), "plant", _COOLING, tips),
        title=title,
        subtitle=subtitle,
        description=f"Lines of effective throughput over the mean outdoor temperature, the axis cut: {by_plant}.",
        height=320,
    )


def titan(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Failure rates of Titan's GPUs by cage.

    Parameters
    ----------
    frame : DataFrame
        As from ``failure_tables.titan_cages``.
    title, subtitle : str
        The statement, and what the lines mean.
    """
    need(frame, "cage", "failure", "rate", "low", "high", "ratio")
    rates = rounded(frame.assign(place=frame["cage"].map({0: "bottom", 1: "middle", 2: "top"})), 4)
    colours = {"double-bit error": BRICK, "off the bus": TEAL}
    base = alt.Chart(rates).encode(
        y=alt.Y("place:N", sort=["top", "middle", "bottom"], title="Cage"),
        yOffset=alt.YOffset("failure:N", sort=list(colours)),
    )
    bars = base.mark_bar().encode(
        x=alt.X("rate:Q", title="Failures per 1000 GPU-years"),
        color=builders.squares("failure", colours, symbolOpacity=1),
        tooltip=tooltips("failure", "place", "rate", "low", "high", "ratio", **_CAGES),
    )
    errors = base.mark_rule(strokeWidth=1.6).encode(x="low:Q", x2="high:Q")
    by_cage = "; ".join(f"{row.failure}, {row.place}: {row.rate:.1f}" for row in rates.itertuples())
    return finish(
        layered(bars, errors),
        title=title,
        subtitle=subtitle,
        description=f"Bars of failures per 1000 GPU-years with 95% intervals. {by_cage}.",
        height=220,
    )


def by_warming(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """ETTR at the best interval over the warming of all dies, a line a belief about failures and heat.

    Parameters
    ----------
    frame : DataFrame
        As from ``failure_tables.by_warming``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "warming_k", "case", "rate_factor", "ettr")
    looks = dict(zip(dict.fromkeys(frame["case"]), _CASES, strict=False))
    tips = tooltips("case", "warming_k", "rate_factor", "ettr", case="Activated")
    across = alt.X("warming_k:Q", title="Warmer than where the failures were counted [K]")
    up = builders.up("ettr", title="ETTR, best interval", zero=False)
    ettrs = "; ".join(
        f"{case}: {group['ettr'].iloc[0]:.1%} to {group['ettr'].iloc[-1]:.1%}"
        for case, group in frame.groupby("case", sort=False)
    )
    ends = frame["warming_k"].min(), frame["warming_k"].max()
    return finish(
        builders.lines(rounded(frame), across, up, "case", looks, tips, "Activated by heat"),
        title=title,
        subtitle=subtitle,
        description=f"Lines of ETTR over a warming of {ends[0]:+.0f} to {ends[1]:+.0f} K, the axis cut. {ettrs}.",
        height=320,
    )


def step_response(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Die temperature after a stop and after the restart, a line a way of cooling.

    Parameters
    ----------
    frame : DataFrame
        As from ``failure_tables.stop_and_restart``.
    title, subtitle : str
        The statement, and the GPU.
    """
    need(frame, "time_min", "medium", "die_c")
    curves = rounded(frame.assign(medium=frame["medium"].str.replace("_", " ")), 4)
    present = builders.present(_MEDIA, curves["medium"])
    looks = dict(zip(present, zip(present.values(), ([1, 0], [6, 3], [2, 3]), strict=False), strict=True))
    across = alt.X("time_min:Q", title="Time since the failure [min]")
    up = builders.up("die_c", zero=False)
    tips = tooltips("medium", "time_min", "die_c")
    ranges = "; ".join(
        f"{medium} from {group['die_c'].max():.0f} down to {group['die_c'].min():.0f}"
        for medium, group in curves.groupby("medium", sort=False)
    )
    return finish(
        builders.lines(curves, across, up, "medium", looks, tips),
        title=title,
        subtitle=subtitle,
        description=f"Lines of die temperature in degrees Celsius over the minutes around a stop: {ranges}.",
        height=260,
    )
