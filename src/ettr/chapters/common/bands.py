"""Charts with bands from what is known of the failure rate."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.chapters.common.encodings import PERCENT, rounded
from ettr.chapters.common.theme import MODEL_COLOURS, touchable

COLOUR = MODEL_COLOURS["exact"]
BAND_NAMES = {"half a point lost": "#289561", "rate, 95%": "#e46d09"}


def banded(frame: pd.DataFrame, axis: str, x_axis: alt.X, ends: tuple[float, float]) -> list[Any]:
    """Layers of a curve on its bands of 50% and 95%, which are drawn where they have a width."""
    shown = rounded(frame)
    y_axis = alt.Y("ettr:Q", title="ETTR", axis=PERCENT, scale=alt.Scale(domain=list(ends)))
    tooltip = [
        alt.Tooltip(
            f"{axis}:Q",
            title="GPUs" if axis == "n_gpus" else "Interval [min]",
            format=".3~s" if axis == "n_gpus" else ".3~g",
        ),
        alt.Tooltip("ettr:Q", title="ETTR", format=".1%"),
    ]
    layers = []
    if _known(frame):
        names = alt.Scale(domain=["50%", "95%"], range=[COLOUR, "#8fbfe8"])
        for level, opacity in ((95, 0.45), (50, 0.6)):
            band = shown[[axis, f"low_{level}", f"high_{level}"]].assign(level=f"{level}%")
            area = alt.Chart(band.rename(columns={f"low_{level}": "ettr"})).mark_area(opacity=opacity, clip=True)
            colour = alt.Color("level:N", title="Probability", scale=names)
            layers.append(area.encode(x=x_axis, y=y_axis, y2=alt.Y2(f"high_{level}:Q"), color=colour))
            tooltip += [
                alt.Tooltip(f"low_{level}:Q", title=f"{level}%: from", format=".1%"),
                alt.Tooltip(f"high_{level}:Q", title="to", format=".1%"),
            ]
    line = alt.Chart(shown).mark_line(color=COLOUR, clip=True).encode(x=x_axis, y=y_axis, tooltip=tooltip)
    return [*layers, touchable(line)]


def _known(frame: pd.DataFrame) -> bool:
    return bool((frame["high_95"] > frame["low_95"]).any())


def band_sentence(row: Any, where: str) -> str:
    if row.high_95 <= row.low_95:
        return f"{where} it is {row.ettr:.1%}; nothing is known of the rate's uncertainty, so there are no bands."
    return (
        f"{where} it is {row.ettr:.1%}, from {row.low_50:.1%} to {row.high_50:.1%} with 50% and from {row.low_95:.1%} "
        f"to {row.high_95:.1%} with 95% probability."
    )
