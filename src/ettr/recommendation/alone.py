"""Each mitigation alone: what it is worth on one scenario, on the same failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ettr import mitigation, ranges
from ettr.core.errors import InputError, NoProgress
from ettr.core.report import Answer, Report, plain_values
from ettr.mitigation import ASSUMED, NO_EVIDENCE, PUBLISHED, Catalogue, Mitigation, effect_basis
from ettr.recommendation.additions import Addition, additions
from ettr.recommendation.answer import Recommendation
from ettr.recommendation.closed import closed_gain, without_origins
from ettr.recommendation.measures import UNITS, Interval, Runs, difference, gain, gains
from ettr.recommendation.ranges import savings
from ettr.recommendation.report import MOST_ASSUMED, MOST_RANKED, of_comparison
from ettr.recommendation.study import NO_ANSWER, OnProgress, Study, check_measure
from ettr.recommendation.study import study as make_study
from ettr.scenario import Scenario

TRIED, IN_PLACE = "tried", "in place"
"""Mitigations that were compared with the scenario, by adding them or by taking them away."""
COMPARED = (TRIED, IN_PLACE)
NOTHING, MISSING, NOT_MODELLED, FAILS = "changes nothing", "not applicable", "not modelled", "no answer"
"""Why a mitigation was not compared."""
_WAITS = 0.005
"""A job that waits longer for nodes, as a share of its time, is no longer one of the closed form."""


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
        """Runs without any of them, of the scenario as it is."""
        return self.study.runs()

    @cached_property
    def completed(self) -> Study:
        """The study with all that is assumed for one or the other of those that were compared."""
        return self.study.together(self.compared["id"])

    @property
    def compared(self) -> pd.DataFrame:
        """Those that have an answer, tried or in place."""
        return self.frame[self.frame["state"].isin(COMPARED)]

    @property
    def ranked(self) -> pd.DataFrame:
        """Those with a rank: the ones that were tried, best first, and then those in place."""
        rows = self.frame[self.frame["rank"].notna()]
        return rows.sort_values(["state", "rank"], ascending=[False, True], kind="stable", ignore_index=True)

    @property
    def known(self) -> pd.DataFrame:
        """Those that were tried and whose effect is published, at least in part; best first."""
        rows = self.ranked
        return rows[(rows["state"] == TRIED) & (rows["effect"] != ASSUMED)].reset_index(drop=True)

    @property
    def assumed(self) -> pd.DataFrame:
        """Those that were tried and of whose effect nobody has published the size; best first."""
        rows = self.ranked
        return rows[(rows["state"] == TRIED) & (rows["effect"] == ASSUMED)].reset_index(drop=True)

    @property
    def placed(self) -> pd.DataFrame:
        """Those in place with a rank; what is worth most first."""
        rows = self.ranked
        return rows[rows["state"] == IN_PLACE].reset_index(drop=True)

    @property
    def unpublished(self) -> pd.DataFrame:
        """Those that were compared and about which nothing was published."""
        return self.frame[self.frame["state"].isin(COMPARED) & (self.frame["evidence"] == NO_EVIDENCE)]

    @property
    def unanswered(self) -> pd.DataFrame:
        """Those that were not compared."""
        return self.frame[~self.frame["state"].isin(COMPARED)]

    @cached_property
    def ranges(self) -> pd.DataFrame:
        """How far the gain of those that a report shows may be off.

        Returns
        -------
        DataFrame
            ``id``; ``low`` and ``high`` of the measure's gain, across the plausible range of the assumed inputs and of
            how strongly it acts (5th to 95th percentile); where the analytical model does not cover it, the 95%
            interval of the simulated mean, and ``only_simulated`` is true.
        """
        shown = [*self.known["id"].head(MOST_RANKED), *self.assumed["id"].head(MOST_ASSUMED)]
        return self.ranges_of(shown)

    def ranges_of(self, ids: Iterable[str]) -> pd.DataFrame:
        """The same of these, of those that were tried."""
        rows = [(name, *self._range_of(name)) for name in ids]
        return pd.DataFrame(rows, columns=["id", "low", "high", "only_simulated"])

    def _range_of(self, name: str) -> tuple[float, float, bool]:
        """Ends of the range of a gain, and whether only simulation follows it."""
        own, measure = self.study.together([name]), self.measure
        gained = gain(own.runs(), own.runs([name]), measure)
        is_covered = self.frame.set_index("id")["closed_ettr_gain"].notna()[name]
        found = savings(own.baseline, [name], own.catalogue, own.interval, own.seed) if is_covered else None
        if found is None:
            return gained.low, gained.high, True
        moves = (found.shares - found.share) * own.runs().mean(measure)
        if measure == "ettr":
            moves = found.ettr_gains - found.ettr_gain
        return *ranges.range_of(gained.mean + moves, gained.mean), False

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON; what is not known is None."""
        study = self.study
        return {
            "scenario": study.scenario.name,
            "assumptions_added": self.completed.assumed,
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
            "ranges": plain_values(self.ranges),
        }

    @property
    def headline(self) -> str:
        """The scenario, and the mitigation that comes first."""
        first = next((rows.iloc[0] for rows in (self.known, self.assumed) if len(rows)), None)
        best = "none is ranked" if first is None else f"{first['id']} comes first by {self.measure}"
        return f"{self.study.scenario.name}: {best}"

    def only_simulated(self, found: Recommendation) -> list[str]:
        """Mitigations that were tried, and that the analytical model does not compare."""
        compared = {*found.ids, *found.unlisted}
        rows = self.frame[(self.frame["state"] == TRIED) & ~self.frame["id"].isin(compared)]
        return list(rows["id"])

    def additions_to(self, found: Recommendation, on_progress: OnProgress | None = None) -> tuple[Addition, ...]:
        """Mitigations that simulation adds to the recommended set, of those that gain by themselves."""
        gaining = self.frame.loc[self.frame["usd_low"] > 0, "id"] if "usd_low" in self.frame else []
        candidates = [name for name in self.only_simulated(found) if name in set(gaining)]
        return additions(self.study, found.ids, candidates, found.budget_usd, on_progress)

    def report(
        self, found: Recommendation | None = None, added: Sequence[Addition] = (), everything: bool = False
    ) -> Report:
        """The ranking on one screen, or everything; and the recommended set, if it is given."""
        return of_comparison(self, found, added, everything)


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
        The run; what it says nothing of is assumed for each mitigation that acts on it, and for no other (see
        :func:`ettr.mitigation.with_assumptions`).
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
        ``no evidence`` or ``not modelled``), ``effect`` (how much of what is changed has a source, as from
        :func:`ettr.mitigation.effect_basis`), ``straw_man`` (why what it was compared with is no fair comparison; empty
        otherwise), ``state`` (``tried``;
        ``in place``: compared with the scenario without it; or why there is no answer), ``why`` (of a missing answer),
        ``assumed`` (paths of what is assumed for it beyond prices and power, by commas),
        ``interval_min`` [min], ``ettr`` with it (of one in place: as the scenario is), ``own_usd`` (its price) [USD];
        for each measure ``<m>_gain`` with ``<m>_low`` and ``<m>_high`` (95%, paired), which are positive where it is
        better, and ``<m>_runs_ratio``; ``closed_ettr_gain`` (by the closed form; NaN where that has no term for all
        that changes), ``rank`` (by the measure, of those tried and of those in place apart; NaN without evidence or
        answer, and where it is a straw man that it was compared with), ``rank_low`` and ``rank_high`` (those whose
        difference is certain to 95%, pair by pair, come before or after).

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
    >>> from ettr import Scenario, recommendation
    >>> run = Scenario.load("llama3-405b")
    >>> comparison = recommendation.mitigations(run, ["lemon-removal", "peer-checkpoint"], n_runs=50)
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
        "effect": effect_basis(one.before if state == IN_PLACE else one.changes),
        "straw_man": (one.straw_man or "") if state == IN_PLACE else "",
        "state": state,
        "why": why,
        "assumed": ", ".join(study.together([one.id]).assumed_of_run),
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
    own = study.together([one.id])
    if absent := mitigation.missing(own.baseline, one):
        return MISSING, f"needs {', '.join(absent)}", None
    try:
        changed = mitigation.apply(own.baseline, one.id, own.catalogue)
        if changed != own.baseline:
            pair = own.runs(), own.runs([one.id])
            alike = without_origins(pair[0].scenario) == without_origins(pair[1].scenario)
            why = "at the best interval of each scenario nothing is left that it would change"
            return (NOTHING, why, None) if alike else (TRIED, "", pair)
        bare = mitigation.without(own.baseline, one)
        if bare is None or bare == own.baseline:
            return NOTHING, "the scenario is already as good as it would make it", None
        return IN_PLACE, "", (own.simulated(bare), own.runs())
    except NO_ANSWER as error:
        return FAILS, f"{'the job does not get on: ' if isinstance(error, NoProgress) else ''}{error}", None


def _ranked(frame: pd.DataFrame, pairs: dict[str, tuple[Runs, Runs]], measure: str) -> pd.DataFrame:
    """Ranks of those with evidence, tried or in place, and how far they may be off."""
    known = frame.set_index("id")
    by_id: dict[str, tuple[int, int, int]] = {}
    for state in COMPARED:
        fair = known[(known["state"] == state) & (known["evidence"] == PUBLISHED) & (known["straw_man"] == "")]
        names = [name for name in pairs if name in fair.index]
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
