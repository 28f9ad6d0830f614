"""The value of mitigations at other sizes of the job, and the size at which they break even."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from ettr import budget, mitigation
from ettr.core.errors import EttrError, InputError, NoProgress
from ettr.mitigation import Mitigation
from ettr.recommendation.comparison import IN_PLACE
from ettr.recommendation.measures import Runs, difference
from ettr.recommendation.study import Study
from ettr.scenario import Scenario
from ettr.scenario.paths import N_GPUS
from ettr.spares.simulated import check_runs

PAYS, COSTS, UNSURE, NO_PROGRESS, NO_FIT = "pays", "costs more", "within the error", "no progress", "does not fit"
_FAILURES_PER_RUN = 150
_BY_TOKENS = ("model", "layout", "network", "scaling", "sync")


def along(
    study: Study,
    ids: Iterable[str],
    sizes: Iterable[float],
    n_runs: int = 40,
) -> pd.DataFrame:
    """Return the saving of each mitigation at other sizes of the job.

    Parameters
    ----------
    study : Study
        Scenario and seed.
    ids : iterable of str
        Mitigations.
    sizes : iterable of float
        Sizes of the job, in whole nodes. [GPUs]
    n_runs : int
        Simulated runs per size, in the steady state, with about 150 failures each.

    Returns
    -------
    DataFrame
        ``id``, ``title``, ``value`` (the size), ``ettr_before``, ``ettr``, ``saved`` (share of the job's time) with
        ``low`` and ``high`` (95% CI), ``saved_usd`` (net saving over the entire job) with ``usd_low`` and ``usd_high``
        [USD], ``state`` (``pays``, ``costs more``, ``within the error``, ``no progress``: with or without it the job
        makes no progress, ``does not fit``, ``in place``), ``why``.

    Notes
    -----
    Hot spares grow with the nodes in repair, so that they run out equally often. The work stays the same: the same
    tokens for a job defined by tokens, the same GPU-hours for one defined by hours.

    Examples
    --------
    >>> from ettr import recommendation
    >>> study = recommendation.study(Scenario.load("llama3-405b"))
    >>> along(study, ["peer-checkpoint"], [16384, 65536], n_runs=20)["state"].tolist()
    ['pays', 'pays']
    """
    chosen = [study.catalogue[name] for name in ids]
    check_runs(n_runs)
    short_study = replace(study, n_runs=n_runs)
    grid = sorted({float(size) for size in sizes})
    if not grid or grid[0] <= 0:
        raise InputError(f"sizes must be > 0 GPUs, got {grid}")
    rows: list[dict[str, Any]] = []
    for value in grid:
        before_of: dict[Study, tuple[Scenario, tuple[Runs, float]] | EttrError] = {}
        for entry in chosen:
            completed = short_study.together([entry.id])
            if completed not in before_of:
                before_of[completed] = _before(completed, value)
            before = before_of[completed]
            worth = _no_answer(before) if isinstance(before, EttrError) else _worth(completed, entry, *before)
            rows.append({"id": entry.id, "title": entry.title, "value": value} | worth)
    columns = ["ettr_before", "ettr", "saved", "low", "high", "saved_usd", "usd_low", "usd_high"]
    frame = pd.DataFrame(rows)
    return frame.reindex(columns=["id", "title", "value", *columns, "state", "why"])


def _before(study: Study, n_gpus: float) -> tuple[Scenario, tuple[Runs, float]] | EttrError:
    """Return the scenario at another size and its runs, or the error that prevents them."""
    try:
        run = _at(study.baseline, n_gpus)
        return run, _shortened(study, run)
    except EttrError as error:
        return error


def _at(base: Scenario, n_gpus: float) -> Scenario:
    """Return a scenario at another size; spares keep their probability to be enough (normal approximation)."""
    changes: dict[str, Any] = {N_GPUS: round(n_gpus)}
    if base.job.productive_h is not None:
        changes["job.productive_h"] = base.job.productive_h * base.cluster.n_gpus / round(n_gpus)
    run = base.override(changes)
    if base.spares is None or base.nodes_in_repair <= 0:
        return run
    spare = (base.spares.n_nodes - base.nodes_in_repair) * math.sqrt(run.nodes_in_repair / base.nodes_in_repair)
    return run.override({"spares.n_nodes": max(0, round(run.nodes_in_repair + spare))})


def _shortened(study: Study, run: Scenario) -> tuple[Runs, float]:
    """Return runs of about 150 failures in the steady state, and the factor to the entire work.

    Where the failure rate or the weather changes with time, the entire work is simulated.
    """
    entire_h = run.productive_h
    steady = not budget.changes(run) and not (run.heat and run.heat.weather)
    work_h = min(entire_h, _FAILURES_PER_RUN * run.job_mttf_h) if steady else entire_h
    without = {name: None for name in _BY_TOKENS if getattr(run, name) is not None}
    short = run.override({**without, "job.productive_h": work_h, "job.include_start": False})
    return study.simulated(short), entire_h / work_h


def _worth(study: Study, entry: Mitigation, base: Scenario, before: tuple[Runs, float]) -> dict[str, Any]:
    """Return the saving of a mitigation at one size, as a row."""
    runs, times = before
    try:
        changed = mitigation.apply(base, entry.id, study.catalogue)
        if changed == base:
            return {"ettr_before": runs.ettr, "state": IN_PLACE, "why": "the scenario already has it"}
        after, times_after = _shortened(study, changed)
    except EttrError as error:
        return {"ettr_before": runs.ettr, **_no_answer(error)}
    total_h = runs.total_h * times
    hours = difference(total_h, after.total_h * times_after)
    price_usd = entry.price.of(base.cluster.n_gpus)
    usd = difference(runs.values("usd") * times, after.values("usd") * times_after + price_usd)
    mean_h = float(total_h.mean())
    state = PAYS if usd.low > 0 else COSTS if usd.high < 0 else UNSURE
    return {
        "ettr_before": runs.ettr,
        "ettr": after.ettr,
        "saved": hours.mean / mean_h,
        "low": hours.low / mean_h,
        "high": hours.high / mean_h,
        "saved_usd": usd.mean,
        "usd_low": usd.low,
        "usd_high": usd.high,
        "state": state,
        "why": "",
    }


def _no_answer(error: EttrError) -> dict[str, Any]:
    return {"state": NO_PROGRESS if isinstance(error, NoProgress) else NO_FIT, "why": str(error)}
