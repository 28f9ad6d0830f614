"""Charts on the size of a job."""

from __future__ import annotations

import itertools
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import PERCENT, but_size, dash, line_colour, logarithmic, rounded
from ettr.chapters.common.theme import MODEL_COLOURS, finish, layered, need, touchable


def by_size(frame: pd.DataFrame, published: pd.DataFrame, target: float, title: str, subtitle: str = "") -> Any:
    """ETTR over the size of the job, with what runs have reported.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.by_size``.
    published : DataFrame
        As from :func:`ettr.evidence.published_ettr`.
    target : float
        An ETTR to draw a line at.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "interval", "formula", "interval_min", "job_mttf_h", "ettr")
    need(published, "run", "n_gpus", "ettr", "bound")
    names = [
        "exact, best interval",
        "exact, interval as given",
        "first order, as given",
        "RSC formula, as given",
    ]
    labels = {("exact", "best"): names[0], ("exact", "as given"): names[1]}
    labels |= {("first_order", "as given"): names[2], ("rsc", "as given"): names[3]}
    shown = frame.assign(line=[labels[key] for key in zip(frame["formula"], frame["interval"], strict=True)])
    present = [name for name in names if name in set(shown["line"])]
    colours = dict(zip(names, ["#289561", "#1f95ec", "#e46d09", "#8d48b3"], strict=True))
    dashes = dict(zip(names, [[1, 0], [8, 2], [6, 3], [2, 3]], strict=True))
    lines = (
        alt.Chart(shown)
        .mark_line(clip=True)
        .encode(
            x=logarithmic("n_gpus", "Job size [GPUs]"),
            y=alt.Y("ettr:Q", title="ETTR", axis=PERCENT, scale=alt.Scale(domain=[0, 1])),
            color=line_colour("line", None, {name: colours[name] for name in present}),
            strokeDash=dash("line", None, {name: dashes[name] for name in present}),
            tooltip=[
                alt.Tooltip("line:N", title="Curve"),
                alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
                alt.Tooltip("job_mttf_h:Q", title="Time to failure [h]", format=".3~g"),
                alt.Tooltip("interval_min:Q", title="Interval [min]", format=".3~g"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
            ],
        )
    )
    goal = alt.Chart(pd.DataFrame({"ettr": [target]})).mark_rule(strokeDash=[3, 3]).encode(y=alt.Y("ettr:Q"))
    dots = (
        alt.Chart(published.assign(kind="reported by runs"))
        .mark_point(size=110, color=MODEL_COLOURS["published"], opacity=1)
        .encode(
            x=alt.X("n_gpus:Q"),
            y=alt.Y("ettr:Q"),
            shape=alt.Shape("kind:N", title=None, scale=alt.Scale(range=["diamond"])),
            tooltip=[
                alt.Tooltip("run:N", title="Reported by"),
                alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
                alt.Tooltip("bound:N", title="Figure is"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".0%"),
            ],
        )
    )
    reported = ", ".join(f"{row.run} {row.bound} {row.ettr:.0%} on {row.n_gpus:,.0f}" for row in published.itertuples())
    best = shown[shown["line"] == names[0]]
    return finish(
        layered(goal, touchable(lines), dots),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"Curves of ETTR over the job size on a logarithmic axis. At the best interval it falls from "
            f"{best['ettr'].iloc[0]:.0%} at {best['n_gpus'].iloc[0]:,.0f} GPUs to {best['ettr'].iloc[-1]:.0%} at "
            f"{best['n_gpus'].iloc[-1]:,.0f}. Diamonds are reported figures of runs with rates of their own: "
            f"{reported}."
        ),
        height=360,
    )


def levels(target: float) -> list[float]:
    """The ETTRs that the map of restarts tells apart."""
    return sorted({0.0, 0.5, 0.7, 0.8, target, 0.95})


def recovery_map(regions: pd.DataFrame, cells: pd.DataFrame, target: float, title: str, subtitle: str = "") -> Any:
    """Which pairs of size and restart time reach an ETTR.

    Parameters
    ----------
    regions : DataFrame
        As from ``tables.recovery_regions``, for :func:`levels`.
    cells : DataFrame
        As from ``tables.recovery_map``; they answer the pointer.
    target : float
        Pairs that reach it are told apart from the others.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(regions, "at_least", "n_gpus", "low_min", "high_min")
    need(cells, "n_gpus", "n_gpus_end", "restart_min", "restart_min_end", "ettr")
    edges = levels(target)
    names = [f"{low:.0%} to {high:.0%}" for low, high in itertools.pairwise([*edges, 1.0])]
    shades = ["#7f2a0a", "#bb5319", "#e39a4a", "#e8cf8b", "#8cc5a1", "#1d7f4f"][-len(names) :]
    colour = alt.Color(
        "reach:N",
        title="ETTR",
        scale=alt.Scale(domain=names, range=shades),
        legend=alt.Legend(symbolType="square", symbolOpacity=1),
    )
    across = logarithmic("n_gpus", "Job size [GPUs]", domain=[cells["n_gpus"].min(), cells["n_gpus_end"].max()])
    up = alt.Y(
        "low_min:Q",
        title="Restart time [min]",
        scale=alt.Scale(type="log", nice=False, domain=[cells["restart_min"].min(), cells["restart_min_end"].max()]),
        axis=alt.Axis(format="~g", tickCount=5),
    )
    # laid on each other from the lowest level to the highest, so that no seam shows between them
    areas = [
        alt.Chart(rounded(regions[regions["at_least"] == level].assign(reach=name).drop(columns="at_least")))
        .mark_area(opacity=1, clip=True)
        .encode(x=across, y=up, y2=alt.Y2("high_min:Q"), color=colour)
        for level, name in zip(edges, names, strict=True)
        if (regions["at_least"] == level).any()
    ]
    answering = (
        alt.Chart(rounded(cells).rename(columns={"restart_min": "low_min", "restart_min_end": "high_min"}))
        .mark_rect()
        .encode(
            x=across,
            x2=alt.X2("n_gpus_end:Q"),
            y=up,
            y2=alt.Y2("high_min:Q"),
            opacity=alt.value(0),
            tooltip=[
                alt.Tooltip("n_gpus:Q", title="GPUs from", format=",.0f"),
                alt.Tooltip("low_min:Q", title="Restart from [min]", format=".2f"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
            ],
        )
    )
    reaching = regions.loc[regions["at_least"] == target, "n_gpus"]
    largest = f"{reaching.max():,.0f} GPUs" if len(reaching) else "no size"
    return finish(
        layered(*areas, answering),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"Map of ETTR over job size and restart time, both logarithmic. At least {target:.0%} is reached up to "
            f"{largest} at the shortest restart shown, {cells['restart_min'].min():.1f} minutes."
        ),
    )
