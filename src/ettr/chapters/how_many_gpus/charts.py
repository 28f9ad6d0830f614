"""Charts on the number of GPUs: what a size yields and costs, where a step goes, and the published runs beside it."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import PERCENT, but_size, dash, line_colour, logarithmic, rounded, with_marks
from ettr.chapters.common.table import Table
from ettr.chapters.common.theme import finish, layered, need, touchable
from ettr.chapters.how_many_gpus.tables import AIM_POINTS

_LINES = {
    "linear": ("#636562", [2, 3]),
    "throughput": ("#1f95ec", [8, 2]),
    "and heat": ("#e46d09", [6, 3]),
    "and failures": ("#289561", [1, 0]),
}
TERM_COLOURS = {
    "computing, at the peak": "#289561",
    "kernels below the peak": "#2f6d8f",
    "computing again": "#636562",
    "exchange within layers": "#2a8ff5",
    "exchange within sequences": "#825bd7",
    "empty pipeline": "#a27505",
    "hand-over between stages": "#ca6dc1",
    "exchange between replicas": "#ee6088",
    "waiting for the slowest node": "#a8480a",
}
_GOALS = {
    "fastest": ("#1f95ec", "triangle-right"),
    "cheapest": ("#a27505", "square"),
    "greenest in time": ("#289561", "diamond"),
    "greenest": ("#8449bc", "circle"),
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
_USED = {"used for the fit": "#1f95ec", "left out": "#e46d09"}


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
    there = [name for name in _LINES if name in set(frame["line"])]
    billions = frame.assign(**{name: frame[name] / 1e9 for name in ("tokens_per_day", "low", "high")})
    others = rounded(billions[frame["line"] != "and failures"], 4).drop(columns=["low", "high"])
    useful = rounded(billions[frame["line"] == "and failures"], 4)
    x = logarithmic("n_gpus", "Job size [GPUs]")
    y = alt.Y(
        "tokens_per_day:Q",
        title="Billion tokens a day",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format=",~g", tickCount=6),
    )
    encoding = {
        "x": x,
        "y": y,
        "color": line_colour("line", "Counting", {name: _LINES[name][0] for name in there}),
        "strokeDash": dash("line", "Counting", {name: _LINES[name][1] for name in there}),
        "tooltip": [
            alt.Tooltip("line:N", title="Counting"),
            alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
            alt.Tooltip("tokens_per_day:Q", title="Billion tokens a day", format=",.3~r"),
            alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
            alt.Tooltip("layout:N", title="Layout"),
        ],
    }
    bands = alt.Chart(useful).mark_area(color=_LINES["and failures"][0]).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    lines = [touchable(alt.Chart(rows).mark_line().encode(**encoding)) for rows in (others, useful)]
    marks = _marks(own_gpus, turning_gpus)
    last = useful.loc[useful["tokens_per_day"].idxmax()]
    return finish(
        layered(_rules(marks), bands, *lines, *_names(marks, (frame["n_gpus"].min() * frame["n_gpus"].max()) ** 0.5)),
        title=title,
        subtitle=with_marks(but_size(subtitle), "band: 90%"),
        description=(
            f"Lines of tokens a day over the number of GPUs, both axes logarithmic, counting in turn: "
            f"{', '.join(there)}. With failures most at {last['n_gpus']:,.0f} GPUs, {last['tokens_per_day']:,.0f} "
            f"billion tokens a day. Dashed rules: "
            f"{', '.join(f'{row.name} {row.n_gpus:,.0f}' for row in marks.itertuples(index=False))}."
        ),
        height=360,
    )


def _marks(own_gpus: float, turning_gpus: float | None) -> pd.DataFrame:
    marks = [("this job", float(own_gpus))]
    if turning_gpus is not None:
        marks.append(("turning point", float(turning_gpus)))
    return pd.DataFrame(marks, columns=["name", "n_gpus"]).assign(line=range(len(marks)))


def _rules(marks: pd.DataFrame) -> Any:
    return alt.Chart(marks).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("n_gpus:Q"))


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
    there = [term for term in TERM_COLOURS if term in set(frame["term"])]
    order = {term: i for i, term in enumerate(there)}
    areas = rounded(frame.assign(order=[order[term] for term in frame["term"]]), 4)
    chart = (
        alt.Chart(areas)
        .mark_area(opacity=0.85)
        .encode(
            x=logarithmic("n_gpus", "Job size [GPUs]"),
            y=alt.Y("share:Q", title="Share of a step [%]", axis=PERCENT, stack="zero", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "term:N",
                title=None,
                scale=alt.Scale(domain=there, range=[TERM_COLOURS[term] for term in there]),
                legend=alt.Legend(symbolType="square", symbolOpacity=0.85),
            ),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("term:N", title="Part"),
                alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
                alt.Tooltip("share:Q", title="Share", format=".1%"),
                alt.Tooltip("seconds:Q", title="Time [s]", format=".3g"),
                alt.Tooltip("layout:N", title="Layout"),
            ],
        )
    )
    ends = frame.sort_values("n_gpus").groupby("term", sort=False)["share"]
    shares = "; ".join(f"{term} {ends.first()[term]:.0%} to {ends.last()[term]:.0%}" for term in there)
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
    need(frame, "n_gpus", "days", "cost", "low", "high", "unit", "power_mw")
    need(best, "goal", "n_gpus", "days", "cost")
    unit = frame["unit"].iloc[0]
    name, scale = ("Cost [million USD]", 1e6) if unit == "USD" else ("Electricity [GWh]", 1e3)
    sizes = rounded(frame.drop(columns="unit").assign(cost=frame["cost"] / scale), 4)
    points = rounded(best.assign(cost=best["cost"] / scale), 4)
    x = logarithmic("days", "Until all tokens are trained on [days]")
    y = alt.Y("cost:Q", title=name, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format=",~g", tickCount=5))
    tips = [
        alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
        alt.Tooltip("days:Q", title="Days", format=",.1f"),
        alt.Tooltip("cost:Q", title=name, format=",.3~r"),
    ]
    line = (
        alt.Chart(sizes)
        .mark_line(color="#636562")
        .encode(
            x=x, y=y, order="n_gpus:Q", tooltip=[*tips, alt.Tooltip("power_mw:Q", title="Power [MW]", format=",.3~g")]
        )
    )
    goals = list(dict.fromkeys(points["goal"]))
    dots = (
        alt.Chart(points)
        .mark_point(size=150, opacity=1)
        .encode(
            x=x,
            y=y,
            color=_of_goals("color", goals),
            shape=_of_goals("shape", goals),
            tooltip=[alt.Tooltip("goal:N", title="Size that is"), *tips],
        )
    )
    marked = "; ".join(
        f"{row.goal}: {row.n_gpus:,.0f} GPUs, {row.days:,.0f} days, {row.cost:.3g}" for row in points.itertuples()
    )
    return finish(
        layered(touchable(line), dots),
        title=title,
        subtitle=but_size(subtitle),
        description=f"A curve of {name} over the days of the job, both logarithmic, a point a size. Marked: {marked}.",
        height=340,
    )


def _of_goals(channel: str, goals: list[str]) -> Any:
    looks = [next(look for name, look in _GOALS.items() if goal.startswith(name)) for goal in goals]
    if channel == "color":
        return alt.Color("goal:N", title=None, scale=alt.Scale(domain=goals, range=[colour for colour, _ in looks]))
    return alt.Shape("goal:N", title=None, scale=alt.Scale(domain=goals, range=[shape for _, shape in looks]))


def limits(frame: pd.DataFrame, caption: str) -> Table:
    """The best sizes within limits.

    Parameters
    ----------
    frame : DataFrame
        Cells as from ``words.limit_cells``.
    caption : str
        What the table shows.
    """
    return Table(need(frame, "Limit", "Best for", "GPUs"), caption, 3)


def calibrated(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Residuals of the published runs, those that the fits used apart from those left out.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.calibrated_runs``.
    title, subtitle : str
        The statement, and what is shown.
    """
    need(frame, "study", "title", "n_gpus", "measured_pct", "computed_pct", "residual_points", "used")
    kinds = list(_USED)
    runs = rounded(frame.assign(kind=[kinds[0] if used else kinds[1] for used in frame["used"]], zero=0.0), 4)
    runs = runs[["title", "study", "n_gpus", "kind", "measured_pct", "computed_pct", "residual_points", "zero"]]
    short = runs["title"].replace(_SHORTER, regex=True)
    runs = runs.assign(run=short)
    y = alt.Y("run:N", sort=list(short), title=None)
    x = alt.X("residual_points:Q", title="Computed less measured [points]")
    stems = alt.Chart(runs).mark_rule(strokeWidth=1.4).encode(y=y, x=alt.X("zero:Q"), x2="residual_points:Q")
    dots = (
        alt.Chart(runs)
        .mark_point(size=80, opacity=1)
        .encode(
            y=y,
            x=x,
            color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=kinds, range=list(_USED.values()))),
            shape=alt.Shape("kind:N", title=None, scale=alt.Scale(domain=kinds, range=["circle", "diamond"])),
            tooltip=[
                alt.Tooltip("title:N", title="Run"),
                alt.Tooltip("kind:N", title="Row"),
                alt.Tooltip("measured_pct:Q", title="Measured [%]", format=".1f"),
                alt.Tooltip("computed_pct:Q", title="Computed [%]", format=".1f"),
                alt.Tooltip("residual_points:Q", title="Off by [points]", format="+.1f"),
            ],
        )
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
