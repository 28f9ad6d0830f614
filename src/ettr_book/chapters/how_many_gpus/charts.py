"""Charts on the number of GPUs: yield, cost, step time, and other training methods."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.encodings import but_size, rounded, with_marks
from ettr.plots.theme import (
    AZURE,
    BLUE,
    GREEN,
    GREY,
    OCHRE,
    ORANGE,
    PART_COLOURS,
    PINK,
    RUST,
    VIOLET,
    finish,
    layered,
    touchable,
)

_LINES = {
    "linear": (GREY, [2, 3]),
    "throughput": (BLUE, [8, 2]),
    "with heat": (ORANGE, [6, 3]),
    "with failures": (GREEN, [1, 0]),
}
TERM_COLOURS = {
    "computing, at the peak": PART_COLOURS["productive"],
    "kernels below the peak": PART_COLOURS["slowdown"],
    "recomputation": PART_COLOURS["maintenance"],
    "tensor-parallel communication": PART_COLOURS["checkpoint"],
    "context-parallel communication": PART_COLOURS["degraded"],
    "pipeline bubble": PART_COLOURS["queue"],
    "pipeline send/recv": PART_COLOURS["restart"],
    "data-parallel all-reduce": PART_COLOURS["detection"],
    "waiting for the slowest node": PART_COLOURS["rework"],
}
_GOALS = {
    "this job": (OCHRE, "circle"),
    "fastest": (BLUE, "triangle-right"),
    "in twice the time of the fastest": (GREEN, "diamond"),
}


def returns(frame: pd.DataFrame, own_gpus: float, turning_gpus: float | None, title: str, subtitle: str = "") -> Any:
    """Draw tokens per day by size, with and without waiting, heat and failures.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.returns_by_size``.
    own_gpus : float
        The scenario's size. [GPUs]
    turning_gpus : float or None
        Size at which the next GPU stops paying, if any. [GPUs]
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    billions = frame.assign(**{name: frame[name] / 1e9 for name in ("tokens_per_day", "low", "high")})
    useful = rounded(billions.loc[frame["line"] == "with failures", ["n_gpus", "tokens_per_day", "low", "high"]], 4)
    x, y = builders.across("n_gpus"), builders.up("tokens_per_day", log=True, ticks=6)
    bands = alt.Chart(useful).mark_area(color=_LINES["with failures"][0]).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    tips = tooltips("line", "n_gpus", "tokens_per_day", "ettr", "layout", line="Throughput")
    drawn = rounded(billions.drop(columns=["low", "high"]), 4)
    lines = builders.lines(drawn, x, y, "line", _LINES, tips, "Throughput")
    at = {"this job": float(own_gpus)} | ({} if turning_gpus is None else {"turning point": float(turning_gpus)})
    marks = pd.DataFrame({"name": [*at], "n_gpus": [*at.values()], "line": range(len(at))})
    rules = alt.Chart(marks).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("n_gpus:Q"))
    last = useful.loc[useful["tokens_per_day"].idxmax()]
    return finish(
        layered(rules, bands, lines, *_names(marks, (frame["n_gpus"].min() * frame["n_gpus"].max()) ** 0.5)),
        title=title,
        subtitle=with_marks(but_size(subtitle), "band: 90%"),
        description=(
            f"Lines of tokens per day over the number of GPUs, both axes logarithmic: "
            f"{', '.join(builders.present(_LINES, frame['line']))}. "
            f"With failures, the maximum is at {last['n_gpus']:,.0f} GPUs: {last['tokens_per_day']:,.0f} "
            f"billion tokens per day. Dashed rules: "
            f"{', '.join(f'{row.name} {row.n_gpus:,.0f}' for row in marks.itertuples(index=False))}."
        ),
        height=360,
    )


def _names(marks: pd.DataFrame, middle_gpus: float) -> list[Any]:
    """Draw names next to their rules, on the side with more room."""
    right = marks["n_gpus"] < middle_gpus
    sides: tuple[tuple[pd.DataFrame, Literal["left", "right"], int], ...] = (
        (marks[right], "left", 5),
        (marks[~right], "right", -5),
    )
    return [
        alt.Chart(rows)
        .mark_text(align=align, baseline="bottom", dx=dx)
        .encode(x=alt.X("n_gpus:Q"), y=alt.value(alt.expr("height - 6 - 16 * datum.line")), text=alt.Text("name:N"))
        for rows, align, dx in sides
        if len(rows)
    ]


def step(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the shares of a step by size, stacked.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.step_by_size``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    present = builders.present(TERM_COLOURS, frame["term"])
    y = builders.up("share", title="Share of a step [%]", domain=[0, 1])
    tips = tooltips("term", "n_gpus", "share", "seconds", "layout")
    ends = frame.sort_values("n_gpus").groupby("term", sort=False)["share"]
    shares = "; ".join(f"{term} {ends.first()[term]:.0%} to {ends.last()[term]:.0%}" for term in present)
    sizes = f"{frame['n_gpus'].min():,.0f} to {frame['n_gpus'].max():,.0f} GPUs"
    return finish(
        builders.stacked(frame, builders.across("n_gpus"), y, "term", TERM_COLOURS, tips),
        title=title,
        subtitle=but_size(subtitle),
        description=f"Stacked areas of the shares of a training step from {sizes}, logarithmic: {shares}.",
        height=340,
    )


def cost(frame: pd.DataFrame, best: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw days against cost, one curve over size, with the best sizes.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.cost_by_size``.
    best : DataFrame
        ``goal``, ``n_gpus``, ``days`` and ``cost`` of the sizes to be marked.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    unit = frame["unit"].iloc[0]
    name, scale = ("Cost [million USD]", 1e6) if unit == "USD" else ("Electricity [GWh]", 1e3)
    sizes = rounded(frame.drop(columns="unit").assign(cost=frame["cost"] / scale), 4)
    points = rounded(best.assign(cost=best["cost"] / scale), 4)
    x = builders.across("days")
    y = alt.Y("cost:Q", title=name, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format=",~g", tickCount=5))
    columns, of_cost = ("n_gpus", "days", "cost"), {"cost": Column(name, format=",.3~r")}
    line = alt.Chart(sizes).mark_line(color=GREY)
    curve = line.encode(x=x, y=y, order="n_gpus:Q", tooltip=tooltips(*columns, "power_mw", **of_cost))
    looks = builders.present(_GOALS, points["goal"])
    dots = builders.shapes(points, x, y, "goal", looks, 150, tooltips("goal", *columns, **of_cost))
    marked = "; ".join(
        f"{row.goal}: {row.n_gpus:,.0f} GPUs, {row.days:,.0f} days, {row.cost:.3g}" for row in points.itertuples()
    )
    return finish(
        layered(touchable(curve), dots),
        title=title,
        subtitle=but_size(subtitle),
        description=f"A curve of {name} over the days of the job, both logarithmic, over size. Marked: {marked}.",
        height=340,
    )


_WAYS = [
    (GREY, [1, 0]),
    (VIOLET, [8, 2]),
    (GREEN, [8, 2, 2, 2]),
    (PINK, [6, 3]),
    (RUST, [2, 3]),
    (AZURE, [12, 3, 2, 3]),
]
_TOKENS = "Billion useful tokens per day"


def ways_out(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw useful tokens per day by size, one line per training method.

    Parameters
    ----------
    frame : DataFrame
        As from ``way_tables.ways_out``.
    title, subtitle : str
        Finding of the chart, and the scenario.
    """
    billions = frame.assign(tokens_per_day=frame["tokens_per_day"] / 1e9)
    looks = dict(zip(dict.fromkeys(frame["way"]), _WAYS, strict=False))
    y = alt.Y("tokens_per_day:Q", title=_TOKENS, axis=alt.Axis(format=",.3~r", tickCount=6))
    tips = tooltips("way", "n_gpus", "tokens_per_day", tokens_per_day=_TOKENS)
    best = billions.loc[billions.groupby("way", sort=False)["tokens_per_day"].idxmax()]
    most = "; ".join(f"{row.way} {row.tokens_per_day:,.0f} at {row.n_gpus:,.0f} GPUs" for row in best.itertuples())
    return finish(
        builders.lines(rounded(billions, 4), builders.across("n_gpus"), y, "way", looks, tips),
        title=title,
        subtitle=but_size(subtitle),
        description=f"Lines of billions of useful tokens per day over GPUs, logarithmic; maxima: {most}.",
        height=340,
    )
