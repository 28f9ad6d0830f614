"""Failures that are known of before they strike, and failures that are found long after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.chapters.checkpoint_tiers.tables import store_only, with_free_store
from ettr.chapters.common.steady_state import answered, ettr_at
from ettr.checkpoint import checkpoints_to_keep, heed_threshold_h, recall_of
from ettr.checkpoint.corruption import Latency
from ettr.core.errors import OutsideValidity
from ettr.core.units import S_PER_H
from ettr.plan import best_interval_min
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, PREDICTION

_LATENCIES_H = (0.1, 720.0)
_SILENT = "Silent"
_DRAWN = ("ByteDance, before", "ByteDance, 2023")
_HALF = 0.5


def published_predictors() -> pd.DataFrame:
    """Published precision of predictors of failures, with recall where it is known.

    Returns
    -------
    DataFrame
        ``predictor``, ``precision``, ``recall`` (missing where no source gives it).

    Examples
    --------
    >>> published_predictors().set_index("predictor").loc["Minder", "recall"].round(3).item()
    0.882
    """
    keys = {"before": "before", "2022": "after", "2023": "later"}
    rows: list[tuple[str, float, float]] = []
    for when, key in keys.items():
        precision_pct = evidence.figure(f"bytedance_prediction_{key}_pct").value
        rows.append((f"ByteDance, {when}", round(precision_pct / 100, 6), np.nan))
    precision = evidence.figure("minder_precision").value
    rows.append(("Minder", precision, recall_of(precision, evidence.figure("minder_f1").value)))
    return pd.DataFrame(rows, columns=["predictor", "precision", "recall"])


def announced(scenario: Scenario, lead_s: float, precisions: Sequence[float] = (), n_points: int = 50) -> pd.DataFrame:
    """ETTR over the share of failures that is announced, by precision.

    Parameters
    ----------
    scenario : Scenario
        The run, with its store alone; an alarm is answered in :func:`answer_s`.
    lead_s : float
        From the alarm to the failure. [s]
    precisions : sequence of float
        Shares of alarms that come true, in (0, 1], beside those published for predictors of GPU failures, the least and
        the latest.
    n_points : int
        Recalls, from 0 to 0.98.

    Returns
    -------
    DataFrame
        ``recall``, ``precision``, ``formula`` (``exact`` or ``first_order``), ``interval_min`` (best of the exact
        form) [min], ``ettr``; points without an answer are left out.

    Raises
    ------
    OutsideValidity
        No point has an answer.
    """
    known = published_predictors().query("predictor in @_DRAWN")["precision"]
    plain = store_only(scenario)
    run = _with_alarms(scenario, lead_s)
    recall = np.unique(np.append(np.linspace(0.0, 0.98, n_points)[1:], _HALF))
    without = {INTERVAL: np.array([best_interval_min(plain)])}
    frames = []
    for precision in sorted({*known, *precisions}):
        at = {"prediction.recall": recall, "prediction.precision": np.full(recall.shape, precision)}
        at[INTERVAL] = best_interval_min(run, at)
        for formula in ("exact", "first_order"):
            ettr = np.append(ettr_at(plain, without, formula), ettr_at(run, at, formula))
            columns = {"recall": np.append(0.0, recall), "precision": precision, "formula": formula}
            interval_min = np.append(without[INTERVAL], at[INTERVAL])
            frames.append(pd.DataFrame({**columns, "interval_min": interval_min, "ettr": ettr}))
    points = pd.concat(frames, ignore_index=True).dropna(ignore_index=True)
    if not (points["formula"] == "exact").any():
        raise OutsideValidity(f"no point of this curve of {scenario.name} has an answer: the run never ends")
    return points


def answer_s(scenario: Scenario) -> float:
    """Training stands still until a checkpoint is durable in the store: the stall and the whole write. [s]

    Examples
    --------
    >>> answer_s(Scenario.load("llama3-405b"))
    70.0
    """
    return float(scenario.stall_h + scenario.persist_h) * S_PER_H


def alarm_threshold_h(action_s: float, precision: float) -> float:
    """Training at risk from which an alarm is worth its answer. [h]

    Examples
    --------
    >>> round(alarm_threshold_h(70.0, 0.5), 4)
    0.0389
    """
    return float(heed_threshold_h(action_s / S_PER_H, precision))


def _with_alarms(scenario: Scenario, lead_s: float) -> Scenario:
    first = {"recall": 0.5, "precision": 0.5, "lead_s": lead_s, "action_s": answer_s(scenario)}
    return store_only(scenario).override({PREDICTION: first})


def predictors_here(scenario: Scenario, lead_s: float) -> pd.DataFrame:
    """The published predictors of which recall is known, as if they announced this run's failures.

    Parameters
    ----------
    scenario, lead_s
        As in :func:`announced`.

    Returns
    -------
    DataFrame
        The columns of :func:`published_predictors` with ``ettr`` at the best interval; those without an answer are left
        out.
    """
    known = published_predictors().dropna(subset=["recall"], ignore_index=True)
    run = _with_alarms(scenario, lead_s)
    at = {f"prediction.{field}": known[field].to_numpy() for field in ("recall", "precision")}
    at[INTERVAL] = best_interval_min(run, at)
    return known.assign(ettr=ettr_at(run, at)).dropna(ignore_index=True)


def silent_share(scenario: Scenario, mode: str) -> tuple[float, str]:
    """Share of failures that nobody notices at first, and whose count it is.

    Parameters
    ----------
    scenario : Scenario
        Its modes with a latency count, else its mode of the given name; without either, the mode of that name in the
        published table of Llama 3.
    mode : str
        Name of the mode.

    Examples
    --------
    >>> share, whose = silent_share(Scenario.load("rsc-1"), "Silent Data Corruption")
    >>> round(share, 4), whose
    (0.0143, 'Llama 3')
    """
    modes = scenario.failures.modes
    names = [one.name for one in modes if one.latency_h is not None] or [one.name for one in modes if one.name == mode]
    if names:
        weights = dict(zip(scenario.mode_names, scenario.mode_weights, strict=True))
        return float(sum(weights[name] for name in names)), "the scenario"
    table = evidence.table("llama3_interruptions").set_index("component")["n_events"]
    return float(table.get(mode, 0.0) / table.sum()), "Llama 3"


def found_late(scenario: Scenario, share: float, latency_h: float, n_points: int = 25) -> pd.DataFrame:
    """ETTR lost to silent failures over their latency: if all are silent, exact, and for a share, to first order.

    Parameters
    ----------
    scenario : Scenario
        The run, with its store alone, a checkpoint durable at once, and the best interval for failures that are noticed
        at once.
    share : float
        Share of all failures that are silent.
    latency_h : float
        A latency that must be among those shown. [h]
    n_points : int
        Latencies, from six minutes to thirty days.

    Returns
    -------
    DataFrame
        ``latency_h`` [h], ``which`` (``all`` or ``share``), ``ettr``, ``lost_points`` (against a latency of zero, in
        hundredths); points without an answer are left out.

    Raises
    ------
    OutsideValidity
        No point has an answer.
    """
    run = with_free_store(scenario)
    run = run.override({INTERVAL: best_interval_min(run)})
    latencies = np.concatenate([[0.0], _latencies_h(latency_h, n_points)])
    frames = []
    for which, silent, formula in (("all", 1.0, budget.exact), ("share", share, budget.first_order)):
        ettr = [_or_nan(formula, _with_silent(run, silent, float(latency))) for latency in latencies]
        columns = {"latency_h": latencies, "which": which, "ettr": ettr}
        frames.append(pd.DataFrame({**columns, "lost_points": 100 * (ettr[0] - np.array(ettr))}))
    points = pd.concat(frames, ignore_index=True)
    why = f"no point of this curve of {scenario.name} has an answer: the run practically never ends"
    return answered(points[points["latency_h"] > 0], why)


def kept_checkpoints(
    scenario: Scenario, thinned_min: float, risk: float, latency_h: float, n_points: int = 60
) -> pd.DataFrame:
    """How many old checkpoints to keep over the latency of silent failures.

    Parameters
    ----------
    scenario : Scenario
        The run; one interval is the best of its store.
    thinned_min : float
        Another interval, at which checkpoints are kept; left out where it is no longer than the best one. [min]
    risk : float
        Accepted probability that none is clean, where the latency is exponential.
    latency_h : float
        A latency that must be among those shown. [h]
    n_points : int
        Latencies, from six minutes to thirty days.

    Returns
    -------
    DataFrame
        ``latency_h`` [h], ``interval_min`` [min], ``distribution`` (``constant`` or ``exponential``), ``n_kept``.
    """
    run = store_only(scenario)
    latencies = _latencies_h(latency_h, n_points)
    frames = []
    best_min = float(best_interval_min(run))
    for interval_min in sorted({best_min, max(best_min, float(thinned_min))}):
        between_h = interval_min / 60 + run.stall_h
        for distribution in get_args(Latency):
            accepted = risk if distribution == "exponential" else 0.0
            kept = checkpoints_to_keep(latencies, between_h, accepted, distribution)
            columns = {"latency_h": latencies, "interval_min": interval_min, "distribution": distribution}
            frames.append(pd.DataFrame({**columns, "n_kept": kept}))
    return pd.concat(frames, ignore_index=True)


def _latencies_h(given_h: float, n_points: int) -> np.ndarray:
    return np.unique(np.append(np.geomspace(*_LATENCIES_H, n_points), given_h))


def _with_silent(run: Scenario, share: float, latency_h: float) -> Scenario:
    """The run with one kind of silent failure, all else the mean of its modes."""
    means = {
        "detection_min": run.detection_h * 60,
        "queue_min": run.queue_h * 60,
        "restart_min": max(0.0, run.recovery_h - run.detection_h - run.queue_h - run.load_h) * 60,
    }
    rate_h = run.node_rate_per_h * run.n_nodes
    factor = run.job_rate_per_h / rate_h if rate_h > 0 else 1.0
    shares = {_SILENT: share, "Noticed": 1 - share}
    modes = [
        {"name": name, "share": of, "latency_h": latency_h if name == _SILENT else None, "factor": factor, **means}
        for name, of in shares.items()
        if of > 0
    ]
    return run.override({"failures.modes": modes})


def _or_nan(formula: Any, run: Scenario) -> float:
    try:
        return float(formula(run).ettr)
    except OutsideValidity:
        return float("nan")
