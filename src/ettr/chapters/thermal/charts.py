"""Charts on heat: temperatures and pace over a day, what a percent takes, cooling, and failures by temperature."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import PERCENT, but_size, dash, line_colour, logarithmic, rounded
from ettr.chapters.common.theme import finish, layered, need, touchable

TEMPERATURES = {
    "outdoors": "#1f95ec",
    "inlet": "#297064",
    "die, mean GPU": "#e46d09",
    "die, hottest GPU": "#8449bc",
}
_TEMPERATURE_DASHES = dict(zip(TEMPERATURES, [[1, 0], [8, 2], [6, 3], [2, 2]], strict=True))
_WHOSE = {"mean GPU": "#e46d09", "job": "#8449bc"}
_WHOSE_DASHES = {"mean GPU": [6, 3], "job": [1, 0]}
_COOLING = {
    "air_economiser": ("outdoor air", "#1f95ec", [1, 0]),
    "chiller": ("chilled air", "#8449bc", [8, 2]),
    "cold_plate": ("cold plates", "#289561", [6, 3]),
    "immersion": ("immersion", "#ad470c", [2, 3]),
}
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
    lines = (
        alt.Chart(rounded(frame, 4))
        .mark_line()
        .encode(
            x=_HOURS,
            y=alt.Y("temperature_c:Q", title="Temperature [°C]"),
            color=line_colour("what", None, TEMPERATURES),
            strokeDash=dash("what", None, _TEMPERATURE_DASHES),
            tooltip=[
                alt.Tooltip("what:N", title="Of"),
                alt.Tooltip("hour:Q", title="Hour", format=".1f"),
                alt.Tooltip("temperature_c:Q", title="Temperature [°C]", format=".1f"),
            ],
        )
    )
    rules = alt.Chart(limits).mark_rule(strokeDash=[3, 3]).encode(y=alt.Y("temperature_c:Q"))
    names = (
        alt.Chart(limits)
        .mark_text(align="left", baseline="bottom", dx=4, dy=-2)
        .encode(y=alt.Y("temperature_c:Q"), x=alt.value(0), text="limit:N")
    )
    ranges = "; ".join(
        f"{what} {group['temperature_c'].min():.1f} to {group['temperature_c'].max():.1f}"
        for what, group in frame.groupby("what", sort=False)
    )
    return finish(
        layered(rules, touchable(lines), names),
        title=title,
        subtitle=subtitle,
        description=(
            f"Lines of temperature in degrees Celsius over the hours of a day: {ranges}. Dashed rules: "
            + ", ".join(f"{row.limit} {row.temperature_c:g}" for row in limits.itertuples())
            + "."
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
    lines = (
        alt.Chart(rounded(frame))
        .mark_line()
        .encode(
            x=_HOURS,
            y=alt.Y(
                "speed:Q",
                title="Throughput over that as observed",
                axis=alt.Axis(format=".1%"),
                scale=alt.Scale(zero=False),
            ),
            color=line_colour("whose", None, _WHOSE),
            strokeDash=dash("whose", None, _WHOSE_DASHES),
            tooltip=[
                alt.Tooltip("whose:N", title="Of the"),
                alt.Tooltip("hour:Q", title="Hour", format=".1f"),
                alt.Tooltip("speed:Q", title="Throughput", format=".2%"),
                alt.Tooltip("limited_by:N", title="Hottest GPU held back by"),
            ],
        )
    )
    ranges = "; ".join(
        f"{whose} {group['speed'].min():.2%} to {group['speed'].max():.2%}" for whose, group in frame.groupby("whose")
    )
    return finish(
        touchable(lines),
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
    colours = dict(zip(names.values(), ["#ad470c", "#8449bc", "#1f95ec"], strict=False))
    swings = rounded(frame.assign(leakage=frame["doubling_k"].map(names)), 4)
    across = alt.X("leakage_share:Q", title="Leakage over the power limit", axis=alt.Axis(format="%"))
    bands = (
        alt.Chart(swings)
        .mark_area(opacity=0.45)
        .encode(
            x=across,
            y=alt.Y("low_k:Q", title="Swing of the die [K]"),
            y2=alt.Y2("high_k:Q"),
            color=alt.Color(
                "leakage:N",
                title="Leakage",
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=alt.Legend(symbolType="square", symbolOpacity=0.6),
            ),
            tooltip=[
                alt.Tooltip("leakage:N", title="Leakage"),
                alt.Tooltip("leakage_share:Q", title="of the limit", format=".0%"),
                alt.Tooltip("low_k:Q", title="Swing for 1% [K]", format=".1f"),
                alt.Tooltip("high_k:Q", title="Swing for 2% [K]", format=".1f"),
            ],
        )
    )
    point = (
        alt.Chart(rounded(here.assign(kind="this chapter's GPU and day"), 4))
        .mark_point(size=150, opacity=1, filled=True, color="#e46d09")
        .encode(
            x=across,
            y=alt.Y("swing_k:Q"),
            shape=alt.Shape("kind:N", title=None, scale=alt.Scale(range=["diamond"])),
            tooltip=[
                alt.Tooltip("leakage_share:Q", title="Leakage over the limit", format=".0%"),
                alt.Tooltip("doubling_k:Q", title="doubles in [K]", format=".0f"),
                alt.Tooltip("swing_k:Q", title="Swing of the mean GPU's die [K]", format=".1f"),
            ],
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
    colours = {"mean hour": "#1f95ec", "hottest hour": "#ad470c"}
    lines = (
        alt.Chart(rounded(frame))
        .mark_line()
        .encode(
            x=logarithmic("n_gpus", "Job size [GPUs]"),
            y=alt.Y(
                "speed:Q",
                title="Throughput over that of one mean GPU",
                axis=alt.Axis(format=".1%"),
                scale=alt.Scale(zero=False),
            ),
            color=line_colour("when", None, colours),
            strokeDash=dash("when", None, {"mean hour": [1, 0], "hottest hour": [6, 3]}),
            tooltip=[
                alt.Tooltip("when:N", title="At the"),
                alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
                alt.Tooltip("hottest_c:Q", title="Hottest die [°C]", format=".1f"),
                alt.Tooltip("speed:Q", title="Throughput", format=".1%"),
                alt.Tooltip("limited_by:N", title="Held back by"),
            ],
        )
    )
    ends = frame.sort_values("n_gpus").groupby("when")
    speeds = "; ".join(
        f"{when} {group['speed'].iloc[0]:.1%} with one GPU, {group['speed'].iloc[-1]:.1%} with "
        f"{group['n_gpus'].iloc[-1]:,.0f}"
        for when, group in ends
    )
    return finish(
        touchable(lines),
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
    need(frame, "cooling", "mean_c", "speed", "rate_factor", "ettr", "effective", "hottest_c")
    curves = rounded(frame.assign(plant=[_COOLING[name][0] for name in frame["cooling"]]))
    present = [entry for name, entry in _COOLING.items() if name in set(frame["cooling"])]
    lines = (
        alt.Chart(curves)
        .mark_line()
        .encode(
            x=alt.X("mean_c:Q", title="Outdoors, mean of the day [°C]"),
            y=alt.Y("effective:Q", title="ETTR x speed", axis=PERCENT, scale=alt.Scale(zero=False)),
            color=line_colour("plant", None, {name: colour for name, colour, _ in present}),
            strokeDash=dash("plant", None, {name: pattern for name, _, pattern in present}),
            tooltip=[
                alt.Tooltip("plant:N", title="Cooling"),
                alt.Tooltip("mean_c:Q", title="Outdoors [°C]", format=".1f"),
                alt.Tooltip("hottest_c:Q", title="Hottest die [°C]", format=".1f"),
                alt.Tooltip("speed:Q", title="Speed", format=".1%"),
                alt.Tooltip("rate_factor:Q", title="Failures over observed", format=".2f"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
                alt.Tooltip("effective:Q", title="ETTR x speed", format=".1%"),
            ],
        )
    )
    by_plant = "; ".join(
        f"{_COOLING[str(name)][0]} {group['effective'].iloc[0]:.1%} at {group['mean_c'].iloc[0]:.0f} degrees, "
        f"{group['effective'].iloc[-1]:.1%} at {group['mean_c'].iloc[-1]:.0f}"
        for name, group in frame.groupby("cooling", sort=False)
    )
    return finish(
        touchable(lines),
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
    order = ["bottom", "middle", "top"]
    colours = {"double-bit error": "#ad470c", "off the bus": "#297064"}
    y = alt.Y("place:N", sort=order[::-1], title="Cage")
    offset = alt.YOffset("failure:N", sort=list(colours))
    bars = (
        alt.Chart(rates)
        .mark_bar()
        .encode(
            y=y,
            yOffset=offset,
            x=alt.X("rate:Q", title="Failures per 1000 GPU-years"),
            color=alt.Color(
                "failure:N",
                title=None,
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=alt.Legend(symbolType="square", symbolOpacity=1),
            ),
            tooltip=[
                alt.Tooltip("failure:N", title="Failure"),
                alt.Tooltip("place:N", title="Cage"),
                alt.Tooltip("rate:Q", title="Per 1000 GPU-years", format=".1f"),
                alt.Tooltip("low:Q", title="95% from", format=".1f"),
                alt.Tooltip("high:Q", title="to", format=".1f"),
                alt.Tooltip("ratio:Q", title="Over the bottom cage", format=".2f"),
            ],
        )
    )
    errors = alt.Chart(rates).mark_rule(strokeWidth=1.6).encode(y=y, yOffset=offset, x="low:Q", x2="high:Q")
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
    cases = list(dict.fromkeys(frame["case"]))
    colours = dict(zip(cases, ["#636562", "#1f95ec", "#e46d09", "#8449bc"], strict=False))
    dashes = dict(zip(cases, [[2, 3], [1, 0], [8, 2], [6, 3]], strict=False))
    lines = (
        alt.Chart(rounded(frame))
        .mark_line()
        .encode(
            x=alt.X("warming_k:Q", title="Warmer than where the failures were counted [K]"),
            y=alt.Y("ettr:Q", title="ETTR, best interval", axis=PERCENT, scale=alt.Scale(zero=False)),
            color=line_colour("case", "Activated by heat", colours),
            strokeDash=dash("case", "Activated by heat", dashes),
            tooltip=[
                alt.Tooltip("case:N", title="Activated"),
                alt.Tooltip("warming_k:Q", title="Warmer by [K]", format="+.0f"),
                alt.Tooltip("rate_factor:Q", title="Failures over observed", format=".2f"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
            ],
        )
    )
    ettrs = "; ".join(
        f"{case}: {group['ettr'].iloc[0]:.1%} to {group['ettr'].iloc[-1]:.1%}"
        for case, group in frame.groupby("case", sort=False)
    )
    ends = frame["warming_k"].min(), frame["warming_k"].max()
    return finish(
        touchable(lines),
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
    names = {"air": "#1f95ec", "cold_plate": "#289561", "immersion": "#ad470c"}
    present = {name.replace("_", " "): colour for name, colour in names.items() if name in set(frame["medium"])}
    patterns = dict(zip(present, [[1, 0], [6, 3], [2, 3]], strict=False))
    curves = rounded(frame.assign(medium=frame["medium"].str.replace("_", " ")), 4)
    lines = (
        alt.Chart(curves)
        .mark_line()
        .encode(
            x=alt.X("time_min:Q", title="Time since the failure [min]"),
            y=alt.Y("die_c:Q", title="Die [°C]", scale=alt.Scale(zero=False)),
            color=line_colour("medium", None, present),
            strokeDash=dash("medium", None, patterns),
            tooltip=[
                alt.Tooltip("medium:N", title="Cooled by"),
                alt.Tooltip("time_min:Q", title="After [min]", format=".1f"),
                alt.Tooltip("die_c:Q", title="Die [°C]", format=".1f"),
            ],
        )
    )
    ranges = "; ".join(
        f"{medium} from {group['die_c'].max():.0f} down to {group['die_c'].min():.0f}"
        for medium, group in curves.groupby("medium", sort=False)
    )
    return finish(
        touchable(lines),
        title=title,
        subtitle=subtitle,
        description=f"Lines of die temperature in degrees Celsius over the minutes around a stop: {ranges}.",
        height=260,
    )
