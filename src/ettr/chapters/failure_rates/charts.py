"""Charts on failure rates of clusters, and on what they mean for jobs of any size and for fleets of any age."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.theme import finish, need, touchable
from ettr.chapters.failure_rates.tables import COMPATIBLE, DIFFERENT, HARDWARE, MEMORY, OTHER, OWN, STOPS, UNTOLD

_COUNTED = {STOPS: "#ad470c", HARDWARE: "#1f95ec", MEMORY: "#289561", OTHER: "#8a8d8c", OWN: "#8449bc"}
_COUNTED_SHAPES = dict(zip(_COUNTED, ("circle", "square", "triangle-up", "cross", "diamond"), strict=True))
_VERDICTS = {COMPATIBLE: "#289561", DIFFERENT: "#ad470c", UNTOLD: "#8a8d8c"}
_VERDICT_SHAPES = dict(zip(_VERDICTS, ("circle", "square", "cross"), strict=True))
_LINES = {"RSC-1": "#ad470c", "RSC-2": "#1f95ec", OWN: "#8449bc"}
_LINE_DASHES = dict(zip(_LINES, ([1, 0], [6, 3], [2, 3]), strict=True))
_POINT_COLOUR, _POINT_SHAPES = "#2f6d8f", {"observed": "circle", "projected": "diamond"}
_SHAPE_COLOURS = ("#ad470c", "#2f6d8f", "#8449bc", "#289561", "#bf8312")
_SHAPE_DASHES = ([6, 3], [1, 0], [2, 3], [8, 2, 2, 2], [4, 4])
_LABELS = alt.Axis(labelLimit=300)
_PER_MTTF_UNIT = {"min": 60.0, "h": 1.0}


def _named(
    field: str, title: str | None, colours: dict[str, str], shapes: dict[str, str], there: Any
) -> dict[str, Any]:
    """Colour and shape by one field, in one legend, in the given order and only for what is there."""
    names = [name for name in colours if name in set(there)]
    return {
        "color": alt.Color(
            f"{field}:N", title=title, scale=alt.Scale(domain=names, range=[colours[name] for name in names])
        ),
        "shape": alt.Shape(
            f"{field}:N", title=title, scale=alt.Scale(domain=names, range=[shapes[name] for name in names])
        ),
    }


def side_by_side(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Failure rates of clusters with intervals, by what they count.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.rates``: ``title``, ``rate``, ``low``, ``high`` [1 / (1000 node-days)], ``counted``,
        ``scope``, ``status``, ``source``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "title", "rate", "low", "high", "counted", "scope", "status", "source")
    place = {kind: i for i, kind in enumerate([OWN, *(kind for kind in _COUNTED if kind != OWN)])}
    order = (
        frame.assign(place=frame["counted"].map(place))
        .sort_values(["place", "rate"], ascending=[True, False])["title"]
        .tolist()
    )
    base = alt.Chart(frame).encode(y=alt.Y("title:N", sort=order, title=None, axis=_LABELS))
    dots = base.mark_point(size=90, opacity=1).encode(
        x=alt.X("rate:Q", title="Failures per 1000 node-days", scale=alt.Scale(type="log", nice=False, padding=12)),
        **_named("counted", "Counted", _COUNTED, _COUNTED_SHAPES, frame["counted"]),
        tooltip=[
            alt.Tooltip("title:N", title="Cluster"),
            alt.Tooltip("rate:Q", title="Failures per 1000 node-days", format=".2f"),
            alt.Tooltip("low:Q", title="from", format=".2f"),
            alt.Tooltip("high:Q", title="to", format=".2f"),
            alt.Tooltip("scope:N", title="Counted"),
            alt.Tooltip("status:N", title="Status"),
            alt.Tooltip("source:N", title="Source"),
        ],
    )
    ranges = "; ".join(
        f"{kind} from {rows['rate'].min():.2f} to {rows['rate'].max():.2f}" for kind, rows in frame.groupby("counted")
    )
    return finish(
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")) + dots,
        title=title,
        subtitle=subtitle or "Lines: exact 95% interval where a count is published, else the range that is stated.",
        description=f"Dot plot of {len(frame)} failure rates per 1000 node-days on a logarithmic axis, by what they "
        f"count: {ranges}.",
        height=24 * len(frame) + 20,
    )


def ratios(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """How many times the rate of one cluster the others have.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.ratios``: ``title``, ``ratio``, ``low``, ``high``, ``basis``, ``verdict``.
    title, subtitle : str
        The statement, and the cluster that the others are compared with.
    """
    need(frame, "title", "ratio", "low", "high", "basis", "verdict")
    order = frame.sort_values("ratio", ascending=False)["title"].tolist()
    base = alt.Chart(frame).encode(y=alt.Y("title:N", sort=order, title=None, axis=_LABELS))
    dots = base.mark_point(size=90, opacity=1).encode(
        x=alt.X("ratio:Q", title="Times the rate", scale=alt.Scale(type="log", nice=False, padding=12)),
        **_named("verdict", "Same rate?", _VERDICTS, _VERDICT_SHAPES, frame["verdict"]),
        tooltip=[
            alt.Tooltip("title:N", title="Cluster"),
            alt.Tooltip("ratio:Q", title="Times the rate", format=".2f"),
            alt.Tooltip("low:Q", title="from", format=".2f"),
            alt.Tooltip("high:Q", title="to", format=".2f"),
            alt.Tooltip("basis:N", title="From"),
            alt.Tooltip("verdict:N", title="Same rate?"),
        ],
    )
    one = alt.Chart(pd.DataFrame({"ratio": [1.0]})).mark_rule(strokeDash=[3, 3]).encode(x=alt.X("ratio:Q"))
    intervals = "; ".join(
        f"{row.title} {row.ratio:.2f} ({row.low:.2f} to {row.high:.2f})" for row in frame.itertuples()
    )
    return finish(
        one + base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q")) + dots,
        title=title,
        subtitle=subtitle
        or "Lines: 95% interval of the ratio, widened by a stated range. Crosses: one figure is all that is stated.",
        description=f"Dot plot of ratios of failure rates on a logarithmic axis, with a line at 1: {intervals}.",
        height=24 * len(frame) + 20,
    )


def mttf_by_size(frame: pd.DataFrame, points: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Mean time to failure over the size of the job: lines of one rate each, and single published points.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.mttf_by_size``: ``line``, ``n_gpus``, ``mttf_h``, ``low``, ``high`` [h].
    points : DataFrame
        As from ``tables.rsc_points``: ``n_gpus``, ``mttf_h``, ``low``, ``high`` [h], ``kind``, ``rate``,
        ``status``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "line", "n_gpus", "mttf_h", "low", "high")
    need(points, "n_gpus", "mttf_h", "low", "high", "kind", "rate", "status")
    names = [name for name in _LINES if name in set(frame["line"])]
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=300)
    colour = alt.Scale(domain=names, range=[_LINES[name] for name in names])
    x = alt.X(
        "n_gpus:Q",
        title="Job size [GPUs]",
        scale=alt.Scale(type="log", nice=False, padding=8),
        axis=alt.Axis(format="~s", values=_powers(frame["n_gpus"])),
    )
    y = alt.Y(
        "mttf_h:Q",
        title="Mean time to failure [h]",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="~g", values=_powers(frame["mttf_h"])),
    )
    lines = (
        alt.Chart(frame)
        .mark_line()
        .encode(
            x=x,
            y=y,
            color=alt.Color("line:N", title="Rate of", scale=colour, legend=legend),
            strokeDash=alt.StrokeDash(
                "line:N", title="Rate of", scale=alt.Scale(domain=names, range=[_LINE_DASHES[name] for name in names])
            ),
            tooltip=[
                alt.Tooltip("line:N", title="Rate of"),
                alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
                alt.Tooltip("mttf_h:Q", title="Time to failure [h]", format=".3~g"),
                alt.Tooltip("low:Q", title="from [h]", format=".3~g"),
                alt.Tooltip("high:Q", title="to [h]", format=".3~g"),
            ],
        )
    )
    bounded = frame[frame["high"] > frame["low"]]
    band = (
        alt.Chart(bounded).mark_area(opacity=0.18, color=_LINES[OWN]).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    )
    given = alt.Chart(points)
    dots = given.mark_point(size=110, opacity=1, color=_POINT_COLOUR).encode(
        x=x,
        y=y,
        shape=alt.Shape(
            "kind:N",
            title="Published for RSC-1",
            scale=alt.Scale(domain=list(_POINT_SHAPES), range=list(_POINT_SHAPES.values())),
        ),
        tooltip=[
            alt.Tooltip("n_gpus:Q", title="GPUs", format=",.0f"),
            alt.Tooltip("kind:N", title="Is"),
            alt.Tooltip("mttf_h:Q", title="Time to failure [h]", format=".4~g"),
            alt.Tooltip("rate:Q", title="Implied failures per 1000 node-days", format=".1f"),
            alt.Tooltip("status:N", title="Status"),
        ],
    )
    whiskers = given.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    layers = (band + touchable(lines)) if len(bounded) else touchable(lines)
    sizes = "; ".join(f"{row.n_gpus:,} GPUs {row.kind} {row.mttf_h:.3g} h" for row in points.itertuples())
    return finish(
        layers + whiskers + dots,
        title=title,
        subtitle=subtitle,
        description=f"Falling lines of the mean time to failure over the job size, both axes logarithmic, at the rates "
        f"of {', '.join(names)}, and published points: {sizes}. Those at 8 and 1,024 GPUs lie below the line of RSC-1.",
        height=380,
    )


def _powers(values: pd.Series) -> list[float]:
    """The powers of ten within a range: ticks enough on two logarithmic axes."""
    low, high = math.ceil(math.log10(values.min())), math.floor(math.log10(values.max()))
    return [10.0**power for power in range(low, high + 1)]


def projections(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Mean time to failure of large jobs at the rate of each cluster.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.projections``: ``title``, ``counted``, ``n_gpus`` [GPUs], ``mttf_h``,
        ``mttf_low_h``, ``mttf_high_h`` [h].
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "title", "counted", "n_gpus", "mttf_h", "mttf_low_h", "mttf_high_h")
    unit = "min" if frame["mttf_h"].median() < 2 else "h"
    times = {name: frame[f"{name}_h"] * _PER_MTTF_UNIT[unit] for name in ("mttf", "mttf_low", "mttf_high")}
    jobs = frame.assign(size=[f"{n_gpus:,.0f} GPUs" for n_gpus in frame["n_gpus"]], **times)
    alike = ~jobs["counted"].isin((MEMORY, OTHER))
    sizes = jobs.sort_values("n_gpus")["size"].unique().tolist()
    colours = dict(zip(sizes, ("#1f95ec", "#ad470c", "#289561", "#8449bc"), strict=False))
    shapes = dict(zip(sizes, ("circle", "diamond", "square", "triangle-up"), strict=False))
    order = jobs.groupby("title")["mttf"].max().sort_values(ascending=False).index.tolist()
    base = alt.Chart(jobs).encode(y=alt.Y("title:N", sort=order, title=None, axis=_LABELS))
    dots = base.encode(
        x=alt.X("mttf:Q", title=f"Mean time to failure [{unit}]", scale=alt.Scale(type="log", nice=False, padding=12)),
        **_named("size", None, colours, shapes, sizes),
        tooltip=[
            alt.Tooltip("title:N", title="At the rate of"),
            alt.Tooltip("size:N", title="Job"),
            alt.Tooltip("mttf:Q", title=f"Time to failure [{unit}]", format=".3~g"),
            alt.Tooltip("mttf_low:Q", title="from", format=".3~g"),
            alt.Tooltip("mttf_high:Q", title="to", format=".3~g"),
            alt.Tooltip("counted:N", title="Counted"),
        ],
    )
    filled = dots.mark_point(size=90, opacity=1).properties(data=jobs[alike])
    hollow = dots.mark_point(size=70, opacity=1, filled=False).properties(data=jobs[~alike])
    spans = "; ".join(
        f"{size} from {rows['mttf'].min():.3g} to {rows['mttf'].max():.3g} {unit}"
        for size, rows in jobs.groupby("size", sort=False)
    )
    return finish(
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("mttf_low:Q"), x2=alt.X2("mttf_high:Q")) + filled + hollow,
        title=title,
        subtitle=subtitle
        or "Lines: exact 95% interval or the stated range. Hollow: memory errors only, a premise, or of unknown scope.",
        description=f"Dot plot of the mean time to failure at {len(order)} failure rates, logarithmic: {spans}.",
        height=24 * len(order) + 20,
    )


def by_age(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Failure rate of a new fleet over its age, by the shape of its lifetimes.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.by_age``: ``shape``, ``age_days``, ``age_end_days`` [d], ``rate``
        [1 / (1000 node-days)].
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "shape", "age_days", "age_end_days", "rate")
    curves = frame.assign(name=[f"shape {shape:g}" for shape in frame["shape"]])
    names = curves["name"].unique().tolist()
    colours, dashes = _SHAPE_COLOURS[: len(names)], _SHAPE_DASHES[: len(names)]
    legend = alt.Legend(symbolType="stroke", symbolStrokeWidth=3, symbolSize=300)
    lines = (
        alt.Chart(curves)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("age_days:Q", title="Age of the fleet [d]", scale=alt.Scale(nice=False, domainMin=0)),
            y=alt.Y("rate:Q", title="Failures per 1000 node-days", scale=alt.Scale(zero=True)),
            color=alt.Color(
                "name:N", title="Weibull, assumed", scale=alt.Scale(domain=names, range=list(colours)), legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "name:N", title="Weibull, assumed", scale=alt.Scale(domain=names, range=list(dashes))
            ),
            tooltip=[
                alt.Tooltip("name:N", title="Lifetimes"),
                alt.Tooltip("age_days:Q", title="from day", format=".0f"),
                alt.Tooltip("age_end_days:Q", title="to day", format=".0f"),
                alt.Tooltip("rate:Q", title="Failures per 1000 node-days", format=".2f"),
            ],
        )
    )
    changes = "; ".join(
        f"{name} from {rows['rate'].iloc[0]:.2f} to {rows['rate'].iloc[-1]:.2f}"
        for name, rows in curves.groupby("name", sort=False)
    )
    return finish(
        touchable(lines),
        title=title,
        subtitle=subtitle,
        description=f"Step lines of the failure rate per 1000 node-days over the age of a new fleet, mean of each "
        f"week: {changes}, within {frame['age_end_days'].max():g} days.",
    )
