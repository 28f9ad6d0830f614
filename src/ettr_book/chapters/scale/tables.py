"""Tables on scale: the ETTR of each size, what a target needs, and published runs beside the model."""

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
    """ETTR at the best interval of several sizes, and its plausible ranges.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], in order, the run's own among them, ``ettr``, ``low``, ``high`` at this node failure rate
        (missing where no range has sources), ``clusters_low``, ``clusters_high`` across published clusters (missing
        where the rate is the run's own), ``published`` (what was published for another run of similar size; else
        empty). Sizes without an answer are left out.
    """
    rows = []
    for size in sorted({run.cluster.n_gpus, *(run.cluster.nearest_n_gpus(size) for size in sizes)}):
        grown = run.override({N_GPUS: size})
        own, others = assumptions(grown), across_clusters(grown)
        if own.ettr > 0:
            (low, high), (least, most) = (one.range if one and one.range else _NO_RANGE for one in (own, others))
            near = evidence.published_near(size) if size != run.cluster.n_gpus else None
            ends = {"low": low, "high": high, "clusters_low": least, "clusters_high": most}
            rows.append({"n_gpus": size, "ettr": own.ettr, **ends, "published": near.words if near else ""})
    return pd.DataFrame(rows, columns=["n_gpus", "ettr", "low", "high", "clusters_low", "clusters_high", "published"])


def reach_gpus(run: Scenario, target: float) -> dict[str, float]:
    """The largest size that reaches a target at the best interval, and at the ends of the failure rate's 95% interval.

    Returns
    -------
    dict
        ``reach``, ``low`` and ``high`` in whole nodes [GPUs]; not a number where no size reaches the target, infinite
        where every size does. The ends are not a number where nothing is known of the rate.
    """
    known, rates = run.failures.posterior, [run.failure_rate]
    if known is not None and run.failure_rate > 0:
        ends = gamma_interval(known.shape, known.node_days, _LEVEL)
        rates += [ends.high, ends.low]
    found = last_reaching(run, field_of(run, N_GPUS), target, {RATE: np.array(rates)}).value
    sizes = [whole_nodes(run, size) if math.isfinite(size) else size for size in found.tolist()]
    return {"low": math.nan, "high": math.nan} | dict(zip(("reach", "low", "high"), sizes, strict=False))


def parts_by_size(scenario: Scenario, n_points: int = _POINTS) -> pd.DataFrame:
    """Shares of the wall clock over the size of the job, exact, at the best interval of each size.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``part``, ``share`` in [0, 1]; parts that are nowhere above zero are left out.
    """
    steady = without_start(scenario)
    n_gpus = sizes_of_curve(steady, n_points)
    at = {N_GPUS: n_gpus, INTERVAL: best_interval_min(steady, {N_GPUS: n_gpus})}
    return part_shares(quietly(budget.exact, steady, at), steady, n_gpus=n_gpus)


def losses_near(parts: pd.DataFrame, n_gpus: float) -> pd.Series:
    """Lost shares at the size of the curve nearest to one, the largest first, by part."""
    sizes = parts["n_gpus"].unique()
    nearest = sizes[np.abs(np.log(sizes / n_gpus)).argmin()]
    lost = parts[(parts["n_gpus"] == nearest) & (parts["part"] != "productive")]
    return lost.set_index("part")["share"].sort_values(ascending=False)


def by_hand(plan: Plan, n_gpus: int) -> dict[str, float]:
    """The ETTR of another size from the time between failures, to first order.

    Returns
    -------
    dict
        ``n_gpus`` [GPUs], ``mttf_min`` of the run there in exposed time and ``mtbf_h`` on the wall clock [h],
        ``stall_min``, ``recovery_min`` (detection, queue and restart) [min], ``traded`` (lost to stalls and rework),
        ``recovering`` and ``ettr``, as shares, and ``exact``.
    """
    run = plan.scenario
    mttf_min = plan.job_mttf_h * MIN_PER_H * run.cluster.n_gpus / n_gpus
    there = run.override({N_GPUS: run.cluster.nearest_n_gpus(n_gpus)})
    stall_min, recovery_min = there.stall_h * MIN_PER_H, there.recovery_h * MIN_PER_H
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
    """What each field leaves at its ideal, alone.

    Returns
    -------
    DataFrame
        ``name`` (with what is needed, where a value reaches the target), ``ettr`` with the field at its ideal,
        ``reaches``; what is at its ideal already is left out.
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
"""Losses of several kinds; reasons that a diary gives, and what it gives none for."""
MODELLED, NOT_MODELLED, NOT_TOLD = "modelled", "not modelled", "not told"
"""Whether a model of failures, checkpoints and restarts has a term for a reason."""

DIARY_SOURCES = ("bigscience2022chronicles", "zeng2022glm")
"""Keys of the diaries."""
REASONS = {HARDWARE: MODELLED, CHECKPOINT: MODELLED, MIXED: NOT_TOLD, UNNAMED: NOT_TOLD}


@dataclass(frozen=True)
class PublishedRun:
    """A run whose diary is public.

    Attributes
    ----------
    realised : RealisedETTR
        What the run really did.
    losses : DataFrame
        Where its lost hours went, the largest first: ``reason``, ``lost_h`` [h], ``share`` of what is lost, ``n``
        (stops, checkpoints or evaluations; missing where nobody counted) and ``term`` (``modelled`` where a model of
        failures, checkpoints and restarts has a term for it, ``not modelled``, or ``not told``: of several kinds, or
        without a reason). They sum to ``realised.lost_h``, to the minute.
    scenario : Scenario
        The preset of the same name.
    """

    realised: RealisedETTR
    losses: pd.DataFrame
    scenario: Scenario


def published_run_names() -> tuple[str, ...]:
    """Names of the runs whose diary is in ``data/``."""
    return tuple(_RUNS)


def published_run(name: str) -> PublishedRun:
    """A run whose diary is public, with what it really did.

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
"""GLM-130B reached this on 11 May 2022; before it the batch grew, and a step took less time."""


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
    """A run with its losses made whole: what no reason is given for is a row of its own."""
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
    """The ETTR that published runs really had, beside the one that hardware failures and checkpoints alone would leave.

    Returns
    -------
    DataFrame
        ``name``, ``run`` (title), ``realised``, ``low``, ``high`` (from the resolution of the diary's time stamps),
        ``modelled`` (:func:`ettr.budget.exact` of the preset of the same name), ``difference`` (modelled less
        realised), ``lost_h`` and ``modelled_lost_h`` (what the model would lose of the same wall clock) [h].

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
