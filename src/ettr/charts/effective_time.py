"""Charts on where the hours go, over interval and size."""

from __future__ import annotations

import itertools
import math
from typing import Any

import altair as alt
import pandas as pd

from ettr.charts.theme import MODEL_COLOURS, PART_COLOURS, finish, need, touchable
from ettr.plan import Band

_PARTS = list(PART_COLOURS)
_MODEL_NAMES = {"exact": "exact", "first_order": "first order", "rsc": "RSC formula"}
_DASHES = {"exact": [1, 0], "first order": [6, 3], "RSC formula": [2, 3]}


_PERCENT = alt.Axis(format="%")


def _line_colour(field: str, title: str | None, colours: dict[str, str]) -> alt.Color:
    """Colours of lines by name, with strokes in the legend."""
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=300)
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(f"{field}:N", title=title, scale=scale, legend=legend)


def _dash(field: str, title: str | None, dashes: dict[str, list[int]]) -> alt.StrokeDash:
    return alt.StrokeDash(f"{field}:N", title=title, scale=alt.Scale(domain=list(dashes), range=list(dashes.values())))


def _but_size(subtitle: str) -> str:
    return f"All but the size as in {subtitle}" if subtitle else ""


def _part_colour(frame: pd.DataFrame) -> alt.Color:
    present = [part for part in _PARTS if part in set(frame["part"])]
    return alt.Color(
        "part:N",
        title="Part",
        scale=alt.Scale(domain=present, range=[PART_COLOURS[part] for part in present]),
    )


def _log(field: str, title: str, **scale: Any) -> alt.X:
    return alt.X(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(type="log", nice=False, **scale),
        axis=alt.Axis(format="~s" if field == "n_gpus" else "~g", labelOverlap=True, tickCount=6),
    )


def time_budget(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Where the wall clock goes, as one bar split into its parts and one bar of the lost ones.

    Parameters
    ----------
    frame : DataFrame
        As from :meth:`ettr.TimeBudget.to_frame`: ``part``, ``hours`` [h], ``share``.
    title : str
        The statement that the chart shows.
    subtitle : str
        The scenario.
    """
    need(frame, "part", "hours", "share")
    lost = frame[(frame["part"] != "productive") & (frame["share"] > 0)]
    order = lost.sort_values("share", ascending=False)["part"].tolist()
    base = alt.Chart(lost).encode(y=alt.Y("part:N", sort=order, title=None))
    bars = base.mark_bar().encode(
        x=alt.X(
            "share:Q",
            title="Share of the wall clock [%]",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(zero=True),
        ),
        color=alt.Color(
            "part:N",
            legend=None,
            scale=alt.Scale(domain=order, range=[PART_COLOURS[part] for part in order]),
        ),
        tooltip=[
            alt.Tooltip("part:N", title="Part"),
            alt.Tooltip("hours:Q", title="Hours", format=",.1f"),
            alt.Tooltip("share:Q", title="Share", format=".2%"),
        ],
    )
    labels = base.mark_text(align="left", dx=4).encode(x="share:Q", text=alt.Text("share:Q", format=".1%"))
    told = ", ".join(f"{row.part} {row.share:.1%}" for row in frame.itertuples() if row.share > 0)
    return finish(
        bars + labels,
        title=title,
        subtitle=subtitle,
        description=f"Bars of the lost shares of the wall clock. All parts: {told}.",
        height=34 * len(lost) + 20,
    )


def by_interval(frame: pd.DataFrame, band: Band, given_min: float, title: str, subtitle: str = "") -> Any:
    """ETTR over the checkpoint interval, with the best one, its band and the scenario's own.

    The vertical axis begins at the ETTR of a fourfold error, so that the flat top is seen; curves leave the picture
    below it.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.by_interval`: ``interval_min`` [min], ``formula``, ``ettr``.
    band : Band
        Best interval and band.
    given_min : float
        The scenario's own interval. [min]
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "interval_min", "formula", "ettr")
    shown = frame.assign(formula=frame["formula"].map(_MODEL_NAMES))
    names = [name for name in _DASHES if name in set(shown["formula"])]
    colours = {_MODEL_NAMES[key]: colour for key, colour in MODEL_COLOURS.items() if key in _MODEL_NAMES}
    exact = shown[shown["formula"] == "exact"]
    near = exact.loc[exact["interval_min"].between(band.interval_min / 4, band.interval_min * 4), "ettr"]
    lowest, highest = math.floor(20 * near.min()) / 20, math.ceil(20 * exact["ettr"].max()) / 20
    lines = (
        alt.Chart(shown)
        .mark_line(clip=True)
        .encode(
            x=_log("interval_min", "Checkpoint interval [min]"),
            y=alt.Y("ettr:Q", title="ETTR", axis=_PERCENT, scale=alt.Scale(domain=[lowest, highest])),
            color=_line_colour("formula", "Formula", {name: colours[name] for name in names}),
            strokeDash=_dash("formula", "Formula", {name: _DASHES[name] for name in names}),
            tooltip=[
                alt.Tooltip("formula:N", title="Formula"),
                alt.Tooltip("interval_min:Q", title="Interval [min]", format=".3~g"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".2%"),
            ],
        )
    )
    visible = shown["ettr"].between(lowest, highest)
    return finish(
        _band_area(band) + _interval_marks(band.interval_min, given_min) + touchable(lines, shown[visible]),
        title=title,
        subtitle=subtitle,
        description=(
            f"Curves of ETTR over the checkpoint interval on a logarithmic axis, by {', '.join(names)}. The exact "
            f"curve "
            f"is highest at {band.interval_min:.1f} minutes; a shaded range from {band.low_min:.1f} to "
            f"{band.high_min:.1f} minutes is within half a point of it. The scenario's own interval is "
            f"{given_min:g} minutes."
        ),
    )


def _band_area(band: Band) -> Any:
    edges = pd.DataFrame({"low": [band.low_min], "high": [band.high_min], "what": ["at most half a point lost"]})
    return (
        alt.Chart(edges)
        .mark_rect(opacity=0.14, color=PART_COLOURS["productive"])
        .encode(
            x="low:Q",
            x2="high:Q",
            tooltip=[
                alt.Tooltip("what:N", title="Range"),
                alt.Tooltip("low:Q", title="from [min]", format=".3~g"),
                alt.Tooltip("high:Q", title="to [min]", format=".3~g"),
            ],
        )
    )


def _interval_marks(best_min: float, given_min: float) -> Any:
    """Named dashed lines at two intervals, each name on the side away from the other."""
    marks = pd.DataFrame({"at": [best_min, given_min], "what": ["best", "scenario"]}).sort_values("at")
    rules = alt.Chart(marks).mark_rule(strokeDash=[3, 3]).encode(x="at:Q")
    text = {"x": alt.X("at:Q"), "y": alt.value("height"), "text": alt.Text("what:N")}
    left = alt.Chart(marks.iloc[[0]]).mark_text(align="right", dx=-4, dy=-8).encode(**text)
    right = alt.Chart(marks.iloc[[1]]).mark_text(align="left", dx=4, dy=-8).encode(**text)
    return rules + left + right


def parts(frame: pd.DataFrame, axis: str, title: str, subtitle: str = "") -> Any:
    """Lost shares of the wall clock, stacked, over an interval or a size.

    Parameters
    ----------
    frame : DataFrame
        ``part``, ``share`` and the column ``axis``.
    axis : str
        ``"interval_min"`` [min] or ``"n_gpus"`` [GPUs].
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, axis, "part", "share")
    lost = frame[frame["part"] != "productive"].assign(
        order=lambda rows: rows["part"].map({part: i for i, part in enumerate(_PARTS)})
    )
    name = {"interval_min": "Checkpoint interval [min]", "n_gpus": "Job size [GPUs]"}[axis]
    chart = (
        alt.Chart(lost)
        .mark_area(opacity=0.85)
        .encode(
            x=_log(axis, name),
            y=alt.Y(
                "share:Q",
                title="Lost share of the wall clock [%]",
                axis=_PERCENT,
                stack="zero",
            ),
            color=_part_colour(lost),
            order="order:Q",
            tooltip=[
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip(f"{axis}:Q", title=name, format=".3~s" if axis == "n_gpus" else ".3~g"),
                alt.Tooltip("share:Q", title="Share", format=".2%"),
            ],
        )
    )
    ends = lost[axis].min(), lost[axis].max()
    totals = [lost.loc[lost[axis] == end, "share"].sum() for end in ends]
    return finish(
        chart,
        title=title,
        subtitle=_but_size(subtitle) if axis == "n_gpus" else subtitle,
        description=(
            f"Stacked areas of lost shares over {name}: {', '.join(lost['part'].unique())}. In all {totals[0]:.0%} "
            f"are lost at {ends[0]:,.3g} and {totals[1]:.0%} at {ends[1]:,.3g}."
        ),
    )


def interval_rules(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """What each published rule for the interval costs against the best one.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.interval_rules`: ``n_gpus``, ``rule``, ``interval_min`` [min], ``loss_points``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "rule", "interval_min", "loss_points")
    shown = frame[frame["rule"] != "Exact"]
    names = ["Young", "Daly, first order", "Daly, higher order", "Availability"]
    colours = ["#1f95ec", "#e46d09", "#2a7057", "#8d48b3"]
    dashes = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]
    chart = (
        alt.Chart(shown)
        .mark_line(clip=True)
        .encode(
            x=_log("n_gpus", "Job size [GPUs]"),
            y=alt.Y("loss_points:Q", title="ETTR lost [points]", scale=alt.Scale(domainMin=0)),
            color=_line_colour("rule", "Rule", dict(zip(names, colours, strict=True))),
            strokeDash=_dash("rule", "Rule", dict(zip(names, dashes, strict=True))),
            tooltip=[
                alt.Tooltip("rule:N", title="Rule"),
                alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
                alt.Tooltip("interval_min:Q", title="Interval [min]", format=".3~g"),
                alt.Tooltip("loss_points:Q", title="Lost [points]", format=".3f"),
            ],
        )
    )
    worst = shown.groupby("rule")["loss_points"].max()
    told = ", ".join(f"{rule} {loss:.2g}" for rule, loss in worst.items())
    return finish(
        touchable(chart),
        title=title,
        subtitle=_but_size(subtitle),
        description=f"Curves of the ETTR that four rules lose against the best interval, over the job size. Largest "
        f"losses in points: {told}.",
    )


def by_size(frame: pd.DataFrame, published: pd.DataFrame, target: float, title: str, subtitle: str = "") -> Any:
    """ETTR over the size of the job, with what runs have reported.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.by_size`.
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
            x=_log("n_gpus", "Job size [GPUs]"),
            y=alt.Y("ettr:Q", title="ETTR", axis=_PERCENT, scale=alt.Scale(domain=[0, 1])),
            color=_line_colour("line", None, {name: colours[name] for name in present}),
            strokeDash=_dash("line", None, {name: dashes[name] for name in present}),
            tooltip=[
                alt.Tooltip("line:N", title="Curve"),
                alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
                alt.Tooltip("job_mttf_h:Q", title="Time to failure [h]", format=".3~g"),
                alt.Tooltip("interval_min:Q", title="Interval [min]", format=".3~g"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
            ],
        )
    )
    goal = alt.Chart(pd.DataFrame({"ettr": [target]})).mark_rule(strokeDash=[3, 3]).encode(y="ettr:Q")
    dots = (
        alt.Chart(published.assign(kind="reported by runs"))
        .mark_point(size=110, color=MODEL_COLOURS["published"], opacity=1)
        .encode(
            x="n_gpus:Q",
            y="ettr:Q",
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
        goal + touchable(lines) + dots,
        title=title,
        subtitle=_but_size(subtitle),
        description=(
            f"Curves of ETTR over the job size on a logarithmic axis. At the best interval it falls from "
            f"{best['ettr'].iloc[0]:.0%} at {best['n_gpus'].iloc[0]:,.0f} GPUs to {best['ettr'].iloc[-1]:.0%} at "
            f"{best['n_gpus'].iloc[-1]:,.0f}. Diamonds are reported figures of runs with rates of their own: "
            f"{reported}."
        ),
        height=360,
    )


def recovery_map(frame: pd.DataFrame, target: float, title: str, subtitle: str = "") -> Any:
    """Which pairs of size and restart time reach an ETTR.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.curves.recovery_map`.
    target : float
        Cells that reach it are told apart from the others.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "n_gpus", "n_gpus_end", "restart_min", "restart_min_end", "ettr")
    classes = [0, 0.5, 0.7, 0.8, target, 0.95, 1]
    edges = sorted(set(classes))
    names = [f"{low:.0%} to {high:.0%}" for low, high in itertools.pairwise(edges)]
    bins = [*edges[:-1], 1.001]  # an ETTR of exactly 1 belongs to the last class
    shown = frame.assign(reach=pd.cut(frame["ettr"], bins, labels=names, right=False).astype(str))
    shades = ["#7f2a0a", "#bb5319", "#e39a4a", "#e8cf8b", "#8cc5a1", "#1d7f4f"]
    chart = (
        alt.Chart(shown)
        .mark_rect()
        .encode(
            x=_log("n_gpus", "Job size [GPUs]"),
            x2="n_gpus_end:Q",
            y=alt.Y(
                "restart_min:Q",
                title="Restart time [min]",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~g", tickCount=5),
            ),
            y2="restart_min_end:Q",
            color=alt.Color("reach:N", title="ETTR", scale=alt.Scale(domain=names, range=shades[-len(names) :])),
            tooltip=[
                alt.Tooltip("n_gpus:Q", title="GPUs from", format=",.0f"),
                alt.Tooltip("restart_min:Q", title="Restart from [min]", format=".2f"),
                alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
            ],
        )
    )
    reaching = frame.loc[frame["ettr"] >= target, "n_gpus_end"]
    largest = f"{reaching.max():,.0f} GPUs" if len(reaching) else "no size"
    return finish(
        chart,
        title=title,
        subtitle=_but_size(subtitle),
        description=(
            f"Map of ETTR over job size and restart time, both logarithmic. Cells of at least {target:.0%} reach up to "
            f"{largest} at the shortest restart shown, {frame['restart_min'].min():.1f} minutes."
        ),
    )
