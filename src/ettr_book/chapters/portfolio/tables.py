"""Tables on the recommended set: lost hours, savings of each step, and decisive assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from ettr import mitigation, plan, recommendation
from ettr.core.errors import EttrError
from ettr.core.results import PARTS
from ettr.core.sentences import limit, pct
from ettr.core.units import H_PER_MONTH
from ettr.ranges import Assumed
from ettr.recommendation import Recommendation, Runs
from ettr.recommendation.best_set import Sets
from ettr.recommendation.ranges import strength_factor
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL
from ettr_book.chapters.common.mitigations import EFFECT, HOURS, MONEY, input_name

BEFORE, AFTER = "lost before", "lost after"
_STILL_H = 0.05
"""Smallest monthly change of a part in the waterfall. [h]"""


def steps(recommended: Recommendation | None) -> pd.DataFrame:
    """Return the steps of the recommended set in its order; empty without any.

    Returns
    -------
    DataFrame
        The attributes of :class:`ettr.recommendation.RecommendedStep`.
    """
    columns = list(recommendation.RecommendedStep.__dataclass_fields__)
    return pd.DataFrame([asdict(step) for step in recommended.steps] if recommended else [], columns=columns)


def lost_hours(recommended: Recommendation | None) -> pd.DataFrame:
    """Return where the lost hours go, without and with the recommended set, as the steps of a waterfall.

    Parameters
    ----------
    found : Recommendation or None
        As from :meth:`ettr.plan.Plan.recommend`.

    Returns
    -------
    DataFrame
        ``part`` (``lost before``, the parts that change, ``lost after``), ``start`` and ``end`` of its bar, ``hours``
        (lost; for a part, the change), ``before`` and ``after``; all per month of the same work, each run at its best
        interval, by the exact model [h]. Training time is no loss: the two totals differ by the hours that the set
        saves, except for savings from faster steps. Empty without a set.
    """
    columns = ["part", "start", "end", "hours", "before", "after"]
    if not recommended or not recommended.steps:
        return pd.DataFrame(columns=columns)
    run = _bare(recommended).override({INTERVAL: "best"})
    budgets = [
        plan.make(scenario, simulate=False).budget
        for scenario in (run, mitigation.apply(run, recommended.ids, recommended.catalogue))
    ]
    per_month = H_PER_MONTH / float(budgets[0].total_h)
    lost, remaining = (float(budget.total_h - budget.productive_h) * per_month for budget in budgets)
    rows: list[tuple[str | float, ...]] = [(BEFORE, 0.0, lost, lost, lost, lost)]
    level = lost
    for part in PARTS[1:]:
        hours = [float(getattr(budget, part)) * per_month for budget in budgets]
        change = hours[1] - hours[0]
        if abs(change) >= _STILL_H:
            rows.append((part.removesuffix("_h"), level, level + change, change, *hours))
            level += change
    rows.append((AFTER, 0.0, remaining, remaining, remaining, remaining))
    return pd.DataFrame(rows, columns=columns)


def simulated(
    run: Scenario, recommended: Recommendation | None, n_runs: int, seed: int = 0
) -> tuple[Runs, Runs] | None:
    """Return simulated runs without and with the recommended set; None where there is no set or no answer.

    Parameters
    ----------
    run : Scenario
        The run with all its features, including those that only simulation covers.
    found : Recommendation or None
        As from :meth:`ettr.plan.Plan.recommend`.
    n_runs, seed : int
        Number of runs without and with the set, and their seed; both have the same failures.
    """
    if not recommended or not recommended.steps:
        return None
    try:
        treated = mitigation.apply(run, recommended.ids, recommended.catalogue)
        before, after = (recommendation.run_scenario(scenario, n_runs, seed) for scenario in (run, treated))
    except EttrError:
        return None
    return before, after


def decisive(recommended: Recommendation | None, assumed: Iterable[Assumed]) -> pd.DataFrame:
    """Return what the recommended set is worth with one assumption at a time at either end of its range.

    Parameters
    ----------
    found : Recommendation or None
        As from :meth:`ettr.plan.Plan.recommend`.
    assumed : iterable of Assumed
        Inputs with plausible ranges, such as those of :attr:`ettr.plan.Plan.assumptions`.

    Returns
    -------
    DataFrame
        One row per input, and one per step for its saving, over its plausible range: ``input``, ``name``, ``range``
        (in words), ``unit``, ``low_value`` and ``high_value``; ``net`` with ``net_low`` and ``net_high`` (net saving of
        the recommended set; NaN where the model has no answer) in ``net_unit``, million USD or h per month; ``ids``
        (the recommended set), ``ids_low`` and ``ids_high`` (the recommended set at each end), ``changes_set``,
        ``swing`` (largest minus smallest ``net``). The largest swing comes first. Empty without a set.
    """
    rows = [] if not recommended or not recommended.steps else [*_inputs(recommended, assumed), *_effects(recommended)]
    columns = ["input", "name", "range", "unit", "low_value", "high_value", "net", "net_low", "net_high", "net_unit"]
    columns += ["ids", "ids_low", "ids_high", "changes_set"]
    frame = pd.DataFrame(rows, columns=columns)
    nets = frame[["net", "net_low", "net_high"]].astype(float)
    frame = frame.assign(swing=nets.max(axis=1) - nets.min(axis=1))
    return frame.sort_values("swing", ascending=False, kind="stable", ignore_index=True)


def _inputs(recommended: Recommendation, assumed: Iterable[Assumed]) -> Iterator[dict[str, Any]]:
    for entry in assumed:
        if entry.field != INTERVAL:  # chosen by the plan
            name, ends = (
                input_name(entry.field).removeprefix("the "),
                f"{limit(entry.low)} to {limit(entry.high)} {entry.unit}",
            )
            about: dict[str, Any] = {"input": entry.field, "name": name, "range": ends.strip(), "unit": entry.unit}
            about |= {"low_value": entry.low, "high_value": entry.high}
            yield about | _ends(recommended, [({entry.field: value}, {}) for value in (entry.low, entry.high)])


def _effects(recommended: Recommendation) -> Iterator[dict[str, Any]]:
    for step in recommended.steps:
        factor = strength_factor(recommended.catalogue[step.id])
        name, ends = f"effect of {step.title}", f"{pct(1 / factor, 0)} to {pct(factor, 0)} of the expected saving"
        about: dict[str, Any] = {"input": f"{EFFECT}{step.id}", "name": name, "range": ends, "unit": ""}
        about |= {"low_value": 1 / factor, "high_value": factor}
        yield about | _ends(recommended, [({}, {step.id: strength}) for strength in (1 / factor, factor)])


def _ends(recommended: Recommendation, ends: Iterable[tuple[dict[str, float], dict[str, float]]]) -> dict[str, Any]:
    """Return the columns at both ends, each with other input values and effect sizes."""
    (low, ids_low), (high, ids_high) = (_at_end(recommended, values, strengths) for values, strengths in ends)
    changes = any(ids is not None and set(ids) != set(recommended.ids) for ids in (ids_low, ids_high))
    net, unit = (recommended.net_usd / 1e6, MONEY) if recommended.has_price else (recommended.saved_h, HOURS)
    nets = {"net": net, "net_low": low, "net_high": high, "net_unit": unit}
    return nets | {"ids": recommended.ids, "ids_low": ids_low, "ids_high": ids_high, "changes_set": changes}


def _at_end(
    recommended: Recommendation, values: dict[str, float], strengths: dict[str, float]
) -> tuple[float, tuple[str, ...] | None]:
    """Return the net saving of the recommended set and the best set there; NaN and None without an answer."""
    try:
        sets = Sets(
            recommended.scenario.override(values), recommended.budget_usd, recommended.catalogue, strengths=strengths
        )
    except EttrError:
        return np.nan, None
    net = sets.net_usd(recommended.ids) / 1e6 if recommended.has_price else sets.saved_h(recommended.ids)
    return net if math.isfinite(net) else np.nan, tuple(sorted(sets.best()))


def _bare(recommended: Recommendation) -> Scenario:
    """Return the run without its measured values, which are no longer valid after a change."""
    return recommended.scenario.override({"evidence": {}, "measured": None})
