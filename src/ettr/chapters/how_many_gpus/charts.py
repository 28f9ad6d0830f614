"""Charts on the number of GPUs: what a size yields and costs, where a step goes, and the published runs beside it."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import Column, axis_title, tooltips
from ettr.chapters.common.encodings import but_size, rounded, with_marks
from ettr.chapters.common.table import Table
from ettr.chapters.common.theme import (
    BLUE,
    GREEN,
    GREY,
    OCHRE,
    ORANGE,
    PART_COLOURS,
    VIOLET,
    finish,
    layered,
    need,
    touchable,
)
from ettr.chapters.how_many_gpus.tables import AIM_POINTS

_LINES = {
    "linear": (GREY, [2, 3]),
    "throughput": (BLUE, [8, 2]),
    "and heat": (ORANGE, [6, 3]),
    "and failures": (GREEN, [1, 0]),
}
TERM_COLOURS = {
    "computing, at the peak": PART_COLOURS["productive"],
    "kernels below the peak": PART_COLOURS["slowdown"],
    "computing again": PART_COLOURS["maintenance"],
    "exchange within layers": PART_COLOURS["checkpoint"],
    "exchange within sequences": PART_COLOURS["degraded"],
    "empty pipeline": PART_COLOURS["queue"],
    "hand-over between stages": PART_COLOURS["restart"],
    "exchange between replicas": PART_COLOURS["detection"],
    "waiting for the slowest node": PART_COLOURS["rework"],
}
_GOALS = {
    "fastest": (BLUE, "triangle-right"),
    "cheapest": (OCHRE, "square"),
    "greenest in time": (GREEN, "diamond"),
    "greenest": (VIOLET, "circle"),
}
"""Colour and shape by how a goal's name begins."""
_SHORTER = {
    " with sharded weights": "",
    " with long sequences": ", long",
    " GPUs": "",
    " H100": "",
    " on ": " ",
    " 405B": "",
}
"""So that a name of a run and its GPUs fit beside a chart on a phone; the tooltip has it whole."""
_USED = {"used for the fit": (BLUE, "circle"), "left out": (ORANGE, "diamond")}


def returns(frame: pd.DataFrame, own_gpus: float, turning_gpus: float | None, title: str, subtitle: str = "") -> Any:
    """Tokens a day by size: without and with waiting, heat and failures.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.returns_by_size``.
    own_gpus : float
        The scenario's size. [GPUs]
    turning_gpus : float or None
        Where the next GPU stops paying, if it does. [GPUs]
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "line", "tokens_per_day", "low", "high", "ettr", "layout")
    billions = frame.assign(**{name: frame[name] / 1e9 for name in ("tokens_per_day", "low", "high")})
    useful = rounded(billions.loc[frame["line"] == "and failures", ["n_gpus", "tokens_per_day", "low", "high"]], 4)
    x, y = builders.across("n_gpus"), builders.up("tokens_per_day", log=True, ticks=6)
    bands = alt.Chart(useful).mark_area(color=_LINES["and failures"][0]).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    tips = tooltips("line", "n_gpus", "tokens_per_day", "ettr", "layout", line="Counting")
    drawn = rounded(billions.drop(columns=["low", "high"]), 4)
    lines = builders.lines(drawn, x, y, "line", _LINES, tips, "Counting")
    at = {"this job": float(own_gpus)} | ({} if turning_gpus is None else {"turning point": float(turning_gpus)})
    marks = pd.DataFrame({"name": [*at], "n_gpus": [*at.values()], "line": range(len(at))})
    rules = alt.Chart(marks).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("n_gpus:Q"))
    last = useful.loc[useful["tokens_per_day"].idxmax()]
    return finish(
        layered(rules, bands, lines, *_names(marks, (frame["n_gpus"].min() * frame["n_gpus"].max()) ** 0.5)),
        title=title,
        subtitle=with_marks(but_size(subtitle), "band: 90%"),
        description=(
            f"Lines of tokens a day over the number of GPUs, both axes logarithmic, counting in turn: "
            f"{', '.join(builders.present(_LINES, frame['line']))}. "
            f"With failures most at {last['n_gpus']:,.0f} GPUs, {last['tokens_per_day']:,.0f} "
            f"billion tokens a day. Dashed rules: "
            f"{', '.join(f'{row.name} {row.n_gpus:,.0f}' for row in marks.itertuples(index=False))}."
        ),
        height=360,
    )


def _names(marks: pd.DataFrame, middle_gpus: float) -> list[Any]:
    """Names beside their rules, on the side that has more room."""
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
    """Shares of a step by size, stacked.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.step_by_size``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "term", "seconds", "share", "layout")
    present = builders.present(TERM_COLOURS, frame["term"])
    order = {term: i for i, term in enumerate(present)}
    areas = rounded(frame.assign(order=[order[term] for term in frame["term"]]), 4)
    chart = (
        alt.Chart(areas)
        .mark_area(opacity=0.85)
        .encode(
            x=builders.across("n_gpus"),
            y=builders.up("share", title="Share of a step [%]", domain=[0, 1]).stack("zero"),  # noqa: PD013  (of Altair)
            color=builders.squares("term", present, symbolOpacity=0.85),
            order=alt.Order("order:Q"),
            tooltip=tooltips("term", "n_gpus", "share", "seconds", "layout"),
        )
    )
    ends = frame.sort_values("n_gpus").groupby("term", sort=False)["share"]
    shares = "; ".join(f"{term} {ends.first()[term]:.0%} to {ends.last()[term]:.0%}" for term in present)
    sizes = f"{frame['n_gpus'].min():,.0f} to {frame['n_gpus'].max():,.0f} GPUs"
    return finish(
        chart,
        title=title,
        subtitle=but_size(subtitle),
        description=f"Stacked areas of the shares of a training step from {sizes}, logarithmic: {shares}.",
        height=340,
    )


def cost(frame: pd.DataFrame, best: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Days against cost, a curve by size, with the best sizes.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.cost_by_size``.
    best : DataFrame
        ``goal``, ``n_gpus``, ``days`` and ``cost`` of the sizes to be marked.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "days", "cost", "unit", "power_mw")
    need(best, "goal", "n_gpus", "days", "cost")
    unit = frame["unit"].iloc[0]
    name, scale = ("Cost [million USD]", 1e6) if unit == "USD" else ("Electricity [GWh]", 1e3)
    sizes = rounded(frame.drop(columns="unit").assign(cost=frame["cost"] / scale), 4)
    points = rounded(best.assign(cost=best["cost"] / scale), 4)
    x = builders.across("days")
    y = alt.Y("cost:Q", title=name, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format=",~g", tickCount=5))
    asked, of_cost = ("n_gpus", "days", "cost"), {"cost": Column(name, format=",.3~r")}
    line = alt.Chart(sizes).mark_line(color=GREY)
    curve = line.encode(x=x, y=y, order="n_gpus:Q", tooltip=tooltips(*asked, "power_mw", **of_cost))
    looks = {goal: _look(goal) for goal in points["goal"]}
    dots = builders.shapes(points, x, y, "goal", looks, 150, tooltips("goal", *asked, **of_cost))
    marked = "; ".join(
        f"{row.goal}: {row.n_gpus:,.0f} GPUs, {row.days:,.0f} days, {row.cost:.3g}" for row in points.itertuples()
    )
    return finish(
        layered(touchable(curve), dots),
        title=title,
        subtitle=but_size(subtitle),
        description=f"A curve of {name} over the days of the job, both logarithmic, a point a size. Marked: {marked}.",
        height=340,
    )


def _look(goal: str) -> tuple[str, str]:
    return next(look for name, look in _GOALS.items() if goal.startswith(name))


def table(frame: pd.DataFrame, caption: str) -> Table:
    """Cells of a table in words, as the findings write them.

    Parameters
    ----------
    frame : DataFrame
        As from ``words.limit_cells``, ``scaling_option_words.large_cells`` or ``scaling_option_words.peak_cells``.
    caption : str
        What the table shows.
    """
    return Table(frame, caption, 3)


def calibrated(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Residuals of the published runs, those that the fits used apart from those left out.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.calibrated_runs``.
    title, subtitle : str
        The statement, and what is shown.
    """
    need(frame, "title", "measured_pct", "computed_pct", "residual_points", "used")
    used, left_out = _USED
    short = frame["title"].replace(_SHORTER, regex=True)
    kind = frame["used"].map({True: used, False: left_out})
    drawn = ["run", "kind", "zero", "title", "measured_pct", "computed_pct", "residual_points"]
    runs = rounded(frame.assign(kind=kind, zero=0.0, run=short)[drawn], 4)
    y = alt.Y("run:N", sort=list(short), title=None)
    stems = alt.Chart(runs).mark_rule(strokeWidth=1.4).encode(y=y, x=alt.X("zero:Q"), x2="residual_points:Q")
    tips = tooltips("title", "kind", "measured_pct", "computed_pct", "residual_points")
    dots = builders.shapes(
        runs, alt.X("residual_points:Q", title=axis_title("residual_points")), y, "kind", _USED, 80, tips
    )
    ends = pd.DataFrame({"aim": [-AIM_POINTS, AIM_POINTS]})
    rules = alt.Chart(ends).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("aim:Q"))
    residuals = "; ".join(f"{row.title} {row.residual_points:+.1f}" for row in frame.itertuples())
    return finish(
        layered(rules, stems, dots),
        title=title,
        subtitle=with_marks(subtitle, f"dashed: {AIM_POINTS:g} points"),
        description=f"Points of computed less measured utilisation, in points, a row a published run: {residuals}.",
        height=19 * len(runs) + 20,
    )


def calibrated_table(frame: pd.DataFrame) -> Table:
    """Every published run beside its computed value.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.calibrated_runs``.
    """
    need(frame, "study", "title", "measured_pct", "computed_pct", "residual_points", "used", "relative_to", "note")
    relative = frame["relative_to"].fillna("")
    cells = pd.DataFrame(
        {
            "Study": frame["study"],
            "Run": frame["title"],
            "Of": ["throughput a GPU" if name else "peak" for name in relative],
            "Measured [%]": frame["measured_pct"],
            "Computed [%]": frame["computed_pct"].round(1),
            "Off [points]": frame["residual_points"].round(1),
            "In the fit": ["used" if used else "left out" for used in frame["used"]],
            "Source": frame["source"],
            "Status": frame["status"],
            "Note": frame["note"].fillna(""),
        }
    )
    return Table(cells, f"{len(frame)} published runs, and what the model makes of them")
