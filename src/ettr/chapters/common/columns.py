"""The columns of tables, once: what axes and tooltips call each, its unit and how its numbers are written.

A chart names its columns, and their titles, units, formats and tooltips follow from here. A column of another name is
added to :data:`COLUMNS` with the chart that first draws it.
"""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt

from ettr.core.errors import UnknownName


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

    @property
    def is_name(self) -> bool:
        """Whether it holds names, and no numbers."""
        return not self.format

    def labelled(self, title: str) -> str:
        """A title with the unit."""
        return f"{title} [{self.unit}]" if self.unit else title


COLUMNS = {
    "bound": Column("Figure is"),
    "ettr": Column("ETTR", format=".1%", axis_format="%"),
    "high_50": Column("50%: to", format=".1%"),
    "high_95": Column("95%: to", format=".1%"),
    "high_95_min": Column("Rate 95%: to", "min", ".3~g"),
    "high_min": Column("Half a point: to", "min", ".3~g"),
    "hours": Column("Hours", format=",.1f"),
    "interval_min": Column("Interval", "min", ".3~g", "Checkpoint interval"),
    "job_mttf_h": Column("Time to failure", "h", ".3~g"),
    "level": Column("Probability"),
    "line": Column("Curve"),
    "low_50": Column("50%: from", format=".1%"),
    "low_95": Column("95%: from", format=".1%"),
    "low_95_min": Column("Rate 95%: from", "min", ".3~g"),
    "low_min": Column("Half a point: from", "min", ".3~g"),
    "n_gpus": Column("GPUs", format=",.0f", axis="Job size [GPUs]", axis_format="~s"),
    "part": Column("Part"),
    "rate": Column("Failures per 1000 node-days", format=".3~g"),
    "restart_is": Column("Restart is"),
    "restart_min": Column("Restart", "min", ".3~g", "Restart time"),
    "run": Column("Run"),
    "share": Column("Share", format=".2%", axis="Lost share of the wall clock [%]", axis_format="%"),
    "size": Column("Job"),
    "what": Column("Range"),
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
    >>> axis_title("restart_min"), axis_title("n_gpus")
    ('Restart time [min]', 'Job size [GPUs]')
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
    """
    return [_tooltip(name, others.get(name, "")) for name in names]


def _tooltip(name: str, other: str | Column) -> alt.Tooltip:
    of = other if isinstance(other, Column) else column(name)
    label = of.labelled(other if other and isinstance(other, str) else of.title)
    return (
        alt.Tooltip(f"{name}:N", title=label) if of.is_name else alt.Tooltip(f"{name}:Q", title=label, format=of.format)
    )
