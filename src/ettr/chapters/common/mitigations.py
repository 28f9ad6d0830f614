"""What the chapters on mitigations share: rows of charts, names and amounts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable

import altair as alt
import pandas as pd

from ettr.chapters.common.sentences import amount, number
from ettr.chapters.common.table import Table

BASES = {
    "primary": ("#289561", "circle"),
    "derived": ("#1f95ec", "diamond"),
    "secondary": ("#a27505", "square"),
    "assumed": ("#a8480a", "triangle-up"),
}
"""Colour and shape of how well it is known what a mitigation changes."""
_LINE_CHARACTERS = 15
ROW_PX = 27


BROKEN_OR_WHOLE = "width < 300 ? split(split(datum.label, '||')[0], '|') : split(datum.label, '||')[1]"
"""Shows the lines of a label on a phone, and elsewhere what follows them."""


def rows_of(titles: Iterable[str], title: str | None = None) -> alt.Y:
    """An axis of mitigations, whose names have lines of their own on a phone."""
    labels = [both_names(one) for one in titles]
    axis = alt.Axis(labelLimit=260, labelExpr=BROKEN_OR_WHOLE, labelLineHeight=12, labelPadding=6)
    return alt.Y("label:N", title=title, sort=labels, axis=axis)


def both_names(title: str) -> str:
    """A name in two short lines, as on a phone, and whole."""
    lines = textwrap.wrap(title, _LINE_CHARACTERS, max_lines=2, placeholder="…")
    return f"{'|'.join(lines)}||{title}"


def nothing(title: str) -> Table:
    """What stands in the place of a chart that has nothing to show."""
    return Table(pd.DataFrame({"Nothing to draw": [title]}), title)


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


def saved(value: float) -> str:
    """Days or hours, without a sign."""
    size = abs(value)
    if size < 1:
        return f"{number(24 * size)} h"
    return f"{number(size)} day{'' if number(size) == '1' else 's'}"


def usd(value: float) -> str:
    """An amount of money in words, e.g. ``3.86 million USD``."""
    if not math.isfinite(value):
        return "any budget"
    if value >= 1e6:
        return f"{amount(value)} USD"
    return f"{value:,.0f} USD" if value < 1000 else f"{float(f'{value:.3g}'):,.0f} USD"
