"""The answer for a cluster, from its accounting or from a mix of job classes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget
from ettr.budget.intervals import flat_band
from ettr.cluster.accounting import Accounting, read_jobs
from ettr.cluster.answer import DIFFERENT, ClusterPlan
from ettr.cluster.classes import JobClass, in_order, is_class_table, preset, presets, read_classes, run_of
from ettr.cluster.measured import LEVEL, PARTS, measured
from ettr.cluster.policy import policy_of
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.units import MIN_PER_H
from ettr.evidence import figure
from ettr.failures.groups import cohorts_differ
from ettr.failures.rates import FailureRate, failure_rate, gamma_interval
from ettr.files.opening import STDIN
from ettr.plan.report import BOUND
from ettr.ranges import median_rate
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, PER_NODE, RATE
from ettr.scenario.sections import OF_TOKENS

HOURLY_MIN = 60.0
"""Checkpoint interval of jobs whose interval is not given (assumed; that of the RSC study). [min]"""


def read(
    jobs: str | Path, gpus_per_node: int = 8, columns: Mapping[str, str] | None = None, **options: Any
) -> Accounting | tuple[JobClass, ...]:
    """Return the jobs in a file, or of a published mix.

    Parameters
    ----------
    jobs : str or path
        Accounting, a table of job classes, or the name of a published mix.
    gpus_per_node, columns, **options
        As for :func:`read_jobs`, which reads accounting.

    Raises
    ------
    InputError
        Neither a file nor a mix, or a file that cannot be read.

    Examples
    --------
    >>> len(read("rsc-1"))
    9
    """
    if str(jobs) in presets():
        return preset(str(jobs))
    if str(jobs) != STDIN and not Path(jobs).exists():
        raise InputError(f"cannot read {jobs}: no such file, and no published mix ({', '.join(presets())})")
    if str(jobs) != STDIN and not options.get("header") and is_class_table(jobs, columns or {}):
        return read_classes(jobs, columns)
    return read_jobs(jobs, gpus_per_node, columns=columns, **options)


def make(
    jobs: Accounting | Sequence[JobClass] | str | Path,
    common: Scenario | None = None,
    n_gpus: int | None = None,
    name: str = "the mix",
    changes: Mapping[str, Any] | None = None,
) -> ClusterPlan:
    """Return where the GPU-hours of a cluster go by job size, its failure rates, and what to do about them.

    Parameters
    ----------
    jobs : Accounting, sequence of JobClass, or str
        Accounting of the cluster, classes of jobs, the path of one of them, or a published mix, e.g. ``"rsc-1"``.
    common : Scenario, optional
        What all jobs have in common: checkpoint interval, stall, recovery, prices, and for classes the failure rate. By
        default the preset of the mix, or the defaults of a plan with a checkpoint every hour.
    n_gpus : int, optional
        GPUs of the cluster; by default the most that were in use at a time, or those of ``common``.
    name : str
        Name of the classes, for messages.
    changes : mapping, optional
        Fields of ``common`` to change, as for :meth:`ettr.Scenario.override`.

    Returns
    -------
    ClusterPlan

    Raises
    ------
    InputError
        An unknown mix, a cluster smaller than its largest job or than the GPUs in use, or classes without a size of the
        cluster.

    Notes
    -----
    Each class is one run of its size in the long run, by :func:`ettr.budget.exact`, without an end. Classes of a mix
    pre-empt others of lower priority when they start again: for each failure, as many GPUs relative to those of the job
    as one published job did (figures ``rsc_preempted_n_gpus`` and ``rsc_requeues``), each of which loses half an
    interval. Mitigations are chosen by :func:`ettr.recommendation.recommend`, with the savings of the
    classes added by their shares of the GPU-hours.

    Examples
    --------
    >>> answer = make([JobClass(8, 0.4), JobClass(1024, 0.6)], n_gpus=2048)
    >>> [rule.above_gpus for rule in answer.policy], round(answer.totals["productive"], 2)
    ([None], 0.99)
    """
    if isinstance(jobs, (str, Path)):
        name, jobs = str(jobs), read(jobs)
    if name in presets():
        common, n_gpus = common or Scenario.load(name), n_gpus or Scenario.load(name).cluster.n_gpus
    if isinstance(jobs, Accounting):
        return _of_accounting(jobs, common, n_gpus, changes or {})
    classes = in_order(jobs, name)
    if n_gpus is None and common is None:
        raise InputError("a table of job classes needs the GPUs of the cluster (n_gpus, or --gpus)")
    common = _common(common, n_gpus, classes[-1].largest, changes or {})
    by_size = pd.DataFrame([_expected(of_size, common, common.failure_rate) for of_size in classes])
    by_size, second_order = _with_preemption(by_size, classes)
    posterior = common.failures.posterior
    rate = FailureRate(common.failure_rate, math.nan, math.nan, LEVEL)
    if posterior is not None:
        rate = gamma_interval(posterior.shape, posterior.node_days, LEVEL)
    return ClusterPlan(
        name, common, classes, by_size, rate, None, second_order, policy_of(classes, by_size, common.interval_min)
    )


def _of_accounting(
    accounting: Accounting, common: Scenario | None, n_gpus: int | None, changes: Mapping[str, Any]
) -> ClusterPlan:
    """Return the answer from accounting: the measured GPU-hours, and the run of each size at the counted rate."""
    if n_gpus is not None and accounting.most_gpus > n_gpus:
        raise InputError(
            f"the jobs of {accounting.source} use up to {accounting.most_gpus:,} GPUs at a time, more than the "
            f"{n_gpus:,} GPUs of the cluster: jobs overlap that cannot, or the cluster is larger"
        )
    if ignored := [path for path in changes if path.startswith("failures.")]:
        raise InputError(f"{ignored[0]} cannot be set: failures are counted in {accounting.source}")
    per_node = accounting.gpus_per_node
    whole = math.ceil((n_gpus or accounting.most_gpus) / per_node) * per_node
    common = _common(common, whole, whole, changes, per_node)
    spent = measured(accounting, common, common.interval_min)
    table = spent.by_size
    n_failures, node_days = table["n_failures"].to_numpy(), table["node_days"].to_numpy()
    rate = failure_rate(n_failures.sum(), node_days.sum(), LEVEL)
    named = ["n_gpus", "share", "job_share", "low_gpus", "high_gpus", "gpus_per_node"]
    classes = tuple(JobClass(**row) for row in table[named].to_dict("records"))
    comparison = cohorts_differ(n_failures, node_days, [of_size.label for of_size in classes])
    differ = comparison is not None and comparison.p < DIFFERENT
    most = np.array([gamma_interval(0.5, days, 2 * BOUND - 1).high for days in (node_days.sum(), *node_days)])
    overall = float(rate.per_1000_node_days or most[0])
    common = common.override({RATE: overall})  # the counted rate, for the plans of other sizes
    rates = (
        np.where(table["rate"] > 0, table["rate"], np.minimum(most[1:], overall)) if differ else [overall] * len(table)
    )
    kept = table.drop(columns=named).to_dict("records")
    rows = [_expected(of_size, common, rate) | row for of_size, rate, row in zip(classes, rates, kept, strict=True)]
    by_size, name = pd.DataFrame(rows), accounting.source
    policy = policy_of(classes, by_size, common.interval_min)
    return ClusterPlan(name, common, classes, by_size, rate, comparison, spent.second_order, policy, accounting)


def usual(n_gpus: int, gpus_per_node: int = 8) -> Scenario:
    """Return what jobs have in common where nothing is known: the defaults of a plan, with a checkpoint every hour.

    The failure rate is the median of published clusters.

    Examples
    --------
    >>> usual(4096).checkpoint.interval_min
    60.0
    """
    values = {
        "name": "cluster",
        "cluster": {"n_gpus": n_gpus, "gpus_per_node": gpus_per_node},
        "failures": {"rate_per_1000_node_days": median_rate(gpus_per_node)[0]},
        "checkpoint": {"interval_min": HOURLY_MIN},
    }
    return Scenario.of(values)


def _common(
    common: Scenario | None, n_gpus: int | None, largest: int, changes: Mapping[str, Any], per_node: int | None = None
) -> Scenario:
    """Return what all jobs have in common, on the GPUs of the cluster, without an end."""
    common = (common or usual(n_gpus or largest, per_node or 8)).override(changes)
    values: dict[str, Any] = {"job.productive_h": None, "job.tokens": None, "rack": None}
    values |= {section: None for section in OF_TOKENS if getattr(common, section, None) is not None}
    values |= {name: n for name, n in ((N_GPUS, n_gpus), (PER_NODE, per_node)) if n is not None}
    if isinstance(common.checkpoint.interval_min, str):
        values[INTERVAL] = HOURLY_MIN
    common = budget.simplified(common.override(values)).scenario
    if common.cluster.n_gpus < largest:
        raise InputError(
            f"the cluster must have at least {largest:,} GPUs, those of its largest jobs, got {common.cluster.n_gpus:,}"
        )
    return common


def _expected(jobs: JobClass, common: Scenario, rate: float) -> dict[str, Any]:
    """Return the row of a class: the long-run shares of its GPU-hours, its MTTF, and its best interval."""
    run = run_of(jobs, common, rate)
    row = {
        "size": jobs.label,
        "n_gpus": jobs.n_gpus,
        "share": jobs.share,
        "job_share": math.nan if jobs.job_share is None else jobs.job_share,
        "planned_rate": rate,
        "mttf_h": run.job_mttf_h,
        "interval_min": run.interval_min,
        "ettr": 0.0,
    }
    row |= dict.fromkeys(("failures_per_gpu_h", "best_min", "low_min", "high_min"), math.nan) | {"ettr_at_best": 0.0}
    row |= dict.fromkeys(PARTS, 0.0) | {"productive": 0.0, "lost_work": 1.0, "waiting": 0.0}
    with contextlib.suppress(OutsideValidity):  # it practically never ends, whatever its interval
        band = flat_band(run)
        best = budget.exact(run.override({INTERVAL: float(band.interval_min)}))
        row |= {"best_min": float(band.interval_min), "low_min": float(band.low_min), "high_min": float(band.high_min)}
        row["ettr_at_best"] = float(best.ettr)
        hours = budget.exact(run)
        held_h = float(hours.total_h - hours.queue_h)
        row |= {
            "productive": hours.productive_h / held_h,
            "lost_work": (hours.rework_h + hours.detection_h) / held_h,
            "restart": hours.restart_h / held_h,
            "checkpoint": (hours.checkpoint_h + hours.slowdown_h) / held_h,
            "waiting": hours.queue_h / held_h,
            "failures_per_gpu_h": hours.n_failures / held_h / jobs.n_gpus,
            "ettr": float(hours.ettr),
        }
    return row


def _with_preemption(by_size: pd.DataFrame, classes: Sequence[JobClass]) -> tuple[pd.DataFrame, float]:
    """Return the classes of a mix with their losses by pre-emption, and its share of all losses by failures."""
    names = ("rsc_preempted_n_gpus", "rsc_requeues", "rsc_requeued_n_gpus")
    preempted, requeues, requeued = (figure(name).value for name in names)
    shares, parts = by_size["share"].to_numpy(), by_size.copy()
    loss_h = by_size["interval_min"].to_numpy() / MIN_PER_H / 2
    failing_gpus = shares * by_size["failures_per_gpu_h"].fillna(0.0).to_numpy() * by_size["n_gpus"].to_numpy()
    priority = np.array([of_size.priority for of_size in classes])
    for of_failing, gpus_per_h in zip(priority, failing_gpus, strict=True):
        below = shares * (priority < of_failing)
        if below.any():  # victims in proportion to their GPU-hours
            taken = gpus_per_h * preempted / requeues / requeued
            parts["preemption"] += np.where(below > 0, taken * loss_h / below.sum(), 0.0)
    parts["productive"] -= parts["preemption"]
    second = float(shares @ parts["preemption"])
    first = float(shares @ (parts["lost_work"] + parts["restart"]))
    return parts, second / (first + second) if second else math.nan
