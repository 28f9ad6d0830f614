"""What charts with inputs begin with: for each its datasets by name, as the script of the pages makes them."""

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

ASKED = {"target": 0.9, "repair_h": 24.0, "level": 0.99, "events": 10.0, "in_days": 30.0}
"""What is asked until the reader asks for something else (assumed)."""
_SIZES = (64, 2**20, 57)
_INTERVALS, _FARTHEST = 81, 30.0
"""Intervals that are drawn, up to so many times shorter or longer than the best."""
_DAYS, _TAIL, _EDGE = 101, 1e-3, 0.1
_DRAWS = 2048
"""Of what is assumed, for a range that is drawn: a page draws them with each move."""
VALUE = "value"
"""What was published where it is no bound."""
_LEVELS = (0.5, 0.9, 0.99)
_SPARES, _MOST_SPARES = 80, 0.9999


def scale(run: Scenario) -> Datasets:
    """ETTR by size, at the best interval and at the run's own: ``lines``, ``here`` and ``target``.

    ``here`` has the plausible range at its failure rate; beside it the ETTRs that runs ``published``.
    """
    sizes = np.geomspace(*_SIZES)
    lines = [pd.DataFrame({"n_gpus": sizes, "ettr": at_best(run, {"cluster.n_gpus": sizes}).ettr, "interval": "best"})]
    if not isinstance(run.checkpoint.interval_min, str):
        own = quiet_budget(run, {"cluster.n_gpus": sizes}).ettr
        lines.append(pd.DataFrame({"n_gpus": sizes, "ettr": np.nan_to_num(own), "interval": "own"}))
    drawn = pd.concat(lines, ignore_index=True).sort_values(["n_gpus", "interval"], ignore_index=True)
    ettr = float(at_best(run).ettr)
    low, high = assumptions(run, _DRAWS).range or (ettr, ettr)
    return {
        "lines": drawn[drawn["ettr"] > 0],
        "here": pd.DataFrame([{"n_gpus": run.cluster.n_gpus, "ettr": ettr, "low": low, "high": high}]),
        "target": pd.DataFrame({"ettr": [ASKED["target"]]}),
        "published": _published_ettr()
        .rename(columns={"share": "ettr"})[["run", "n_gpus", "ettr", "bound"]]
        .replace({"bound": {"": VALUE}}),
    }


def checkpoint_interval(run: Scenario) -> Datasets:
    """ETTR of the steady state by interval, maintenance included: ``lines``, and ``marks``.

    ``band`` holds the range that costs half a point.
    """
    band, steady = flat_band(run), replace(budget.accepted(run), include_start=False)
    low, high = (float(end) * MIN_PER_H for end in steady.interval_ends)
    ends = max(low, band.interval_min / _FARTHEST), min(high, band.interval_min * _FARTHEST)
    minutes = np.geomspace(*ends, _INTERVALS)
    ettr = quiet_budget(replace(steady, tau=minutes / MIN_PER_H)).ettr
    marks = [{"interval_min": band.interval_min, "what": "best"}]
    if not isinstance(run.checkpoint.interval_min, str):
        marks.append({"interval_min": run.checkpoint.interval_min, "what": "own"})
    lines = pd.DataFrame({"interval_min": minutes, "ettr": ettr})
    return {
        "lines": lines[np.isfinite(lines["ettr"])],
        "band": pd.DataFrame([{"low_min": band.low_min, "high_min": band.high_min}]),
        "marks": pd.DataFrame(marks),
    }


def finishing_date(run: Scenario) -> Datasets:
    """Probability of being done by the days since submission: ``lines``, ``points``, and ``by`` a day.

    With ``simulated``, the number of runs, where that is no exact probability.
    """
    if not run.ends:
        raise InputError("the job has no end, and so no date (job.productive_h)")
    best_min = budget.whole_interval_min(run, float(budget.best_interval_min(run)))
    dates = dates_of(run.override({"checkpoint.interval_min": best_min}))
    assert dates is not None
    finish = dates.shown
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
    """Probability that no node is missing, by the spares that are held: ``lines``, ``need`` and ``level``."""
    hours = budget.exact(run)
    out = np.array([*(mode.n_out_nodes for mode in run.failures.modes), 1.0]) @ run.mode_weights
    in_repair = float(hours.n_failures / hours.total_h * out * ASKED["repair_h"])
    need = float(enough_spares(in_repair, ASKED["level"]))
    most = max(5, int(np.ceil(1.3 * float(enough_spares(in_repair, _MOST_SPARES)))))
    held = np.arange(0, most + 1, max(1, int(np.ceil(most / _SPARES))))
    return {
        "lines": pd.DataFrame({"n_spares": held, "chance": _held(held, in_repair)}),
        "need": pd.DataFrame([{"n_spares": need, "chance": float(_held(need, in_repair))}]),
        "level": pd.DataFrame({"chance": [ASKED["level"]]}),
    }


def _held(n_spares: object, in_repair: float) -> np.ndarray:
    from scipy.special import pdtr

    return np.asarray(pdtr(n_spares, in_repair))


def failure_rates(run: Scenario) -> Datasets:
    """The failure rate of a count with its exact interval: ``yours``, the run's own until another is given.

    Beside it ``published`` rates that count stops of a job or failures of hardware.
    """
    n = float(run.failures.n_events or ASKED["events"])
    exposure = float(run.failures.node_days or ASKED["in_days"] * run.n_nodes)
    rate = {name: float(value) for name, value in rates_of(n, exposure).items()}
    known = published.rates(run)
    stops = known[known["counted"].isin((published.STOPS, published.HARDWARE))].sort_values("rate", ascending=False)
    return {
        "yours": pd.DataFrame([{"who": "yours", **rate, "n": n, "days": exposure / run.n_nodes}]),
        "published": stops[["title", "rate", "low", "high", "counted"]].rename(columns={"title": "who"}),
    }


def rate_sources() -> list[str]:
    """Keys of the sources of the published rates."""
    return list(dict.fromkeys(evidence.published_rates()["source"]))


def ettr_sources() -> list[str]:
    """Keys of the sources of the published ETTRs."""
    return list(dict.fromkeys(_published_ettr()["source"]))


def _published_ettr() -> pd.DataFrame:
    """Those of the published useful shares that are an ETTR."""
    reported = evidence.published_ettr()
    return reported[reported["quantity"] == EFFECTIVE]


def portfolio(run: Scenario) -> Datasets:
    """Hours lost per month without mitigations, and after each of the recommended ones: ``steps``."""
    found = recommendation.recommend(run)
    rows = [{"order": 0, "what": "as it is", "ettr": found.ettr}]
    rows += [{"order": i, "what": step.title, "ettr": step.ettr} for i, step in enumerate(found.steps, 1)]
    return {"steps": pd.DataFrame(rows).assign(lost=lambda frame: (1 - frame["ettr"]) * H_PER_MONTH)}


def calculators(run: Scenario) -> Datasets:
    """What each formula that people use ``said`` of the steady state, with the ``exact`` ETTR."""
    found = validation.beside(run)
    said = found.dropna(subset=["ettr"], ignore_index=True)
    way = pd.cut(said["points"], [-np.inf, -POINT, POINT, np.inf], labels=list(WAYS)).astype(str)
    columns = {"what": said["title"], "ettr": said["ettr"], "points": said["points"], "way": way}
    return {"said": pd.DataFrame(columns), "exact": found[["exact"]].head(1).rename(columns={"exact": "ettr"})}


FORMULAS = tuple(one.title for one in validation.CALCULATORS.values())
"""What people call the formulas, in their order."""
WAYS = ("too little", "within a point", "too much")
"""How a formula stands to the exact form."""

ALL: Mapping[str, Callable[[Scenario], Datasets]] = {
    "scale": scale,
    "checkpoint_interval": checkpoint_interval,
    "finishing_date": finishing_date,
    "spares": spares,
    "failure_rates": failure_rates,
    "portfolio": portfolio,
    "calculators": calculators,
}
