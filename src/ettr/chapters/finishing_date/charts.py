"""Charts of one run, and of finishing dates."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import FINE_SHARES, Column, tooltips
from ettr.chapters.common.encodings import SHORT_NAMES, rounded, with_marks
from ettr.chapters.common.simulated_runs import SHARES
from ettr.chapters.common.theme import GREEN, MODEL_COLOURS, ORANGE, PART_COLOURS, finish, need
from ettr.core.units import H_PER_DAY

_SIMULATED, _CLOSED = MODEL_COLOURS["simulated"], MODEL_COLOURS["exact"]
_LINES = {"5, 50 and 95 in 100 runs are done": (_SIMULATED, [3, 3]), "closed form": (_CLOSED, [1, 0])}
_KINDS = {"single nodes": (GREEN, "circle"), "racks too": (ORANGE, "square")}
_STATES = {
    "training" if part == "productive" else part: PART_COLOURS[part]
    for part in ("productive", "checkpoint", "rework", "detection", "queue", "restart", "maintenance")
}
_WHO = {
    "this run": (ORANGE, "diamond"),
    "mean of all runs": (_SIMULATED, "circle"),
    "closed form": (_CLOSED, "square"),
}
_FAINT = 0.4
"""Opacity of training, which is nearly all there is, so that the stops stand out."""


def dates(frame: pd.DataFrame, percentiles_h: dict[int, float], closed_h: float, title: str, subtitle: str = "") -> Any:
    """The finishing date as dots, each one run in a hundred.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.finishing_dates``.
    percentiles_h : dict
        Hours by which so many of a hundred runs are done. [h]
    closed_h : float
        The closed form's single number. [h]
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "done", "finish_h", "bin_day", "height")
    highest = int(frame["height"].max())
    ends = [*frame["bin_day"], closed_h / H_PER_DAY]
    room = 0.04 * (max(ends) - min(ends)) or 0.5
    x = builders.along("bin_day", domain=[min(ends) - room, max(ends) + room], nice=False)
    y = alt.Y(
        "height:Q",
        title="Each dot is one run in 100",
        scale=alt.Scale(domain=[0, highest + 1.5], nice=False),
        axis=alt.Axis(labels=False, ticks=False, grid=False, domain=False),
    )
    runs = rounded(frame.assign(day=frame["finish_h"] / H_PER_DAY), 6)
    dots = (
        alt.Chart(runs)
        .mark_circle(size=95, opacity=0.85, color=_SIMULATED)
        .encode(
            x=x,
            y=y,
            tooltip=tooltips("done", "day", "finish_h"),
        )
    )
    done, formula = _LINES
    marked = [(at_h / H_PER_DAY, done) for at_h in percentiles_h.values()] + [(closed_h / H_PER_DAY, formula)]
    lines = (
        alt.Chart(pd.DataFrame(marked, columns=["bin_day", "what"]))
        .mark_rule(strokeWidth=2)
        .encode(
            x=x,
            color=builders.strokes("what", _LINES),
            strokeDash=builders.dash("what", _LINES),
            tooltip=tooltips("what", "bin_day", what="Line"),
        )
    )
    shares = ", ".join(f"{share} in 100 after {at_h / H_PER_DAY:.2f} days" for share, at_h in percentiles_h.items())
    return finish(
        lines + dots,
        title=title,
        subtitle=subtitle,
        description=(
            f"A hundred dots stacked by finishing date, each one run in a hundred. Done are {shares}; the closed form "
            f"says {closed_h / H_PER_DAY:.2f} days."
        ),
        height=15 * (highest + 1) + 40,
    )


def causes(frame: pd.DataFrame, closed_h: float, title: str, subtitle: str = "") -> Any:
    """Ranges of the finishing date by what there is beside chance.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.finish_by_cause``.
    closed_h : float
        The closed form's single number. [h]
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "cause", "setting", "ettr", "low", "high", *(f"p{share}_h" for share in SHARES))
    days = {f"p{share}": frame[f"p{share}_h"] / H_PER_DAY for share in SHARES}
    intervals = zip(frame["ettr"], frame["low"], frame["high"], strict=True)
    ranges = frame[["cause", "setting"]].assign(
        **days,
        label=[f"{value:.1%}" for value in frame["ettr"]],
        ettr=[f"{value:.2%} ({low:.2%} to {high:.2%})" for value, low, high in intervals],
    )
    ranges = rounded(ranges, 6)
    first, last = (min(ranges["p5"].min(), closed_h / H_PER_DAY), max(ranges["p95"].max(), closed_h / H_PER_DAY))
    span = max(last - first, 1e-6)
    scale = alt.Scale(domain=[first - 0.03 * span, last + 0.3 * span], nice=False)
    y = builders.rows("cause", frame["cause"], labelLimit=170, labelExpr=SHORT_NAMES)
    x = {name: alt.X(f"{name}:Q", title="Days since submission; beside it: ETTR", scale=scale) for name in days}
    done = {f"p{share}": Column(f"{share} in 100 done by day", format=".2f") for share in SHARES}
    tips = tooltips("cause", "setting", *days, "ettr", **done, ettr=Column("ETTR (95%)"))
    base = alt.Chart(ranges).encode(y=y, tooltip=tips)
    layers = [
        builders.rule(x["p50"], closed_h / H_PER_DAY),
        base.mark_bar(height=3, color=_SIMULATED, opacity=0.55).encode(x=x["p5"], x2=alt.X2("p95:Q")),
        base.mark_bar(height=11, color=_SIMULATED, opacity=0.75).encode(x=x["p25"], x2=alt.X2("p75:Q")),
        base.mark_point(size=75, shape="diamond", color=ORANGE, opacity=1).encode(x=x["p50"]),
        base.mark_text(align="left", dx=6).encode(x=x["p95"], text=alt.Text("label:N")),
    ]
    spans = "; ".join(
        f"{row.cause} {row.p5_h / H_PER_DAY:.2f} to {row.p95_h / H_PER_DAY:.2f}, ETTR {row.ettr:.1%}"
        for row in frame.itertuples()
    )
    return finish(
        alt.layer(*layers),
        title=title,
        subtitle=with_marks(subtitle, "orange: the middle run; blue line: closed form"),
        description=(
            f"Ranges in days between which nine runs in ten end, thick for the middle half, with a mark at the middle "
            f"run, by cause: {spans}. A line marks the closed form's {closed_h / H_PER_DAY:.2f} days."
        ),
        height=30 * len(frame) + 24,
    )


def by_spares(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """ETTR and finishing date over the number of hot spares, two panels.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.finish_by_spares``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "failures", "n_spares", "ettr", "low", "high", "waiting_h", "p5_h", "p50_h", "p95_h")
    need(frame, "closed_ettr", "closed_h")
    points = frame.assign(**{f"day_{share}": frame[f"p{share}_h"] / H_PER_DAY for share in (5, 50, 95)})
    kept = ["failures", "n_spares", "ettr", "low", "high", "waiting_h", "day_5", "day_50", "day_95"]
    kinds = builders.present(_KINDS, frame["failures"])
    x = builders.along("n_spares", zero=False, padding=8).axis(format=",d", tickMinStep=1, tickCount=5)
    closed = {"ettr": frame["closed_ettr"].iloc[0], "day_50": frame["closed_h"].iloc[0] / H_PER_DAY}
    drawn, tips = rounded(points[kept], 6), tooltips(*kept, **FINE_SHARES)
    panels = []
    for name, ends in (("ettr", ("low", "high")), ("day_50", ("day_5", "day_95"))):
        y = builders.up(name, zero=False)
        points = builders.measured(drawn, x, y, ends, "failures", kinds, 55, tips, "What fails", area=name != "ettr")
        panels.append(alt.layer(builders.rule(y, closed[name]), *points))
    ettrs = "; ".join(
        f"{kind}: " + ", ".join(f"{row.n_spares} spares {row.ettr:.1%}" for row in rows.itertuples())
        for kind, rows in frame.groupby("failures", sort=False)
    )
    return finish(
        alt.hconcat(*panels),
        title=title,
        subtitle=with_marks(subtitle, "bars: 95%; bands: nine runs in ten; blue line: closed form"),
        description=(
            f"Two panels over the number of hot spares: ETTR with its 95% interval, and the finishing date with the "
            f"range of nine runs in ten. ETTR: {ettrs}. A line marks the closed form, {closed['ettr']:.1%}."
        ),
        height=260,
    )


def days(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """A run as a strip a day, coloured by what it did.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.days_of_run``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "day", "from_h", "to_h", "state", "lasts_min")
    present = builders.present(_STATES, frame["state"])
    rows = sorted(frame["day"].unique())
    x = builders.along("from_h", title="Hour of the day [h]", domain=[0, 24], nice=False)
    strips = (
        alt.Chart(rounded(frame))
        .mark_bar(cornerRadius=0, cornerRadiusEnd=0)
        .encode(
            y=alt.Y("day:O", title="Day since submission", sort=rows, axis=alt.Axis(ticks=False, grid=False)),
            x=x.axis(values=list(range(0, 25, 3))),
            x2=alt.X2("to_h:Q"),
            color=builders.squares("state", present, symbolOpacity=1),
            opacity=alt.condition("datum.state == 'training'", alt.value(_FAINT), alt.value(1)),
            tooltip=tooltips("state", "day", "from_h", "lasts_min", state="State", day=Column("Day")),
        )
    )
    hours = frame.groupby("state")["lasts_min"].sum().div(60).reindex(list(present))
    totals = ", ".join(f"{state} {value:,.1f} h" for state, value in hours.items())
    return finish(
        strips,
        title=title,
        subtitle=subtitle,
        description=f"A strip of 24 hours for each of the days {rows[0]} to {rows[-1]} of one run. In all: {totals}.",
        height=18 * len(rows) + 24,
    )


def losses(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Hours that one run lost to each part, beside all runs and the closed form.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.losses_of_runs``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "part", "this_h", "mean_h", "low_h", "high_h", "closed_h")
    parts = frame["part"].tolist()
    y = builders.rows("part", parts, grid=False)
    x = alt.X("hours:Q", title="Lost of one run [h]", scale=alt.Scale(zero=True))
    low, high = (Column(f"5 in 100 runs {than} than", "h", ",.4~g") for than in ("less", "more"))
    ranges = (
        alt.Chart(rounded(frame.rename(columns={"low_h": "hours"})))
        .mark_bar(height=16, opacity=0.3, cornerRadius=2, color=_SIMULATED)
        .encode(y=y, x=x, x2=alt.X2("high_h:Q"), tooltip=tooltips("part", "hours", "high_h", hours=low, high_h=high))
    )
    columns = {"closed_h": "closed form", "mean_h": "mean of all runs", "this_h": "this run"}
    marks = frame.rename(columns=columns).melt("part", list(columns.values()), var_name="who", value_name="hours")
    tips = tooltips("part", "who", "hours", hours=Column("Hours", format=",.4~g"))
    like = rounded(marks), x, y, "who", _WHO
    form = builders.shapes(*like, 190, tips, filled=False).transform_filter("datum.who === 'closed form'")
    runs = builders.shapes(*like, 55, tips).transform_filter("datum.who !== 'closed form'")
    by_part = "; ".join(
        f"{row.part} {row.this_h:,.4g} in this run, {row.mean_h:,.4g} on average ({row.low_h:,.4g} to "
        f"{row.high_h:,.4g} in nine of ten), {row.closed_h:,.4g} by the closed form"
        for row in frame.itertuples()
    )
    return finish(
        ranges + form + runs,
        title=title,
        subtitle=subtitle,
        description=f"Hours lost of one run by part. {by_part}.",
        height=34 * len(parts) + 24,
    )
