"""Shared parts of the chapters on mitigations: chart rows, names and amounts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt
import pandas as pd

from ettr.core.sentences import about, number, usd
from ettr.mitigation import ASSUMED, PARTLY, PUBLISHED
from ettr.plots import builders
from ettr.plots.encodings import rounded, with_marks
from ettr.plots.theme import BLUE, GREEN, ORANGE, RUST, finish, layered
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of

EFFECTS = {PUBLISHED: GREEN, PARTLY: BLUE, ASSUMED: RUST}
"""Colours by how much of an effect's size is published."""
DARK_INK, LIGHT_INK = "#1d2327", "#ffffff"
"""Text colours on a light and on a dark cell."""
_ROW_PX, _BAR_PX = 27, 14


def rows_of(titles: Iterable[str]) -> alt.Y:
    """Return an axis of mitigations, best first."""
    return builders.rows("title", titles, labelLimit=260, labelPadding=6)


def bars(
    rows: pd.DataFrame, x: alt.X, end: str, colour: Any, tips: list[alt.Tooltip], y: alt.Y | None = None, tick: str = ""
) -> list[Any]:
    """Draw one bar per row between two columns, with an optional tick at a third column and a label.

    Parameters
    ----------
    rows : DataFrame
        One row per mitigation, best first; with ``label`` and ``right`` for text next to the bars.
    x : axis
        Of the column at which bars begin.
    end : str
        Column at which they end; empty for bars from zero.
    colour : altair channel or value
        Of the bars.
    tips : list
        As from :func:`~ettr.plots.columns.tooltips`.
    y : axis, optional
        Of the rows' names, if those are not mitigations.
    tick : str
        Column to mark with a tick.
    """
    base = alt.Chart(rounded(rows)).encode(y=rows_of(rows["title"]) if y is None else y, tooltip=tips)
    ends = {"x2": alt.X2(f"{end}:Q")} if end else {}
    layers = [base.mark_bar(size=_BAR_PX, opacity=0.85).encode(x=x, color=colour, **ends)]
    if tick:
        layers.append(base.mark_tick(thickness=3, size=20, color=ORANGE, opacity=1).encode(x=alt.X(f"{tick}:Q")))
    if "label" in rows:
        text = base.mark_text(align="left", dx=8, fontSize=11)
        layers.append(text.encode(x=alt.X("right:Q"), text=alt.Text("label:N")))
    return layers


def ranked(
    layers: Iterable[Any],
    n_rows: int,
    title: str,
    subtitle: str,
    description: str,
    each: Iterable[str],
    marks: str = "",
) -> Any:
    """Layer marks into a chart with the height of its rows.

    Parameters
    ----------
    layers : iterable
        Of charts.
    n_rows : int
        Number of rows.
    title, subtitle : str
        Finding of the chart, and the scenario.
    description : str
        Description of the rows.
    each : iterable of str
        Description of each row.
    marks : str
        Explanation of marks without a legend.
    """
    return finish(
        layered(*layers),
        title=title,
        subtitle=with_marks(subtitle, marks) if marks else subtitle,
        description=f"{description}: {'; '.join(each)}.",
        height=_ROW_PX * n_rows + 20,
    )


def of_effects(effects: Iterable[str], title: str) -> alt.Color:
    """Return colours by the share of an effect's size that is published."""
    return builders.squares("effect", builders.present(EFFECTS, effects), title, symbolOpacity=1)


PARTS_IN_WORDS = {
    "productive": "training itself",
    "checkpoint": "checkpoints",
    "slowdown": "slower steps while a checkpoint is written",
    "degraded": "throughput lost while nodes are out or slow",
    "rework": "rework",
    "detection": "detection",
    "queue": "waiting for nodes",
    "restart": "restarts",
    "maintenance": "maintenance",
}
"""Names of the parts of the time budget, for use inside a sentence."""


def small(title: str) -> str:
    """Return a title in italics for the middle of a sentence."""
    return f"*{title}*"


def hours(value: float) -> str:
    """Return hours in the digits of chart labels; never ``-0``.

    Examples
    --------
    >>> hours(65.649), hours(5.904), hours(0.04), hours(1214.2)
    ('66', '5.9', '0', '1,214')
    """
    if abs(value) < 0.05:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 9.95 else f"{value:.1f}"


MONEY, HOURS = "million USD", "h per month"
"""Units of a net saving: hours where an hour of the job costs nothing."""


def net_saving(value: float, unit: str) -> str:
    """Return a net saving in words.

    Examples
    --------
    >>> net_saving(2.565, MONEY), net_saving(52.4, HOURS)
    ('2.6 million USD', '52 h per month')
    """
    return usd(about(1e6 * value)) if unit == MONEY else f"{hours(value)} {unit}"


def saved(value: float) -> str:
    """Return days or hours to two digits, without a sign."""
    size = about(abs(value))
    if size < 1:
        return f"{number(about(24 * abs(value)))} h"
    return f"{number(size)} day{'' if number(size) == '1' else 's'}"


EFFECT = "effect of "
"""Prefix of a mitigation's name where its effect is an uncertain input."""


def input_name(path: str) -> str:
    """Return the name of an uncertain input for a sentence: a field, or the effect of a mitigation.

    Examples
    --------
    >>> input_name("recovery.restart_min"), input_name("effect of lemon-removal")
    ('the restart time', 'the effect of lemon-removal')
    """
    return f"the {path}" if path.startswith(EFFECT) else amount_of(path, Scenario)
