"""Yield, step time and cost by size, and the size at which the next GPU stops paying."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from ettr import sizing
from ettr.core.errors import InputError
from ettr.core.sentences import Finding, about, days, gpus, pct, plain, say
from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.encodings import but_size, rounded, with_marks
from ettr.plots.theme import BLUE, GREEN, GREY, OCHRE, ORANGE, PART_COLOURS, finish, layered, touchable
from ettr.scaling import Layout, StepTime
from ettr.scenario import Scenario
from ettr.sizing import CHEAPEST, FASTEST, GREENEST
from ettr.sizing.yields import throughput_of

LINEAR, THROUGHPUT, HEAT, USEFUL = "linear", "throughput", "with heat", "with failures"
"""Lines of the chart, each with one more loss: linear scaling, communication, the hottest GPU, and failures."""
_LINES = {
    LINEAR: (GREY, [2, 3]),
    THROUGHPUT: (BLUE, [8, 2]),
    HEAT: (ORANGE, [6, 3]),
    USEFUL: (GREEN, [1, 0]),
}
IDEAL = "computing, at the peak"
TERMS = {
    "ideal_s": (IDEAL, "productive"),
    "kernels_s": ("kernels below the peak", "slowdown"),
    "recompute_s": ("recomputation", "maintenance"),
    "tensor_s": ("tensor-parallel communication", "checkpoint"),
    "context_s": ("context-parallel communication", "degraded"),
    "bubble_s": ("pipeline bubble", "queue"),
    "handover_s": ("pipeline send/recv", "restart"),
    "data_s": ("data-parallel all-reduce", "detection"),
    "stragglers_s": ("waiting for the slowest node", "rework"),
}
"""Parts of a step in words, in the order of a chart, with the part of a time budget whose colour they have."""
_TERM_COLOURS = {name: PART_COLOURS[part] for name, part in TERMS.values()}
THIS_JOB, IN_TIME = "this job", "in twice the time of the fastest"
_GOALS = {THIS_JOB: (OCHRE, "circle"), "fastest": (BLUE, "triangle-right"), IN_TIME: (GREEN, "diamond")}
_SIZES_OF_COST, _BEYOND_FASTEST = 120, 2.0
_PATIENCE = 2.0
"""Longest acceptable duration, as a multiple of the shortest (assumed)."""


def answer(sizes: sizing.Sizing, rarer_gpus: float, often_gpus: float, patient: sizing.BestSize | None) -> Finding:
    """Return the size at which the next GPU stops paying.

    Parameters
    ----------
    sizes : Sizing
        The best sizes.
    rarer_gpus, often_gpus : float
        The sizes that yield most with half and with twice the failure rate.
    patient : BestSize or None
        As from :func:`in_time`.
    """
    share, fastest = sizes.next.share, sizes.best[FASTEST]
    ends = fastest.n_gpus if sizes.turning_gpus is None else sizes.turning_gpus
    now = say(
        "The next GPU adds {share:share0} of the yield of the average GPU"
        if share >= 0
        else "The next GPU reduces the yield by {share:share0} of the average GPU's",
        "The batch has no work for one more GPU",
        share=abs(share),
    )
    if sizes.next.mean_tokens_per_day <= 0:
        now = say("On {n_gpus:gpus} the job makes no progress", n_gpus=sizes.next.n_gpus)
    until = say("beyond {#turning:gpus2} the batch has no work for one more replica", turning=ends)
    if not sizes.batch_ends and sizes.turning_gpus is not None:
        until = say("beyond about {#turning:gpus2} each extra GPU slows the job down", turning=ends)
    texts = [
        f"**{now}; {until}.**",
        say(
            "With half the failure rate the limit is {rarer:gpus2}, with twice the rate {often:gpus2}.",
            rarer=rarer_gpus,
            often=often_gpus,
        )
        if sizes.scenario.failure_rate
        else "",
        say(
            "The fastest size takes {days} and {usd:usd}.",
            "The fastest size takes {days}.",
            days=days(about(float(fastest.yields.days))),
            usd=float(fastest.yields.usd) or None,
        ),
        _patient(fastest, patient),
    ]
    return Finding(
        title=f"{now}; {plain(until)}",
        text=" ".join(filter(None, texts)),
    )


def _patient(fastest: sizing.BestSize, patient: sizing.BestSize | None) -> str:
    if patient is None:
        return ""
    fastest_usd = float(fastest.yields.usd)
    return say(
        "If you can wait twice as long, {n_gpus:gpus2} are enough, for {part:share0} of that cost.",
        "If you can wait twice as long, {n_gpus:gpus2} are enough.",
        n_gpus=patient.n_gpus,
        part=float(patient.yields.usd) / fastest_usd if fastest_usd > 0 else None,
    )


def returns_by_size(run: Scenario, n_draws: int = 200) -> pd.DataFrame:
    """Return tokens per day by size: ideal, at full speed, in the heat, and with failures.

    Parameters
    ----------
    run : Scenario
        A job with its work in tokens.
    n_draws : int
        Draws of the band.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``line`` (``linear``, ``throughput``, ``with heat``, ``with failures``), ``tokens_per_day``,
        ``low`` and ``high`` (90%, of the last line only) [tokens/d], ``ettr``, ``layout``. The line with heat is left
        out if heat costs nothing; sizes without yield are left out, too.
    """
    curve = sizing.curve(run, n_draws=n_draws)
    curve = curve[curve["useful_tokens_per_day"] > 0]
    per_gpu = (curve["tokens_per_day"] / curve["n_gpus"]).max()
    through = throughput_of(run)
    counted = through.n_tokens / through.tokens_needed
    lines = {
        LINEAR: curve["n_gpus"] * per_gpu * counted,
        THROUGHPUT: curve["tokens_per_day"] * counted,
        HEAT: curve["tokens_per_day"] * curve["speed"] * counted,
        USEFUL: curve["useful_tokens_per_day"],
    }
    if (curve["speed"] > 1 - 1e-9).all():
        del lines[HEAT]
    frames = [
        curve[["n_gpus", "ettr", "layout"]].assign(
            line=line,
            tokens_per_day=values,
            low=curve["useful_tokens_per_day_low"] if line == USEFUL else np.nan,
            high=curve["useful_tokens_per_day_high"] if line == USEFUL else np.nan,
        )
        for line, values in lines.items()
    ]
    return pd.concat(frames, ignore_index=True)


def returns(sizes: sizing.Sizing) -> Any:
    """Draw tokens per day by size, with and without waiting, heat and failures."""
    run = sizes.scenario
    frame = returns_by_size(run)
    billions = frame.assign(**{name: frame[name] / 1e9 for name in ("tokens_per_day", "low", "high")})
    useful = rounded(billions.loc[frame["line"] == USEFUL, ["n_gpus", "tokens_per_day", "low", "high"]], 4)
    x, y = builders.across("n_gpus"), builders.up("tokens_per_day", log=True, ticks=6)
    bands = alt.Chart(useful).mark_area(color=_LINES[USEFUL][0]).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    tips = tooltips("line", "n_gpus", "tokens_per_day", "ettr", "layout", line="Throughput")
    drawn = rounded(billions.drop(columns=["low", "high"]), 4)
    lines = builders.lines(drawn, x, y, "line", _LINES, tips, "Throughput")
    at = {THIS_JOB: float(run.cluster.n_gpus)}
    if sizes.turning_gpus is not None:
        at["peak"] = float(sizes.turning_gpus)
    marks = pd.DataFrame({"name": [*at], "n_gpus": [*at.values()], "line": range(len(at))})
    rules = alt.Chart(marks).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("n_gpus:Q"))
    most = useful.loc[useful["tokens_per_day"].idxmax()]
    return finish(
        layered(rules, bands, lines, *_names(marks, (frame["n_gpus"].min() * frame["n_gpus"].max()) ** 0.5)),
        title=say(
            "Twice the GPUs would yield {times:about} times the tokens",
            "Waiting and failures make each extra GPU worth less",
            times=gain_of_doubling(run),
        ),
        subtitle=with_marks(but_size(run.title), "band: 90%"),
        description=(
            f"Lines of tokens per day over the number of GPUs, both axes logarithmic: "
            f"{', '.join(builders.present(_LINES, frame['line']))}. "
            f"With failures, the maximum is at {most['n_gpus']:,.0f} GPUs: {most['tokens_per_day']:,.0f} "
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


def step_by_size(run: Scenario, also: Iterable[float] = (), n_sizes: int = 60) -> pd.DataFrame:
    """Return the parts of a step by size, each with its fastest layout, and the job with its own.

    Parameters
    ----------
    run : Scenario
        A job with its work in tokens.
    also : iterable of float
        Further sizes to include. [GPUs]
    n_sizes : int
        Number of other sizes.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``term`` (in words), ``seconds`` [s], ``share``, ``layout``; without sizes that no layout
        fits, and without terms that are zero everywhere.
    """
    through = throughput_of(run)
    sizes = np.union1d(np.geomspace(*sizing.range_gpus(run), n_sizes), [run.cluster.n_gpus, *also])
    chosen = through.fastest(sizes)
    fits = np.asarray(chosen.tensor) > 0
    sizes, chosen = sizes[fits], _with_own(chosen.at(fits), sizes[fits], run)
    step = through.step(sizes, chosen)
    names = [str(chosen.at(i)) for i in range(sizes.size)]
    frames = [
        pd.DataFrame(
            {
                "n_gpus": sizes,
                "term": TERMS[field.name][0],
                "seconds": np.broadcast_to(getattr(step, field.name), sizes.shape),
                "share": getattr(step, field.name) / step.total_s,
                "layout": names,
            }
        )
        for field in fields(StepTime)
    ]
    return pd.concat([frame for frame in frames if (frame["seconds"] > 0).any()], ignore_index=True)


def _with_own(chosen: Layout, sizes: np.ndarray, run: Scenario) -> Layout:
    """Return the layouts, with the job's own at its own size."""
    layout = run.layout_of_job
    assert layout is not None
    is_size_of_job = sizes == run.cluster.n_gpus
    return Layout(
        **{name: np.where(is_size_of_job, getattr(layout, name), value) for name, value in vars(chosen).items()}
    )


def step(run: Scenario) -> Any:
    """Draw the shares of a step by size, stacked."""
    frame = step_by_size(run)
    here = frame[(frame["n_gpus"] == run.cluster.n_gpus) & (frame["term"] == IDEAL)]["share"].iloc[0]
    present = builders.present(_TERM_COLOURS, frame["term"])
    y = builders.up("share", title="Share of a step [%]", domain=[0, 1])
    tips = tooltips("term", "n_gpus", "share", "seconds", "layout")
    ends = frame.sort_values("n_gpus").groupby("term", sort=False)["share"]
    shares = "; ".join(f"{term} {ends.first()[term]:.0%} to {ends.last()[term]:.0%}" for term in present)
    sizes = f"{frame['n_gpus'].min():,.0f} to {frame['n_gpus'].max():,.0f} GPUs"
    return finish(
        builders.stacked(frame, builders.across("n_gpus"), y, "term", _TERM_COLOURS, tips),
        title=f"On {gpus(run.cluster.n_gpus)} the model FLOPs utilisation is {pct(here, 0)}",
        subtitle=but_size(run.title),
        description=f"Stacked areas of the shares of a training step from {sizes}, logarithmic: {shares}.",
        height=340,
    )


def on_size(run: Scenario, n_gpus: float) -> sizing.Yields:
    """Return the yield of a job on a size, with its own layout at its own size, else the fastest.

    Returns
    -------
    Yields
        Arrays of one place.
    """
    layout = run.layout_of_job if n_gpus == run.cluster.n_gpus else None
    return sizing.yields(run, np.array([float(n_gpus)]), None if layout is None else layout.one_axis())


def gain_of_doubling(run: Scenario) -> float | None:
    """Return useful tokens per day on twice the GPUs over those of the job; None if either is missing."""
    n_gpus = run.cluster.n_gpus
    smallest, largest = sizing.range_gpus(run)
    if not smallest <= n_gpus <= largest / 2:
        return None
    now, then = (_useful(run, size) for size in (n_gpus, 2 * n_gpus))
    return then / now if now > 0 and then > 0 else None


def _useful(run: Scenario, size: int) -> float:
    """Return useful tokens per day with the fastest layout of a size; 0 if it has none."""
    try:
        layout = throughput_of(run).fastest_dividing(size)
    except InputError:
        return 0.0
    return float(sizing.yields(run, np.array([float(size)]), layout.one_axis()).useful_tokens_per_day[0])


def in_time(run: Scenario, sizes: sizing.Sizing) -> sizing.BestSize | None:
    """Return the cheapest size within twice the shortest time, or the one with least CO2 if there is no price."""
    goal = next((goal for goal in (CHEAPEST, GREENEST) if goal in sizes.best), None)
    if goal is None:
        return None
    deadline = float(sizes.best[FASTEST].yields.days) * _PATIENCE
    return sizing.best(run, goal, sizing.SizingLimits(deadline_days=deadline), sizing.draws(run, 100))


def cost_by_size(run: Scenario) -> pd.DataFrame:
    """Return days and cost by size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``days``, ``cost``, ``unit`` of the cost (``USD``, or ``MWh`` of electricity without a
        price), ``power_mw`` [MW]. Up to twice the fastest size; sizes that never end are left out.

    Raises
    ------
    InputError
        No size ever ends.
    """
    low_gpus, high_gpus = sizing.range_gpus(run)
    sizes = np.geomspace(low_gpus, high_gpus, _SIZES_OF_COST)
    duration = sizing.yields(run, sizes).days
    if not np.isfinite(duration).any():
        raise InputError("no number of GPUs ever trains on all tokens")
    last = min(high_gpus, _BEYOND_FASTEST * sizes[duration.argmin()])
    at = sizing.yields(run, np.geomspace(low_gpus, last, _SIZES_OF_COST))
    ends = np.isfinite(at.days)
    unit, cost = ("USD", at.usd) if (at.usd[ends] > 0).any() else ("MWh", at.mwh)
    curve = pd.DataFrame({"n_gpus": at.n_gpus, "days": at.days, "power_mw": at.power_mw, "cost": cost, "unit": unit})
    return curve[ends]


def marked_sizes(sizes: sizing.Sizing, patient: sizing.BestSize | None, unit: str) -> pd.DataFrame:
    """Return the sizes that the cost chart marks: ``goal`` (in words), ``n_gpus`` [GPUs], ``days``, ``cost``."""
    cost, n_gpus = "usd" if unit == "USD" else "mwh", sizes.scenario.cluster.n_gpus
    here = on_size(sizes.scenario, n_gpus)
    rows = [(THIS_JOB, float(n_gpus), float(here.days[0]), float(getattr(here, cost)[0]))]
    for goal, size in (("fastest", sizes.best[FASTEST]), (IN_TIME, patient)):
        if size is not None and size.n_gpus != n_gpus:
            rows.append((goal, float(size.n_gpus), float(size.yields.days), float(getattr(size.yields, cost))))
    marked = pd.DataFrame(rows, columns=["goal", "n_gpus", "days", "cost"])
    return marked[np.isfinite(marked["days"])].drop_duplicates("n_gpus")


def cost(sizes: sizing.Sizing, patient: sizing.BestSize | None) -> Any:
    """Draw days against cost, one curve over size, with the best sizes; electricity instead without prices."""
    run = sizes.scenario
    frame = cost_by_size(run)
    unit = frame["unit"].iloc[0]
    best = marked_sizes(sizes, patient, unit)
    name, scale, what = ("Cost [million USD]", 1e6, "money")
    if unit == "MWh":
        name, scale, what = "Electricity [GWh]", 1e3, "electricity"
    curve = rounded(frame.drop(columns="unit").assign(cost=frame["cost"] / scale), 4)
    points = rounded(best.assign(cost=best["cost"] / scale), 4)
    x = builders.across("days", padding=12)
    y = alt.Y("cost:Q", title=name, scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format=",~g", tickCount=5))
    columns, of_cost = ("n_gpus", "days", "cost"), {"cost": Column(name, format=",.3~r")}
    line = alt.Chart(curve).mark_line(color=GREY)
    line = line.encode(x=x, y=y, order="n_gpus:Q", tooltip=tooltips(*columns, "power_mw", **of_cost))
    looks = builders.present(_GOALS, points["goal"])
    dots = builders.shapes(points, x, y, "goal", looks, 150, tooltips("goal", *columns, **of_cost))
    marked = "; ".join(
        f"{row.goal}: {row.n_gpus:,.0f} GPUs, {row.days:,.0f} days, {row.cost:.3g}" for row in points.itertuples()
    )
    fast = best.loc[best["days"].idxmin()]
    slow = best.loc[best["cost"].idxmin()]
    title = f"The fastest size, {gpus(about(fast['n_gpus']))}, is also the cheapest marked here"
    if slow["n_gpus"] != fast["n_gpus"]:
        title = say(
            "{days:about} times as fast costs {cost:about} times the {what}",
            days=slow["days"] / fast["days"],
            cost=fast["cost"] / slow["cost"],
            what=what,
        )
    return finish(
        layered(touchable(line), dots),
        title=title,
        subtitle=but_size(run.title),
        description=f"A curve of {name} over the days of the job, both logarithmic, over size. Marked: {marked}.",
        height=340,
    )
