"""Tables on several mitigations together: the best within a budget, what each step adds, and what decides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from ettr import recommendation
from ettr.core.errors import InputError
from ettr.core.results import PARTS
from ettr.recommendation import EXACT, Portfolio, Runs, Study, gain
from ettr.recommendation.advice import steps_of

BEFORE, AFTER = "lost before", "lost after"
_MEASURE = "days"
"""What mitigations are compared by."""
_STILL_H = 0.05


def steps_of_set(study: Study, ids: Iterable[str]) -> pd.DataFrame:
    """The mitigations of a set one after the other, the one that adds most days first.

    Returns
    -------
    DataFrame
        A row a step: ``step``, ``id``, ``title``, ``basis``, ``added`` with ``low`` and ``high`` (95%) and ``alone``
        (its gain without the others) [d], ``kept`` (``added`` over ``alone``), ``ettr`` (with all so far),
        ``cost_usd``, ``saved_usd`` [USD].
    """
    left = list(ids)
    order: list[str] = []
    together = study.together(left)
    while left:
        best = max(left, key=lambda name: gain(together.runs(order), together.runs([*order, name]), _MEASURE).mean)
        order.append(best)
        left.remove(best)
    steps = steps_of(study, order)
    alone = np.array([gain(together.runs(), together.runs([name]), _MEASURE).mean for name in steps["id"]], dtype=float)
    steps = steps.assign(step=range(1, len(steps) + 1), alone=alone, kept=(steps["added"] / alone).where(alone > 0))
    columns = ["step", "id", "title", "basis", "added", "low", "high", "alone", "kept", "ettr", "cost_usd", "saved_usd"]
    return steps[columns]


def lost_hours(before: Runs, after: Runs) -> pd.DataFrame:
    """Where the lost hours of a run go, without and with mitigations, as the steps of a waterfall.

    Parameters
    ----------
    before, after : Runs
        Of the same seed.

    Returns
    -------
    DataFrame
        ``part`` (``lost before``, the parts that change, ``lost after``), ``start`` and ``end`` of its bar [h],
        ``hours`` (lost; of a part how many more than before) [h], ``before`` and ``after`` (hours of the part) [h].
        Hours are lost unless a run trains; what faster steps save is in :func:`trained_less_h`.
    """
    one, other = before.budget, after.budget
    lost, left = (float(budget.total_h - budget.productive_h) for budget in (one, other))
    rows: list[tuple[str | float, ...]] = [(BEFORE, 0.0, lost, lost, lost, lost)]
    level = lost
    for part in PARTS[1:]:
        hours = [float(getattr(budget, part)) for budget in (one, other)]
        more = hours[1] - hours[0]
        if abs(more) < _STILL_H:
            continue
        rows.append((part.removesuffix("_h"), level, level + more, more, *hours))
        level += more
    rows.append((AFTER, 0.0, left, left, left, left))
    return pd.DataFrame(rows, columns=["part", "start", "end", "hours", "before", "after"])


def trained_less_h(before: Runs, after: Runs) -> float:
    """How many hours less the training itself takes, its steps being faster; negative where they are slower. [h]"""
    return float(before.budget.productive_h - after.budget.productive_h)


def best_set(study: Study, ids: Iterable[str], budget_usd: float) -> Portfolio | None:
    """The mitigations that leave most money over within a budget, all subsets looked at; None where it buys nothing."""
    chosen = tuple(ids)
    if not chosen:
        return None
    try:
        return recommendation.portfolio(study, chosen, budget_usd, "usd", EXACT, paying=True)
    except InputError:
        return None


def decisive(study: Study, ids: Iterable[str], n_runs: int = 8) -> pd.DataFrame:
    """Gains with one uncertain input at a time at either end of its range, as from :func:`ettr.recommendation.tornado`.

    Parameters
    ----------
    study : Study
        Scenario and seed.
    ids : iterable of str
        Mitigations; few, as each is simulated at every point.
    n_runs : int
        Runs of each point, with common random numbers.
    """
    chosen = tuple(ids)
    if not chosen:
        return pd.DataFrame(columns=list(recommendation.sensitivity.COLUMNS))
    few = replace(study, n_runs=n_runs).together(chosen)
    varied = (*recommendation.uncertain(few.baseline, _MEASURE), *recommendation.effects(few.catalogue, chosen))
    return recommendation.tornado(few, chosen, _MEASURE, varied)
