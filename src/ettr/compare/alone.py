"""Each mitigation alone: what it is worth on one scenario, on the same failures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget, mitigation
from ettr.compare.measures import UNITS, Interval, Runs, difference, gain, gains, with_immediate_detection
from ettr.compare.portfolios import Portfolio
from ettr.compare.study import NO_ANSWER, OnProgress, Study, check_measure
from ettr.compare.study import study as make_study
from ettr.core.errors import InputError, NoProgress, NotModelled, OutsideValidity
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import count
from ettr.mitigation import NO_EVIDENCE, PUBLISHED, Catalogue, Mitigation
from ettr.scenario import Scenario
from ettr.scenario.paths import leaves

TRIED, IN_PLACE = "tried", "in place"
"""Mitigations that were compared with the scenario, by adding them or by taking them away."""
COMPARED = (TRIED, IN_PLACE)
NOTHING, MISSING, NOT_MODELLED, FAILS = "changes nothing", "not applicable", "not modelled", "no answer"
"""Why a mitigation was not compared."""
_WAITS = 0.005
"""A job that waits longer for nodes, as a share of its time, is no longer one of the closed form."""
_GAINS = {
    "days": ("days", 1.0, 2),
    "ettr": ("points", 1e2, 2),
    "gpu_h": ("1000 GPU h", 1e-3, 0),
    "usd": ("1000 USD", 1e-3, 0),
    "mwh": ("MWh", 1.0, 0),
}
"""Title of a column, factor and decimals of what is gained of a measure."""
_ALWAYS = ("days", "ettr", "usd")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Answer):
    """Mitigations, each alone.

    Attributes
    ----------
    study : Study
        Scenario, baseline and seed.
    measure : str
        What they are ranked by.
    frame : DataFrame
        A row a mitigation, as from :func:`mitigations`.
    """

    study: Study
    measure: str
    frame: pd.DataFrame

    @property
    def baseline(self) -> Runs:
        """Runs without any of them."""
        return self.study.runs()

    @property
    def ranked(self) -> pd.DataFrame:
        """Those with a rank: the ones that were tried, best first, and then those in place."""
        rows = self.frame[self.frame["rank"].notna()]
        return rows.sort_values(["state", "rank"], ascending=[False, True], kind="stable", ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON; what is not known is None."""
        study = self.study
        return {
            "scenario": study.scenario.name,
            "lent": study.assumed,
            "n_runs": study.n_runs,
            "seed": study.seed,
            "interval": study.interval,
            "measure": self.measure,
            "as_given": {name: study.as_given.mean(name) for name in UNITS},
            "baseline": {
                "interval_min": self.baseline.scenario.interval_min,
                **{name: self.baseline.mean(name) for name in UNITS},
                "time_budget": self.baseline.budget.to_dict(),
            },
            "mitigations": plain_values(self.frame),
        }

    @property
    def headline(self) -> str:
        """The scenario, and the mitigation that comes first."""
        first = self.ranked.head(1)
        best = f"{first['id'].item()} comes first by {self.measure}" if len(first) else "none is ranked"
        return f"{self.study.scenario.name}: {best}"

    def report(self, best: Portfolio | None = None) -> Report:
        """The ranking, what is in place, what is not ranked and why; and the best within a budget, if it is given."""
        study, base = self.study, self.baseline
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
        sections += [*_by_rank(self.ranked, self.measure), *_others(self.frame), *(best.report() if best else [])]
        if study.assumptions:
            text = f"Assumed here, because the scenario says nothing of it: {study.assumed_words}"
            sections.append(Note(text, dim=True))
        text = (
            "The intervals tell how well so many runs know the difference, not how well a mitigation's effect is "
            "known: that is as it was published elsewhere, or assumed (see basis)."
        )
        return [*sections, Note(text, dim=True)]


def _by_rank(ranked: pd.DataFrame, measure: str) -> Report:
    """Those with a rank, tried and in place."""
    tried, placed = (ranked[ranked["state"] == state] for state in COMPARED)
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
    compared = rest["state"].isin(COMPARED)
    sections: Report = []
    if compared.any():
        sections += [Headline("Without any published figure, not ranked"), Note(", ".join(rest.loc[compared, "id"]))]
    if not compared.all():
        sections.append(Headline("No answer here"))
        sections += [Note(f"{row.id}: {row.state}; {row.why}") for row in rest[~compared].itertuples()]
    return sections


def mitigations(
    scenario: Scenario,
    ids: Iterable[str] | None = None,
    seed: int = 0,
    n_runs: int = 1000,
    measure: str = "days",
    interval: Interval = "best",
    of: Catalogue | None = None,
    as_given: bool = False,
    executor: Any = None,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """What each mitigation alone is worth.

    Parameters
    ----------
    scenario : Scenario
        The run; what it says nothing of is assumed (see :func:`ettr.mitigation.with_assumptions`).
    ids : iterable of str, optional
        Mitigations; all of the catalogue if not given.
    seed, n_runs : int
        Seed, and runs of each scenario.
    measure : str
        What to rank by: ``days``, ``ettr``, ``gpu_h``, ``usd`` or ``mwh``.
    interval : {"best", "given"}
        Checkpoint at the best interval of each scenario, or at the given one.
    of, as_given, executor
        As for :func:`study`.
    on_progress : callable, optional
        Called with how many scenarios are done, and how many there will be.

    Returns
    -------
    Comparison
        ``frame`` has a row a mitigation: ``id``, ``title``, ``group``, ``mechanism``, ``evidence`` (``published``,
        ``no evidence`` or ``not modelled``), ``basis`` (the weakest status of what it changes), ``state`` (``tried``;
        ``in place``: compared with the scenario without it; or why there is no answer), ``why`` (of a missing answer),
        ``interval_min`` [min], ``ettr`` with it (of one in place: as the scenario is), ``own_usd`` (its price) [USD];
        for each measure ``<m>_gain`` with ``<m>_low`` and ``<m>_high`` (95%, paired), which are positive where it is
        better, and ``<m>_runs_ratio``; ``closed_ettr_gain`` (by the closed form; NaN where that has no term for all
        that changes), ``rank`` (by the measure, of those tried and of those in place apart; NaN without evidence or
        answer), ``rank_low`` and ``rank_high`` (those whose difference is certain to 95%, pair by pair, come before or
        after).

    Raises
    ------
    InputError
        An unknown mitigation (with the nearest), an unknown measure, or too few runs.

    Notes
    -----
    All scenarios have common random numbers, run by run and failure by failure, so that differences need far fewer
    runs than independent simulations would.

    Examples
    --------
    >>> from ettr import Scenario, compare
    >>> comparison = compare.mitigations(Scenario.load("llama3-405b"), ["lemon-removal", "peer-checkpoint"], n_runs=50)
    >>> comparison.ranked["id"].tolist()
    ['peer-checkpoint', 'lemon-removal']
    """
    check_measure(measure)
    study = make_study(scenario, n_runs, seed, interval, of, as_given, executor)
    chosen = [study.catalogue[name] for name in dict.fromkeys(study.catalogue.ids if ids is None else ids)]
    if not chosen:
        raise InputError("no mitigation to compare: name one or more, or leave them out for all")
    study.runs()
    rows, better = [], {}
    for done, one in enumerate(chosen, 1):
        row, pair = _row(study, one)
        rows.append(row)
        if pair is not None:
            better[one.id] = pair
        if on_progress:
            on_progress(done, len(chosen))
    frame = _ranked(pd.DataFrame(rows), better, measure)
    return Comparison(study, measure, frame)


def _row(study: Study, one: Mitigation) -> tuple[dict[str, Any], tuple[Runs, Runs] | None]:
    """What became of one mitigation, and the runs without and with it."""
    state, why, pair = _pair(study, one)
    row: dict[str, Any] = {
        "id": one.id,
        "title": one.title,
        "group": one.group,
        "mechanism": one.mechanism,
        "evidence": PUBLISHED if one.has_evidence else NO_EVIDENCE,
        "basis": mitigation.weakest_status(one.before if state == IN_PLACE else one.changes),
        "state": state,
        "why": why,
        "own_usd": study.own_usd(one),
    }
    if pair is None:
        return row, None
    before, after = pair
    row |= {"interval_min": after.scenario.interval_min, "ettr": after.ettr}
    for name in UNITS:
        gained = gain(before, after, name)
        row |= {f"{name}_gain": gained.mean, f"{name}_low": gained.low, f"{name}_high": gained.high}
        row[f"{name}_runs_ratio"] = gained.runs_ratio
    waits = max(runs.waiting_share for runs in pair) > _WAITS
    row["closed_ettr_gain"] = np.nan if waits else closed_gain(before.scenario, after.scenario)
    return row, pair


def _pair(study: Study, one: Mitigation) -> tuple[str, str, tuple[Runs, Runs] | None]:
    """State, reason, and the runs without and with a mitigation."""
    if one.unmodelled:
        return NOT_MODELLED, one.unmodelled, None
    if absent := mitigation.missing(study.baseline, one):
        return MISSING, f"needs {', '.join(absent)}", None
    try:
        changed = mitigation.apply(study.baseline, one.id, study.catalogue)
        if changed != study.baseline:
            pair = study.runs(), study.runs([one.id])
            alike = _without_origins(pair[0].scenario) == _without_origins(pair[1].scenario)
            why = "at the best interval of each scenario nothing is left that it would change"
            return (NOTHING, why, None) if alike else (TRIED, "", pair)
        bare = mitigation.without(study.baseline, one)
        if bare is None or bare == study.baseline:
            return NOTHING, "the scenario is already as good as it would make it", None
        return IN_PLACE, "", (study.simulated(bare), study.runs())
    except NO_ANSWER as error:
        return FAILS, f"{'the job does not get on: ' if isinstance(error, NoProgress) else ''}{error}", None


def _without_origins(scenario: Scenario) -> dict[str, Any]:
    """All that a scenario says, but for where it is known from."""
    return scenario.model_dump(exclude={"evidence"})


def closed_gain(before: Scenario, after: Scenario) -> float:
    """Gain of ETTR by the closed form; NaN where it leaves out something of what changes, or has no answer.

    Examples
    --------
    >>> from ettr import Scenario
    >>> run = Scenario.load("llama3-405b")
    >>> round(closed_gain(run, run.override({"recovery.restart_min": 2})), 4)
    0.0168
    """
    changed = _differing(before, after)
    try:
        if budget.changes(before) or budget.changes(after):
            return float("nan")
        before, after = with_immediate_detection(before), with_immediate_detection(after)
        plain = [budget.simplified(run) for run in (before, after)]
        seen = _differing(plain[0].scenario, plain[1].scenario)
        if plain[0].left_out != plain[1].left_out or seen != changed:
            return float("nan")
        ettr = [float(budget.exact(one.scenario).ettr) for one in plain]
    except (NotModelled, OutsideValidity):
        return float("nan")
    return ettr[1] - ettr[0]


def _differing(one: Scenario, other: Scenario) -> set[str]:
    """Paths of fields in which two scenarios differ, those of modes by name."""
    values = [dict(leaves(_by_name(run))) for run in (one, other)]
    return {path for path in values[0].keys() | values[1].keys() if values[0].get(path) != values[1].get(path)}


def _by_name(run: Scenario) -> dict[str, Any]:
    values = _without_origins(run)
    for section, items in (("failures", "modes"), ("checkpoint", "tiers")):
        values[section][items] = {item["name"]: item for item in values[section][items]}
    return values


def _ranked(frame: pd.DataFrame, pairs: dict[str, tuple[Runs, Runs]], measure: str) -> pd.DataFrame:
    """Ranks of those with evidence, tried or in place, and how far they may be off."""
    known = frame.set_index("id")
    by_id: dict[str, tuple[int, int, int]] = {}
    for state in COMPARED:
        names = [name for name in pairs if tuple(known.loc[name, ["state", "evidence"]]) == (state, PUBLISHED)]
        by_id |= _ranks({name: gains(*pairs[name], measure) for name in names})
    rank, low, high = np.array([by_id.get(name, (np.nan,) * 3) for name in frame["id"]], dtype=float).T
    return frame.assign(rank=rank, rank_low=low, rank_high=high)


def _ranks(worth: dict[str, np.ndarray]) -> dict[str, tuple[int, int, int]]:
    """Rank by the mean, and the first and last that are not excluded pair by pair."""
    order = sorted(worth, key=lambda name: -float(worth[name].mean()))
    ranks = {}
    for rank, name in enumerate(order, 1):
        apart = [difference(worth[name], worth[other]) for other in order if other != name]
        first = 1 + sum(one.high < 0 for one in apart)
        ranks[name] = rank, first, len(order) - sum(one.low > 0 for one in apart)
    return ranks
