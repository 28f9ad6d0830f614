"""Titles, units and number formats of table columns, for axes, tooltips and tables.

A chart names its columns, and their titles, units, formats and tooltips follow from here. A column of another name is
added to :data:`COLUMNS` with the chart that first draws it.
"""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt

from ettr.core.errors import UnknownName, WrongChart


@dataclass(frozen=True)
class Column:
    """Title, unit and number format of a column.

    Attributes
    ----------
    title : str
        Title in a tooltip.
    unit : str
        Unit, printed in brackets after the title; empty for counts, shares and names.
    format : str
        Number format of d3; empty for names.
    axis : str
        Title of an axis, if it differs.
    axis_format : str
        Number format at an axis.
    """

    title: str
    unit: str = ""
    format: str = ""
    axis: str = ""
    axis_format: str = "~g"

    def labelled(self, title: str) -> str:
        """Return a title with its unit."""
        return f"{title} [{self.unit}]" if self.unit else title


COLUMNS = {
    "after": Column("After", "h", ",.1f"),
    "alone": Column("Days alone", format=".2f"),
    "apart": Column("Exact model minus simulation", "points", "+.2f"),
    "assumption": Column("Assumes that"),
    "basis": Column("Basis"),
    "before": Column("Before", "h", ",.1f"),
    "bound": Column("Kind of figure"),
    "calculator": Column("Formula"),
    "case": Column("Rate"),
    "category": Column("Category"),
    "cause": Column("Cause"),
    "claim": Column("Statement"),
    "clock": Column("Clock", format=".1%", axis="Clock over that of a cool GPU [%]", axis_format="%"),
    "clock_mhz": Column("Clock", "MHz", ",.0f"),
    "comment": Column("Why"),
    "component": Column("Component"),
    "computed": Column("Computed", format=",.4~g"),
    "computed_pct": Column("Computed", "%", ".1f"),
    "counted": Column("Counted"),
    "crossing_gb_s": Column("The write sets the interval below", "GB/s", ",.3~g"),
    "day": Column("Day", format=".2f"),
    "days": Column("Days", format=",.1f", axis="Time to train on all tokens [days]"),
    "effect": Column("Effect size"),
    "effective": Column("ETTR × speed", format=".1%", axis="ETTR × speed [%]", axis_format="%"),
    "end_d": Column("to day", format=".1f"),
    "ends": Column("RSC formula ends at"),
    "error": Column("Error [points]"),
    "ettr": Column("ETTR", format=".1%", axis="ETTR [%]", axis_format="%"),
    "extra": Column("Extra cost", format=".3~%", axis="Extra cost per unit of work [%]", axis_format=".2~p"),
    "extra_high": Column("95% CI to", format=".3~%"),
    "extra_low": Column("95% CI from", format=".3~%"),
    "die_c": Column("Die", "°C", ".1f"),
    "failure": Column("Failure"),
    "failures": Column("Failing component"),
    "from_h": Column("From hour", format=".2f"),
    "from_store": Column("Failures that need the store", format=".2~%"),
    "goal": Column("Best size"),
    "gpu": Column("GPU"),
    "group": Column("Acts on"),
    "held": Column("Copies"),
    "high": Column("95% CI to", format=",.3~g"),
    "high_days": Column("Too late: to", "days", "+.1f"),
    "high_min": Column("Costs half a point from", "min", ".3~g"),
    "high_mw": Column("Highest second", "MW", ".3~g"),
    "high_s": Column("95% prediction interval to", "s", ".3~g"),
    "hottest_c": Column("Hottest die", "°C", ".1f"),
    "hour": Column("Hour", "h", ".1f", axis_format=""),
    "hours": Column("Hours", format=",.1f"),
    "inlet_c": Column("Inlet", "°C", ".1f"),
    "input": Column("Input"),
    "interval_min": Column("Interval", "min", ".3~g", "Checkpoint interval"),
    "job": Column("Job"),
    "kind": Column("Row"),
    "lasts_min": Column("For", "min", ",.3~g"),
    "latency_h": Column("Latency", "h", ",.3~g", "Detection latency of silent failures"),
    "layout": Column("Layout"),
    "limited_by": Column("Limited by"),
    "line": Column("Curve"),
    "loss_points": Column("Lost", "points", ".2f", "ETTR lost", ""),
    "lost": Column("Throughput lost", format=".3~%", axis="Throughput lost [%]", axis_format=".2~p"),
    "lost_points": Column("Lost", "points", ".2f", "ETTR lost", ""),
    "low": Column("95% CI from", format=",.3~g"),
    "low_days": Column("Too late: from", "days", "+.1f"),
    "low_min": Column("Costs half a point up to", "min", ".3~g"),
    "low_mw": Column("Lowest second", "MW", ".3~g"),
    "low_s": Column("95% prediction interval from", "s", ".3~g"),
    "mean_c": Column("Outdoors", "°C", ".1f"),
    "measured_pct": Column("Measured", "%", ".1f"),
    "median_s": Column("Median", "s", ".3~g"),
    "million_usd": Column("Costs", "million USD", ",.3~g"),
    "mtbi_h": Column("Mean time between interruptions", "h", ".2f"),
    "mttf_h": Column("MTTF", "h", ".3~g"),
    "musd": Column("Costs", "million USD", ",.3~g"),
    "n_events": Column("Failures", format=",.0f"),
    "n_gpus": Column("GPUs", format=",.0f", axis="Job size [GPUs]", axis_format="~s"),
    "n_spares": Column("Spare nodes", format=",.0f", axis="Hot spares [nodes]"),
    "n_stops": Column("Stops", format=",.0f"),
    "name": Column("Name"),
    "names": Column("Set"),
    "node_days": Column("Node-days", format=",.0f"),
    "nodes": Column("Phases change"),
    "off_days": Column("Too late by", "days", "+.1f", "Predicted minus actual end", ""),
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
    "range_days": Column("90% of runs within", "days", ".3~g", "Width of the 90% prediction interval"),
    "rate": Column("Failures per 1,000 node-days", format=".3~g"),
    "rate_factor": Column("Failures over observed", format=".2f"),
    "ratio": Column("Ratio", format=".2f"),
    "reading": Column("Reading"),
    "residual_points": Column("Off by", "points", "+.1f", "Computed minus measured"),
    "rule": Column("Rule"),
    "run": Column("Run"),
    "rung": Column("Tiers"),
    "saved_usd": Column("Net saving [USD]", format=",.3~s"),
    "says": Column("Simple form"),
    "seconds": Column("Time", "s", ".3g"),
    "share": Column("Share", format=".2%", axis="Lost share of wall-clock time [%]", axis_format="%"),
    "share_given": Column("Predicted", format=".2%", axis="Predicted share [%]", axis_format="%"),
    "share_pct": Column("Share", "%", ".2f"),
    "short": Column("Time with a node missing", format=".3~%", axis_format=".2~p"),
    "since": Column("Since the repair", "d"),
    "since_s": Column("Since", "s", ".1f", "Time from the event", ""),
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
    "tokens_per_day": Column("Billion tokens per day", format=",.3~r", axis_format=",~g"),
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
"""Columns of charts, by their names in the tables."""


def column(name: str) -> Column:
    """Return title, unit and format of a column.

    Raises
    ------
    UnknownName
        If the table of columns has no such name.
    """
    if name not in COLUMNS:
        raise UnknownName("column", name, COLUMNS, "add it to chapters/common/columns.py")
    return COLUMNS[name]


def axis_title(name: str) -> str:
    """Return the axis title of a column, with its unit.

    Examples
    --------
    >>> axis_title("interval_min"), axis_title("n_gpus")
    ('Checkpoint interval [min]', 'Job size [GPUs]')
    """
    of = column(name)
    return of.labelled(of.axis or of.title)


def tooltips(*names: str, **others: str | Column) -> list[alt.Tooltip]:
    """Return the tooltip of a mark: these columns, in this order.

    Parameters
    ----------
    *names : str
        Columns.
    **others : str or Column
        Another title or column, by name, for a chart with a special meaning.

    Raises
    ------
    WrongChart
        If two columns have the same title: Vega-Lite would show only the first.
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
