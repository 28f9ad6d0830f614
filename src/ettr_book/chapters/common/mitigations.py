"""What the chapters on mitigations share: rows of charts, names and amounts."""

from __future__ import annotations

from collections.abc import Iterable

import altair as alt
import pandas as pd

from ettr.core.sentences import about, number, usd
from ettr.mitigation import ASSUMED, PARTLY, PUBLISHED
from ettr.plots.theme import BLUE, GREEN, RUST
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of
from ettr_book.chapters.common.table import CaptionedTable

EFFECTS = {PUBLISHED: GREEN, PARTLY: BLUE, ASSUMED: RUST}
"""Colour of how much of the size of an effect is published."""
DARK_INK, LIGHT_INK = "#1d2327", "#ffffff"
"""Of the text on a light and on a dark cell."""
ROW_PX = 27


def rows_of(titles: Iterable[str], title: str | None = None) -> alt.Y:
    """An axis of mitigations."""
    axis = alt.Axis(labelLimit=260, labelPadding=6)
    return alt.Y("title:N", title=title, sort=list(titles), axis=axis)


def nothing(title: str) -> CaptionedTable:
    """What stands in the place of a chart that has nothing to show."""
    return CaptionedTable(pd.DataFrame({"Nothing to draw": [title]}), title)


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
"""Parts of the time budget in the middle of a sentence."""


def small(title: str) -> str:
    """A title in the middle of a sentence, in italics."""
    return f"*{title}*"


def hours(value: float) -> str:
    """Hours as charts label them and sentences quote them, so that both show the same digits; never ``-0``.

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
    """A net saving in words.

    Examples
    --------
    >>> net_saving(2.565, MONEY), net_saving(52.4, HOURS)
    ('2.6 million USD', '52 h per month')
    """
    return usd(about(1e6 * value)) if unit == MONEY else f"{hours(value)} {unit}"


def saved(value: float) -> str:
    """Days or hours to two digits, without a sign."""
    size = about(abs(value))
    if size < 1:
        return f"{number(about(24 * abs(value)))} h"
    return f"{number(size)} day{'' if number(size) == '1' else 's'}"


EFFECT = "effect of "
"""Stands before the name of a mitigation, as an input."""


def input_name(path: str) -> str:
    """An uncertain input as a sentence calls it: a field, or the effect of a mitigation.

    Examples
    --------
    >>> input_name("recovery.restart_min"), input_name("effect of lemon-removal")
    ('the restart time', 'the effect of lemon-removal')
    """
    return f"the {path}" if path.startswith(EFFECT) else amount_of(path, Scenario)
