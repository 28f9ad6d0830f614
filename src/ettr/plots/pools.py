"""Size of a spare pool: the share of the time in which it is large enough."""

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
from ettr.spares.demand import demand
from ettr.spares.waiting import waiting_share

_SPARES, _MOST_SPARES = 80, 0.9999


def pool_data(run: Scenario) -> Datasets:
    """Return the share of the time in which the job has all its nodes, by spares held.

    Datasets: ``lines``, ``need`` (the smallest pool that reaches the service level) and ``level``.
    """
    in_repair = _in_repair(run)
    # a job that waits has no failures, so its pool is never larger than one for failures that continue
    sizes = np.arange(float(enough_spares(in_repair, DEFAULTS["level"])) + 1)
    enough = _enough(sizes, in_repair) >= DEFAULTS["level"]
    need = sizes[enough.argmax()]
    most = max(5, int(np.ceil(1.3 * float(enough_spares(in_repair, _MOST_SPARES)))))
    held = np.arange(0, most + 1, max(1, int(np.ceil(most / _SPARES))))
    return {
        "lines": pd.DataFrame({"n_spares": held, "chance": _enough(held, in_repair)}),
        "need": pd.DataFrame([{"n_spares": need, "chance": float(_enough(need, in_repair))}]),
        "level": pd.DataFrame({"chance": [DEFAULTS["level"]]}),
    }


def _in_repair(run: Scenario) -> float:
    """Return the mean number of nodes in repair: of the run's own repair, or of the default one."""
    if run.repair:
        return float(demand(run).in_repair)
    hours = budget.exact(run)
    out = np.array([*(mode.n_out_nodes for mode in run.failures.modes), 1.0]) @ run.mode_weights
    return float(hours.n_failures / hours.total_h * out * DEFAULTS["repair_h"])


def _enough(n_spares: object, in_repair: float) -> np.ndarray:
    return 1 - np.asarray(waiting_share(n_spares, in_repair))


def spare_pool(run: Scenario, *, title: str = "How often a spare pool is large enough", subtitle: str = "") -> Any:
    """Draw the share of the time in which the job has all its nodes, over the number of spare nodes.

    Parameters
    ----------
    run : Scenario
        A run that the exact model covers, with ``spares`` and ``repair`` or without.
    title : str
        Finding of the chart.
    subtitle : str
        Whose numbers these are; by default the title of the run.

    Notes
    -----
    The number of nodes in repair is Poisson distributed (Palm's theorem) up to one more than the pool: the job then
    waits, and no node fails until one returns. A node is away for the mean repair time of
    the run, or for 24 h (assumed) if it has no ``repair``.

    Examples
    --------
    >>> chart = spare_pool(Scenario.load("llama3-405b"))
    >>> chart.title.subtitle
    'Llama 3 405B on 16,384 H100'
    """
    rows = pool_data(run)
    tips = [alt.Tooltip("n_spares:Q", title="Spare nodes"), alt.Tooltip("chance:Q", title="Large enough", format=".2%")]
    line = chart(rows, "lines").mark_line(color=MODEL_COLOURS["exact"], interpolate="step-after")
    line = line.encode(
        x=builders.along("n_spares", title="Spare nodes [count]"),
        y=probability_axis("Time with a large enough pool [%]"),
    )
    smallest = chart(rows, "need").mark_point(size=150, filled=True, color=ORANGE, opacity=1)
    smallest = smallest.encode(x="n_spares:Q", y="chance:Q", tooltip=tips)
    return finish(
        layered(target_line(rows, "level"), *touched(line, tips), smallest),
        title=title,
        subtitle=subtitle or run.title,
        description=(
            "Share of the time in which the job has all its nodes, over the number of spares. The dashed line is the "
            "service level, the dot the smallest pool that reaches it."
        ),
    )
