"""Charts of power over a day and around a failure, of smoothing options, and of the cost of lost hours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import rounded
from ettr.plots.theme import (
    BLUE,
    DARK_GREEN,
    GREEN,
    MODEL_COLOURS,
    ORANGE,
    PART_COLOURS,
    PURPLE,
    TEAL,
    finish,
    layered,
    touchable,
)
from ettr_book.chapters.common.table import CaptionedTable, heads, named

_AT_GRID = "Power at the grid [MW]"
_STOPS = {"failure": PART_COLOURS["rework"], "maintenance": PART_COLOURS["maintenance"]}

OPTION_LOOKS = {
    "no smoothing": (MODEL_COLOURS["published"], [1, 0]),
    "secondary load": (ORANGE, [2, 3]),
    "GPU floor": (PURPLE, [6, 3]),
    "rack storage": (BLUE, [8, 2, 2, 2]),
    "battery": (GREEN, [8, 2]),
}
_COSTS = {
    "energy_usd": ("energy wasted", ORANGE),
    "throughput_usd": ("throughput lost", PURPLE),
    "capital_usd": ("capital", TEAL),
}
_KINDS = {"electricity_usd": ("electricity", ORANGE), "gpu_usd": ("GPU-hours", BLUE)}


def day(frame: pd.DataFrame, events: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw a day at the grid's meter: range and mean every few minutes, with the stops of the run.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.power_of_day``.
    events : DataFrame
        As from ``tables.stops_of_day``; may be empty.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    span_h = float(frame["hour"].iloc[-1])
    x = builders.along("hour", domain=[0, max(1.0, float(np.ceil(span_h)))], nice=False)
    low_y, y = (alt.Y(f"{name}:Q", title=_AT_GRID, scale=alt.Scale(zero=True)) for name in ("low_mw", "power_mw"))
    base = alt.Chart(rounded(frame.rename(columns={"mean_mw": "power_mw"}))).encode(x=x)
    area = base.mark_area(opacity=0.3, color=BLUE, clip=True).encode(y=low_y, y2=alt.Y2("high_mw:Q"))
    tips = tooltips("hour", "low_mw", "power_mw", "high_mw", power_mw="Mean")
    line = base.mark_line(color=DARK_GREEN, clip=True).encode(y=y, tooltip=tips)
    low, high = frame["low_mw"].min(), frame["high_mw"].max()
    counted = events["what"].value_counts()
    stops = " and ".join(f"{number} of {what}" for what, number in counted.items()) or "none"
    return finish(
        layered(area, touchable(line), *([_ticks(events, x)] if len(events) else [])),
        title=title,
        subtitle=subtitle,
        description=(
            f"Power at the grid over {span_h:.3g} hours: a band from the lowest to the highest second in every few "
            f"minutes, and a line of the mean. The mean is {frame['mean_mw'].mean():.3g} MW, the lowest second "
            f"{low:.3g} MW and the highest {high:.3g} MW. Ticks below mark stops: {stops}."
        ),
        height=300,
    )


def _ticks(events: pd.DataFrame, x: alt.X) -> Any:
    """Draw the stops of the run along the bottom of the chart."""
    drawn = rounded(events[["hour", "what"]])
    colour = builders.squares("what", builders.present(_STOPS, drawn["what"]), symbolOpacity=1)
    ticks = alt.Chart(drawn).mark_tick(thickness=2, size=12, yOffset=-6)
    tips = tooltips("what", "hour", what="Stopped by", hour="At hour")
    return ticks.encode(x=x, y=alt.value("height"), color=colour, tooltip=tips)


def moment(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the same moment with each option.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.smoothed_moment``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    present = builders.present(OPTION_LOOKS, frame["option"])
    curves = rounded(frame[["option", "since_s", "power_mw"]])
    x = builders.along("since_s", nice=False)
    y = builders.up("power_mw", title="Power of the computers [MW]", zero=True)
    tips = tooltips("option", "since_s", "power_mw")
    lines = builders.lines(curves, x, y, "option", OPTION_LOOKS, tips, strokeWidth=2)
    ranges = frame.groupby("option")["power_mw"].agg(["min", "max"])
    swings = "; ".join(f"{name} {ranges.loc[name, 'min']:.3g} to {ranges.loc[name, 'max']:.3g} MW" for name in present)
    return finish(
        lines,
        title=title,
        subtitle=subtitle,
        description=f"Power of the computers around an event in seconds, one line per option: {swings}.",
        height=320,
    )


def costs(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the yearly cost of each option, by kind.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.power.compare`.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    names = [row.option if row.reached else f"{row.option}, misses the target" for row in frame.itertuples()]
    y = builders.rows("option", names, grid=False, labelExpr=builders.AT_COMMAS)
    bars = _amounts(frame.assign(option=names), y, _COSTS, "Cost per year [million USD]")
    by_option = "; ".join(_cost_in_words(row) for row in frame.itertuples())
    return finish(
        bars,
        title=title,
        subtitle=subtitle,
        description=f"Bars of the cost per year by option, in energy, throughput and capital: {by_option}.",
        height=44 * len(frame) + 30,
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


def bill(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the cost of the lost hours, by part and kind.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.power.bill`; only lost hours are drawn.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    lost = frame[frame["wasted"]].sort_values("gpu_usd", ascending=False)
    parts = lost["part"].tolist()
    y = builders.rows("part", parts, grid=False)
    bars = _amounts(lost, y, _KINDS, "Cost per year [million USD]")
    by_part = "; ".join(
        f"{row.part} {row.gpu_usd / 1e6:.3g} for GPU-hours and {row.electricity_usd / 1e6:.3g} for electricity"
        for row in lost.itertuples()
    )
    return finish(
        bars,
        title=title,
        subtitle=subtitle,
        description=f"Bars of the yearly cost of lost hours by part, in million USD: {by_part or 'nothing is lost'}.",
        height=34 * max(1, len(parts)) + 30,
    )


def limits(frame: pd.DataFrame) -> CaptionedTable:
    """Draw a run against the limits of several specifications, one row per rule.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.limits_kept``.
    """
    names = heads("specification", "rule", "limit", "value", "unit", "verdict", value="This run")
    return named(
        frame.replace({"unit": {"1": ""}}), names, "The job without smoothing against published limits", digits=3
    )
