"""Charts of a fitted failure log: rate over time, nodes, repairs and forecasts."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np

from ettr.failures import Fit, forecasts_made, node_counts, node_verdict, since_repair, verdicts, words
from ettr.plots import builders
from ettr.plots.columns import Column, tooltips
from ettr.plots.theme import MODEL_COLOURS, NoChart, finish, layered

_OBSERVED, _MODEL, _THIRD = MODEL_COLOURS["exact"], MODEL_COLOURS["first_order"], MODEL_COLOURS["rsc"]
_RATE = "Failure rate [per 1,000 node-days]"
_RATED = ("n_events", "rate", "low", "high")
_NO_FAILURES = NoChart("nothing failed.")
_NO_NODES = NoChart("no failure names its node.")
_KINDS = {"seen": "observed", "equal nodes": "expected if all nodes are alike"}
_LOGS = {"as logged": "all failures", "repeats taken out": "without repeats after a repair"}


def failure_rate_over_time(fit: Fit, *, title: str = "", subtitle: str = "") -> Any:
    """Draw the failure rate in equal periods of the log, each with its exact 95% CI, and the mean rate.

    Parameters
    ----------
    fit : Fit
        A fitted log, see :func:`ettr.fit_log`.
    title : str
        Finding of the chart; by default the verdict on the trend.
    subtitle : str
        Whose failures these are; by default the name of the log.
    """
    frame, rate = fit.trend.rates, fit.rate.per_1000_node_days
    if frame["n_events"].sum() == 0:
        return _NO_FAILURES
    days = {name: frame[name] / 24 for name in ("start_h", "end_h")}
    periods = frame.assign(start_d=days["start_h"], end_d=days["end_h"], middle_d=sum(days.values()) / 2, zero=0.0)
    base = alt.Chart(periods).encode(tooltip=tooltips("start_d", "end_d", *_RATED))
    bars = base.mark_bar(opacity=0.75, stroke="white", strokeWidth=1).encode(
        x=builders.along("start_d", nice=False),
        x2="end_d:Q",
        y=alt.Y("rate:Q", title=_RATE, scale=alt.Scale(zero=True)),
        y2="zero:Q",
    )
    whiskers = base.mark_rule(strokeWidth=1.5).encode(x="middle_d:Q", y="low:Q", y2="high:Q")
    mean = builders.rule(alt.Y("mean:Q", title=_RATE), rate, strokeDash=[6, 4], strokeWidth=2)
    return finish(
        bars + whiskers + mean,
        title=title or verdicts.trend(fit).title,
        subtitle=f"{subtitle or fit.log.source}; lines: exact 95% CI, dashed: mean",
        description=(
            f"Bars of the failure rate in {len(frame)} equal periods of {_digits(periods['end_d'].max())} days, with "
            f"95% CI, from {_digits(frame['rate'].min())} to {_digits(frame['rate'].max())} per 1,000 node-days; the "
            f"mean is {_digits(rate)}."
        ),
    )


def failures_by_node(fit: Fit, *, title: str = "", subtitle: str = "") -> Any:
    """Draw the number of nodes by their number of failures, beside that of nodes that are all alike.

    Parameters
    ----------
    fit : Fit
        A fitted log, see :func:`ettr.fit_log`.
    title : str
        Finding of the chart; by default the advice on nodes.
    subtitle : str
        Whose failures these are; by default the name of the log.
    """
    frame = node_counts(fit).replace({"kind": _KINDS, "log": _LOGS})
    if frame.empty:
        return _NO_NODES
    seen, expected = _KINDS.values()
    labels = frame.drop_duplicates("failures").sort_values("order")["failures"].tolist()
    ticks = alt.Axis(values=_ladder(frame["nodes"].max(), 1), format=",.0f", labelOverlap="greedy")
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("failures:N", sort=labels, title="Failures of a node [count]", axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("kind:N", sort=[seen, expected]),
            y=alt.Y("nodes:Q", title="Nodes [count]", scale=alt.Scale(type="symlog", constant=1), axis=ticks),
            color=builders.colours("kind", {seen: _OBSERVED, expected: _MODEL}),
            tooltip=tooltips(
                "failures", "kind", "nodes", failures="Failures", kind="Nodes", nodes=Column("Number", format=",.1f")
            ),
        )
    )
    never = frame[frame["order"] == 0].pivot_table("nodes", "log", "kind", sort=False)
    zero = "; ".join(
        f"{log}: {row[seen]:,.0f} nodes never failed, {row[expected]:,.0f} expected" for log, row in never.iterrows()
    )
    return finish(
        bars.facet(alt.Facet("log:N", title=None, sort=[*_LOGS.values()]), columns=2),
        title=title or node_verdict.nodes(fit).title,
        subtitle=subtitle or fit.log.source,
        description=(
            f"Bars of the number of nodes by their number of failures, on a logarithmic axis, and the numbers expected "
            f"if all nodes are alike. {zero}."
        ),
        height=220,
    )


def failures_after_repair(fit: Fit, *, title: str = "", subtitle: str = "") -> Any:
    """Draw the failure rate of a node by the time since its return to service, with exact 95% CI.

    Parameters
    ----------
    fit : Fit
        A fitted log, see :func:`ettr.fit_log`.
    title : str
        Finding of the chart; by default the verdict on repairs.
    subtitle : str
        Whose failures these are; by default the name of the log.
    """
    frame = since_repair(fit)
    if frame.empty:
        return _NO_NODES
    frame = frame.assign(since=frame["since"].str.replace(" to ", "–"))  # short enough for a phone
    x = alt.X(
        "since:N",
        sort=frame["since"].tolist(),
        title="Time since the last repair [d]",
        axis=alt.Axis(labelAngle=0, labelPadding=10),
    )
    highest = float(frame["high"].max())
    # both layers need the axis: merged with a layer without it, it loses half of its marks
    axis = alt.Axis(values=_ladder(highest, highest / 400), format=",~r", labelOverlap="greedy")
    base = alt.Chart(frame).encode(x=x)
    dots = base.mark_point(size=90).encode(
        y=alt.Y("rate:Q", title=_RATE, scale=alt.Scale(type="sqrt", zero=True), axis=axis),
        shape=alt.Shape("elsewhere:N", legend=None),
        color=alt.Color("elsewhere:N", legend=None, scale=alt.Scale(domain=[False, True], range=[_OBSERVED, _THIRD])),
        tooltip=tooltips("since", "node_days", *_RATED),
    )
    whiskers = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", axis=axis), y2="high:Q")
    rates = "; ".join(f"{row.since}: {_digits(row.rate)}" for row in frame.itertuples())
    return finish(
        whiskers + dots,
        title=title or node_verdict.after_repair(fit).title,
        subtitle=f"{subtitle or fit.log.source}; lines: exact 95% CI, square-root axis",
        description=f"Dots of failures per 1,000 node-days by days since a node's return to service: {rates}.",
        height=280,
    )


def failure_forecasts(fit: Fit, *, title: str = "", subtitle: str = "") -> Any:
    """Draw forecasts of the number of failures, each made from past data only, and the actual numbers.

    Parameters
    ----------
    fit : Fit
        A fitted log, see :func:`ettr.fit_log`.
    title : str
        Finding of the chart; by default the share of outcomes within the intervals.
    subtitle : str
        Whose failures these are; by default the name of the log.
    """
    frame = forecasts_made(fit)
    if frame.empty:
        return NoChart("the log has too few failures to test forecasts.")
    outcomes = frame.assign(came=frame["inside"].map({True: "inside", False: "outside"}))
    horizon_d = words.horizon_d(fit)
    ahead = f"{horizon_d:.3g} days" if horizon_d >= 2 else f"{24 * horizon_d:.3g} h"
    x, counts = builders.along("origin_d", nice=False, padding=6), f"Failures in the next {ahead} [count]"
    base = alt.Chart(outcomes).encode(x=x)
    wide = base.mark_area(opacity=0.18, color=_OBSERVED).encode(y=alt.Y("low:Q", title=counts), y2="high:Q")
    narrow = base.mark_area(opacity=0.35, color=_OBSERVED).encode(y="poisson_low:Q", y2="poisson_high:Q")
    bands = {
        name: Column(column, format=".0f")
        for name, column in {
            "low": "95% prediction interval from",
            "high": "to",
            "poisson_low": "Poisson from",
            "poisson_high": "Poisson to",
        }.items()
    }
    dots = base.mark_point(size=45).encode(
        y="n_events:Q",
        color=builders.colours("came", {"inside": _THIRD, "outside": _MODEL}, "Actual number"),
        shape=alt.Shape("came:N", title="Actual number", scale=alt.Scale(domain=["inside", "outside"])),
        tooltip=tooltips("origin_d", "n_events", *bands, n_events="Actual failures", **bands),
    )
    return finish(
        layered(wide, narrow, dots),
        title=title or words.forecast(fit).title,
        subtitle=f"{subtitle or fit.log.source}; wide band: 95% prediction interval, narrow: Poisson",
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
