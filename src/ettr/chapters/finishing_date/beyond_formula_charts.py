"""Charts and tables on what no closed form has a term for."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr.chapters.common import builders
from ettr.chapters.common.columns import Column, axis_title, tooltips
from ettr.chapters.common.encodings import SHORT_NAMES, but_size
from ettr.chapters.common.mitigations import LIGHT_INK
from ettr.chapters.common.table import Table
from ettr.chapters.common.theme import DIFFERENCE_SHADES, INK, LABEL_PX, LEVEL_COLOURS, finish, need
from ettr.core.sentences import capital

_WORSE, _EVEN, _BETTER, _BEST, _UNKNOWN = DIFFERENCE_SHADES
_CLASSES = {
    "over 5 points too high": (LEVEL_COLOURS[0], LIGHT_INK),
    "1 to 5 too high": (LEVEL_COLOURS[1], LIGHT_INK),
    "up to 1 too high": (_WORSE, INK),
    "within the error": (_EVEN, INK),
    "up to 1 too low": (_BETTER, INK),
    "over 1 too low": (_BEST, LIGHT_INK),
    "hardly any training": (_UNKNOWN, LIGHT_INK),
}
_COLUMNS = ["mechanism", "setting", "order", "n_gpus", "closed", "simulated", "points", "half_points", "verdict"]
_SHORT = "width < 380 && length(datum.label) > 5 ? split(datum.label, ',')[0] + 'k' : datum.label"
"""Thousands as k where the columns are narrow."""


def difference_map(frame: pd.DataFrame, title: str, subtitle: str = "") -> Any:
    """Simulated ETTR less the closed form's, a row a mechanism and a column a size.

    Parameters
    ----------
    frame : DataFrame
        As from ``beyond_formula_tables.beyond_formulas``.
    title, subtitle : str
        The statement, and the scenario.
    """
    need(frame, *_COLUMNS)
    sizes = [f"{size:,.0f}" for size in sorted(frame["n_gpus"].unique())]
    rows = frame.sort_values("order").drop_duplicates("mechanism")["mechanism"].tolist()
    x = alt.X(
        "size:O",
        sort=sizes,
        title=axis_title("n_gpus"),
        axis=alt.Axis(labelAngle=0, labelExpr=_SHORT, ticks=False, domain=False),
    )
    y = builders.rows("mechanism", rows, labelLimit=170, labelExpr=SHORT_NAMES, domain=False)
    tips = tooltips(
        *("mechanism", "setting", "size", "simulated", "closed", "apart"),
        mechanism="Added",
        size="GPUs",
        apart=Column("Apart [points], 95%"),
    )
    worst = frame.loc[frame["points"].abs().idxmax()]
    n_sure = int((frame["verdict"] == "differs").sum())
    return finish(
        builders.cells(_cells(frame), x, y, _CLASSES, tips, "The closed form is", LABEL_PX, ("white", 1)),
        title=title,
        subtitle=but_size(subtitle),
        description=(
            f"A table of {len(rows)} rows by what is added and {len(sizes)} columns by job size, coloured by the "
            f"simulated ETTR less the closed form's, in points. {n_sure} of {len(frame)} cells differ by more than "
            f"the error. Furthest apart: {worst['mechanism']} at {worst['n_gpus']:,.0f} GPUs, "
            f"{worst['points']:+.1f} points."
        ),
        height=27 * len(rows) + 24,
    )


def _cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Texts of the cells."""
    return pd.DataFrame(
        {
            "mechanism": frame["mechanism"],
            "setting": frame["setting"],
            "size": [f"{size:,.0f}" for size in frame["n_gpus"]],
            "kind": [_class(row.points, row.verdict) for row in frame.itertuples()],
            "told": [_label(row.points, row.verdict) for row in frame.itertuples()],
            "closed": [_percent(value) for value in frame["closed"]],
            "simulated": [_percent(value) for value in frame["simulated"]],
            "apart": [
                "" if np.isnan(row.points) else f"{row.points:+.2f} ± {row.half_points:.2f}"
                for row in frame.itertuples()
            ],
        }
    )


def _class(points: float, verdict: str) -> str:
    if verdict == "hopeless":
        return "hardly any training"
    if verdict == "within error":
        return "within the error"
    if points > 0:
        return "up to 1 too low" if points <= 1 else "over 1 too low"
    return "up to 1 too high" if points >= -1 else "1 to 5 too high" if points >= -5 else "over 5 points too high"


def _label(points: float, verdict: str) -> str:
    if verdict == "hopeless":
        return "–"
    return "≈" if verdict == "within error" else f"{points:+.1f}".replace("-", "−")


def _percent(value: float) -> str:
    return "not simulated" if np.isnan(value) else f"{value:.2%}"


def settings(frame: pd.DataFrame, n_gpus: float) -> Table:
    """What was assumed of each mechanism, and what came of it at one size.

    Parameters
    ----------
    frame : DataFrame
        As from ``beyond_formula_tables.beyond_formulas``.
    n_gpus : float
        The size. [GPUs]
    """
    need(frame, *_COLUMNS)
    rows = frame[frame["n_gpus"] == n_gpus].sort_values("order")
    texts = pd.DataFrame(
        {
            "Added": rows["mechanism"],
            "Assumed": [capital(text) for text in rows["setting"]],
            "Closed form": ["" if np.isnan(value) else f"{value:.2%}" for value in rows["closed"]],
            "Simulated, 95%": [
                "" if np.isnan(row.simulated) else f"{row.simulated:.2%} ± {row.half_points:.2f}"
                for row in rows.itertuples()
            ],
        }
    )
    return Table(texts, f"Settings on {n_gpus:,.0f} GPUs, all assumed")
