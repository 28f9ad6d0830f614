"""Charts of ways to smooth power, and of what waste costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import tooltips
from ettr.chapters.common.encodings import rounded
from ettr.chapters.common.table import Table, heads, named
from ettr.chapters.common.theme import (
    BLUE,
    GREEN,
    GREY,
    MODEL_COLOURS,
    ORANGE,
    PURPLE,
    TEAL,
    finish,
    layered,
    need,
    touchable,
)

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


def floor_pairs(frame: pd.DataFrame, own: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Steps on which a floor costs a published share of energy, and the step of the profile.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.floor_pairs``; may be empty.
    own : DataFrame
        As from ``tables.own_step``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "trough", "compute_share")
    need(own, "step", "trough", "compute_share", "overhead")
    whole: dict[str, Any] = {"domain": [0, 1], "nice": False}
    x, y = builders.along("trough", **whole), builders.up("compute_share", **whole)
    tips = tooltips("trough", "compute_share")
    curve = alt.Chart(rounded(frame)).mark_line(clip=True).encode(x=x, y=y, tooltip=tips)
    tips = tooltips("step", "trough", "compute_share", "overhead")
    shape = alt.Shape("step:N", title=None, scale=alt.Scale(range=["diamond"]))
    point = alt.Chart(rounded(own)).mark_point(size=120, opacity=1, color=MODEL_COLOURS["simulated"])
    dot = point.encode(x=x, y=y, shape=shape, tooltip=tips)
    row = own.iloc[0]
    ends = (
        f"It runs from {frame['compute_share'].iloc[0]:.0%} of compute with a trough of {frame['trough'].iloc[0]:.0%} "
        f"to {frame['compute_share'].iloc[-1]:.0%} with one of {frame['trough'].iloc[-1]:.0%}. "
        if len(frame)
        else "No step gives it. "
    )
    return finish(
        layered(*([touchable(curve)] if len(frame) else []), dot),
        title=title,
        subtitle=subtitle,
        description=(
            f"A curve of pairs of the power while waiting and the share of compute at which the floor costs the same. "
            f"{ends}A diamond marks this step, with a trough of {row['trough']:.0%} and {row['compute_share']:.0%} of "
            f"compute, to which the floor adds {row['overhead']:.1%}."
        ),
        height=320,
    )


def moment(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """The same moment with each option.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.smoothed_moment``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "option", "reached", "since_s", "power_mw")
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
        description=f"Power of the computers in the seconds about a moment, a line an option: {swings}.",
        height=320,
    )


def costs(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """What a year of each option costs, by kind.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.power.compare`.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "option", "reached", *_COSTS, "total_usd")
    names = [row.option if row.reached else f"{row.option}, misses the target" for row in frame.itertuples()]
    y = builders.rows("option", names, grid=False, labelExpr=builders.AT_COMMAS)
    bars = _amounts(frame.assign(option=names), y, _COSTS, "A year [million USD]")
    by_option = "; ".join(_cost_in_words(row) for row in frame.itertuples())
    return finish(
        bars,
        title=title,
        subtitle=subtitle,
        description=f"Bars of the cost of a year by option, in energy, throughput and capital: {by_option}.",
        height=44 * len(frame) + 30,
    )


def _amounts(frame: pd.DataFrame, y: alt.Y, kinds: Mapping[str, tuple[str, str]], title: str) -> Any:
    """Stacked bars of millions of dollars, by columns of the frame with their names and colours."""
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
        return f"{row.option} cannot be set for it"
    parts = [("energy", row.energy_usd), ("throughput", row.throughput_usd), ("capital", row.capital_usd)]
    known = ", ".join(f"{name} {usd / 1e6:.3g}" for name, usd in parts if not pd.isna(usd))
    unpriced = ", capital without a price" if pd.isna(row.capital_usd) else ""
    return f"{row.option} {known} million USD{unpriced}"


def bill(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """What the lost hours cost, by part and kind.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.power.bill`; only its waste is drawn.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "part", "wasted", "hours", *_KINDS)
    lost = frame[frame["wasted"]].sort_values("gpu_usd", ascending=False)
    parts = lost["part"].tolist()
    y = builders.rows("part", parts, grid=False)
    bars = _amounts(lost, y, _KINDS, "Of the run [million USD]")
    by_part = "; ".join(
        f"{row.part} {row.gpu_usd / 1e6:.3g} for GPU-hours and {row.electricity_usd / 1e6:.3g} for electricity"
        for row in lost.itertuples()
    )
    return finish(
        bars,
        title=title,
        subtitle=subtitle,
        description=f"Bars of what lost hours cost by part, in million USD: {by_part or 'nothing is lost'}.",
        height=34 * max(1, len(parts)) + 30,
    )


def carbon(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Carbon of the same run from the grids of several countries.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.power.carbon_by_country`.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "title", "intensity_g_per_kwh", "t_co2")
    bars = (
        alt.Chart(rounded(frame[["title", "intensity_g_per_kwh", "t_co2"]]))
        .mark_bar(color=GREY)
        .encode(
            y=builders.rows("title", frame["title"], grid=False),
            x=builders.along("t_co2", title="Carbon of the run [t CO2]", zero=True),
            tooltip=tooltips("title", "intensity_g_per_kwh", "t_co2", title="Grid of"),
        )
    )
    emissions = "; ".join(f"{row.title} {row.t_co2:,.0f}" for row in frame.itertuples())
    return finish(
        bars,
        title=title,
        subtitle=subtitle,
        description=f"Bars of the carbon of the same energy from different grids, in tonnes: {emissions}.",
        height=24 * len(frame) + 30,
    )


def limits(frame: pd.DataFrame) -> Table:
    """A run against the limits of several specifications, a row a rule.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.limits_kept``.
    """
    names = heads("specification", "rule", "limit", "value", "unit", "verdict", value="This run")
    return named(frame.replace({"unit": {"1": ""}}), names, "The bare job against published limits", digits=3)
