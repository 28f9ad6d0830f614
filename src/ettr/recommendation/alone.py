"""Each mitigation alone: what it is worth on one scenario, on the same failures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget, mitigation
from ettr.core.errors import InputError, NoProgress, NotModelled, OutsideValidity
from ettr.core.seeds import Seed
from ettr.mitigation import NO_EVIDENCE, PUBLISHED, Catalogue, Mitigation, effect_basis
from ettr.recommendation.comparison import COMPARED, FAILS, IN_PLACE, TRIED, Comparison
from ettr.recommendation.measures import UNITS, Interval, Runs, difference, gain, gains
from ettr.recommendation.study import NO_ANSWER, OnProgress, Study, check_measure
from ettr.recommendation.study import study as make_study
from ettr.scenario import Scenario
from ettr.scenario.paths import leaves

NOTHING, MISSING, NOT_MODELLED = "changes nothing", "not applicable", "not modelled"
"""Why a mitigation was not compared."""
_WAITS = 0.005
"""A job that waits longer for nodes, as a share of its time, is no longer one of the closed form."""


def mitigations(
    scenario: Scenario,
    ids: Iterable[str] | None = None,
    seed: Seed = 0,
    n_runs: int = 1000,
    measure: str = "days",
    interval: Interval = "best",
    of: Catalogue | None = None,
    as_given: bool = False,
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
    of, as_given
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
        better; ``closed_ettr_gain`` (by the closed form; NaN where that has no term for all
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
    study = make_study(scenario, n_runs, seed, interval, of, as_given)
    chosen = [study.catalogue[name] for name in dict.fromkeys(study.catalogue.ids if ids is None else ids)]
    if not chosen:
        raise InputError("no mitigation to compare: name one or more, or leave them out for all")
    study.runs()
    rows, better = [], {}
    for done, candidate in enumerate(chosen, 1):
        row, pair = _row(study, candidate)
        rows.append(row)
        if pair is not None:
            better[candidate.id] = pair
        if on_progress:
            on_progress(done, len(chosen))
    frame = _ranked(pd.DataFrame(rows), better, measure)
    return Comparison(study, measure, frame)


def _row(study: Study, candidate: Mitigation) -> tuple[dict[str, Any], tuple[Runs, Runs] | None]:
    """What became of one mitigation, and the runs without and with it."""
    state, why, pair = _pair(study, candidate)
    row: dict[str, Any] = {
        "id": candidate.id,
        "title": candidate.title,
        "group": candidate.group,
        "mechanism": candidate.mechanism,
        "evidence": PUBLISHED if candidate.has_evidence else NO_EVIDENCE,
        "effect": effect_basis(candidate.before if state == IN_PLACE else candidate.changes),
        "straw_man": (candidate.straw_man or "") if state == IN_PLACE else "",
        "state": state,
        "why": why,
        "assumed": ", ".join(study.together([candidate.id]).assumed_of_run),
        "own_usd": study.own_usd(candidate),
    }
    if pair is None:
        return row, None
    before, after = pair
    row |= {"interval_min": after.scenario.interval_min, "ettr": after.ettr}
    for name in UNITS:
        gained = gain(before, after, name)
        row |= {f"{name}_gain": gained.mean, f"{name}_low": gained.low, f"{name}_high": gained.high}
    waits = max(runs.waiting_share for runs in pair) > _WAITS
    row["closed_ettr_gain"] = np.nan if waits else _closed_gain(before.scenario, after.scenario)
    return row, pair


def _pair(study: Study, candidate: Mitigation) -> tuple[str, str, tuple[Runs, Runs] | None]:
    """State, reason, and the runs without and with a mitigation."""
    if candidate.unmodelled:
        return NOT_MODELLED, candidate.unmodelled, None
    own = study.together([candidate.id])
    if absent := mitigation.missing(own.baseline, candidate):
        return MISSING, f"needs {', '.join(absent)}", None
    try:
        changed = mitigation.apply(own.baseline, candidate.id, own.catalogue)
        if changed != own.baseline:
            pair = own.runs(), own.runs([candidate.id])
            alike = _without_origins(pair[0].scenario) == _without_origins(pair[1].scenario)
            why = "at the best interval of each scenario nothing is left that it would change"
            return (NOTHING, why, None) if alike else (TRIED, "", pair)
        bare = mitigation.without(own.baseline, candidate)
        if bare is None or bare == own.baseline:
            return NOTHING, "the scenario is already as good as it would make it", None
        return IN_PLACE, "", (own.simulated(bare), own.runs())
    except NO_ANSWER as error:
        return FAILS, f"{'the job does not get on: ' if isinstance(error, NoProgress) else ''}{error}", None


def _ranked(frame: pd.DataFrame, pairs: dict[str, tuple[Runs, Runs]], measure: str) -> pd.DataFrame:
    """Ranks of those with evidence, tried or in place, and how far they may be off."""
    by_name = frame.set_index("id")
    by_id: dict[str, tuple[int, int, int]] = {}
    for state in COMPARED:
        fair = by_name[(by_name["state"] == state) & (by_name["evidence"] == PUBLISHED) & (by_name["straw_man"] == "")]
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


def _closed_gain(before: Scenario, after: Scenario) -> float:
    """Gain of ETTR by the closed form; NaN where it leaves out something of what changes, or has no answer.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b")
    >>> round(_closed_gain(run, run.override({"recovery.restart_min": 2})), 4)
    0.0168
    """
    changed = _differing(before, after)
    try:
        if budget.changes(before) or budget.changes(after):
            return float("nan")
        before, after = budget.with_immediate_detection(before), budget.with_immediate_detection(after)
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


def _without_origins(scenario: Scenario) -> dict[str, Any]:
    """All that a scenario says, but for where it is known from."""
    return scenario.model_dump(exclude={"evidence"})
