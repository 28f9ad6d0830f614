"""What to do next on a scenario: the few mitigations that add most, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ettr.core.report import Answer, Headline, Note, Report, plain_values, table_of
from ettr.core.sentences import listed, pct
from ettr.mitigation import weakest_status
from ettr.plan.pools import cheapest_pool
from ettr.recommendation.measures import UNITS, gain
from ettr.recommendation.portfolios import cost_usd
from ettr.recommendation.study import NO_ANSWER, OnProgress, Study
from ettr.scenario import Scenario
from ettr.spares import Pool

_COLUMNS = ("id", "title", "mechanism", "added", "low", "high", "ettr", "cost_usd", "saved_usd", "basis")
_MEASURE = "days"
"""What mitigations should add most of."""
_STEPS = {
    "one after the other": "{id}",
    "days saved": "{added:+,.2f}",
    "95%": "{low:+,.2f} to {high:+,.2f}",
    "ETTR then": "{ettr:.1%}",
    "USD": "{cost_usd:,.0f}",
    "USD saved": "{saved_usd:+,.0f}",
    "effect": "{basis}",
}


@dataclass(frozen=True, eq=False, repr=False)
class Advice(Answer):
    """The next mitigations, in the order in which to take them.

    Attributes
    ----------
    study : Study
        Scenario, what is assumed of it, and seed.
    frame : DataFrame
        A row a step, all on the scenario completed with what any of them needs: ``id``, ``title``, ``mechanism``,
        ``added`` with ``low`` and ``high`` (95%; over the steps before)
        [d], ``ettr`` (with all so far), ``cost_usd`` (price and GPUs held) [USD], ``saved_usd`` (over the steps before,
        all costs counted) [USD], ``basis`` (the weakest status of what it changes: how well its effect is known).
    ettr : float
        Without any of them, of the scenario as it is.
    pool : Pool or None
        Number of hot spares that is cheapest by the closed form, for the repair of the scenario as it is now; None for
        a job that loses no node, goes on without some, or has other nodes to take than hot spares.
    at_a_loss : mapping or None
        The mitigation that helps most, as the first step, of those that cost more than they save; None if there is
        none. Columns as of ``frame``.
    """

    study: Study
    frame: pd.DataFrame
    ettr: float
    pool: Pool | None
    at_a_loss: Mapping[str, Any] | None = None

    @property
    def together(self) -> Study:
        """The study on the scenario completed with what any step needs."""
        return self.study.together(self.frame["id"])

    @property
    def n_spares(self) -> int:
        """Hot spares of the scenario, assumed or its own."""
        held = _with_spares(self.study).spares
        return held.n_nodes if held else 0

    @property
    def spares_are_lent(self) -> bool:
        """Whether the scenario says nothing of spares."""
        return self.study.scenario.spares is None

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        record = {
            "measure": _MEASURE,
            "unit": UNITS[_MEASURE],
            "n_runs": self.study.n_runs,
            "seed": self.study.seed,
            "lent": self.together.assumed,
            "ettr": self.ettr,
            "spares": {"given": self.n_spares, **vars(self.pool)} if self.pool else None,
            "steps": self.frame,
            "at_a_loss": self.at_a_loss,
        }
        return dict(plain_values(record))

    @property
    def headline(self) -> str:
        """What to do next, and the ETTR with all of it."""
        steps = self.frame
        then = f"{listed(steps['id'].tolist())}, ETTR {pct(steps['ettr'].iloc[-1])}" if len(steps) else "nothing helps"
        return f"{self.study.scenario.name}: {then}"

    def report(self) -> Report:
        """The next mitigations, and how many spares."""
        sections: Report = [Headline("What to do next")]
        if len(self.frame):
            sections.append(table_of(self.frame, _STEPS))
        else:
            sections.append(Note("No mitigation with evidence helps here for certain"))
        if row := self.at_a_loss:
            cost = f"saves {row['added']:,.2f} days and costs {-row['saved_usd']:,.0f} USD more than it saves"
            sections.append(Note(f"Faster at a loss: {row['id']} {cost}"))
        if pool := self.pool:
            held = f"{self.n_spares:,} are {'assumed' if self.spares_are_lent else 'held'} now"
            near = f"; from {pool.low:,} to {pool.high:,} it costs hardly more" if pool.low < pool.high else ""
            text = f"Hold {pool.n_spares:,} hot spares ({held}): the cheapest pool by the closed form{near}"
            sections.append(Note(text))
        own = self.together
        assumed = ", ".join(own.assumed_of_run)
        others = f", {own.runs().ettr:.1%} with what is assumed for these: {assumed}" if assumed else ""
        text = f"From {self.study.n_runs:,} simulated runs of each, ETTR {self.ettr:.1%} before{others}."
        return [*sections, Note(f"{text} `ettr compare` shows all.", dim=True)]


def advise(
    study: Study,
    n: int = 3,
    ids: Iterable[str] | None = None,
    budget_usd: float = math.inf,
    on_progress: OnProgress | None = None,
) -> Advice:
    """The mitigations to take next.

    Parameters
    ----------
    study : Study
        Scenario and seed; a hundred runs are enough.
    n : int
        How many.
    ids : iterable of str, optional
        To choose from; all with evidence that change something here if not given.
    budget_usd : float
        What each may cost. [USD]
    on_progress : callable, optional
        Called with how many scenarios are done, and how many there will be.

    Returns
    -------
    Advice
        Fewer steps than asked for where nothing more both helps for certain and earns its price.

    Examples
    --------
    >>> from ettr import Scenario, compare
    >>> study = compare.study(Scenario.load("llama3-405b"), n_runs=20)
    >>> compare.advise(study, 1, ids=["lemon-removal", "peer-checkpoint"]).frame["id"].tolist()
    ['peer-checkpoint']
    """
    left = list(study.fitting() if ids is None else dict.fromkeys(ids))
    chosen: tuple[str, ...] = ()
    at_a_loss: dict[str, Any] | None = None
    done = 0
    for step in range(n):
        tried: list[dict[str, Any]] = []
        for name in left:
            tried += _added(study, chosen, name)
            done += 1
            if on_progress:
                on_progress(done, done + len(left) * (n - step) - len(tried))
        good = sorted((row for row in tried if row["low"] > 0), key=lambda row: -row["added"])
        pays = [row for row in good if row["saved_usd"] > 0 and row["cost_usd"] <= budget_usd]
        if step == 0:
            at_a_loss = next((row for row in good if row["saved_usd"] <= 0 and row not in pays), None)
        if not pays:
            break
        chosen = (*chosen, pays[0]["id"])
        left = [
            name
            for name in left
            if name not in chosen and not any(study.catalogue.conflict(name, other) for other in chosen)
        ]
    return Advice(study, steps_of(study, chosen), study.runs().ettr, cheapest_pool(_with_spares(study)), at_a_loss)


def steps_of(study: Study, ids: Iterable[str]) -> pd.DataFrame:
    """What mitigations add one after the other, on one scenario: as ``frame`` of :class:`Advice`."""
    order = tuple(ids)
    own = study.together(order)
    rows = [row for i, name in enumerate(order) for row in _added(own, order[:i], name)]
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _with_spares(study: Study) -> Scenario:
    """The scenario, with the spares and the repair that are assumed where it says nothing of them."""
    return study.acting_on(["spares"]).baseline


def _added(study: Study, chosen: tuple[str, ...], name: str) -> list[dict[str, Any]]:
    """What one more mitigation adds, on the scenario completed for all of them; empty where it has no answer."""
    one, own = study.catalogue[name], study.together((*chosen, name))
    try:
        before, after = own.runs(chosen), own.runs((*chosen, name))
    except NO_ANSWER:
        return []
    gained = gain(before, after, _MEASURE)
    return [
        {
            "id": name,
            "title": one.title,
            "mechanism": one.mechanism,
            "basis": weakest_status(one.changes),
            "ettr": after.ettr,
            "added": gained.mean,
            "low": gained.low,
            "high": gained.high,
            "cost_usd": cost_usd(before, after),
            "saved_usd": gain(before, after, "usd").mean,
        }
    ]
