"""Tables on scale: ETTR by size, requirements of a target, and published runs against the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.budget.intervals import at_best, best_interval_min
from ettr.core.errors import UnknownName
from ettr.core.units import MIN_PER_H, S_PER_H
from ettr.failures import gamma_interval
from ettr.logs import training_logs
from ettr.logs.training_logs import HARDWARE, RealisedETTR, lost_by_kind, realised_ettr
from ettr.plan import Plan, Requirement
from ettr.plan.fields import field_of
from ettr.plan.needs import whole_nodes
from ettr.plan.solving import last_reaching
from ettr.ranges import across_clusters, assumptions
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE
from ettr_book.chapters.common.steady_state import mtbf_h, part_shares, quietly, sizes_of_curve, without_start

_POINTS = 120
_LEVEL = 0.95
_NO_RANGE = (math.nan, math.nan)


def ettr_of_sizes(run: Scenario, sizes: Iterable[float]) -> pd.DataFrame:
    """Return the ETTR at the best interval of several sizes, with plausible ranges.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], in order and including the run's own, ``ettr``, ``low``, ``high`` at this node failure rate
        (missing if no range has sources), ``clusters_low``, ``clusters_high`` across published clusters (missing if the
        rate is the run's own), ``published`` (published result of another run of similar size, or empty). Sizes
        without an answer are left out.
    """
    rows = []
    for size in sorted({run.cluster.n_gpus, *(run.cluster.nearest_n_gpus(size) for size in sizes)}):
        grown = run.override({N_GPUS: size})
        assumed, others = assumptions(grown), across_clusters(grown)
        if assumed.ettr > 0:
            (low, high), (clusters_low, clusters_high) = (
                ranges.range if ranges and ranges.range else _NO_RANGE for ranges in (assumed, others)
            )
            near = evidence.published_near(size) if size != run.cluster.n_gpus else None
            ends = {"low": low, "high": high, "clusters_low": clusters_low, "clusters_high": clusters_high}
            rows.append({"n_gpus": size, "ettr": assumed.ettr, **ends, "published": near.words if near else ""})
    return pd.DataFrame(rows, columns=["n_gpus", "ettr", "low", "high", "clusters_low", "clusters_high", "published"])


def reach_gpus(run: Scenario, target: float) -> dict[str, float]:
    """Return the largest size that reaches a target at the best interval, also at the 95% CI of the failure rate.

    Returns
    -------
    dict
        ``reach``, ``low`` and ``high`` in full nodes [GPUs]; NaN if no size reaches the target, infinite if every size
        does. The ends are NaN without an uncertainty of the rate.
    """
    posterior, rates = run.failures.posterior, [run.failure_rate]
    if posterior is not None and run.failure_rate > 0:
        ends = gamma_interval(posterior.shape, posterior.node_days, _LEVEL)
        rates += [ends.high, ends.low]
    solution = last_reaching(run, field_of(run, N_GPUS), target, {RATE: np.array(rates)}).value
    sizes = [whole_nodes(run, size) if math.isfinite(size) else size for size in solution.tolist()]
    return {"low": math.nan, "high": math.nan} | dict(zip(("reach", "low", "high"), sizes, strict=False))


def parts_by_size(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Return the exact shares of wall-clock time over job size, at the best interval of each size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``part``, ``share`` in [0, 1]; parts that are zero everywhere are left out.
    """
    steady = without_start(scenario)
    n_gpus = sizes_of_curve(steady, n_points)
    at = {N_GPUS: n_gpus, INTERVAL: best_interval_min(steady, {N_GPUS: n_gpus})}
    return part_shares(quietly(budget.exact, steady, at), steady, n_gpus=n_gpus)


def losses_near(parts: pd.DataFrame, n_gpus: float) -> pd.Series:
    """Return the lost shares at the curve's size nearest to a given size, largest first, by part."""
    sizes = parts["n_gpus"].unique()
    nearest = sizes[np.abs(np.log(sizes / n_gpus)).argmin()]
    lost = parts[(parts["n_gpus"] == nearest) & (parts["part"] != "productive")]
    return lost.set_index("part")["share"].sort_values(ascending=False)


def by_hand(plan: Plan, n_gpus: int) -> dict[str, float]:
    """Return the ETTR of another size from the MTBF, to first order.

    Returns
    -------
    dict
        ``n_gpus`` [GPUs], ``mttf_min`` at this size in exposed time and ``mtbf_h`` on the wall clock [h],
        ``stall_min``, ``recovery_min`` (detection, queue and restart) [min], ``traded`` (lost to stalls and rework),
        ``recovering`` and ``ettr``, as shares, and ``exact``.
    """
    run = plan.scenario
    mttf_min = plan.job_mttf_h * MIN_PER_H * run.cluster.n_gpus / n_gpus
    larger = run.override({N_GPUS: run.cluster.nearest_n_gpus(n_gpus)})
    stall_min, recovery_min = larger.stall_h * MIN_PER_H, larger.recovery_h * MIN_PER_H
    traded, recovering = math.sqrt(2 * stall_min / mttf_min), recovery_min / mttf_min
    return {
        "n_gpus": n_gpus,
        "mttf_min": mttf_min,
        "mtbf_h": mtbf_h(run, n_gpus),
        "stall_min": stall_min,
        "recovery_min": recovery_min,
        "traded": traded,
        "recovering": recovering,
        "ettr": 1 - traded - recovering,
        "exact": float(at_best(without_start(run), {N_GPUS: n_gpus}).ettr),
    }


def needs_alone(needs: Iterable[Requirement]) -> pd.DataFrame:
    """Return the ETTR with each field at its ideal, one at a time.

    Returns
    -------
    DataFrame
        ``field``, ``name``, ``unit``, ``given`` (current value), ``value`` (needed for the target; NaN if none is
        enough), ``ettr`` with the field at its ideal; fields already at their ideal are left out.
    """
    rows = [
        {
            "field": need.field,
            "name": amount_of(need.field, Scenario).removeprefix("the "),
            "unit": need.unit,
            "given": need.given,
            "value": math.nan if need.value is None else need.value,
            "ettr": need.best_ettr,
        }
        for need in needs
        if need.given > 0 or need.sense != "at most"
    ]
    columns = ["field", "name", "unit", "given", "value", "ettr"]
    return pd.DataFrame(rows, columns=columns).sort_values("ettr", ascending=False, ignore_index=True)


MIXED = training_logs.MIXED
CHECKPOINT, EVALUATION, UNNAMED = "checkpoint", "evaluation", "not named"
"""Losses of several kinds, losses with a reason in the diary, and losses without one."""
MODELLED, NOT_MODELLED, NOT_STATED = "modelled", "not modelled", "not stated"
"""Classes of reasons: covered by a model of failures, checkpoints and restarts or not."""

DIARY_SOURCES = ("bigscience2022chronicles", "zeng2022glm")
"""Keys of the diaries."""
REASONS = {HARDWARE: MODELLED, CHECKPOINT: MODELLED, MIXED: NOT_STATED, UNNAMED: NOT_STATED}


@dataclass(frozen=True)
class PublishedRun:
    """A run whose diary is public.

    Attributes
    ----------
    realised : RealisedETTR
        Measured ETTR of the run.
    losses : DataFrame
        Lost hours, largest first: ``reason``, ``lost_h`` [h], ``share`` of all losses, ``n`` (stops, checkpoints or
        evaluations; missing without a count) and ``term``: ``modelled`` (by a model of failures, checkpoints and
        restarts), ``not modelled``, or ``not stated`` (several kinds, or without a reason). They add up to
        ``realised.lost_h``, to the minute.
    scenario : Scenario
        The preset of the same name.
    """

    realised: RealisedETTR
    losses: pd.DataFrame
    scenario: Scenario


def published_run_names() -> tuple[str, ...]:
    """Return the names of the runs whose diaries are in ``data/``."""
    return tuple(_RUNS)


def published_run(name: str) -> PublishedRun:
    """Return a run with a public diary, with its measured times.

    Parameters
    ----------
    name : str
        ``"bloom-176b"`` or ``"glm-130b"``.

    Returns
    -------
    PublishedRun
        The realised ETTR, its losses, and the preset of the same name.

    Raises
    ------
    UnknownName
        If there is no such run.

    Examples
    --------
    >>> run = published_run("glm-130b")
    >>> round(run.realised.ettr, 3), run.realised.n_steps
    (0.846, 40800)
    """
    if name not in _RUNS:
        raise UnknownName("published run", name, _RUNS)
    return _RUNS[name]()


GLM130B_FIRST_STEP = 7300
"""Step of GLM-130B on 11 May 2022; before, the batch size grew and a step took less time."""


def _glm130b() -> PublishedRun:
    events = evidence.table("glm130b_events")
    events = events[np.maximum.accumulate(events["restart_step"].fillna(0)) >= GLM130B_FIRST_STEP]
    step_s = evidence.figure("glm130b_step_s").value
    progress = events.dropna(subset="restart_step").rename(columns={"restart_step": "step"})
    losses = lost_by_kind(events, step_s).rename(columns={"group": "reason", "n_stops": "n"})
    return _published("glm-130b", progress, step_s, 0.0, losses[["reason", "lost_h", "n"]])


def _bloom176b() -> PublishedRun:
    progress = evidence.table("bloom176b_progress").rename(columns={"date": "time", "iteration": "step"})
    step_s = evidence.figure("bloom_iteration_s").value
    steps = int(progress["step"].iloc[-1] - progress["step"].iloc[0])
    reported = evidence.table("bloom176b_losses").groupby("kind")["lost_h"].agg(["sum", "count"])
    rows = [(kind, row["sum"], int(row["count"])) for kind, row in reported.iterrows()]
    for reason, every, length_h in (
        (CHECKPOINT, "bloom_checkpoint_iterations", evidence.figure("bloom_checkpoint_s").value / S_PER_H),
        (EVALUATION, "bloom_evaluation_iterations", evidence.figure("bloom_evaluation_min").value / MIN_PER_H),
    ):
        n = int(steps // evidence.figure(every).value)
        rows.append((reason, n * length_h, n))
    losses = pd.DataFrame(rows, columns=["reason", "lost_h", "n"])
    return _published("bloom-176b", progress, step_s, 24.0, losses)


_RUNS: dict[str, Callable[[], PublishedRun]] = {"bloom-176b": _bloom176b, "glm-130b": _glm130b}


def _published(
    name: str, progress: pd.DataFrame, step_s: float, resolution_h: float, named: pd.DataFrame
) -> PublishedRun:
    """Return a published run with complete losses: unexplained ones get their own row."""
    realised = realised_ettr(progress["time"], progress["step"], step_s, resolution_h)
    rest_h = realised.lost_h - named["lost_h"].sum()
    losses = named.astype({"n": "Int64"})
    if rest_h > resolution_h / 100:
        rest = pd.DataFrame({"reason": [UNNAMED], "lost_h": [rest_h], "n": pd.array([pd.NA], dtype="Int64")})
        losses = pd.concat([losses, rest], ignore_index=True)
    losses = losses.sort_values("lost_h", ascending=False, ignore_index=True)
    losses.insert(2, "share", losses["lost_h"] / losses["lost_h"].sum())
    losses["term"] = losses["reason"].map(REASONS).fillna(NOT_MODELLED)
    return PublishedRun(realised, losses, Scenario.load(name))


def against_model() -> pd.DataFrame:
    """Return the measured ETTR of published runs, and the ETTR with hardware failures and checkpoints alone.

    Returns
    -------
    DataFrame
        ``name``, ``run`` (title), ``realised``, ``low``, ``high`` (from the resolution of the diary's time stamps),
        ``modelled`` (:func:`ettr.budget.exact` of the preset of the same name), ``difference`` (modelled minus
        realised), ``lost_h`` and ``modelled_lost_h`` (modelled loss over the same wall-clock time) [h].

    Examples
    --------
    >>> against_model().set_index("name")["realised"].round(3).to_dict()
    {'bloom-176b': 0.926, 'glm-130b': 0.846}
    """
    rows = []
    for name in published_run_names():
        run = published_run(name)
        done, modelled = run.realised, float(budget.exact(run.scenario).ettr)
        rows.append(
            {
                "name": name,
                "run": run.scenario.title,
                "realised": done.ettr,
                "low": done.low,
                "high": done.high,
                "modelled": modelled,
                "difference": modelled - done.ettr,
                "lost_h": done.lost_h,
                "modelled_lost_h": (1 - modelled) * done.wall_h,
            }
        )
    return pd.DataFrame(rows)
