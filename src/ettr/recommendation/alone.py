"""The saving of each mitigation alone on one scenario, simulated on the same failures."""

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
"""States of mitigations that were not compared."""
_WAITS = 0.005
"""Share of the time spent waiting for nodes above which the analytical model does not apply."""


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
    """Return the saving of each mitigation alone.

    Parameters
    ----------
    scenario : Scenario
        The run. Fields that it does not have are assumed for the mitigations that act on them, and for no others (see
        :func:`ettr.mitigation.with_assumptions`).
    ids : iterable of str, optional
        Ids of mitigations; all of the catalogue by default.
    seed, n_runs : int
        Seed, and simulated runs of each scenario.
    measure : str
        Measure to rank by: ``days``, ``ettr``, ``gpu_h``, ``usd`` or ``mwh``.
    interval : {"best", "given"}
        Checkpoint at the best interval of each scenario, or at the current one.
    of, as_given
        As for :func:`study`.
    on_progress : callable, optional
        Called with the number of simulated scenarios and their total.

    Returns
    -------
    Comparison
        ``frame`` has a row per mitigation: ``id``, ``title``, ``group``, ``mechanism``, ``evidence`` (``published``,
        ``no evidence`` or ``not modelled``), ``effect`` (evidence for the size of the effect,
        from :func:`ettr.mitigation.effect_basis`), ``straw_man`` (the outdated practice that it was compared with;
        empty for a fair comparison), ``state`` (``tried``; ``in place``, compared with the scenario without it; or why
        there is no answer), ``why`` (reason of a missing answer), ``assumed`` (paths assumed for it beyond prices and
        power, separated by commas), ``interval_min`` [min], ``ettr`` with it, ``own_usd`` (its price) [USD]; for each
        measure ``<m>_gain`` with ``<m>_low`` and ``<m>_high`` (95% CI, paired), positive where it is better;
        ``closed_ettr_gain`` (by the analytical model; NaN where that does not cover all changes), ``rank`` (by the
        measure, separately for those tried and those in place; NaN without evidence or answer, and for comparisons
        with outdated practice), ``rank_low`` and ``rank_high`` (ranks that pairwise 95% CIs do not exclude).

    Raises
    ------
    InputError
        An unknown mitigation (with the nearest), an unknown measure, or too few runs.

    Notes
    -----
    All scenarios use common random numbers, so differences need far fewer runs than independent simulations would.

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
        raise InputError("ids must name at least one mitigation, got none; leave ids out to compare all")
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
    """Return the row of one mitigation, and the runs without and with it."""
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
        "own_usd": study.price_usd(candidate),
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
    """Return the state of a mitigation, the reason for it, and the runs without and with it."""
    if candidate.unmodelled:
        return NOT_MODELLED, candidate.unmodelled, None
    completed = study.together([candidate.id])
    if absent := mitigation.missing(completed.baseline, candidate):
        return MISSING, f"needs {', '.join(absent)}", None
    try:
        changed = mitigation.apply(completed.baseline, candidate.id, completed.catalogue)
        if changed != completed.baseline:
            pair = completed.runs(), completed.runs([candidate.id])
            alike = _without_origins(pair[0].scenario) == _without_origins(pair[1].scenario)
            why = "it changes only the interval, which is the best one in both scenarios"
            return (NOTHING, why, None) if alike else (TRIED, "", pair)
        bare = mitigation.without(completed.baseline, candidate)
        if bare is None or bare == completed.baseline:
            return NOTHING, "the scenario already has the values that it would set", None
        return IN_PLACE, "", (completed.simulated(bare), completed.runs())
    except NO_ANSWER as error:
        return FAILS, f"{'the job makes no progress: ' if isinstance(error, NoProgress) else ''}{error}", None


def _ranked(frame: pd.DataFrame, pairs: dict[str, tuple[Runs, Runs]], measure: str) -> pd.DataFrame:
    """Add the ranks of mitigations with evidence, and the ranks that are not excluded."""
    by_name = frame.set_index("id")
    by_id: dict[str, tuple[int, int, int]] = {}
    for state in COMPARED:
        fair = by_name[(by_name["state"] == state) & (by_name["evidence"] == PUBLISHED) & (by_name["straw_man"] == "")]
        names = [name for name in pairs if name in fair.index]
        by_id |= _ranks({name: gains(*pairs[name], measure) for name in names})
    rank, low, high = np.array([by_id.get(name, (np.nan,) * 3) for name in frame["id"]], dtype=float).T
    return frame.assign(rank=rank, rank_low=low, rank_high=high)


def _ranks(worth: dict[str, np.ndarray]) -> dict[str, tuple[int, int, int]]:
    """Return the rank by the mean, and the first and last rank that pairwise CIs do not exclude."""
    order = sorted(worth, key=lambda name: -float(worth[name].mean()))
    ranks = {}
    for rank, name in enumerate(order, 1):
        pairs = [difference(worth[name], worth[other]) for other in order if other != name]
        first = 1 + sum(pair.high < 0 for pair in pairs)
        ranks[name] = rank, first, len(order) - sum(pair.low > 0 for pair in pairs)
    return ranks


def _closed_gain(before: Scenario, after: Scenario) -> float:
    """Return the gain of ETTR by the analytical model; NaN where it does not cover all changes, or has no answer.

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
        covered = [budget.simplified(run) for run in (before, after)]
        covered_changes = _differing(covered[0].scenario, covered[1].scenario)
        if covered[0].left_out != covered[1].left_out or covered_changes != changed:
            return float("nan")
        ettr = [float(budget.exact(simplified.scenario).ettr) for simplified in covered]
    except (NotModelled, OutsideValidity):
        return float("nan")
    return ettr[1] - ettr[0]


def _differing(first: Scenario, second: Scenario) -> set[str]:
    """Return the paths of fields in which two scenarios differ, with modes by name."""
    values = [dict(leaves(_by_name(run))) for run in (first, second)]
    return {path for path in values[0].keys() | values[1].keys() if values[0].get(path) != values[1].get(path)}


def _by_name(run: Scenario) -> dict[str, Any]:
    values = _without_origins(run)
    for section, items in (("failures", "modes"), ("checkpoint", "tiers")):
        values[section][items] = {item["name"]: item for item in values[section][items]}
    return values


def _without_origins(scenario: Scenario) -> dict[str, Any]:
    """Return the values of a scenario without their origins."""
    return scenario.model_dump(exclude={"evidence"})
