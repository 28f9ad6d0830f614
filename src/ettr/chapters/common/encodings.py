"""Axes, colours and dashes that several charts share."""

from __future__ import annotations

import pandas as pd

SHORT_NAMES = "width < 380 ? replace(datum.label, ' nodes,', ',') : datum.label"


def but_size(subtitle: str) -> str:
    """Subtitle of a chart over sizes other than the scenario's."""
    return f"All but the size as in {subtitle}" if subtitle else ""


def with_marks(subtitle: str, marks: str) -> str:
    """A subtitle that also says what marks without a legend mean."""
    return f"{subtitle} ({marks})" if subtitle else marks


def rounded(frame: pd.DataFrame, digits: int = 5) -> pd.DataFrame:
    """The frame with fewer digits than it was computed with: a page holds each of them."""
    numbers = frame.select_dtypes("float").columns
    kept = {name: [float(f"{value:.{digits}g}") for value in frame[name]] for name in numbers}
    return frame.assign(**kept)
