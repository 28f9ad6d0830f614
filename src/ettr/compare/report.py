"""What a comparison, a portfolio and an advice say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from ettr.core.report import Headline, Note, Report, Table, table_of
from ettr.core.sentences import count, listed
from ettr.mitigation import Assumption

if TYPE_CHECKING:
    from ettr.compare.advice import Advice
    from ettr.compare.alone import Comparison
    from ettr.compare.portfolios import Portfolio

TRIED, IN_PLACE = "tried", "in place"
"""Mitigations that were compared with the scenario, by adding them or by taking them away."""
_GAINS = {
    "days": ("days", 1.0, 2),
    "ettr": ("points", 1e2, 2),
    "gpu_h": ("1000 GPU h", 1e-3, 0),
    "usd": ("1000 USD", 1e-3, 0),
    "mwh": ("MWh", 1.0, 0),
}
"""Title of a column, factor and decimals of what is gained of a measure."""
_ALWAYS = ("days", "ettr", "usd")


def comparison_report(answer: Comparison, best: Portfolio | None) -> Report:
    """The ranking, what is in place, what is not ranked and why, and the best within a budget."""
    study, base = answer.study, answer.baseline
    at = "its best interval" if study.interval == "best" else "the given interval"
    sections: Report = [
        Headline(study.scenario.title),
        Note(
            f"{count(study.n_runs)} runs of each scenario, seed {study.seed}, at {at}. Without any of them: ETTR "
            f"{base.ettr:.1%}, {base.mean('days'):,.1f} days, {base.mean('usd') / 1e6:,.1f} million USD"
        ),
    ]
    if study.assumptions:
        given = f"ETTR {study.as_given.ettr:.1%} and {study.as_given.mean('days'):,.1f} days"
        sections.append(Note(f"As given, without what is assumed here, {given}", dim=True))
    sections += [*_ranked(answer), *_others(answer.frame), *(best.report() if best else [])]
    if study.assumptions:
        paths = _paths(study.assumptions)
        sections.append(Note(f"Assumed here, because the scenario says nothing of it: {paths}", dim=True))
    return [
        *sections,
        Note(
            "The intervals tell how well so many runs know the difference, not how well a mitigation's effect is "
            "known: that is as it was published elsewhere, or assumed (see basis).",
            dim=True,
        ),
    ]


def _ranked(answer: Comparison) -> Report:
    ranked, measure = answer.ranked, answer.measure
    tried, placed = (ranked[ranked["state"] == state] for state in (TRIED, IN_PLACE))
    sections: Report = []
    if len(tried):
        what = "What each saves, and its price in 1000 USD; points of ETTR, also by the closed form; ±: 95%"
        sections += [Headline(f"Each alone, by {measure}"), Note(what, dim=True), _ranking(tried, measure)]
        if measure == "ettr":
            sections.append(Note("The ETTR counts slower training as productive, which the days do not", dim=True))
    if len(placed):
        sections += [Headline("In place already, or taken to be, and worth"), _ranking(placed, measure)]
    return sections


def _ranking(frame: pd.DataFrame, measure: str) -> Table:
    """Mitigations with what they gain, of ``measure`` with its interval."""
    gains = {name: gain for name, gain in _GAINS.items() if name in (*_ALWAYS, measure)}
    rows = []
    for row in frame.to_dict("records"):
        cells = [row["id"]]
        for name, (_, factor, decimals) in gains.items():
            half = factor * (row[f"{name}_high"] - row[f"{name}_low"]) / 2
            between = f" ± {half:,.{decimals}f}" if name == measure else ""
            cells.append(f"{_signed(factor * row[f'{name}_gain'], decimals)}{between}")
        closed = row["closed_ettr_gain"]
        cells += ["" if pd.isna(closed) else _signed(100 * closed, 2), f"{row['own_usd'] / 1e3:,.0f}", row["basis"]]
        rows.append(cells)
    return Table(("mitigation", *(title for title, _, _ in gains.values()), "by formula", "price", "basis"), rows)


def _signed(value: float, decimals: int) -> str:
    """With its sign, but for a zero, whose sign would be noise."""
    return f"{round(value, decimals) + 0.0:+,.{decimals}f}"


def _others(frame: pd.DataFrame) -> Report:
    """What has no rank, by reason."""
    rest = frame[frame["rank"].isna()]
    compared = rest["state"].isin((TRIED, IN_PLACE))
    sections: Report = []
    if compared.any():
        sections += [Headline("Without any published figure, not ranked"), Note(", ".join(rest.loc[compared, "id"]))]
    if not compared.all():
        sections.append(Headline("No answer here"))
        sections += [Note(f"{row.id}: {row.state}; {row.why}") for row in rest[~compared].itertuples()]
    return sections


def _paths(assumptions: Iterable[Assumption]) -> str:
    return ", ".join(dict.fromkeys(assumption.path for assumption in assumptions))


_FRONT = {
    "no cheaper set has as high an effective ETTR": "{ids}",
    "USD": "{cost_usd:,.0f}",
    "effective": "{effective_ettr:.1%}",
}


def portfolio_report(answer: Portfolio) -> Report:
    """The best set, what does not go with it, and what costs how much."""
    row = answer.best
    head = Headline(f"Within {answer.budget_usd:,.0f} USD")
    if row is None:
        return [head, Note("No set is worth its price")]
    how = "all sets" if answer.method == "exact" else "one after the other"
    steps = answer.front.assign(ids=answer.front["ids"].replace("", "none"))
    return [
        head,
        Note(
            f"{listed(list(answer.ids))}: {row['cost_usd']:,.0f} USD, ETTR {row['ettr']:.1%}, {row['days']:,.1f} days, "
            f"{row['saved_usd']:+,.0f} USD saved, all costs counted ({how}, {len(answer.frame)} looked at)"
        ),
        *(Note(f"Not together: {one} and {other}: {why}", dim=True) for one, other, why in answer.conflicts),
        table_of(steps, _FRONT),
    ]


_STEPS = {
    "one after the other": "{id}",
    "days saved": "{added:+,.2f}",
    "95%": "{low:+,.2f} to {high:+,.2f}",
    "ETTR then": "{ettr:.1%}",
    "USD": "{cost_usd:,.0f}",
    "USD saved": "{saved_usd:+,.0f}",
    "effect": "{basis}",
}


def advice_report(advice: Advice) -> Report:
    """The next mitigations, and how many spares."""
    sections: Report = [Headline("What to do next")]
    if len(advice.frame):
        sections.append(table_of(advice.frame, _STEPS))
    else:
        sections.append(Note("No mitigation with evidence helps here for certain"))
    if advice.at_a_loss:
        row = advice.at_a_loss
        cost = f"saves {row['added']:,.2f} days and costs {-row['saved_usd']:,.0f} USD more than it saves"
        sections.append(Note(f"Faster at a loss: {row['id']} {cost}"))
    if advice.pool:
        pool = advice.pool
        held = f"{advice.n_spares:,} are {'assumed' if advice.spares_are_lent else 'held'} now"
        near = f"; from {pool.low:,} to {pool.high:,} it costs hardly more" if pool.low < pool.high else ""
        sections.append(Note(f"Hold {pool.n_spares:,} hot spares ({held}): the cheapest pool by the closed form{near}"))
    study = advice.study
    assumed = f", with what is assumed here: {_paths(study.assumptions)}" if study.assumptions else ""
    text = f"From {study.n_runs:,} simulated runs of each, ETTR {advice.ettr:.1%} before{assumed}."
    return [*sections, Note(f"{text} `ettr compare` shows all.", dim=True)]
