"""Size of a spare pool."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import budget
from ettr.plots import builders
from ettr.plots.named import DEFAULTS, Datasets, chart, probability_axis, target_line, touched
from ettr.plots.theme import MODEL_COLOURS, ORANGE, finish, layered
from ettr.scenario import Scenario
from ettr.scenario.pools import enough_spares

_SPARES, _MOST_SPARES = 80, 0.9999


def pool_data(run: Scenario) -> Datasets:
    """Return the probability that no node is missing, by spares held: ``lines``, ``need`` and ``level``."""
    hours = budget.exact(run)
    out = np.array([*(mode.n_out_nodes for mode in run.failures.modes), 1.0]) @ run.mode_weights
    in_repair = float(hours.n_failures / hours.total_h * out * DEFAULTS["repair_h"])
    need = float(enough_spares(in_repair, DEFAULTS["level"]))
    most = max(5, int(np.ceil(1.3 * float(enough_spares(in_repair, _MOST_SPARES)))))
    held = np.arange(0, most + 1, max(1, int(np.ceil(most / _SPARES))))
    return {
        "lines": pd.DataFrame({"n_spares": held, "chance": _held(held, in_repair)}),
        "need": pd.DataFrame([{"n_spares": need, "chance": float(_held(need, in_repair))}]),
        "level": pd.DataFrame({"chance": [DEFAULTS["level"]]}),
    }


def spares(run: Scenario, *, title: str = "Probability that a spare pool is large enough", subtitle: str = "") -> Any:
    """Draw the probability that no node is missing, over the number of spare nodes.

    Parameters
    ----------
    run : Scenario
        A run that the exact model covers.
    title : str
        Finding of the chart.
    subtitle : str
        Whose numbers these are; by default the title of the run.
    """
    rows = pool_data(run)
    tips = [alt.Tooltip("n_spares:Q", title="Spare nodes"), alt.Tooltip("chance:Q", title="Enough", format=".2%")]
    line = chart(rows, "lines").mark_line(color=MODEL_COLOURS["exact"], interpolate="step-after")
    line = line.encode(
        x=builders.along("n_spares", title="Spare nodes [count]"),
        y=probability_axis("Probability that no node is missing [%]"),
    )
    need = chart(rows, "need").mark_point(size=150, filled=True, color=ORANGE, opacity=1)
    need = need.encode(x="n_spares:Q", y="chance:Q", tooltip=tips)
    return finish(
        layered(target_line(rows, "level"), *touched(line, tips), need),
        title=title,
        subtitle=subtitle or run.title,
        description=(
            "Probability that no node is missing at a random moment over the number of spares; the dashed line is the "
            "service level, the dot the smallest pool that reaches it. The sentence below has the numbers."
        ),
    )


def _held(n_spares: object, in_repair: float) -> np.ndarray:
    from scipy.special import pdtr

    return np.asarray(pdtr(n_spares, in_repair))
