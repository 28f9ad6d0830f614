"""Tables on several mitigations together: where the lost hours go, what each step adds, and which sets are worth it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ettr import compare, mitigation
from ettr.compare import EXACT, GREEDY, Advice, Attribution, Portfolio, Runs, Sobol, Study, gain
from ettr.compare.advice import steps_of
from ettr.core.errors import EttrError, InputError
from ettr.core.results import PARTS

BEFORE, AFTER = "lost before", "lost after"
LEAD, EFFECT = compare.sensitivity.LEAD, compare.inputs.EFFECT
"""By how much the first is ahead, as an answer; and what stands before the name of a mitigation, as an input."""
_MEASURE = "days"
"""What mitigations are compared by."""
_MOST_SHARED = 6
_STILL_H = 0.05


def affordable_steps(advice: Advice, budget_usd: float) -> pd.DataFrame:
    """The next mitigations one after the other, as far as a budget reaches.

    Parameters
    ----------
    advice : Advice
        As from :func:`ettr.compare.advise`.
    budget_usd : float
        For all of them together. [USD]

    Returns
    -------
    DataFrame
        A row a step that is paid for, in order: ``step``, ``id``, ``title``, ``basis``, ``added`` with ``low`` and
        ``high`` (95%), ``alone`` (its gain without the others), ``kept`` (``added`` over ``alone``), ``ettr`` (with all
        so far), ``cost_usd``, ``spent_usd`` (with those before), ``saved_usd`` [USD].
    """
    paid = ~(advice.frame["cost_usd"].cumsum() > budget_usd).cummax()
    steps = steps_of(advice.study, advice.frame.loc[paid, "id"])
    study, spent = advice.study.together(steps["id"]), steps["cost_usd"].cumsum()
    alone = np.array([gain(study.runs(), study.runs([name]), _MEASURE).mean for name in steps["id"]], dtype=float)
    kept = (steps["added"] / alone).where(alone > 0)
    steps = steps.assign(step=range(1, len(steps) + 1), alone=alone, kept=kept, spent_usd=spent)
    columns = ["step", "id", "title", "basis", "added", "low", "high", "alone", "kept", "ettr", "cost_usd"]
    return steps[[*columns, "spent_usd", "saved_usd"]]


def candidates(taken: Iterable[str], leading: Iterable[str], n: int) -> tuple[str, ...]:
    """The mitigations to combine: those that are taken, and of the leading ones as many more as make ``n``."""
    first = tuple(taken)
    others = [name for name in leading if name not in first]
    return (*first, *others[: max(0, n - len(first))])


def n_assumed(study: Study, ids: Iterable[str]) -> int:
    """For how many mitigations the size of the effect is assumed."""
    return sum(mitigation.weakest_status(study.catalogue[name].changes) == "assumed" for name in ids)


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


def going_together(study: Study, ids: Iterable[str]) -> tuple[str, ...]:
    """The first mitigations that go together, in their order: as many as can all be simulated in every subset.

    Parameters
    ----------
    study : Study
        Scenario and seed.
    ids : iterable of str
        Mitigations, the most wanted first.

    Returns
    -------
    tuple of str
        Without those that conflict with an earlier one, or that leave no answer beside the earlier ones.
    """
    chosen: tuple[str, ...] = ()
    for name in ids:
        if len(chosen) == _MOST_SHARED:
            break
        try:
            study.runs((*chosen, name))
        except EttrError:
            continue
        chosen = (*chosen, name)
    return chosen


def shared_gain(study: Study, ids: Iterable[str]) -> Attribution:
    """Shapley values of mitigations that go together: as :func:`ettr.compare.shapley`, empty without mitigations."""
    chosen = tuple(ids)
    if chosen:
        return compare.shapley(study, chosen)
    nothing = pd.DataFrame(columns=["id", "title", "value", "low", "high", "alone", "last"])
    return Attribution(nothing, _MEASURE, 0.0, 0.0, 0.0, "exact", 0)


@dataclass(frozen=True, eq=False)
class Choice:
    """The best sets within a budget, all subsets looked at and one more at a time.

    Attributes
    ----------
    frame : DataFrame
        Every set that was looked at, as of :class:`ettr.compare.Portfolio`, with ``kind`` (``exact``, ``greedy``,
        ``exact and greedy``, ``on the front`` or ``other``), ``titles`` (a tuple) and ``names`` (in one text).
    exact, greedy : Portfolio or None
        None where the budget buys nothing.
    why : str
        Why there is none; empty otherwise.
    """

    frame: pd.DataFrame
    exact: Portfolio | None
    greedy: Portfolio | None
    why: str = ""


def choose(study: Study, ids: Iterable[str], budget_usd: float) -> Choice:
    """The best mitigations together within a budget, by both methods.

    Parameters
    ----------
    study : Study
        Scenario and seed.
    ids : iterable of str
        At most 12 mitigations to choose from.
    budget_usd : float
        What they may cost together. [USD]

    Returns
    -------
    Choice
        All sets of those that go together, also where none of them can be paid for.
    """
    chosen = tuple(ids)
    columns = ["ids", "titles", "names", "n", "cost_usd", "gain", "low", "high", "ettr", "effective_ettr"]
    columns += ["days", "saved_usd", "affordable"]
    if not chosen:
        return Choice(pd.DataFrame(columns=[*columns, "pareto", "kind"]), None, None, "there is none to choose from")
    best: dict[str, Portfolio] = {}
    why = ""
    try:
        best = {method: compare.portfolio(study, chosen, budget_usd, _MEASURE, method) for method in (EXACT, GREEDY)}
    except InputError as error:
        why = str(error)
    frame = (best.get(EXACT) or compare.portfolio(study, chosen, None, _MEASURE, EXACT)).frame
    sets = [[name for name in ids.split(", ") if name] for ids in frame["ids"]]
    titles = [tuple(study.catalogue[name].title for name in ids) for ids in sets]
    kinds = [
        " and ".join(method for method, one in best.items() if ids and set(one.ids) == set(ids))
        or ("on the front" if pareto else "other")
        for ids, pareto in zip(sets, frame["pareto"], strict=True)
    ]
    named = frame.assign(titles=titles, names=["; ".join(each) or "none of them" for each in titles], kind=kinds)
    return Choice(named, best.get(EXACT), best.get(GREEDY), why)


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Which uncertain input decides what the leading mitigations are worth.

    Attributes
    ----------
    tornado : DataFrame
        As from :func:`ettr.compare.tornado`.
    sobol : Sobol or None
        None where it could not be worked out.
    why : str
        Why there is none; empty otherwise.
    """

    tornado: pd.DataFrame
    sobol: Sobol | None
    why: str = ""

    @property
    def indices(self) -> pd.DataFrame:
        """Indices of all answers; empty where there are none."""
        return pd.DataFrame(columns=_INDICES) if self.sobol is None else self.sobol.indices


def sensitivity(
    study: Study, ids: Iterable[str], n_inputs: int = 3, n_points: int = 16, n_runs: int = 8
) -> Sensitivity:
    """One input after the other over its range, and the few that move most all together.

    Parameters
    ----------
    study : Study
        Scenario and seed.
    ids : iterable of str
        Mitigations; few, as each is simulated at every point.
    n_inputs : int
        Inputs that vary together: those with the largest swing.
    n_points : int
        Points of the Sobol sequence, a power of 2.
    n_runs : int
        Runs of each point, with common random numbers.

    Returns
    -------
    Sensitivity
        With an empty table where there is nothing to vary, or nothing to look at.
    """
    chosen = tuple(ids)
    few = replace(study, n_runs=n_runs).together(chosen)
    varied = (*compare.uncertain(few.baseline, _MEASURE), *compare.effects(few.catalogue, chosen))
    known = {one.field: one for one in varied}
    if not chosen:
        return Sensitivity(pd.DataFrame(columns=list(compare.sensitivity.COLUMNS)), None, "there is nothing to vary")
    table = compare.tornado(few, chosen, _MEASURE, known.values())
    sure = table[table[["gain_low", "gain_high"]].notna().all(axis=1) & (table["swing"] > 0)]
    inputs = [known[name] for name in list(dict.fromkeys(sure["input"]))[:n_inputs]]
    try:
        return Sensitivity(table, compare.sobol(few, chosen, inputs, n_points, _MEASURE))
    except InputError as error:
        return Sensitivity(table, None, str(error))


_INDICES = ["of", "title", "input", "first", "first_error", "total", "total_error"]
