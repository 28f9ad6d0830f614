"""Tables on the recommended set: where the lost hours go, what each step saves, and which assumption decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ettr import mitigation, plan, recommendation
from ettr.chapters.common.mitigations import EFFECT, HOURS, MONEY, input_name
from ettr.core.errors import EttrError
from ettr.core.results import PARTS
from ettr.core.sentences import limit, pct
from ettr.core.units import H_PER_MONTH
from ettr.mitigation import Catalogue
from ettr.ranges import Assumed
from ettr.recommendation import Difference, Recommendation, Runs
from ettr.recommendation.best_set import at_best_interval
from ettr.recommendation.ranges import strength_factor
from ettr.scenario import Scenario
from ettr.scenario.fields import given_at
from ettr.scenario.paths import INTERVAL

BEFORE, AFTER = "lost before", "lost after"
_STILL_H = 0.05
"""A part that changes by less per month is left out of the waterfall. [h]"""


def steps(found: Recommendation | None) -> pd.DataFrame:
    """Return the steps of the recommended set in its order; empty without any.

    Returns
    -------
    DataFrame
        The attributes of :class:`ettr.recommendation.Step`.
    """
    columns = list(recommendation.Step.__dataclass_fields__)
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
    run = _bare(found)
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


class Simulated(NamedTuple):
    """Simulated runs without and with the recommended set, and the ETTR that they gain; or why there are none."""

    before: Runs | None
    after: Runs | None
    gained: Difference | None
    why_not: str


def simulated(run: Scenario, found: Recommendation | None, n_runs: int, seed: int = 0) -> Simulated | None:
    """Return simulated runs of the recommended set; None where nothing is recommended.

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
    except EttrError as error:
        return Simulated(None, None, None, str(error))
    return Simulated(before, after, recommendation.gain(before, after, "ettr"), "")


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
        A row an input, and one for the effect of each step, from as weak to as strong as plausible: ``input``,
        ``name``, ``range`` (in words), ``unit``, ``source``, ``given``, ``low_value`` and ``high_value``; ``net``
        with ``net_low`` and ``net_high`` (net saving of the recommended set as it is; NaN where the model has no
        answer) in ``net_unit``, as from :func:`worth`; ``ids`` (the recommended set), ``ids_low`` and ``ids_high`` (the
        one that is recommended there), ``changes_set``, ``swing`` (largest ``net`` less smallest). The largest swing
        comes first. Empty without a set.
    """
    rows = [] if not found or not found.steps else [*_inputs(found, assumed), *_effects(found)]
    columns = [
        "input",
        "name",
        "range",
        "unit",
        "source",
        "given",
        "low_value",
        "high_value",
        "net",
        "net_low",
        "net_high",
    ]
    columns += ["net_unit", "ids", "ids_low", "ids_high", "changes_set"]
    frame = pd.DataFrame(rows, columns=columns)
    nets = frame[["net", "net_low", "net_high"]].astype(float)
    frame = frame.assign(swing=nets.max(axis=1) - nets.min(axis=1))
    return frame.sort_values("swing", ascending=False, kind="stable", ignore_index=True)


def _inputs(found: Recommendation, assumed: Iterable[Assumed]) -> Iterator[dict[str, Any]]:
    for one in assumed:
        if one.field != INTERVAL:  # which is chosen
            name, ends = input_name(one.field).removeprefix("the "), f"{limit(one.low)} to {limit(one.high)} {one.unit}"
            about = {"input": one.field, "name": name, "range": ends.strip(), "unit": one.unit, "source": one.source}
            low, high = (_at_end(found, {one.field: value}, found.catalogue) for value in (one.low, one.high))
            yield about | {"given": one.value, "low_value": one.low, "high_value": one.high} | _ends(found, low, high)


def _effects(found: Recommendation) -> Iterator[dict[str, Any]]:
    for step in found.steps:
        factor = strength_factor(found.catalogue[step.id])
        low, high = (
            _at_end(found, {}, mitigation.with_strength(found.catalogue, step.id, strength, found.scenario))
            for strength in (1 / factor, factor)
        )
        name, ends = f"effect of {step.title}", f"{pct(1 / factor, 0)} to {pct(factor, 0)} of its strength"
        about = {"input": f"{EFFECT}{step.id}", "name": name, "range": ends, "unit": "", "source": ""}
        yield about | {"given": 1.0, "low_value": 1 / factor, "high_value": factor} | _ends(found, low, high)


_End = tuple[float, tuple[str, ...] | None]
"""What the recommended set is worth with other values, and what would be recommended; NaN and None without answer."""


def _ends(found: Recommendation, low: _End, high: _End) -> dict[str, Any]:
    changes = any(ids is not None and set(ids) != set(found.ids) for _, ids in (low, high))
    nets: dict[str, Any] = {
        "net": worth(found, found.ids, found.catalogue),
        "net_low": low[0],
        "net_high": high[0],
    }
    nets |= {"net_unit": MONEY if found.has_price else HOURS}
    return nets | {"ids": found.ids, "ids_low": low[1], "ids_high": high[1], "changes_set": changes}


def _at_end(found: Recommendation, values: dict[str, float], of: Catalogue) -> _End:
    is_as_given = all(given_at(found.scenario, path) == value for path, value in values.items())
    if is_as_given and of is found.catalogue:
        return worth(found, found.ids, of), found.ids
    try:
        run = found.scenario.override(values) if values else found.scenario
        there = recommendation.recommend(run, found.budget_usd, of)
        return worth(there, found.ids, of), there.ids
    except EttrError:
        return np.nan, None


def worth(found: Recommendation, ids: Iterable[str], of: Catalogue) -> float:
    """Return the net saving of any set over the horizon of a recommendation, each run at its best interval.

    Parameters
    ----------
    found : Recommendation
        Of the run.
    ids : iterable of str
        The set.
    of : Catalogue
        Where it stands.

    Returns
    -------
    float
        Its price counted [million USD]; of a run whose hours cost nothing, what it saves [h per month].
    """
    before, after = (at_best_interval(run) for run in (_bare(found), mitigation.apply(_bare(found), ids, of)))
    saved_h = (1 - after.cost / before.cost) * H_PER_MONTH
    if not found.has_price:
        return saved_h
    price_usd = sum(of[name].price.of(found.scenario.cluster.n_gpus) for name in ids)
    return (saved_h * found.scenario.usd_per_h * found.months - price_usd) / 1e6


def _bare(found: Recommendation) -> Scenario:
    """The run without what was measured of it, which no longer holds once something changes."""
    return found.scenario.override({"evidence": {}, "measured": None})
