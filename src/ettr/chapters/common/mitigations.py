"""What the chapters on mitigations share: rows of charts, names and amounts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import rounded
from ettr.chapters.common.table import Table
from ettr.chapters.common.theme import BLUE, GREEN, OCHRE, RUST
from ettr.core.sentences import about, number
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of

BASES = {
    "primary": (GREEN, "circle"),
    "derived": (BLUE, "diamond"),
    "secondary": (OCHRE, "square"),
    "assumed": (RUST, "triangle-up"),
}
"""Colour and shape of how well it is known what a mitigation changes."""
EFFECTS = {"published": GREEN, "partly": BLUE, "assumed": RUST}
"""Colour of how much of the size of an effect is published."""
DARK_INK, LIGHT_INK = "#1d2327", "#ffffff"
"""Of the text on a light and on a dark cell."""
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


def labelled(frame: pd.DataFrame, digits: int = 4, **columns: Any) -> pd.DataFrame:
    """The frame with these columns, with the ``label`` of each mitigation, and with fewer digits."""
    return rounded(frame.assign(label=[both_names(one) for one in frame["title"]], **columns), digits)


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
    """Days or hours to two digits, without a sign."""
    size = about(abs(value))
    if size < 1:
        return f"{number(about(24 * abs(value)))} h"
    return f"{number(size)} day{'' if number(size) == '1' else 's'}"


_EFFECT = "effect of "
"""Stands before the name of a mitigation, as an input."""


def input_name(path: str) -> str:
    """An uncertain input as a sentence calls it: a field, or the effect of a mitigation.

    Examples
    --------
    >>> input_name("recovery.restart_min"), input_name("effect of lemon-removal")
    ('the restart time', 'the effect of lemon-removal')
    """
    return f"the {path}" if path.startswith(_EFFECT) else amount_of(path, Scenario)
