"""What to do next on a scenario: the few mitigations that add most, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from ettr import spares
from ettr.compare.measures import UNITS, gain
from ettr.compare.portfolios import cost_usd
from ettr.compare.study import OnProgress, Study, check_measure
from ettr.errors import InputError, NoProgress, OutsideValidity
from ettr.mitigation import weakest_status
from ettr.spares import Pool
from ettr.spares.expected import crew_of

_SHORTLIST = 8
"""Of the first step, those that later steps look at: what adds little alone adds no more beside others."""
_ANSWERS = (InputError, NoProgress, OutsideValidity)


@dataclass(frozen=True, eq=False)
class Advice:
    """The next mitigations, in the order in which to take them.

    Attributes
    ----------
    study : Study
        Scenario, what it was lent, and luck.
    measure : str
        What they add most of.
    frame : DataFrame
        A row a step: ``id``, ``title``, ``mechanism``, ``added`` with ``low`` and ``high`` (95%; over the steps
        before), ``ettr`` (with all so far), ``cost_usd`` (price and GPUs held) [USD], ``saved_usd`` (over the steps
        before, all costs counted) [USD], ``basis`` (the weakest status of what it changes: how well its effect is
        known).
    ettr : float
        Without any of them.
    pool : Pool or None
        Number of hot spares that is cheapest by the closed form, for the repair of the scenario as it is now; None for
        a job that waits for no node.
    """

    study: Study
    measure: str
    frame: pd.DataFrame
    ettr: float
    pool: Pool | None

    @property
    def n_spares(self) -> int:
        """Hot spares of the scenario, lent or its own."""
        spares = self.study.baseline.spares
        return spares.n_nodes if spares else 0

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "measure": self.measure,
            "unit": UNITS[self.measure],
            "n_runs": self.study.n_runs,
            "seed": self.study.seed,
            "lent": [loan.path for loan in self.study.loans],
            "ettr": self.ettr,
            "spares": None if self.pool is None else {"given": self.n_spares, **asdict(self.pool)},
            "steps": self.frame.to_dict("records"),
        }


def advise(
    told: Study,
    n: int = 3,
    measure: str = "days",
    ids: Iterable[str] | None = None,
    budget_usd: float = math.inf,
    on_progress: OnProgress | None = None,
) -> Advice:
    """The mitigations to take next.

    Parameters
    ----------
    told : Study
        Scenario and luck; a hundred runs are enough.
    n : int
        How many.
    measure : str
        What they should add most of.
    ids : iterable of str, optional
        To choose from; all with evidence that change something here if not given.
    budget_usd : float
        What each may cost. [USD]
    on_progress : callable, optional
        Called with how many scenarios are done, and how many there will be.

    Returns
    -------
    Advice
        Fewer steps than asked for where nothing more helps for certain.

    Examples
    --------
    >>> from ettr import Scenario, compare
    >>> told = compare.study(Scenario.load("llama3-405b"), n_runs=20)
    >>> compare.advise(told, 1, ids=["lemon-removal", "peer-checkpoint"]).frame["id"].tolist()
    ['peer-checkpoint']
    """
    check_measure(measure)
    left = list(told.fitting() if ids is None else dict.fromkeys(ids))
    chosen: tuple[str, ...] = ()
    rows: list[dict[str, Any]] = []
    done, most = 0, len(left) + (n - 1) * _SHORTLIST
    for step in range(n):
        tried: list[dict[str, Any]] = []
        for name in left:
            tried += _added(told, chosen, name, measure)
            done += 1
            if on_progress:
                on_progress(done, max(done, most))
        tried.sort(key=lambda row: -row["added"])
        good = [row for row in tried if row["low"] > 0 and row["cost_usd"] <= budget_usd]
        if not good:
            break
        rows.append(good[0])
        chosen = (*chosen, good[0]["id"])
        shortlist = [row["id"] for row in tried[: _SHORTLIST + step + 1]]
        left = [
            name
            for name in (shortlist if step == 0 else left)
            if name not in chosen and not any(told.catalogue.conflict(name, other) for other in chosen)
        ]
    columns = ["id", "title", "mechanism", "added", "low", "high", "ettr", "cost_usd", "saved_usd", "basis"]
    return Advice(told, measure, pd.DataFrame(rows, columns=columns), told.runs().ettr, _pool(told))


def _pool(told: Study) -> Pool | None:
    """The cheapest pool for what the scenario's nodes ask of it."""
    run = told.baseline
    if run.spares is None or run.repair is None:
        return None
    try:
        asked = spares.demand(run)
        return spares.cheapest_pool(asked.in_repair, run.n_nodes, crew_of(asked)) if asked.in_repair > 0 else None
    except _ANSWERS:
        return None


def _added(told: Study, chosen: tuple[str, ...], name: str, measure: str) -> list[dict[str, Any]]:
    """What one more mitigation adds; empty where it has no answer."""
    one = told.catalogue[name]
    try:
        before, after = told.runs(chosen), told.runs((*chosen, name))
    except _ANSWERS:
        return []
    found = gain(before, after, measure)
    row = {
        "id": name,
        "title": one.title,
        "mechanism": one.mechanism,
        "basis": weakest_status(one.changes),
        "ettr": after.ettr,
    }
    row |= {"added": found.mean, "low": found.low, "high": found.high}
    return [row | {"cost_usd": cost_usd(before, after), "saved_usd": gain(before, after, "usd").mean}]
