"""Charts of one failure log: times, nodes, repairs and forecasts."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.theme import MODEL_COLOURS, NoChart, finish

_OBSERVED, _MODEL, _THIRD = MODEL_COLOURS["exact"], MODEL_COLOURS["first_order"], MODEL_COLOURS["rsc"]
_RATED = ("n_events", "rate", "low", "high")
_RATED_AS = {
    "rate": Column("Per 1,000 node-days", format=",.3~r"),
    "low": Column("95% from", format=",.3~r"),
    "high": Column("to", format=",.3~r"),
}
_LONGEST_NAME = 60


def components(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw failures by component, with the exact interval of each count.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`~ettr.failures.groups.rates_by`: ``group``, ``n_events``, ``rate``, ``low``, ``high``
        [1 / (1000 node-days)].
    title : str
        Finding of the chart.
    subtitle : str
        Source of the failures.
    """
    if frame.empty:
        return NoChart("nothing failed.")
    base = alt.Chart(frame).encode(
        y=alt.Y("group:N", sort=frame["group"].tolist(), title=None),
        tooltip=tooltips("group", *_RATED, group="Component", **_RATED_AS),
    )
    bars = base.mark_bar().encode(
        x=alt.X("rate:Q", title="Failures per 1,000 node-days", scale=alt.Scale(zero=True)),
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    most = ", ".join(f"{str(row.group)[:_LONGEST_NAME]} {row.n_events}" for row in frame.head(5).itertuples())
    return finish(
        bars + whiskers,
        title=title,
        subtitle=subtitle or "Lines: exact 95% CI, if failures are independent.",
        description=(
            f"Bars of failures per 1,000 node-days by component, {len(frame)} in all, with 95% intervals. "
            f"Most failures: {most}."
        ),
        height=24 * len(frame) + 20,
    )


def over_time(frame: pd.DataFrame, rate: float, title: str, subtitle: str = "") -> Any:
    """Draw the failure rate over time, with the mean of the whole log.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`~ettr.failures.trend.rate_over_time`: ``start_h``, ``end_h`` [h], ``n_events``, ``rate``,
        ``low``, ``high`` [1 / (1000 node-days)].
    rate : float
        Rate of the whole log. [1 / (1000 node-days)]
    title, subtitle
        As in :func:`components`.
    """
    if frame["n_events"].sum() == 0:
        return NoChart("nothing failed.")
    stretches = frame.assign(
        start_d=frame["start_h"] / 24,
        end_d=frame["end_h"] / 24,
        middle_d=(frame["start_h"] + frame["end_h"]) / 48,
        zero=0.0,
    )
    base = alt.Chart(stretches).encode(
        tooltip=tooltips("start_d", "end_d", *_RATED, **_RATED_AS),
    )
    bars = base.mark_bar(opacity=0.75, stroke="white", strokeWidth=1).encode(
        x=builders.along("start_d", nice=False),
        x2="end_d:Q",
        y=alt.Y("rate:Q", title="Failures per 1,000 node-days", scale=alt.Scale(zero=True)),
        y2="zero:Q",
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x="middle_d:Q", y="low:Q", y2="high:Q")
    mean = (
        alt.Chart(pd.DataFrame({"mean": [rate]}))
        .mark_rule(strokeDash=[6, 4], strokeWidth=2)
        .encode(y=alt.Y("mean:Q", title="Failures per 1,000 node-days"))
    )
    return finish(
        bars + whiskers + mean,
        title=title,
        subtitle=subtitle or "Lines: exact 95% CI of each bar, if failures are independent. Dashed: the whole log.",
        description=(
            f"Bars of the failure rate in {len(frame)} equal stretches of {_digits(stretches['end_d'].max())} days, "
            f"with 95% intervals, from {_digits(frame['rate'].min())} to {_digits(frame['rate'].max())} "
            f"per 1,000 node-days; the whole log has {_digits(rate)}."
        ),
    )


def nodes(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the number of nodes by their number of failures, against identical nodes.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`ettr.failures.node_counts`: ``failures`` (a label), ``order``, ``nodes``, ``kind`` (``seen`` or
        ``equal nodes``), ``log`` (``as logged`` or ``repeats taken out``).
    title, subtitle
        As in :func:`components`.
    """
    if frame.empty:
        return NoChart("no failure names its node.")
    labels = frame.drop_duplicates("failures").sort_values("order")["failures"].tolist()
    nodes_of_kind = Column("Nodes", format=",.1f")
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("failures:N", sort=labels, title="Failures of a node [count]", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("kind:N", sort=["seen", "equal nodes"]),
            y=alt.Y(
                "nodes:Q",
                title="Nodes [count]",
                scale=alt.Scale(type="symlog", constant=1),
                axis=alt.Axis(values=_ladder(frame["nodes"].max(), 1), format=",.0f", labelOverlap="greedy"),
            ),
            color=builders.colours("kind", {"seen": _OBSERVED, "equal nodes": _MODEL}),
            tooltip=tooltips("failures", "kind", "nodes", failures="Failures", kind="Of", nodes=nodes_of_kind),
        )
    )
    chart = bars.facet(alt.Facet("log:N", title=None, sort=["as logged", "repeats taken out"]), columns=2)
    counts = frame.pivot_table("nodes", ["log", "order"], "kind")
    zero = "; ".join(
        f"{log} {row['seen']:,.0f} of {counts.loc[log, 'seen'].sum():,.0f} nodes never failed, where "
        f"{row['equal nodes']:,.0f} would be expected"
        for log, row in ((name, counts.loc[(name, 0)]) for name in frame["log"].unique())
    )
    return finish(
        chart,
        title=title,
        subtitle=subtitle,
        description=(
            "Bars of the number of nodes by their number of failures, on a logarithmic axis, and the numbers expected "
            f"for identical nodes; one panel for the original log, one without repeats: {zero}."
        ),
        height=220,
    )


def after_repair(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Draw the failure rate of a node by the time since its return to service.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`~ettr.failures.repeats.hazard_after_repair`, with a label ``since``: ``since``, ``n_events``,
        ``node_days``, ``rate``, ``low``, ``high`` [1 / (1000 node-days)], ``elsewhere`` (true for later).
    title, subtitle
        As in :func:`components`.
    """
    watched = frame[frame["node_days"] > 0]
    if watched.empty:
        return NoChart("no failure names its node.")
    base = alt.Chart(watched).encode(
        x=alt.X(
            "since:N",
            sort=watched["since"].tolist(),
            title="Time since the last repair [d]",
            axis=alt.Axis(labelAngle=0, labelPadding=10),
        )
    )
    highest = float(watched["high"].max())
    # both layers need the axis: merged with a layer without it, it loses half of its marks
    axis = alt.Axis(values=_ladder(highest, highest / 400), format=",~r", labelOverlap="greedy")
    dots = base.mark_point(size=90).encode(
        y=alt.Y(
            "rate:Q",
            title="Failures per 1,000 node-days",
            scale=alt.Scale(type="sqrt", zero=True),
            axis=axis,
        ),
        shape=alt.Shape("elsewhere:N", legend=None),
        color=alt.Color("elsewhere:N", legend=None, scale=alt.Scale(domain=[False, True], range=[_OBSERVED, _THIRD])),
        tooltip=tooltips("since", "node_days", *_RATED, **_RATED_AS),
    )
    whiskers = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", axis=axis), y2="high:Q")
    rates = "; ".join(f"{row.since}: {_digits(row.rate)}" for row in watched.itertuples())
    return finish(
        whiskers + dots,
        title=title,
        subtitle=subtitle or "Lines: exact 95% CI. The vertical axis has a square-root scale.",
        description=f"Dots of failures per 1,000 node-days by days since a node's return to service: {rates}.",
        height=280,
    )


def forecasts(frame: pd.DataFrame, horizon_d: float, title: str, subtitle: str = "") -> Any:
    """Draw forecasts made from past data alone, and the outcomes.

    Parameters
    ----------
    frame : DataFrame
        As ``ForecastScore.table``: ``origin_d`` [d], ``n_events``, ``low``, ``high``, ``poisson_low``,
        ``poisson_high``, ``inside``.
    horizon_d : float
        Days that each forecast covers. [d]
    title, subtitle
        As in :func:`components`.
    """
    if frame.empty:
        return NoChart("the log has too few failures to test forecasts.")
    outcomes = frame.assign(came=frame["inside"].map({True: "inside", False: "outside"}))
    x = builders.along("origin_d", nice=False, padding=6)
    base = alt.Chart(outcomes)
    ahead = f"{horizon_d:.3g} days" if horizon_d >= 2 else f"{24 * horizon_d:.3g} h"
    counts = f"Failures in the next {ahead} [count]"
    wide = base.mark_area(opacity=0.18, color=_OBSERVED).encode(x=x, y=alt.Y("low:Q", title=counts), y2="high:Q")
    narrow = base.mark_area(opacity=0.35, color=_OBSERVED).encode(x=x, y="poisson_low:Q", y2="poisson_high:Q")
    integer = {"format": ".0f"}
    bands = {
        "low": Column("95% prediction interval from", **integer),
        "high": Column("to", **integer),
        "poisson_low": Column("Poisson from", **integer),
        "poisson_high": Column("Poisson to", **integer),
    }
    dots = base.mark_point(size=45).encode(
        x=x,
        y="n_events:Q",
        color=builders.colours("came", {"inside": _THIRD, "outside": _MODEL}, "Actual number"),
        shape=alt.Shape("came:N", title="Actual number", scale=alt.Scale(domain=["inside", "outside"])),
        tooltip=tooltips("origin_d", "n_events", *bands, n_events="Actual failures", **bands),
    )
    return finish(
        wide + narrow + dots,
        title=title,
        subtitle=subtitle
        or "Wide band: 95% prediction interval with bursts; narrow: Poisson. Both use past data only.",
        description=(
            f"{len(frame)} forecasts of the failures in the next {ahead} as bands over time, and actual numbers as "
            f"dots: {int(frame['inside'].sum())} inside the wide band."
        ),
    )


def _ladder(highest: float, lowest: float) -> list[float]:
    """Return zero and 1, 2, 5, 10, ... between two values: tick marks that leave room for small values."""
    exponents = range(math.floor(math.log10(lowest)), math.ceil(math.log10(highest)) + 1)
    steps = [step * 10.0**exponent for exponent in exponents for step in (1, 2, 5)]
    return [0.0, *(step for step in steps if lowest <= step <= highest)]


def _digits(value: float) -> str:
    """Return a number with three digits and no exponent."""
    return f"{value:,.0f}" if value >= 100 else np.format_float_positional(float(f"{value:.3g}"), trim="-")
