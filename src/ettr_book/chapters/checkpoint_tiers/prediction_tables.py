"""Failures that are known of before they strike, and failures that are found long after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.budget.intervals import best_interval_min
from ettr.checkpoint import checkpoints_to_keep, heed_threshold_h, recall_of
from ettr.core.errors import OutsideValidity
from ettr.core.units import H_PER_DAY, S_PER_H
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, PREDICTION
from ettr_book.chapters.checkpoint_tiers.tables import store_only, with_free_store
from ettr_book.chapters.common.steady_state import answered, ettr_at

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
        ``recall``, ``precision``, ``interval_min`` (the best) [min], ``ettr``, exact; points without an answer are left
        out.

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
        columns = {"recall": np.append(0.0, recall), "precision": precision}
        ettr = np.append(ettr_at(plain, without), ettr_at(run, at))
        frames.append(
            pd.DataFrame({**columns, "interval_min": np.append(without[INTERVAL], at[INTERVAL]), "ettr": ettr})
        )
    why = f"no point of this curve of {scenario.name} has an answer: the run never ends"
    return answered(pd.concat(frames, ignore_index=True), why)


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


def checkpoints_to_hold(scenario: Scenario, latency_h: float) -> int:
    """Old checkpoints to keep so that one is clean when a corruption is found so long after it struck. [count]

    Examples
    --------
    >>> checkpoints_to_hold(Scenario.load("llama3-405b"), 1.0)
    9
    """
    run = store_only(scenario)
    between_h = float(best_interval_min(run)) / 60 + run.stall_h
    return int(checkpoints_to_keep(latency_h, between_h))


def _latencies_h(given_h: float, n_points: int) -> np.ndarray:
    return np.unique(np.append(np.geomspace(*_LATENCIES_H, n_points), [given_h, H_PER_DAY]))


def _with_silent(run: Scenario, share: float, latency_h: float) -> Scenario:
    """The run with one kind of silent failure, all else the mean of its modes."""
    means = {
        "detection_min": run.detection_h * 60,
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
