"""Charts of ways to smooth power, and of what waste costs."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import AT_COMMAS, dash, line_colour, rounded
from ettr.chapters.common.table import Table
from ettr.chapters.common.theme import MODEL_COLOURS, finish, layered, need, touchable

OPTION_COLOURS = {
    "no smoothing": "#9b8d90",
    "secondary load": "#e46d09",
    "GPU floor": "#8d48b3",
    "rack storage": "#1f95ec",
    "battery": "#289561",
}
_DASHES = {
    "no smoothing": [1, 0],
    "secondary load": [2, 3],
    "GPU floor": [6, 3],
    "rack storage": [8, 2, 2, 2],
    "battery": [8, 2],
}
_COSTS = {"energy_usd": "energy wasted", "throughput_usd": "throughput lost", "capital_usd": "capital"}
_COST_COLOURS = {"energy wasted": "#e46d09", "throughput lost": "#8d48b3", "capital": "#297064"}
_KINDS = {"electricity_usd": "electricity", "gpu_usd": "GPU-hours"}
_KIND_COLOURS = {"electricity": "#e46d09", "GPU-hours": "#1f95ec"}


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
    x = alt.X(
        "trough:Q",
        title="Power while waiting, over the rated power",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1], nice=False),
    )
    y = alt.Y(
        "compute_share:Q",
        title="Share of the step in compute",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1], nice=False),
    )
    curve = (
        alt.Chart(rounded(frame))
        .mark_line(clip=True)
        .encode(
            x=x,
            y=y,
            tooltip=[
                alt.Tooltip("trough:Q", title="Waiting at", format=".1%"),
                alt.Tooltip("compute_share:Q", title="Share of compute", format=".1%"),
            ],
        )
    )
    dot = (
        alt.Chart(rounded(own))
        .mark_point(size=120, opacity=1, color=MODEL_COLOURS["simulated"])
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("step:N", title=None, scale=alt.Scale(range=["diamond"])),
            tooltip=[
                alt.Tooltip("step:N", title="Step"),
                alt.Tooltip("trough:Q", title="Waiting at", format=".1%"),
                alt.Tooltip("compute_share:Q", title="Share of compute", format=".1%"),
                alt.Tooltip("overhead:Q", title="The floor adds", format=".1%"),
            ],
        )
    )
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
    present = [name for name in OPTION_COLOURS if name in set(frame["option"])]
    line = (
        alt.Chart(rounded(frame[["option", "since_s", "power_mw"]]))
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("since_s:Q", title="Time since the moment [s]", scale=alt.Scale(nice=False)),
            y=alt.Y("power_mw:Q", title="Power of the computers [MW]", scale=alt.Scale(zero=True)),
            color=line_colour("option", None, {name: OPTION_COLOURS[name] for name in present}),
            strokeDash=dash("option", None, {name: _DASHES[name] for name in present}),
            tooltip=[
                alt.Tooltip("option:N", title="Option"),
                alt.Tooltip("since_s:Q", title="Since [s]", format=".1f"),
                alt.Tooltip("power_mw:Q", title="Power [MW]", format=".4~g"),
            ],
        )
    )
    ranges = frame.groupby("option")["power_mw"].agg(["min", "max"])
    swings = "; ".join(f"{name} {ranges.loc[name, 'min']:.3g} to {ranges.loc[name, 'max']:.3g} MW" for name in present)
    return finish(
        touchable(line),
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
    names = [_row_name(row.option, row.reached) for row in frame.itertuples()]
    amounts = frame.assign(option=names).melt(["option"], list(_COSTS), var_name="kind", value_name="usd").dropna()
    amounts = amounts.assign(kind=amounts["kind"].map(_COSTS), million_usd=amounts["usd"] / 1e6).drop(columns="usd")
    amounts = amounts.assign(place=amounts["kind"].map(list(_COST_COLOURS).index))
    bars = (
        alt.Chart(rounded(amounts))
        .mark_bar()
        .encode(
            y=alt.Y("option:N", title=None, sort=names, axis=alt.Axis(grid=False, labelExpr=AT_COMMAS)),
            x=alt.X("sum(million_usd):Q", title="A year [million USD]", scale=alt.Scale(zero=True)),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=list(_COST_COLOURS), range=list(_COST_COLOURS.values())),
                legend=alt.Legend(symbolType="square", symbolOpacity=1),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("option:N", title="Option"),
                alt.Tooltip("kind:N", title="Cost"),
                alt.Tooltip("million_usd:Q", title="Million USD a year", format=",.3~g"),
            ],
        )
    )
    by_option = "; ".join(_cost_in_words(row) for row in frame.itertuples())
    return finish(
        bars,
        title=title,
        subtitle=subtitle,
        description=f"Bars of the cost of a year by option, in energy, throughput and capital: {by_option}.",
        height=44 * len(frame) + 30,
    )


def _row_name(option: str, reached: bool) -> str:
    return option if reached else f"{option}, misses the target"


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
    amounts = lost.melt(["part"], list(_KINDS), var_name="kind", value_name="usd")
    amounts = amounts.assign(kind=amounts["kind"].map(_KINDS), million_usd=amounts["usd"] / 1e6).drop(columns="usd")
    amounts = amounts.assign(place=amounts["kind"].map(list(_KIND_COLOURS).index))
    bars = (
        alt.Chart(rounded(amounts))
        .mark_bar()
        .encode(
            y=alt.Y("part:N", title=None, sort=parts, axis=alt.Axis(grid=False)),
            x=alt.X("sum(million_usd):Q", title="Of the run [million USD]", scale=alt.Scale(zero=True)),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=list(_KIND_COLOURS), range=list(_KIND_COLOURS.values())),
                legend=alt.Legend(symbolType="square", symbolOpacity=1),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("kind:N", title="Cost"),
                alt.Tooltip("million_usd:Q", title="Million USD", format=",.3~g"),
            ],
        )
    )
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
    names = frame["title"].tolist()
    bars = (
        alt.Chart(rounded(frame[["title", "intensity_g_per_kwh", "t_co2"]]))
        .mark_bar(color="#636562")
        .encode(
            y=alt.Y("title:N", title=None, sort=names, axis=alt.Axis(grid=False)),
            x=alt.X("t_co2:Q", title="Carbon of the run [t CO2]", scale=alt.Scale(zero=True)),
            tooltip=[
                alt.Tooltip("title:N", title="Grid of"),
                alt.Tooltip("intensity_g_per_kwh:Q", title="Intensity [g/kWh]", format=",.0f"),
                alt.Tooltip("t_co2:Q", title="Carbon [t]", format=",.4~g"),
            ],
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
    names = {
        "specification": "Specification",
        "rule": "Rule",
        "limit": "Limit",
        "value": "This run",
        "unit": "Unit",
        "verdict": "Verdict",
    }
    cells = need(frame, *names)[list(names)].replace({"unit": {"1": ""}})
    return Table(cells.rename(columns=names), "The bare job against published limits", digits=3)
