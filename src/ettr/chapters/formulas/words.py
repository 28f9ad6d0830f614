"""Sentences on the distance between the simple formulas and the exact one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ettr.chapters.formulas import tables
from ettr.chapters.formulas.tables import Simple
from ettr.core.sentences import Finding, duration, gpus, listed, pct

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_NAMES = {"first_order": "first order", "rsc": "the RSC formula"}


def difference(
    scenario: Scenario, formula: Simple, cells: pd.DataFrame, regions: pd.DataFrame, best: pd.DataFrame
) -> Finding:
    """Where a simple formula parts from the exact one; frames as from ``tables``."""
    name = _NAMES[formula]
    near, answered = _reach(best, best["points"].abs() <= 1.0), _reach(best, best["ettr"].notna())
    title = f"{name[0].upper()}{name[1:]} is within a point {_up_to(near)}"
    sentence = f"At the best interval of each size, {name} is within a point of the exact form {_up_to(near)}"
    if not near < answered:
        sentence += "."
    elif math.isfinite(answered):
        sentence += f", and has an answer {_up_to(answered)}."
    else:
        sentence += ", and has an answer at every size shown."
    low, high = cells["points"].min(), cells["points"].max()
    too_high = f"up to {high:.2g} points too high, and " if high > 0.05 else ""
    off = f" Where it has an answer it is {too_high}up to {-low:.2g} points too low." if low < -0.05 else ""
    aside = tables.set_aside(scenario, formula)
    without = f" Set aside here: {listed(aside)}." if aside else ""
    return Finding(title=title, text=f"{sentence} {_here(scenario, regions)}{off}{without}")


def _reach(best: pd.DataFrame, holds: pd.Series) -> float:
    """Largest size up to which something holds; 0 if nowhere, infinite if to the end."""
    failed = np.flatnonzero(~holds.to_numpy())
    if failed.size == 0:
        return math.inf
    return float(best["n_gpus"].iloc[failed[0] - 1]) if failed[0] else 0.0


def _up_to(size: float) -> str:
    if math.isinf(size):
        return "at every size shown"
    return f"up to {gpus(float(f'{size:.2g}'))}" if size else "nowhere on this line"


def _here(scenario: Scenario, regions: pd.DataFrame) -> str:
    """The intervals that are within a point at the scenario's own size."""
    near = regions[regions["layer"] == regions.loc[regions["within"] == 1.0, "layer"].min()]
    at = f"At the scenario's own {gpus(scenario.cluster.n_gpus)}"
    sizes = near["n_gpus"].to_numpy()
    ratio = np.abs(np.log(sizes / scenario.cluster.n_gpus)) if sizes.size else np.array([np.inf])
    if ratio.min() > 0.05:
        outside = scenario.cluster.n_gpus < regions["n_gpus"].min()
        return f"{at} the map does not begin yet." if outside else f"{at} it is within a point for no interval."
    row = near.iloc[int(ratio.argmin())]
    ends = f"from {duration(row['low_min'] / 60)} to {duration(row['high_min'] / 60)}"
    return f"{at} it is within a point for intervals {ends}."


def rsc_points(frame: pd.DataFrame) -> Finding:
    """How the RSC formula and the exact form stand to what the paper prints.

    ``frame`` as from :func:`ettr.validation.rsc_beside_exact`.
    """
    kept = frame[frame["verdict"] != "not reproduced"]
    missed = frame[frame["verdict"] == "not reproduced"]
    apart = 100 * (kept["exact"] - kept["rsc"]).abs()
    worst = kept.loc[apart.idxmax()]
    ends = frame.loc[frame["max_n_gpus"].idxmin()]
    odd = [
        f"{row.quantity}: printed {pct(row.published, 0)}, by the formula {pct(row.rsc)}, exact {pct(row.exact)}"
        for row in missed.itertuples()
    ]
    unlike = f" Not what the formula gives: {'; '.join(odd)}." if odd else ""
    return Finding(
        title=f"The RSC formula gives {len(kept)} of the {len(frame)} results that its paper prints",
        text=(
            f"By the paper's formula {len(kept)} of {len(frame)} printed results come out again, and the exact form "
            f"stands at most {apart.max():.1f} points from it there ({worst['quantity']}: {pct(worst['rsc'])} against "
            f"{pct(worst['exact'])}). It stops being a formula where losses that only add up reach the whole time: "
            f"first for {ends['quantity']}, beyond {gpus(ends['max_n_gpus'])}.{unlike}"
        ),
    )
