"""First data of the charts with inputs: datasets by name, as the script of the pages makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from ettr import budget, evidence, recommendation
from ettr.budget.closed_forms import quiet_budget
from ettr.budget.intervals import at_best, flat_band
from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY, H_PER_MONTH, MIN_PER_H
from ettr.evidence.published import EFFECTIVE
from ettr.failures.rates import rates_of
from ettr.plan import dates_of
from ettr.ranges.assumed import assumptions
from ettr.scenario import Scenario
from ettr.scenario.pools import enough_spares
from ettr_book import validation
from ettr_book.chapters.failure_rates import tables as published
from ettr_book.validation.comparing import POINT

Datasets = dict[str, pd.DataFrame]

DEFAULTS = {"target": 0.9, "repair_h": 24.0, "level": 0.99, "events": 10.0, "in_days": 30.0}
"""Initial values of the questions that a reader can change (assumed)."""
_SIZES = (64, 2**20, 57)
_INTERVALS, _FARTHEST = 81, 30.0
"""Number of intervals drawn, and ratio of the shortest and longest to the best one."""
_DAYS, _TAIL, _EDGE = 101, 1e-3, 0.1
_DRAWS = 2048
"""Draws of the assumed inputs for a plotted range; the page repeats them at each change."""
VALUE = "value"
"""Kind of a published figure that is no bound."""
_LEVELS = (0.5, 0.9, 0.99)
_SPARES, _MOST_SPARES = 80, 0.9999


def scale(run: Scenario) -> Datasets:
    """Return ETTR by size, at the best and the current interval: ``lines``, ``here`` and ``target``.

    ``here`` has the plausible range at its failure rate; ``published`` has the ETTRs of other runs.
    """
    sizes = np.geomspace(*_SIZES)
    lines = [pd.DataFrame({"n_gpus": sizes, "ettr": at_best(run, {"cluster.n_gpus": sizes}).ettr, "interval": "best"})]
    if not isinstance(run.checkpoint.interval_min, str):
        ettr_current = quiet_budget(run, {"cluster.n_gpus": sizes}).ettr
        lines.append(pd.DataFrame({"n_gpus": sizes, "ettr": np.nan_to_num(ettr_current), "interval": "current"}))
    drawn = pd.concat(lines, ignore_index=True).sort_values(["n_gpus", "interval"], ignore_index=True)
    ettr = float(at_best(run).ettr)
    low, high = assumptions(run, _DRAWS).range or (ettr, ettr)
    return {
        "lines": drawn[drawn["ettr"] > 0],
        "here": pd.DataFrame([{"n_gpus": run.cluster.n_gpus, "ettr": ettr, "low": low, "high": high}]),
        "target": pd.DataFrame({"ettr": [DEFAULTS["target"]]}),
        "published": _published_ettr()
        .rename(columns={"share": "ettr"})[["run", "n_gpus", "ettr", "bound"]]
        .replace({"bound": {"": VALUE}}),
    }


def checkpoint_interval(run: Scenario) -> Datasets:
    """Return steady-state ETTR by interval, maintenance included: ``lines``, and ``marks``.

    ``band`` has the range that costs half a point.
    """
    band, steady = flat_band(run), replace(budget.accepted(run), include_start=False)
    low, high = (float(end) * MIN_PER_H for end in steady.interval_ends)
    ends = max(low, band.interval_min / _FARTHEST), min(high, band.interval_min * _FARTHEST)
    minutes = np.geomspace(*ends, _INTERVALS)
    ettr = quiet_budget(replace(steady, tau=minutes / MIN_PER_H)).ettr
    marks = [{"interval_min": band.interval_min, "what": "best"}]
    if not isinstance(run.checkpoint.interval_min, str):
        marks.append({"interval_min": run.checkpoint.interval_min, "what": "current"})
    lines = pd.DataFrame({"interval_min": minutes, "ettr": ettr})
    return {
        "lines": lines[np.isfinite(lines["ettr"])],
        "band": pd.DataFrame([{"low_min": band.low_min, "high_min": band.high_min}]),
        "marks": pd.DataFrame(marks),
    }


def finishing_date(run: Scenario) -> Datasets:
    """Return the probability of being done by days since submission: ``lines``, ``points``, and ``by`` a day.

    ``simulated`` has the number of runs if the probability is simulated.
    """
    if not run.ends:
        raise InputError("the job has no end and therefore no date (job.productive_h)")
    best_min = budget.whole_interval_min(run, float(budget.best_interval_min(run)))
    dates = dates_of(run.override({"checkpoint.interval_min": best_min}))
    assert dates is not None
    finish = dates.reported
    low, high = (float(finish.quantile(p)) for p in (_TAIL, 1 - _TAIL))
    edge = _EDGE * (high - low) or 1.0
    hours = low - edge + (high - low + 2 * edge) * np.arange(_DAYS) / (_DAYS - 1)
    points = pd.DataFrame({"days": [finish.quantile(p) / H_PER_DAY for p in _LEVELS], "chance": _LEVELS})
    day = float(f"{finish.quantile(_LEVELS[1]) / H_PER_DAY:.3g}")
    runs = dates.simulation
    return {
        **({"simulated": pd.DataFrame([{"n_runs": runs.n_runs}])} if runs else {}),
        "lines": pd.DataFrame({"days": hours / H_PER_DAY, "chance": finish.cdf(hours)}),
        "points": points[np.isfinite(points["days"])],
        "by": pd.DataFrame([{"days": day, "chance": finish.cdf(day * H_PER_DAY)}]),
    }


def spares(run: Scenario) -> Datasets:
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


def _held(n_spares: object, in_repair: float) -> np.ndarray:
    from scipy.special import pdtr

    return np.asarray(pdtr(n_spares, in_repair))


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


def ettr_sources() -> list[str]:
    """Return the bibliography keys of the published ETTRs."""
    return list(dict.fromkeys(_published_ettr()["source"]))


def _published_ettr() -> pd.DataFrame:
    """Return the published useful shares that are an ETTR."""
    reported = evidence.published_ettr()
    return reported[reported["quantity"] == EFFECTIVE]


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
    "scale": scale,
    "checkpoint_interval": checkpoint_interval,
    "finishing_date": finishing_date,
    "spares": spares,
    "failure_rates": failure_rates,
    "portfolio": portfolio,
    "calculators": calculators,
}
