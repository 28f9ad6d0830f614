"""Where the GPU-hours of a cluster went, by job size, from its accounting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.cluster.accounting import STOPPED, Accounting
from ettr.core.units import H_PER_DAY, MIN_PER_H, S_PER_H
from ettr.failures.rates import rates_of
from ettr.logs.readers.slurm import FAILURES
from ettr.scenario import Scenario

PARTS = ("lost_work", "restart", "checkpoint", "preemption")
"""Parts of the GPU-hours that are not productive."""
LEVEL = 0.95
"""Coverage of the intervals."""
ATTRIBUTED_MIN = 10.0
"""A run that is pre-empted up to this long before a failed job starts again made room for it (assumed). [min]"""
_SAME_MIN = 1.0


@dataclass(frozen=True)
class HoursBySize:
    """The GPU-hours of a cluster by job size.

    Attributes
    ----------
    by_size : DataFrame
        A row per size, smallest first: ``n_gpus`` (mean by GPU-hours), ``low_gpus`` and ``high_gpus`` (ends of the
        size), ``share`` and ``job_share`` (of GPU-hours and jobs), ``gpu_h``, ``n_failures``, ``node_days``, ``rate``,
        ``rate_low`` and ``rate_high`` [1 / (1000 node-days)]; ``productive``, the ``PARTS``, and ``waiting`` (of failed
        jobs for nodes) relative to the GPU-hours, each with ``_low`` and ``_high``.
    second_order : float
        Share of pre-emption for failed jobs in all GPU-hours lost to failures; NaN without failures.
    """

    by_size: pd.DataFrame
    second_order: float


def size_classes(n_gpus: Any, gpus_per_node: int) -> np.ndarray:
    """Return the class of each size: 0 below a node, 1 for a node, 2 for 2 nodes, 3 for 3 to 4 nodes, and so on.

    Examples
    --------
    >>> size_classes([1, 7, 8, 16, 17, 32, 33], 8).tolist()
    [0, 0, 1, 2, 3, 3, 4]
    """
    nodes = np.asarray(n_gpus) / gpus_per_node
    return np.where(nodes < 1, 0, 1 + np.ceil(np.log2(np.maximum(nodes, 1)))).astype(np.int64)


def measured(accounting: Accounting, run: Scenario, interval_min: float) -> HoursBySize:
    r"""Return where the GPU-hours went by job size, and the failure rate of each size.

    Parameters
    ----------
    accounting : Accounting
        Runs of jobs.
    run : Scenario
        Checkpoint stall, detection and restart time of all jobs.
    interval_min : float
        Checkpoint interval of all jobs. [min]

    Returns
    -------
    HoursBySize
        Shares with 95% intervals of their long-run means.

    Notes
    -----
    A run that follows one that failed or was pre-empted begins with a restart, and a failed one ends with the detection
    time. A failed run loses half an interval of work, or all of it before its first checkpoint, times its GPUs; a
    pre-empted one the smaller of its run time and half the interval, the estimate of Kokolis et al. (2025). A run that
    is pre-empted in the ten minutes before a failed job that is no smaller starts again is attributed to that failure.

    Failures are a Poisson process, so a share is a weighted sum of Poisson counts, with the interval of Fay and Feuer
    (1997, Statistics in Medicine 16:791): gamma quantiles of shape :math:`S^2/Q` and scale :math:`Q/S` for the sum S
    and the sum of squares Q of the weights, with the largest weight added for the upper end. What a failure costs its
    job and the jobs that are pre-empted for it is one weight.

    Examples
    --------
    >>> from ettr import cluster
    >>> frame = pd.DataFrame({"job": [1], "gpus": [8], "start": [0.0], "end": [10.0], "state": ["NODE_FAIL"]})
    >>> run = cluster.usual(8).override({"recovery.detection_min": 0})
    >>> hours = measured(cluster.from_frame(frame), run, interval_min=60)
    >>> f"{hours.by_size['lost_work'].iloc[0]:.2f}"  # half an hour of ten
    '0.05'
    """
    runs, hours_per_event = _with_losses(accounting, run, interval_min)
    codes = size_classes(runs["n_gpus"], accounting.gpus_per_node)
    present, code = np.unique(codes, return_inverse=True)
    n = len(present)

    def total(values: Any) -> np.ndarray:
        return np.bincount(code, weights=np.asarray(values, dtype=float), minlength=n)

    gpu_h, n_failures = total(runs["gpu_h"]), total(runs["failed"])
    node_days = total(runs["n_nodes"] * runs["hours"]) / H_PER_DAY
    n_gpus, n_jobs = np.round(total(runs["n_gpus"] * runs["gpu_h"]) / gpu_h), total(~runs["job"].duplicated())
    columns = {
        "n_gpus": n_gpus.astype(np.int64),
        "share": gpu_h / gpu_h.sum(),
        "job_share": n_jobs / n_jobs.sum(),
        "low_gpus": runs.groupby(code)["n_gpus"].min(),
        "high_gpus": runs.groupby(code)["n_gpus"].max(),
        "gpu_h": gpu_h,
        "n_failures": n_failures.astype(np.int64),
        "node_days": node_days,
        "gpus_per_node": np.maximum(1, np.round(gpu_h / (H_PER_DAY * node_days))).astype(np.int64),
    }
    table = pd.DataFrame(columns)
    rates = rates_of(n_failures, node_days, LEVEL)
    table = table.assign(rate=rates["rate"], rate_low=rates["low"], rate_high=rates["high"])
    typical = n_gpus * hours_per_event
    random = ("lost_work", "restart", "preemption")
    for part in (*random, "waiting"):
        low, high = _weighted_interval(runs[part], runs["event"], code, n, typical)
        table = table.assign(
            **{part: total(runs[part]) / gpu_h, f"{part}_low": low / gpu_h, f"{part}_high": high / gpu_h}
        )
    stalls = total(runs["checkpoint"]) / gpu_h
    lost = runs[list(random)].sum(axis=1)
    low, high = (end / gpu_h + stalls for end in _weighted_interval(lost, runs["event"], code, n, typical))
    table = table.assign(checkpoint=stalls, checkpoint_low=stalls, checkpoint_high=stalls)
    table["productive"] = 1 - total(lost) / gpu_h - stalls
    table["productive_low"], table["productive_high"] = 1 - np.minimum(high, 1.0), 1 - low
    first = float(runs["lost_work"].sum() + runs.loc[runs["after_failure"], "restart"].sum())
    second = float(runs.loc[runs["for_failure"], "preemption"].sum())
    share = second / (first + second) if first + second > 0 else float("nan")
    return HoursBySize(table, share)


def _with_losses(accounting: Accounting, run: Scenario, interval_min: float) -> tuple[pd.DataFrame, float]:
    """Return the runs with the GPU-hours of each part, the event that caused them, and the hours of one event."""
    half_h, stall_h = interval_min / MIN_PER_H / 2, run.checkpoint.stall_s / S_PER_H
    detection_h, restart_h = run.recovery.detection_min / MIN_PER_H, run.recovery.restart_min / MIN_PER_H
    runs = accounting.runs.assign(hours=lambda frame: frame["end_h"] - frame["start_h"])
    failed, stopped = runs["state"].isin(FAILURES).to_numpy(), runs["state"].isin(STOPPED).to_numpy()
    job, gpus = runs["job"].to_numpy(), runs["n_gpus"].to_numpy(dtype=float)
    follows = np.append(False, job[1:] == job[:-1])
    before = np.where(follows, np.arange(len(runs)) - 1, 0)  # the run of the same job before
    after_failure = follows & failed[before]
    interrupted = follows & (failed | stopped)[before]
    start_h = np.where(interrupted, np.minimum(runs["hours"], restart_h), 0.0)
    left_h = runs["hours"].to_numpy() - start_h
    unnoticed_h = np.where(failed, np.minimum(left_h, detection_h), 0.0)
    left_h = left_h - unnoticed_h
    lost_h = np.where(left_h < 2 * half_h, left_h, half_h)  # all of it before the first checkpoint
    gap = np.where(after_failure, runs["start_h"].to_numpy() - runs["end_h"].to_numpy()[before], 0.0)
    event, for_failure = _events(runs, failed, stopped, after_failure, before)
    n_checkpoints = np.floor(left_h / (2 * half_h + stall_h))
    runs = runs.assign(
        gpu_h=gpus * runs["hours"],
        failed=failed,
        after_failure=after_failure,
        for_failure=for_failure,
        lost_work=np.where(failed, gpus * (lost_h + unnoticed_h), 0.0),
        preemption=np.where(stopped, gpus * np.minimum(left_h, half_h), 0.0),
        restart=gpus * start_h,
        checkpoint=gpus * np.minimum(n_checkpoints * stall_h, np.maximum(left_h - half_h, 0.0)),
        waiting=gpus * np.maximum(gap, 0.0),
        # a restart and a wait are due to the event that ended the run before
        event=np.where(failed | stopped, event, np.where(interrupted, event[before], event)),
    )
    return runs, half_h + detection_h + restart_h


def _events(
    runs: pd.DataFrame, failed: np.ndarray, stopped: np.ndarray, after_failure: np.ndarray, before: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of the event that ended each run, and whether it was pre-empted for a failed job."""
    event, for_failure = np.arange(len(runs)), np.zeros(len(runs), dtype=bool)
    again = np.flatnonzero(after_failure)
    if not again.size or not stopped.any():
        return event, for_failure
    starts, gpus, job = (runs[name].to_numpy() for name in ("start_h", "n_gpus", "job"))
    again = again[np.argsort(starts[again], kind="stable")]
    victims = np.flatnonzero(stopped)
    ends = runs["end_h"].to_numpy()[victims]
    first = np.searchsorted(starts[again], ends - _SAME_MIN / MIN_PER_H)
    last = np.searchsorted(starts[again], ends + ATTRIBUTED_MIN / MIN_PER_H, side="right")
    for i in np.flatnonzero(first < last):
        near, victim = again[first[i] : last[i]], victims[i]
        causes = near[(gpus[near] >= gpus[victim]) & (job[near] != job[victim])]
        if causes.size:
            event[victim], for_failure[victim] = event[before[causes[0]]], True
    return event, for_failure


def _weighted_interval(
    weights: Any, event: Any, code: np.ndarray, n: int, typical: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the interval of Fay and Feuer for the sum of weights of each class; ``typical`` is one weight."""
    frame = pd.DataFrame({"code": code, "event": np.asarray(event), "weight": np.asarray(weights, dtype=float)})
    by_event = frame[frame["weight"] > 0].groupby(["code", "event"])["weight"].sum()
    of_class = by_event.groupby("code").agg(["sum", "max", lambda values: (values**2).sum()]).reindex(range(n))
    total, largest, squares = of_class.fillna(0.0).to_numpy().T
    largest = np.where(largest > 0, largest, typical)
    tail = (1 - LEVEL) / 2
    some = total > 0
    shape = np.where(some, total**2 / np.where(some, squares, 1.0), 1.0)
    low = np.where(some, total / shape * scipy.special.gammaincinv(shape, tail), 0.0)
    more, more_squares = total + largest, squares + largest**2
    shape = more**2 / more_squares
    return low, more / shape * scipy.special.gammaincinv(shape, 1 - tail)
