"""Sentences on the spectrum of a job's power, and on limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ettr.core.sentences import Finding, count, duration, listed, megawatts, number, pct
from ettr.core.units import S_PER_H

if TYPE_CHECKING:
    import pandas as pd

    from ettr.power import Profile

_NEAR = 0.02
"""Frequencies that differ by less are the same line."""


def spectrum(frame: pd.DataFrame, profile: Profile, low_hz: float, high_hz: float) -> Finding:
    """Where the fluctuation lies; ``frame`` as from ``tables.spectra``."""
    shares = frame.groupby("nodes", sort=False)["band_share"].first()
    own = frame[frame["nodes"] == "as given"]
    peak_hz = float(own.loc[own["psd_mw2_per_hz"].idxmax(), "frequency_hz"])
    step_hz = 1 / profile.waveform.step_s
    if abs(peak_hz / step_hz - 1) < _NEAR:
        where = f"The highest line is the step's own, at {number(step_hz)} Hz, and its multiples follow"
    else:
        where = f"The highest line lies at {number(peak_hz)} Hz, with steps at {number(step_hz)} Hz"
    sigma = profile.waveform.jitter_s
    jitter = (
        f"Nodes that change phase with a spread of {duration(sigma / S_PER_H)} take away what is faster than "
        f"{number(1 / (2 * np.pi * sigma))} Hz, and nothing of the rest; with all nodes at once the share is "
        f"{pct(shares['all nodes at once'], 0)}. What their own moments add, {megawatts(profile.incoherent_mw)}, is "
        "too small to be seen."
    )
    share = pct(shares["as given"], 0)
    band = f"between {number(low_hz)} and {number(high_hz)} Hz"
    return Finding(
        title=f"{share} of the fluctuation lies {band}",
        text=(
            f"Of what fluctuates within an hour of this day, {share} lies {band}, where grids and turbines have "
            f"resonances. {where}. {jitter}"
        ),
    )


def limits(table: pd.DataFrame) -> Finding:
    """Which limits are kept; ``table`` as from ``tables.limits_kept``."""
    broken = table[table["verdict"] == "broken"]
    each = [
        f"{count(int((broken['specification'] == name).sum()))} of {count(len(rows))} of {name}"
        for name, rows in table.groupby("specification", sort=False)
    ]
    return Finding(
        title=f"The bare job breaks {count(len(broken))} of {count(len(table))} published limits",
        text=f"Broken are {listed(each)}. The limits are examples and ranges of plants, not the rules of one grid.",
    )
