"""Charts on the size of a job: what it reaches, how surely, and with which restart."""

from __future__ import annotations

import itertools
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.bands import ENDS, band_sentence
from ettr.chapters.common.columns import Column, tooltips
from ettr.chapters.common.encodings import but_size, rounded
from ettr.chapters.common.theme import LEVEL_COLOURS, MODEL_COLOURS, RANGE_COLOURS, finish, layered, need, touchable

_LINES = {
    ("exact", "best"): "exact, best interval",
    ("exact", "as given"): "exact, interval as given",
    ("first_order", "as given"): "first order, as given",
    ("rsc", "as given"): "RSC formula, as given",
}


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
    curves = frame.assign(line=[_LINES[key] for key in zip(frame["formula"], frame["interval"], strict=True)])
    tips = tooltips("line", "n_gpus", "job_mttf_h", "interval_min", "ettr")
    across, up = builders.across("n_gpus"), builders.up("ettr", domain=[0, 1])
    lines = builders.lines(curves, across, up, "line", [*_LINES.values()], tips, clip=True)
    diamonds = builders.dots(
        published.assign(kind="reported by runs"),
        alt.X("n_gpus:Q"),
        alt.Y("ettr:Q"),
        alt.Shape("kind:N", title=None, scale=alt.Scale(range=["diamond"])),
        110,
        tooltips("run", "n_gpus", "bound", "ettr", run="Reported by", ettr=Column("ETTR", format=".0%")),
    )
    reported = ", ".join(f"{row.run} {row.bound} {row.ettr:.0%} on {row.n_gpus:,.0f}" for row in published.itertuples())
    best = curves[curves["line"] == "exact, best interval"]
    return finish(
        layered(builders.goal(target), lines, diamonds),
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


def size_with_bands(frame: pd.DataFrame, target: float, title: str, subtitle: str = "") -> Any:
    """ETTR over the size of the job at the best interval, with what the uncertain failure rate makes of it.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.size_with_bands``.
    target : float
        An ETTR to draw a line at.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "ettr", *ENDS)
    curve = builders.banded(frame, builders.across("n_gpus"), builders.up("ettr", domain=[0, 1]), ["n_gpus", "ettr"])
    near = frame.iloc[(frame["ettr"] - target).abs().argmin()]
    return finish(
        layered(*curve, builders.goal(target)),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"Curve of ETTR at the best interval over the job size on a logarithmic axis, with bands from what is "
            f"known of the failure rate. {band_sentence(near, f'At {near.n_gpus:,.0f} GPUs')}"
        ),
    )


def band_by_size(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Best interval over the size of the job, with the range that is nearly as good.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.band_by_size``.
    title, subtitle : str
        The statement, and the scenario.
    """
    columns = ("interval_min", "low_min", "high_min", "low_95_min", "high_95_min")
    need(frame, "n_gpus", *columns)
    points = rounded(frame)
    across, up = builders.across("n_gpus"), builders.up("low_min", log=True, title="Checkpoint interval [min]")
    of = {"half a point lost": ("low_min", "high_min", RANGE_COLOURS["half a point lost"], 0.25)}
    if (frame["high_95_min"] > frame["low_95_min"] * (1 + 1e-9)).any():
        of["rate, 95%"] = ("low_95_min", "high_95_min", RANGE_COLOURS["rate, 95%"], 0.55)
    areas = builders.ranges(points, across, up, "high_min", of)
    line = alt.Chart(points).mark_line(color=MODEL_COLOURS["exact"])
    best = line.encode(x=across, y=alt.Y("interval_min:Q"), tooltip=tooltips("n_gpus", *columns, interval_min="Best"))
    first, last = frame.iloc[0], frame.iloc[-1]
    return finish(
        layered(*areas, touchable(best)),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"Best checkpoint interval over the job size, both logarithmic: {first.interval_min:.3g} minutes at "
            f"{first.n_gpus:,.0f} GPUs, where {first.low_min:.3g} to {first.high_min:.3g} cost at most half a point, "
            f"and {last.interval_min:.3g} minutes at {last.n_gpus:,.0f}, where {last.low_min:.3g} to "
            f"{last.high_min:.3g} do."
        ),
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
    shades = dict(zip(names, LEVEL_COLOURS[-len(names) :], strict=True))
    colour = builders.squares("reach", shades, "ETTR", symbolOpacity=1)
    across = builders.across("n_gpus", domain=[cells["n_gpus"].min(), cells["n_gpus_end"].max()])
    ends = [cells["restart_min"].min(), cells["restart_min_end"].max()]
    up = builders.up("low_min", log=True, title="Restart time [min]", domain=ends)
    reached = [
        (name, regions[regions["at_least"] == edge].drop(columns="at_least"))
        for edge, name in zip(edges, names, strict=True)
    ]
    named = cells.rename(columns={"restart_min": "low_min", "restart_min_end": "high_min"})
    tips = tooltips("n_gpus", "low_min", "ettr", n_gpus="GPUs from", low_min="Restart from")
    answering = builders.answering(named, across, up, "n_gpus_end", "high_min", tips)
    reaching = regions.loc[regions["at_least"] == target, "n_gpus"]
    largest = f"{reaching.max():,.0f} GPUs" if len(reaching) else "no size"
    return finish(
        layered(*builders.steps(reached, across, up, "high_min", colour), answering),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"Map of ETTR over job size and restart time, both logarithmic. At least {target:.0%} is reached up to "
            f"{largest} at the shortest restart shown, {ends[0]:.1f} minutes."
        ),
    )
