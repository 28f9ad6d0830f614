"""First data of the charts with inputs: datasets by name, as the script of the pages makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from ettr import evidence, recommendation
from ettr.core.units import H_PER_MONTH
from ettr.failures.rates import rates_of
from ettr.plots.finishing import finishing_data
from ettr.plots.interval import interval_data
from ettr.plots.named import DEFAULTS, Datasets
from ettr.plots.pools import pool_data
from ettr.plots.size import size_data
from ettr.scenario import Scenario
from ettr_book import validation
from ettr_book.chapters import failure_rates as published
from ettr_book.validation.comparing import POINT


def failure_rates(run: Scenario) -> Datasets:
    """Return a counted failure rate with its exact interval: ``yours`` starts with the run's own.

    ``published`` has the rates that count job stops or hardware failures.
    """
    n = float(run.failures.n_events or DEFAULTS["events"])
    exposure = float(run.failures.node_days or DEFAULTS["in_days"] * run.n_nodes)
    rate = {name: float(value) for name, value in rates_of(n, exposure).items()}
    rates = published.rates(run)
    stops = rates[rates["counted"].isin((published.STOPS, published.HARDWARE))].sort_values("rate", ascending=False)
    return {
        "yours": pd.DataFrame([{"who": "yours", **rate, "n": n, "days": exposure / run.n_nodes}]),
        "published": stops[["title", "rate", "low", "high", "counted"]].rename(columns={"title": "who"}),
    }


def rate_sources() -> list[str]:
    """Return the bibliography keys of the published rates."""
    return list(dict.fromkeys(evidence.published_rates()["source"]))


def portfolio(run: Scenario) -> Datasets:
    """Return hours lost per month without mitigations, and after each recommended one: ``steps``."""
    recommended = recommendation.recommend(run)
    rows = [{"order": 0, "what": "current run", "ettr": recommended.ettr}]
    rows += [{"order": i, "what": step.title, "ettr": step.ettr} for i, step in enumerate(recommended.steps, 1)]
    return {"steps": pd.DataFrame(rows).assign(lost=lambda frame: (1 - frame["ettr"]) * H_PER_MONTH)}


def calculators(run: Scenario) -> Datasets:
    """Return the result of each formula for the steady state, and the ``exact`` ETTR."""
    compared = validation.beside(run)
    answered = compared.dropna(subset=["ettr"], ignore_index=True)
    way = pd.cut(answered["points"], [-np.inf, -POINT, POINT, np.inf], labels=list(WAYS)).astype(str)
    columns = {"what": answered["title"], "ettr": answered["ettr"], "points": answered["points"], "way": way}
    return {"results": pd.DataFrame(columns), "exact": compared[["exact"]].head(1).rename(columns={"exact": "ettr"})}


FORMULAS = tuple(formula.title for formula in validation.CALCULATORS.values())
"""Names of the formulas, in their order."""
WAYS = ("too low", "within a point", "too high")
"""Sign of a formula's error against the exact model."""

ALL: Mapping[str, Callable[[Scenario], Datasets]] = {
    "scale": size_data,
    "checkpoint_interval": interval_data,
    "finishing_date": finishing_data,
    "spares": pool_data,
    "failure_rates": failure_rates,
    "portfolio": portfolio,
    "calculators": calculators,
}
