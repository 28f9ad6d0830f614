"""Charts on failure rates of clusters, and on what they mean for jobs of any size and for fleets of any age."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import tooltips
from ettr.chapters.common.theme import BLUE, BRICK, GOLD, GREEN, PALE_GREY, STEEL, VIOLET, finish, need
from ettr.chapters.failure_rates.tables import COMPATIBLE, DIFFERENT, HARDWARE, MEMORY, OTHER, OWN, STOPS, UNTOLD

_COUNTED = {
    STOPS: (BRICK, "circle"),
    HARDWARE: (BLUE, "square"),
    MEMORY: (GREEN, "triangle-up"),
    OTHER: (PALE_GREY, "cross"),
    OWN: (VIOLET, "diamond"),
}
_VERDICTS = {COMPATIBLE: (GREEN, "circle"), DIFFERENT: (BRICK, "square"), UNTOLD: (PALE_GREY, "cross")}
_LINES = {"RSC-1": (BRICK, [1, 0]), "RSC-2": (BLUE, [6, 3]), OWN: (VIOLET, [2, 3])}
_POINT_SHAPES = {"observed": "circle", "projected": "diamond"}
_SIZES = ((BLUE, "circle"), (BRICK, "diamond"), (GREEN, "square"), (VIOLET, "triangle-up"))
_SHAPES = ((BRICK, [6, 3]), (STEEL, [1, 0]), (VIOLET, [2, 3]), (GREEN, [8, 2, 2, 2]), (GOLD, [4, 4]))
_POINT_TIPS = {"kind": "Is", "rate": "Implied failures per 1000 node-days"}
_RATIO_TIPS = {
    "title": "Cluster",
    "ratio": "Times the rate",
    "low": "From",
    "high": "To",
    "basis": "Known by",
    "verdict": "Same rate?",
}
_PER_MTTF_UNIT = {"min": 60.0, "h": 1.0}


def _across(name: str, title: str) -> alt.X:
    return alt.X(f"{name}:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=12))


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
    more = ("rate", "low", "high", "scope", "status", "source")
    tips = tooltips("title", *more, title="Cluster", low="From", high="To")
    looks, y = builders.present(_COUNTED, frame["counted"]), builders.rows("title", order, labelLimit=300)
    across = _across("rate", "Failures per 1000 node-days")
    dots = builders.shapes(frame, across, y, "counted", looks, 90, tips, "Counted")
    ranges = "; ".join(
        f"{kind} from {rows['rate'].min():.2f} to {rows['rate'].max():.2f}" for kind, rows in frame.groupby("counted")
    )
    return finish(
        builders.spans(frame, y) + dots,
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
    tips = tooltips(*_RATIO_TIPS, **_RATIO_TIPS)
    looks, y = builders.present(_VERDICTS, frame["verdict"]), builders.rows("title", order, labelLimit=300)
    dots = builders.shapes(frame, _across("ratio", "Times the rate"), y, "verdict", looks, 90, tips, "Same rate?")
    intervals = "; ".join(
        f"{row.title} {row.ratio:.2f} ({row.low:.2f} to {row.high:.2f})" for row in frame.itertuples()
    )
    return finish(
        builders.rule(alt.X("ratio:Q"), 1.0, strokeDash=[3, 3]) + builders.spans(frame, y) + dots,
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
    x = builders.across("n_gpus", padding=8).axis(format="~s", values=_powers(frame["n_gpus"]))
    y = builders.up("mttf_h", log=True, title="Mean time to failure [h]")
    y = y.axis(format="~g", values=_powers(frame["mttf_h"]))
    tips = tooltips("line", "n_gpus", "mttf_h", "low", "high", line="Rate of", low="From [h]", high="To [h]")
    lines = builders.lines(frame, x, y, "line", _LINES, tips, "Rate of")
    bounded = frame[frame["high"] > frame["low"]]
    band = alt.Chart(bounded).mark_area(opacity=0.18, color=VIOLET).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    given = alt.Chart(points)
    dots = given.mark_point(size=110, opacity=1, color=STEEL).encode(
        x=x,
        y=y,
        shape=alt.Shape(
            "kind:N",
            title="Published for RSC-1",
            scale=alt.Scale(domain=list(_POINT_SHAPES), range=list(_POINT_SHAPES.values())),
        ),
        tooltip=tooltips("n_gpus", "kind", "mttf_h", "rate", "status", **_POINT_TIPS),
    )
    whiskers = given.mark_rule(strokeWidth=1.5).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    layers = (band + lines) if len(bounded) else lines
    sizes = "; ".join(f"{row.n_gpus:,} GPUs {row.kind} {row.mttf_h:.3g} h" for row in points.itertuples())
    return finish(
        layers + whiskers + dots,
        title=title,
        subtitle=subtitle,
        description=(
            f"Falling lines of the mean time to failure over the job size, both axes logarithmic, at the rates of "
            f"{', '.join(builders.present(_LINES, frame['line']))}, and published points: {sizes}. Those at 8 and "
            f"1,024 GPUs lie below the line of RSC-1."
        ),
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
    looks = dict(zip(sizes, _SIZES, strict=False))
    order = jobs.groupby("title")["mttf"].max().sort_values(ascending=False).index.tolist()
    y, across = builders.rows("title", order, labelLimit=300), _across("mttf", f"Mean time to failure [{unit}]")
    times = {"mttf": f"Time to failure [{unit}]", "mttf_low": "From", "mttf_high": "To"}
    tips = tooltips("title", "size", *times, "counted", title="At the rate of", **times)
    filled = builders.shapes(jobs[alike], across, y, "size", looks, 90, tips)
    hollow = builders.shapes(jobs[~alike], across, y, "size", looks, 70, tips, filled=False)
    spans = "; ".join(
        f"{size} from {rows['mttf'].min():.3g} to {rows['mttf'].max():.3g} {unit}"
        for size, rows in jobs.groupby("size", sort=False)
    )
    return finish(
        builders.spans(jobs, y, "mttf_low", "mttf_high") + filled + hollow,
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
    across = alt.X("age_days:Q", title="Age of the fleet [d]", scale=alt.Scale(nice=False, domainMin=0))
    up = alt.Y("rate:Q", title="Failures per 1000 node-days", scale=alt.Scale(zero=True))
    looks = dict(zip(names, _SHAPES, strict=False))
    tips = tooltips("name", "age_days", "age_end_days", "rate", name="Lifetimes")
    legend, step = "Weibull, assumed", "step-after"
    lines = builders.lines(curves, across, up, "name", looks, tips, legend, interpolate=step)
    changes = "; ".join(
        f"{name} from {rows['rate'].iloc[0]:.2f} to {rows['rate'].iloc[-1]:.2f}"
        for name, rows in curves.groupby("name", sort=False)
    )
    return finish(
        lines,
        title=title,
        subtitle=subtitle,
        description=f"Step lines of the failure rate per 1000 node-days over the age of a new fleet, mean of each "
        f"week: {changes}, within {frame['age_end_days'].max():g} days.",
    )
