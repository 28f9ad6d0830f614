"""Charts of one run, and of finishing dates."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import PERCENT, SHORT_NAMES, line_colour, rounded, with_marks
from ettr.chapters.common.theme import MODEL_COLOURS, PART_COLOURS, finish, need

_SIMULATED, _CLOSED = MODEL_COLOURS["simulated"], MODEL_COLOURS["exact"]
_DONE, _FORMULA = "5, 50 and 95 in 100 runs are done", "closed form"
_KINDS = {"single nodes": "#289561", "racks too": "#e46d09"}
_KIND_SHAPES = {"single nodes": "circle", "racks too": "square"}
_SHARES = (5, 25, 50, 75, 95)
_H_PER_DAY = 24.0


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
    ends = [*frame["bin_day"], closed_h / _H_PER_DAY]
    room = 0.04 * (max(ends) - min(ends)) or 0.5
    x = alt.X(
        "bin_day:Q",
        title="Days since submission",
        scale=alt.Scale(domain=[min(ends) - room, max(ends) + room], nice=False),
    )
    runs = rounded(frame.assign(day=frame["finish_h"] / _H_PER_DAY), 6)
    dots = (
        alt.Chart(runs)
        .mark_circle(size=95, opacity=0.85, color=_SIMULATED)
        .encode(
            x=x,
            y=alt.Y(
                "height:Q",
                title="Each dot is one run in 100",
                scale=alt.Scale(domain=[0, highest + 1.5], nice=False),
                axis=alt.Axis(labels=False, ticks=False, grid=False, domain=False),
            ),
            tooltip=[
                alt.Tooltip("done:Q", title="Runs done by then", format=".1%"),
                alt.Tooltip("day:Q", title="Day", format=".2f"),
                alt.Tooltip("finish_h:Q", title="Hours", format=",.1f"),
            ],
        )
    )
    marked = [(at_h / _H_PER_DAY, _DONE) for at_h in percentiles_h.values()] + [(closed_h / _H_PER_DAY, _FORMULA)]
    names = [_DONE, _FORMULA]
    lines = (
        alt.Chart(pd.DataFrame(marked, columns=["bin_day", "what"]))
        .mark_rule(strokeWidth=2)
        .encode(
            x=x,
            color=line_colour("what", None, dict(zip(names, [_SIMULATED, _CLOSED], strict=True))),
            strokeDash=alt.StrokeDash("what:N", title=None, scale=alt.Scale(domain=names, range=[[3, 3], [1, 0]])),
            tooltip=[alt.Tooltip("what:N", title="Line"), alt.Tooltip("bin_day:Q", title="Day", format=".2f")],
        )
    )
    shares = ", ".join(f"{share} in 100 after {at_h / _H_PER_DAY:.2f} days" for share, at_h in percentiles_h.items())
    return finish(
        lines + dots,
        title=title,
        subtitle=subtitle,
        description=(
            f"A hundred dots stacked by finishing date, each one run in a hundred. Done are {shares}; the closed form "
            f"says {closed_h / _H_PER_DAY:.2f} days."
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
    need(frame, "cause", "setting", "order", "ettr", "low", "high", *(f"p{share}_h" for share in _SHARES))
    days = {f"p{share}": frame[f"p{share}_h"] / _H_PER_DAY for share in _SHARES}
    intervals = zip(frame["ettr"], frame["low"], frame["high"], strict=True)
    ranges = frame[["cause", "setting", "order"]].assign(
        **days,
        label=[f"{value:.1%}" for value in frame["ettr"]],
        ettr=[f"{value:.2%} ({low:.2%} to {high:.2%})" for value, low, high in intervals],
    )
    ranges = rounded(ranges, 6)
    first, last = (min(ranges["p5"].min(), closed_h / _H_PER_DAY), max(ranges["p95"].max(), closed_h / _H_PER_DAY))
    span = max(last - first, 1e-6)
    scale = alt.Scale(domain=[first - 0.03 * span, last + 0.3 * span], nice=False)
    rows = frame.sort_values("order")["cause"].tolist()
    y = alt.Y("cause:N", sort=rows, title=None, axis=alt.Axis(labelLimit=170, labelExpr=SHORT_NAMES))

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title="Days since submission; beside it: ETTR", scale=scale)

    tooltip = [
        alt.Tooltip("cause:N", title="Cause"),
        alt.Tooltip("setting:N", title="Setting"),
        *(alt.Tooltip(f"p{share}:Q", title=f"{share} in 100 done by day", format=".2f") for share in _SHARES),
        alt.Tooltip("ettr:N", title="ETTR (95%)"),
    ]
    base = alt.Chart(ranges).encode(y=y, tooltip=tooltip)
    formula = alt.Chart(pd.DataFrame({"p50": [closed_h / _H_PER_DAY]})).mark_rule(color=_CLOSED, strokeWidth=2)
    layers = [
        formula.encode(x=x("p50")),
        base.mark_bar(height=3, color=_SIMULATED, opacity=0.55).encode(x=x("p5"), x2=alt.X2("p95:Q")),
        base.mark_bar(height=11, color=_SIMULATED, opacity=0.75).encode(x=x("p25"), x2=alt.X2("p75:Q")),
        base.mark_point(size=75, shape="diamond", color="#e46d09", opacity=1).encode(x=x("p50")),
        base.mark_text(align="left", dx=6).encode(x=x("p95"), text=alt.Text("label:N")),
    ]
    spans = "; ".join(
        f"{row.cause} {row.p5_h / _H_PER_DAY:.2f} to {row.p95_h / _H_PER_DAY:.2f}, ETTR {row.ettr:.1%}"
        for row in frame.itertuples()
    )
    return finish(
        alt.layer(*layers),
        title=title,
        subtitle=with_marks(subtitle, "orange: the middle run; blue line: closed form"),
        description=(
            f"Ranges in days between which nine runs in ten end, thick for the middle half, with a mark at the middle "
            f"run, by cause: {spans}. A line marks the closed form's {closed_h / _H_PER_DAY:.2f} days."
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
    points = frame.assign(**{f"day_{share}": frame[f"p{share}_h"] / _H_PER_DAY for share in (5, 50, 95)})
    kept = ["failures", "n_spares", "ettr", "low", "high", "waiting_h", "day_5", "day_50", "day_95"]
    base = alt.Chart(rounded(points[kept], 6)).encode(
        x=alt.X(
            "n_spares:Q",
            title="Hot spares [nodes]",
            scale=alt.Scale(zero=False, padding=8),
            axis=alt.Axis(format=",d", tickMinStep=1, tickCount=5),
        )
    )
    closed_ettr, closed_day = frame["closed_ettr"].iloc[0], frame["closed_h"].iloc[0] / _H_PER_DAY
    percent = alt.Y("ettr:Q", title="ETTR", axis=PERCENT, scale=alt.Scale(zero=False))
    days = alt.Y("day_50:Q", title="Days since submission", scale=alt.Scale(zero=False))
    present = [kind for kind in _KINDS if kind in set(frame["failures"])]
    left = _panel(base, present, percent, "ettr", ("low", "high"), closed_ettr)
    right = _panel(base, present, days, "day_50", ("day_5", "day_95"), closed_day)
    ettrs = "; ".join(
        f"{kind}: " + ", ".join(f"{row.n_spares} spares {row.ettr:.1%}" for row in rows.itertuples())
        for kind, rows in frame.groupby("failures", sort=False)
    )
    return finish(
        alt.hconcat(left, right),
        title=title,
        subtitle=with_marks(subtitle, "bars: 95%; bands: nine runs in ten; blue line: closed form"),
        description=(
            f"Two panels over the number of hot spares: ETTR with its 95% interval, and the finishing date with the "
            f"range of nine runs in ten. ETTR: {ettrs}. A line marks the closed form, {closed_ettr:.1%}."
        ),
        height=260,
    )


def _panel(base: Any, present: list[str], y: alt.Y, field: str, ends: tuple[str, str], closed: float) -> Any:
    """Points on lines with their ranges, one colour and shape a kind of failure, and the closed form as a line."""
    colours, shapes = ([of[kind] for kind in present] for of in (_KINDS, _KIND_SHAPES))
    colour = alt.Color("failures:N", title="What fails", scale=alt.Scale(domain=present, range=colours))
    shape = alt.Shape("failures:N", title="What fails", scale=alt.Scale(domain=present, range=shapes))
    tooltip = [
        alt.Tooltip("failures:N", title="What fails"),
        alt.Tooltip("n_spares:Q", title="Hot spares"),
        alt.Tooltip("ettr:Q", title="ETTR", format=".2%"),
        alt.Tooltip("low:Q", title="95%: from", format=".2%"),
        alt.Tooltip("high:Q", title="to", format=".2%"),
        alt.Tooltip("waiting_h:Q", title="Waiting for nodes [h]", format=",.3~g"),
        alt.Tooltip("day_50:Q", title="Half are done by day", format=".2f"),
        alt.Tooltip("day_5:Q", title="5 in 100 by", format=".2f"),
        alt.Tooltip("day_95:Q", title="95 in 100 by", format=".2f"),
    ]
    line = alt.Chart(pd.DataFrame({field: [closed]})).mark_rule(color=_CLOSED, strokeWidth=2)
    ranges = base.mark_rule(strokeWidth=2) if field == "ettr" else base.mark_area(opacity=0.25)
    return alt.layer(
        line.encode(y=y),
        ranges.encode(y=alt.Y(f"{ends[0]}:Q"), y2=alt.Y2(f"{ends[1]}:Q"), color=colour),
        base.mark_line(strokeWidth=1.5).encode(y=y, color=colour),
        base.mark_point(size=55, opacity=1).encode(y=y, color=colour, shape=shape, tooltip=tooltip),
    )


_STATES = {"training": PART_COLOURS["productive"]} | {
    part: PART_COLOURS[part] for part in ("checkpoint", "rework", "detection", "queue", "restart", "maintenance")
}
_WHO = {"this run": "#e46d09", "mean of all runs": MODEL_COLOURS["simulated"], "closed form": MODEL_COLOURS["exact"]}
_SHAPES = {"this run": "diamond", "mean of all runs": "circle", "closed form": "square"}
_FAINT = 0.4
"""Opacity of training, which is nearly all there is, so that the stops stand out."""


def days(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """A run as a strip a day, coloured by what it did.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.days_of_run``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, "day", "from_h", "to_h", "state", "since_h", "lasts_min")
    present = {state: colour for state, colour in _STATES.items() if state in set(frame["state"])}
    rows = sorted(frame["day"].unique())
    strips = (
        alt.Chart(rounded(frame))
        .mark_bar(cornerRadius=0, cornerRadiusEnd=0)
        .encode(
            y=alt.Y("day:O", title="Day since submission", sort=rows, axis=alt.Axis(ticks=False, grid=False)),
            x=alt.X(
                "from_h:Q",
                title="Hour of the day [h]",
                scale=alt.Scale(domain=[0, 24], nice=False),
                axis=alt.Axis(values=list(range(0, 25, 3))),
            ),
            x2=alt.X2("to_h:Q"),
            color=alt.Color(
                "state:N",
                title=None,
                scale=alt.Scale(domain=list(present), range=list(present.values())),
                legend=alt.Legend(symbolType="square", symbolOpacity=1),
            ),
            opacity=alt.condition("datum.state == 'training'", alt.value(_FAINT), alt.value(1)),
            tooltip=[
                alt.Tooltip("state:N", title="State"),
                alt.Tooltip("day:O", title="Day"),
                alt.Tooltip("from_h:Q", title="From hour", format=".2f"),
                alt.Tooltip("lasts_min:Q", title="For [min]", format=",.3~g"),
            ],
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
    y = alt.Y("part:N", sort=parts, title=None, axis=alt.Axis(grid=False))
    x = alt.X("hours:Q", title="Lost of one run [h]", scale=alt.Scale(zero=True))
    ranges = (
        alt.Chart(rounded(frame.rename(columns={"low_h": "hours"})))
        .mark_bar(height=16, opacity=0.3, cornerRadius=2, color=MODEL_COLOURS["simulated"])
        .encode(
            y=y,
            x=x,
            x2=alt.X2("high_h:Q"),
            tooltip=[
                alt.Tooltip("part:N", title="Part"),
                alt.Tooltip("hours:Q", title="5 in 100 runs less than [h]", format=",.4~g"),
                alt.Tooltip("high_h:Q", title="5 in 100 more than [h]", format=",.4~g"),
            ],
        )
    )
    columns = {"closed_h": "closed form", "mean_h": "mean of all runs", "this_h": "this run"}
    marks = frame.rename(columns=columns).melt("part", list(columns.values()), var_name="who", value_name="hours")
    base = alt.Chart(rounded(marks)).encode(
        y=y,
        x=x,
        color=alt.Color("who:N", title=None, scale=alt.Scale(domain=list(_WHO), range=list(_WHO.values()))),
        shape=alt.Shape("who:N", title=None, scale=alt.Scale(domain=list(_SHAPES), range=list(_SHAPES.values()))),
        tooltip=[
            alt.Tooltip("part:N", title="Part"),
            alt.Tooltip("who:N", title="By"),
            alt.Tooltip("hours:Q", title="Hours", format=",.4~g"),
        ],
    )
    form = base.transform_filter("datum.who === 'closed form'").mark_point(size=190, opacity=1, filled=False)
    runs = base.transform_filter("datum.who !== 'closed form'").mark_point(size=55, opacity=1)
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
