"""The columns of tables, once: what axes and tooltips call each, its unit and how its numbers are written.

A chart names its columns, and their titles, units, formats and tooltips follow from here. A column of another name is
added to :data:`COLUMNS` with the chart that first draws it.
"""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt

from ettr.core.errors import UnknownName, WrongChart


@dataclass(frozen=True)
class Column:
    """How a column is shown.

    Attributes
    ----------
    title : str
        What a tooltip calls it.
    unit : str
        Stands in brackets behind the title; empty for counts, shares and names.
    format : str
        Of its numbers, as d3 writes them; empty for names.
    axis : str
        What an axis calls it, where that is not the title.
    axis_format : str
        Of the numbers at an axis.
    """

    title: str
    unit: str = ""
    format: str = ""
    axis: str = ""
    axis_format: str = "~g"

    def labelled(self, title: str) -> str:
        """A title with the unit."""
        return f"{title} [{self.unit}]" if self.unit else title


COLUMNS = {
    "after": Column("After", "h", ",.1f"),
    "alone": Column("Days alone", format=".2f"),
    "apart": Column("Closed form less simulated", "points", "+.2f"),
    "assumption": Column("Assumes that"),
    "basis": Column("Its effect is"),
    "before": Column("Before", "h", ",.1f"),
    "bound": Column("Figure is"),
    "calculator": Column("Formula"),
    "case": Column("Rate"),
    "category": Column("Category"),
    "cause": Column("Cause"),
    "claim": Column("Statement"),
    "comment": Column("Why"),
    "component": Column("Component"),
    "computed": Column("Computed", format=",.4~g"),
    "computed_pct": Column("Computed", "%", ".1f"),
    "counted": Column("Counted"),
    "crossing_gb_s": Column("The write sets the interval below", "GB/s", ",.3~g"),
    "day": Column("Day", format=".2f"),
    "days": Column("Days", format=",.1f", axis="Until all tokens are trained on [days]"),
    "effect": Column("Its effect is"),
    "effective": Column("ETTR x speed", format=".1%", axis_format="%"),
    "end_d": Column("to day", format=".1f"),
    "ends": Column("RSC formula ends at"),
    "error": Column("It says"),
    "ettr": Column("ETTR", format=".1%", axis_format="%"),
    "extra": Column("Extra cost", format=".3~%", axis="Extra cost of a unit of work", axis_format=".2~p"),
    "extra_high": Column("95%: to", format=".3~%"),
    "extra_low": Column("95%: from", format=".3~%"),
    "failure": Column("Failure"),
    "failures": Column("What fails"),
    "from_h": Column("From hour", format=".2f"),
    "from_store": Column("Failures that need the store", format=".2~%"),
    "goal": Column("Size that is"),
    "group": Column("Acts on"),
    "held": Column("Copies"),
    "high": Column("95%: to", format=",.3~g"),
    "high_days": Column("Too late: to", "days", "+.1f"),
    "high_min": Column("Half a point: to", "min", ".3~g"),
    "high_mw": Column("Highest second", "MW", ".3~g"),
    "high_s": Column("95%: to", "s", ".3~g"),
    "hottest_c": Column("Hottest die", "°C", ".1f"),
    "hour": Column("Hour", "h", ".1f", axis_format=""),
    "hours": Column("Hours", format=",.1f"),
    "input": Column("Input"),
    "interval_min": Column("Interval", "min", ".3~g", "Checkpoint interval"),
    "job": Column("Job"),
    "kind": Column("Row"),
    "lasts_min": Column("For", "min", ",.3~g"),
    "latency_h": Column("Latency", "h", ",.3~g", "Latency: from the corruption to its discovery"),
    "layout": Column("Layout"),
    "line": Column("Curve"),
    "loss_points": Column("Lost", "points", ".2f", "ETTR lost", ""),
    "lost": Column("Throughput lost", format=".3~%", axis_format=".2~p"),
    "lost_points": Column("Lost", "points", ".2f", "ETTR lost", ""),
    "low": Column("95%: from", format=",.3~g"),
    "low_days": Column("Too late: from", "days", "+.1f"),
    "low_min": Column("Half a point: from", "min", ".3~g"),
    "low_mw": Column("Lowest second", "MW", ".3~g"),
    "low_s": Column("95%: from", "s", ".3~g"),
    "mean_c": Column("Outdoors", "°C", ".1f"),
    "measured_pct": Column("Measured", "%", ".1f"),
    "median_s": Column("Middle", "s", ".3~g"),
    "million_usd": Column("Costs", "million USD", ",.3~g"),
    "mtbi_h": Column("Mean time between interruptions", "h", ".2f"),
    "mttf_h": Column("Time to failure", "h", ".3~g"),
    "musd": Column("Costs", "million USD", ",.3~g"),
    "n_events": Column("Failures", format=",.0f"),
    "n_gpus": Column("GPUs", format=",.0f", axis="Job size [GPUs]", axis_format="~s"),
    "n_spares": Column("Spare nodes", format=",.0f", axis="Hot spares [nodes]"),
    "n_stops": Column("Stops", format=",.0f"),
    "name": Column("Name"),
    "names": Column("Set"),
    "node_days": Column("Node-days", format=",.0f"),
    "nodes": Column("Phases change"),
    "off_days": Column("Too late by", "days", "+.1f", "Predicted end less the end that came", ""),
    "option": Column("Option"),
    "order": Column("It explains"),
    "origin_d": Column("Day", format=".1f", axis="Day of the forecast [d]", axis_format=""),
    "part": Column("Part"),
    "place": Column("Cage"),
    "plant": Column("Cooling"),
    "points": Column("ETTR gained", "points", ".2f"),
    "pool": Column("Pool"),
    "power_mw": Column("Power", "MW", ",.3~g", axis_format=""),
    "price_usd": Column("Price", "USD", ",.0f"),
    "published": Column("Published", format=",.4~g"),
    "quantity": Column("Result"),
    "range_days": Column("Nine in ten within", "days", ".3~g", "Range that holds nine dates in ten"),
    "rate": Column("Failures per 1,000 node-days", format=".3~g"),
    "rate_factor": Column("Failures over observed", format=".2f"),
    "ratio": Column("Ratio", format=".2f"),
    "reading": Column("Reading"),
    "residual_points": Column("Off by", "points", "+.1f", "Computed less measured"),
    "rule": Column("Rule"),
    "run": Column("Run"),
    "rung": Column("Tiers"),
    "saved_usd": Column("USD left over", format=",.3~s"),
    "says": Column("Simple form"),
    "seconds": Column("Time", "s", ".3g"),
    "share": Column("Share", format=".2%", axis="Lost share of the wall clock [%]", axis_format="%"),
    "share_given": Column("By the rules", format=".2%", axis="Share by the rules [%]", axis_format="%"),
    "share_pct": Column("Share", "%", ".2f"),
    "short": Column("Something is missing", format=".3~%", axis_format=".2~p"),
    "since": Column("Since the repair", "d"),
    "since_s": Column("Since", "s", ".1f", "Time since the moment", ""),
    "size": Column("Job"),
    "speed": Column("Throughput", format=".2%", axis_format=".1%"),
    "stall_interval_min": Column("Best interval above", "min", ".3~g"),
    "start_d": Column("From day", format=".1f", axis="Days since the window's start [d]", axis_format=""),
    "state": Column("Here"),
    "status": Column("Status"),
    "store": Column("Published"),
    "temperature_c": Column("Temperature", "°C", ".1f", axis_format=""),
    "term": Column("Part"),
    "title": Column("Run"),
    "tokens_per_day": Column("Billion tokens a day", format=",.3~r", axis_format=",~g"),
    "took_s": Column("Measured", "s", ".3~g", "Finishing time"),
    "unit": Column("Unit"),
    "value": Column("GPUs", format=",.0f"),
    "verdict": Column("Verdict"),
    "waiting_h": Column("Waiting for nodes", "h", ",.3~g"),
    "waiting_share": Column("Time waiting", format=".3~%"),
    "warming_k": Column("Warmer by", "K", "+.0f"),
    "way": Column("Way"),
    "what": Column("Range"),
    "who": Column("By"),
    "why": Column("Why"),
    "write_gb_s": Column("Bandwidth", "GB/s", ",.3~g", "Bandwidth of the store", ",~g"),
    "write_min": Column("Write", "min", ",.3~g"),
    "write_s": Column("Write", "s", ".2f"),
}
"""Every column that is drawn, by its name in the tables."""


def column(name: str) -> Column:
    """How a column is shown.

    Raises
    ------
    UnknownName
        If the table of columns has no such name.
    """
    if name not in COLUMNS:
        raise UnknownName("column", name, COLUMNS, "add it to chapters/common/columns.py")
    return COLUMNS[name]


def axis_title(name: str) -> str:
    """What an axis calls a column, with its unit.

    Examples
    --------
    >>> axis_title("interval_min"), axis_title("n_gpus")
    ('Checkpoint interval [min]', 'Job size [GPUs]')
    """
    of = column(name)
    return of.labelled(of.axis or of.title)


def tooltips(*names: str, **others: str | Column) -> list[alt.Tooltip]:
    """What a mark answers to the pointer: these columns, in this order.

    Parameters
    ----------
    *names : str
        Columns.
    **others : str or Column
        Another title, or column, by name, where a chart means something more special by it.

    Raises
    ------
    WrongChart
        If two have the same title: Vega-Lite shows the first and drops the other.
    """
    tips = [_tooltip(name, others.get(name)) for name in names]
    titles = [tip["title"] for tip in tips]
    if len(set(titles)) < len(titles):
        raise WrongChart(f"a pointer shows one value by each title, and two columns share one: {', '.join(titles)}")
    return tips


def _tooltip(name: str, other: str | Column | None) -> alt.Tooltip:
    of = other if isinstance(other, Column) else column(name)
    title = of.labelled(other if isinstance(other, str) else of.title)
    kind, form = ("Q", of.format) if of.format else ("N", alt.Undefined)
    return alt.Tooltip(f"{name}:{kind}", title=title, format=form)
