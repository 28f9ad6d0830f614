"""Which few mitigations together: the best within a budget, one after the other, and what costs how much."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.report import Answer, Report, plain_values
from ettr.core.sentences import listed, pct
from ettr.recommendation.measures import UNITS, Runs, gain
from ettr.recommendation.report import of_portfolio
from ettr.recommendation.study import NO_ANSWER, OnProgress, Study

MOST_TOGETHER = 12
"""Mitigations of which all subsets are looked at."""

EXACT, GREEDY = "exact", "greedy"


@dataclass(frozen=True, eq=False, repr=False)
class Portfolio(Answer):
    """Mitigations that go together.

    Attributes
    ----------
    ids : tuple of str
        The best ones; of the greedy method in the order in which they were taken. Empty if none is worth its price.
    measure : str
        What they were chosen by.
    budget_usd : float
        What they may cost; infinite without a limit. [USD]
    frame : DataFrame
        Every set that was looked at: ``ids`` (by commas), ``n``, ``cost_usd`` (prices, and GPUs held as spares beyond
        those of the scenario) [USD], ``gain`` with ``low`` and ``high`` (95%) in the measure, ``ettr``,
        ``effective_ettr`` (of training that is slower than without any only the part that would be left at that
        pace counts as productive), ``days`` [d],
        ``saved_usd`` (all costs counted) [USD], ``affordable``, ``pareto`` (none cheaper has as high an effective
        ETTR).
    method : {"exact", "greedy"}
        All subsets, or one more at a time.
    conflicts : tuple of tuple of str
        What does not go with the best ones: one of them, another that was looked at, and why.
    paying : tuple of str
        Those that together save most money of the ones within the budget, if they were looked for. Empty if none saves
        more than it costs.
    ettr_assumed : float or None
        Without any of them, with what is assumed for one or the other; None where that is the ETTR of the scenario as
        it is, within the error.
    """

    ids: tuple[str, ...]
    measure: str
    budget_usd: float
    frame: pd.DataFrame
    method: str
    conflicts: tuple[tuple[str, str, str], ...] = ()
    paying: tuple[str, ...] = ()
    ettr_assumed: float | None = None

    @property
    def best(self) -> pd.Series | None:
        """The row of the chosen set; None if it is empty."""
        return self._row(self.ids)

    @property
    def most_saved(self) -> pd.Series | None:
        """The row of the set that saves most money; None where none was looked for, or none saves any."""
        return self._row(self.paying)

    def _row(self, ids: tuple[str, ...]) -> pd.Series | None:
        rows = self.frame[self.frame["ids"].map(lambda named: set(named.split(", ")) == set(ids))]
        return rows.iloc[0] if ids else None

    @property
    def how(self) -> str:
        """How it was looked for, in words."""
        sets = "all sets" if self.method == EXACT else "one after the other"
        return f"{sets}, {len(self.frame)} looked at"

    @property
    def front(self) -> pd.DataFrame:
        """Sets that no cheaper one reaches in effective ETTR, by cost."""
        return self.frame[self.frame["pareto"]].sort_values("cost_usd", ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        record = {
            "ids": self.ids,
            "measure": self.measure,
            "unit": UNITS[self.measure],
            "budget_usd": self.budget_usd,
            "method": self.method,
            "best": None if self.best is None else self.best.to_dict(),
            "paying": None if self.most_saved is None else self.most_saved.to_dict(),
            "front": self.front,
        }
        return dict(plain_values(record))

    @property
    def headline(self) -> str:
        """The best set, and its ETTR."""
        return (
            "no set is worth its price"
            if self.best is None
            else f"{listed(list(self.ids))}: ETTR {pct(self.best['ettr'])}"
        )

    def report(self) -> Report:
        """The best set, what does not go with it, and what costs how much."""
        return of_portfolio(self)


def portfolio(
    study: Study,
    ids: Iterable[str],
    budget_usd: float | None = None,
    measure: str = "days",
    method: str = "exact",
    on_progress: OnProgress | None = None,
    paying: bool = False,
) -> Portfolio:
    """The best mitigations together, within a budget.

    Parameters
    ----------
    study : Study
        Scenario and seed, as from :func:`study`.
    ids : iterable of str
        Mitigations to choose from; at most 12 for ``exact``. All sets are compared from one scenario, completed with
        what any of these needs.
    budget_usd : float, optional
        What they may cost together: their prices, and GPUs held as spares. [USD]
    measure : str
        What to choose by; with ``usd`` a mitigation must earn its own price.
    method : {"exact", "greedy"}
        Look at all subsets of those that go together, or take one more at a time: the one that adds most.
    on_progress : callable, optional
        Called with how many sets are done, and how many there will be at most.
    paying : bool
        Look for the set that saves most money, too.

    Returns
    -------
    Portfolio
        The best set, and all that were looked at.

    Raises
    ------
    InputError
        Nothing to choose from, too many for ``exact``, a budget that is no amount of money or that buys nothing.

    Examples
    --------
    >>> from ettr import Scenario, compare
    >>> study = compare.study(Scenario.load("llama3-405b"), n_runs=20)
    >>> compare.portfolio(study, ["just-in-time-checkpoint", "peer-checkpoint", "lemon-removal"], method="greedy").ids
    ('peer-checkpoint', 'lemon-removal')
    """
    names = study.named(ids, measure, "no mitigation to choose from: name one or more")
    if method not in (EXACT, GREEDY):
        raise InputError(f"method must be exact or greedy, got {method!r}")
    if method == EXACT and len(names) > MOST_TOGETHER:
        raise InputError(
            f"all subsets of {len(names)} mitigations are too many, the limit is {MOST_TOGETHER}: use greedy"
        )
    budget = _checked_budget(budget_usd)
    as_it_is, study = study.runs(), study.together(names)
    looked = _Looked(study, measure, budget)
    looked.cheapest(names)
    chosen = _greedy(looked, names, on_progress) if method == GREEDY else _exact(looked, names, on_progress)
    saving = _most_saved(looked) if paying else ()
    frame = _with_front(looked.frame())
    considered = dict.fromkeys(name for ids in frame["ids"] for name in ids.split(", ") if name)
    both = dict.fromkeys((*chosen, *saving))
    pairs = [(name, other, study.catalogue.conflict(name, other)) for name in both for other in considered]
    apart = tuple(pair for pair in pairs if pair[2])
    before = _if_other(as_it_is, study.runs())
    return Portfolio(chosen, measure, budget, frame, method, apart, saving, before)


def _if_other(as_it_is: Runs, assumed: Runs) -> float | None:
    """The second ETTR, if it is another one for certain, and as it is written."""
    moved = gain(as_it_is, assumed, "ettr")
    is_other = not moved.low <= 0 <= moved.high and pct(as_it_is.ettr) != pct(assumed.ettr)
    return assumed.ettr if is_other else None


def cost_usd(before: Runs, after: Runs) -> float:
    """Money that mitigations take: their prices, and the GPUs that are held as spares beyond those before. [USD]"""
    prices = after.scenario.prices
    more_gpus = max(0, after.held_gpus - before.held_gpus)
    held_usd = more_gpus * prices.usd_per_gpu_h * float(after.total_h.mean())
    return after.own_usd - before.own_usd + held_usd


def _checked_budget(budget_usd: float | None) -> float:
    if budget_usd is None:
        return math.inf
    number = np.asarray(budget_usd)
    if number.ndim or number.dtype.kind not in "iuf" or not number >= 0:
        raise InputError(f"budget_usd must be >= 0 USD, got {budget_usd!r}")
    return float(number)


class _Looked:
    """Sets that were looked at."""

    def __init__(self, study: Study, measure: str, budget_usd: float) -> None:
        self._study, self._measure, self._budget_usd = study, measure, budget_usd
        self._rows: dict[frozenset[str], dict[str, Any]] = {}

    def __call__(self, ids: Iterable[str]) -> dict[str, Any]:
        chosen = frozenset(ids)
        if chosen not in self._rows:
            self._rows[chosen] = self._row(chosen)
        return self._rows[chosen]

    def _row(self, chosen: frozenset[str]) -> dict[str, Any]:
        study = self._study
        ids = [name for name in study.catalogue.ids if name in chosen]
        before, after = study.runs(), study.runs(chosen)
        gained, saved = gain(before, after, self._measure), gain(before, after, "usd")
        cost = cost_usd(before, after)
        return {
            "ids": ", ".join(ids),
            "n": len(ids),
            "cost_usd": cost,
            "gain": gained.mean,
            "low": gained.low,
            "high": gained.high,
            "ettr": after.ettr,
            "effective_ettr": after.ettr * min(1.0, before.budget.productive_h / after.budget.productive_h),
            "days": after.mean("days"),
            "saved_usd": saved.mean,
            "affordable": cost <= self._budget_usd,
        }

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All of them."""
        return list(self._rows.values())

    def cheapest(self, names: list[str]) -> None:
        """Raise where the budget does not pay for any."""
        costs = {name: row["cost_usd"] for name in names if (row := _answer(self, [name]))}
        if not costs:
            raise InputError(f"none of {', '.join(names)} has an answer here: `ettr compare --all` says why")
        least = min(costs, key=lambda name: costs[name])
        if costs[least] > self._budget_usd:
            raise InputError(
                f"a budget of {self._budget_usd:,.0f} USD buys nothing: the cheapest, {least}, costs "
                f"{costs[least]:,.0f} USD; give at least that, or leave the budget out"
            )

    def together(self, names: Iterable[str]) -> bool:
        """Whether mitigations go together."""
        return not any(self._study.catalogue.conflict(a, b) for a, b in itertools.combinations(names, 2))

    def frame(self) -> pd.DataFrame:
        """A row a set, the empty one first."""
        self([])
        rows = sorted(self._rows.values(), key=lambda row: (row["n"], row["cost_usd"]))
        return pd.DataFrame(rows)


def _exact(looked: _Looked, names: list[str], on_progress: OnProgress | None) -> tuple[str, ...]:
    """The affordable set that gains most."""
    sets = [
        subset
        for size in range(1, len(names) + 1)
        for subset in itertools.combinations(names, size)
        if looked.together(subset)
    ]
    best: tuple[str, ...] = ()
    most = 0.0
    for done, subset in enumerate(sets, 1):
        row = _answer(looked, subset)
        if row and row["affordable"] and row["gain"] > most:
            best, most = subset, row["gain"]
        if on_progress:
            on_progress(done, len(sets))
    return best


def _answer(looked: _Looked, subset: Iterable[str]) -> dict[str, Any] | None:
    """What a set gains; None where the job does not get on, or the changes do not fit together."""
    try:
        return looked(subset)
    except NO_ANSWER:
        return None


def _greedy(looked: _Looked, names: list[str], on_progress: OnProgress | None) -> tuple[str, ...]:
    """One more at a time, as long as an affordable one adds to what they gain together."""
    chosen: tuple[str, ...] = ()
    most, done = 0.0, 0
    while True:
        tried = [(*chosen, name) for name in names if name not in chosen and looked.together((*chosen, name))]
        rows = []
        for subset in tried:
            rows.append(_answer(looked, subset))
            done += 1
            if on_progress:
                on_progress(done, max(done, len(names) * (len(names) + 1) // 2))
        good = [(row["gain"], i) for i, row in enumerate(rows) if row and row["affordable"] and row["gain"] > most]
        if not good:
            return chosen
        most, i = max(good)
        chosen = tried[i]


def _most_saved(looked: _Looked) -> tuple[str, ...]:
    """The affordable set that saves most money, of those that were looked at and of what is left of it without some."""
    good = [row for row in looked.rows if row["affordable"]]
    best = max(good, key=lambda row: float(row["saved_usd"]), default=None)
    while best and best["saved_usd"] > 0:
        ids = best["ids"].split(", ")
        fewer = [_answer(looked, [other for other in ids if other != name]) for name in ids]
        more = [row for row in fewer if row and row["saved_usd"] > best["saved_usd"]]
        if not more:
            return tuple(ids)
        best = max(more, key=lambda row: float(row["saved_usd"]))
    return ()


def _with_front(frame: pd.DataFrame) -> pd.DataFrame:
    """Mark the sets that none as cheap surpasses in effective ETTR."""
    order = frame.sort_values(["cost_usd", "effective_ettr"], ascending=[True, False]).index
    best = np.maximum.accumulate(frame.loc[order, "effective_ettr"].to_numpy())
    before = np.concatenate(([-np.inf], best[:-1]))
    front = pd.Series(frame.loc[order, "effective_ettr"].to_numpy() > before, index=order)
    return frame.assign(pareto=front)
