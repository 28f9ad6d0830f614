"""Charts of the spectrum of a job's power, and its limits as a table."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from ettr.plots.encodings import rounded
from ettr.plots.theme import BLUE, OCHRE, ORANGE, finish, layered
from ettr_book.chapters.common import builders
from ettr_book.chapters.common.columns import tooltips
from ettr_book.chapters.common.table import CaptionedTable, heads, named

_NODES = {"as given": (BLUE, [1, 0]), "all nodes at once": (ORANGE, [2, 3])}
_LEAST_DENSITY = 1e-12
"""Of the highest: what lies below is rounding."""


def spectrum(frame: pd.DataFrame, low_hz: float, high_hz: float, title: str, subtitle: str = "") -> Any:
    """Spectral density of the power, against the band in which grids resonate.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.spectra``.
    low_hz, high_hz : float
        The band. [Hz]
    title, subtitle : str
        The statement, and the scenario.
    """
    least = _LEAST_DENSITY * float(frame["psd_mw2_per_hz"].max())
    drawn = frame[frame["psd_mw2_per_hz"] > least]
    present = [*builders.present(_NODES, drawn["nodes"])]
    ends = [float(frame["frequency_hz"].min()), float(frame["frequency_hz"].max())]
    x = builders.across("frequency_hz", domain=ends).axis(format="~g", values=[0.01, 0.1, 1, 10, 100])
    y = builders.up("psd_mw2_per_hz", log=True, ticks=6)
    band = pd.DataFrame({"frequency_hz": [max(low_hz, ends[0])], "to_hz": [min(high_hz, ends[1])]})
    area = (
        alt.Chart(band).mark_rect(opacity=0.12, color=OCHRE).encode(x=x, x2=alt.X2("to_hz:Q"), tooltip=alt.value(None))
    )
    curves, tips = rounded(drawn.drop(columns="band_share"), 4), tooltips("nodes", "frequency_hz", "psd_mw2_per_hz")
    lines = builders.lines(curves, x, y, "nodes", _NODES, tips, "Phases change", clip=True, strokeWidth=1.5)
    shares = drawn.groupby("nodes")["band_share"].first()
    in_band = "; ".join(f"{shares[name]:.0%} of the fluctuation lies in it, {name}" for name in present)
    own = drawn[drawn["nodes"] == present[0]]
    peak = own.loc[own["psd_mw2_per_hz"].idxmax()]
    return finish(
        layered(area, lines),
        title=title,
        subtitle=subtitle,
        description=(
            f"Spectral density over frequency, both logarithmic, with the band from {low_hz:g} to {high_hz:g} hertz "
            f"shaded: {in_band}. The highest line is at {peak['frequency_hz']:.3g} hertz."
        ),
        height=320,
    )


def limits(frame: pd.DataFrame) -> CaptionedTable:
    """A run against the limits of several specifications, a row a rule.

    Parameters
    ----------
    frame : DataFrame
        As from ``tables.limits_kept``.
    """
    names = heads("specification", "rule", "limit", "value", "unit", "verdict", value="This run")
    return named(frame.replace({"unit": {"1": ""}}), names, "The bare job against published limits", digits=3)
