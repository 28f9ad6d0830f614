"""Tables on the recommended set: where the lost hours go, what each step saves, and which assumption decides."""

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
"""A part that changes by less per month is left out of the waterfall. [h]"""


def steps(found: Recommendation | None) -> pd.DataFrame:
    """Return the steps of the recommended set in its order; empty without any.

    Returns
    -------
    DataFrame
        The attributes of :class:`ettr.recommendation.RecommendedStep`.
    """
    columns = list(recommendation.RecommendedStep.__dataclass_fields__)
    return pd.DataFrame([asdict(step) for step in found.steps] if found else [], columns=columns)


def lost_hours(found: Recommendation | None) -> pd.DataFrame:
    """Return where the lost hours go, without and with the recommended set, as the steps of a waterfall.

    Parameters
    ----------
    found : Recommendation or None
        As from :meth:`ettr.plan.Plan.recommend`.

    Returns
    -------
    DataFrame
        ``part`` (``lost before``, the parts that change, ``lost after``), ``start`` and ``end`` of its bar, ``hours``
        (lost; of a part how many more than before), ``before`` and ``after``; all per month of the same work, each run
        at its best interval, by the analytical model [h]. Time spent in training is no loss: the two totals differ by
        the hours that the set saves, but for what steps at another pace save. Empty without a set.
    """
    columns = ["part", "start", "end", "hours", "before", "after"]
    if not found or not found.steps:
        return pd.DataFrame(columns=columns)
    run = _bare(found).override({INTERVAL: "best"})
    budgets = [
        plan.make(one, simulate=False).budget for one in (run, mitigation.apply(run, found.ids, found.catalogue))
    ]
    per_month = H_PER_MONTH / float(budgets[0].total_h)
    lost, left = (float(budget.total_h - budget.productive_h) * per_month for budget in budgets)
    rows: list[tuple[str | float, ...]] = [(BEFORE, 0.0, lost, lost, lost, lost)]
    level = lost
    for part in PARTS[1:]:
        hours = [float(getattr(budget, part)) * per_month for budget in budgets]
        more = hours[1] - hours[0]
        if abs(more) >= _STILL_H:
            rows.append((part.removesuffix("_h"), level, level + more, more, *hours))
            level += more
    rows.append((AFTER, 0.0, left, left, left, left))
    return pd.DataFrame(rows, columns=columns)


def simulated(run: Scenario, found: Recommendation | None, n_runs: int, seed: int = 0) -> tuple[Runs, Runs] | None:
    """Return simulated runs without and with the recommended set; None where there is no set or no answer.

    Parameters
    ----------
    run : Scenario
        With all that only simulation follows.
    found : Recommendation or None
        As from :meth:`ettr.plan.Plan.recommend`.
    n_runs, seed : int
        Of the runs without and with the set, which meet the same failures.
    """
    if not found or not found.steps:
        return None
    try:
        treated = mitigation.apply(run, found.ids, found.catalogue)
        before, after = (recommendation.run_scenario(one, n_runs, seed) for one in (run, treated))
    except EttrError:
        return None
    return before, after


def decisive(found: Recommendation | None, assumed: Iterable[Assumed]) -> pd.DataFrame:
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
        A row an input, and one for the saving of each step, from as small to as large as plausible: ``input``,
        ``name``, ``range`` (in words), ``unit``, ``low_value`` and ``high_value``; ``net``
        with ``net_low`` and ``net_high`` (net saving of the recommended set; NaN where the model has no answer) in
        ``net_unit``, million USD or h per month; ``ids`` (the recommended set), ``ids_low`` and ``ids_high`` (the one
        that is recommended there), ``changes_set``, ``swing`` (largest ``net`` less smallest). The largest swing
        comes first. Empty without a set.
    """
    rows = [] if not found or not found.steps else [*_inputs(found, assumed), *_effects(found)]
    columns = ["input", "name", "range", "unit", "low_value", "high_value", "net", "net_low", "net_high", "net_unit"]
    columns += ["ids", "ids_low", "ids_high", "changes_set"]
    frame = pd.DataFrame(rows, columns=columns)
    nets = frame[["net", "net_low", "net_high"]].astype(float)
    frame = frame.assign(swing=nets.max(axis=1) - nets.min(axis=1))
    return frame.sort_values("swing", ascending=False, kind="stable", ignore_index=True)


def _inputs(found: Recommendation, assumed: Iterable[Assumed]) -> Iterator[dict[str, Any]]:
    for one in assumed:
        if one.field != INTERVAL:  # which is chosen
            name, ends = input_name(one.field).removeprefix("the "), f"{limit(one.low)} to {limit(one.high)} {one.unit}"
            about: dict[str, Any] = {"input": one.field, "name": name, "range": ends.strip(), "unit": one.unit}
            about |= {"low_value": one.low, "high_value": one.high}
            yield about | _ends(found, [({one.field: value}, {}) for value in (one.low, one.high)])


def _effects(found: Recommendation) -> Iterator[dict[str, Any]]:
    for step in found.steps:
        factor = strength_factor(found.catalogue[step.id])
        name, ends = f"effect of {step.title}", f"{pct(1 / factor, 0)} to {pct(factor, 0)} of the expected saving"
        about: dict[str, Any] = {"input": f"{EFFECT}{step.id}", "name": name, "range": ends, "unit": ""}
        about |= {"low_value": 1 / factor, "high_value": factor}
        yield about | _ends(found, [({}, {step.id: strength}) for strength in (1 / factor, factor)])


def _ends(found: Recommendation, ends: Iterable[tuple[dict[str, float], dict[str, float]]]) -> dict[str, Any]:
    """The columns on both ends, each with other values of inputs and with strengths of effects."""
    (low, ids_low), (high, ids_high) = (_at_end(found, values, strengths) for values, strengths in ends)
    changes = any(ids is not None and set(ids) != set(found.ids) for ids in (ids_low, ids_high))
    net, unit = (found.net_usd / 1e6, MONEY) if found.has_price else (found.saved_h, HOURS)
    nets = {"net": net, "net_low": low, "net_high": high, "net_unit": unit}
    return nets | {"ids": found.ids, "ids_low": ids_low, "ids_high": ids_high, "changes_set": changes}


def _at_end(
    found: Recommendation, values: dict[str, float], strengths: dict[str, float]
) -> tuple[float, tuple[str, ...] | None]:
    """Net saving of the recommended set, and the set that is recommended there; NaN and None without an answer."""
    try:
        sets = Sets(found.scenario.override(values), found.budget_usd, found.catalogue, strengths=strengths)
    except EttrError:
        return np.nan, None
    net = sets.net_usd(found.ids) / 1e6 if found.has_price else sets.saved_h(found.ids)
    return net if math.isfinite(net) else np.nan, tuple(sorted(sets.best()))


def _bare(found: Recommendation) -> Scenario:
    """The run without what was measured of it, which no longer holds once something changes."""
    return found.scenario.override({"evidence": {}, "measured": None})
