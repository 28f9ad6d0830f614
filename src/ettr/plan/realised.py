"""From a training log to the ETTR that a run had, beside what the model predicts for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ettr import budget
from ettr.budget.intervals import best_interval_min
from ettr.core.errors import OutsideValidity
from ettr.core.report import Answer, Report, plain_values
from ettr.core.results import TimeBudget
from ettr.core.units import H_PER_DAY, MIN_PER_H, S_PER_H
from ettr.logs.training.runs import TrainingRun
from ettr.plan import realised_words
from ettr.plan.single_run import PredictionInterval, prediction_interval
from ettr.scenario import Scenario
from ettr.scenario.checkpoints import Checkpoint
from ettr.scenario.sections import Recovery


@dataclass(frozen=True)
class Prediction:
    """What the model says of a scenario.

    Attributes
    ----------
    scenario : Scenario
        The run.
    budget : TimeBudget or None
        Its hours at its own interval; None where it would practically never end.
    interval : PredictionInterval or None
        The 95% prediction interval of a single run; None without a budget or without failures.
    """

    scenario: Scenario
    budget: TimeBudget | None
    interval: PredictionInterval | None


@dataclass(frozen=True, repr=False)
class RealisedPlan(Answer):
    """A run by its own log, and what the model predicts for one like it.

    Attributes
    ----------
    run : TrainingRun
        What the log says.
    own : Prediction
        With the failures, restarts, saves and sizes of the log itself, and :attr:`assumed` for what it does not hold.
    assumed : tuple of str
        Fields of the scenario that the log does not hold.
    planned : Prediction or None
        With the scenario that the user planned with; None without one.
    best_interval_min : float
        Best checkpoint interval with the figures of the log. [min]
    """

    run: TrainingRun
    own: Prediction
    assumed: tuple[str, ...]
    planned: Prediction | None
    best_interval_min: float

    @property
    def scenario(self) -> Scenario:
        """The scenario that the log gives, to go on with."""
        return self.own.scenario

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        run = self.run
        return {
            "source": run.source,
            "format": run.format,
            "start": run.start.isoformat(),
            "ettr": run.ettr,
            "ettr_range": list(run.ettr_range),
            "wall_h": run.wall_h,
            "hours": dict(run.hours),
            "n_steps": run.n_steps,
            "step_s": {"median": run.step_s, "low": run.step_low_s, "high": run.step_high_s},
            "n_gpus": run.n_gpus,
            "stops": plain_values(run.stops),
            "save_every_h": run.save_every_h,
            "named_s": dict(run.named_s),
            "doubts": list(run.doubts),
            "notes": list(run.notes),
            "records": plain_values(run.records),
            "predicted": _values(self.own),
            "planned": _values(self.planned) if self.planned else None,
            "assumed": list(self.assumed),
            "best_interval_min": self.best_interval_min,
        }

    @property
    def headline(self) -> str:
        """The ETTR that the run had."""
        return realised_words.headline(self.run)

    def report(self) -> Report:
        """Where the time of the run went, its stops, and what was to be expected."""
        return realised_words.report(self)


def from_training(
    run: TrainingRun,
    like: str | None = None,
    n_gpus: int | None = None,
    gpus_per_node: int = 8,
    name: str = "realised",
) -> RealisedPlan:
    """Hold a run against the model.

    Parameters
    ----------
    run : TrainingRun
        From :func:`ettr.logs.read_training`.
    like : str, optional
        Preset or scenario file from which comes what the log does not hold; without one it is assumed as in any
        scenario that does not say.
    n_gpus : int, optional
        GPUs of the run; as the log says, else those of ``like``, else those of one node. [GPUs]
    gpus_per_node : int
        GPUs of a node. [GPUs]
    name : str
        Short name of the scenario.

    Returns
    -------
    RealisedPlan

    Raises
    ------
    InputError
        ``n_gpus`` is no multiple of ``gpus_per_node``, or ``like`` is unknown.
    """
    reference = Scenario.load(like) if like else None
    scenario, assumed = _scenario(run, reference, n_gpus, gpus_per_node, name)
    return RealisedPlan(
        run=run,
        own=_predicted(scenario),
        assumed=assumed,
        planned=_predicted(reference) if reference else None,
        best_interval_min=best_interval_min(scenario),
    )


def _predicted(scenario: Scenario) -> Prediction:
    try:
        hours = budget.exact(scenario)
    except OutsideValidity:
        return Prediction(scenario, None, None)
    return Prediction(scenario, hours, prediction_interval(scenario, hours, simulate=False))


def _scenario(
    run: TrainingRun, reference: Scenario | None, n_gpus: int | None, gpus_per_node: int, name: str
) -> tuple[Scenario, tuple[str, ...]]:
    """The scenario of a run by its own log, and the fields that are assumed."""
    gpus = n_gpus or run.n_gpus or (reference.cluster.n_gpus if reference else gpus_per_node)
    per_node = min(gpus_per_node, gpus)
    measured: dict[str, float | None] = {
        "checkpoint.interval_min": run.save_every_h and run.save_every_h * MIN_PER_H,
        "checkpoint.stall_s": run.save_s,
        "recovery.restart_min": run.wait_h * MIN_PER_H if run.n_failures else None,
    }
    checkpoint, recovery = (
        (reference.checkpoint, reference.recovery)
        if reference
        else (Checkpoint.model_validate({}), Recovery.model_validate({}))
    )
    likely = {
        "checkpoint.interval_min": reference.interval_h * MIN_PER_H if reference else "best",
        "checkpoint.stall_s": checkpoint.stall_s,
        "recovery.restart_min": recovery.restart_min + recovery.detection_min + recovery.queue_min,
    }
    used = {path: likely[path] if value is None else value for path, value in measured.items()}
    told = {"status": "derived", "note": "from the training log"}
    as_where = f"as in {reference.name}" if reference else "as in any scenario that does not say"
    as_there = {"status": "assumed", "note": f"{as_where}; the training log does not hold it"}
    given = {"status": "assumed", "note": "given with the log, or as in the scenario named"}
    nodes = gpus / per_node
    values = {
        "name": name,
        "title": f"A run on {gpus:,} GPUs, from its training log",
        "cluster": {"n_gpus": gpus, "gpus_per_node": per_node},
        "job": {"productive_h": _work_h(run), "include_start": False},
        "failures": {"n_events": run.n_failures, "node_days": nodes * run.wall_h / H_PER_DAY},
        "checkpoint": {
            "interval_min": used["checkpoint.interval_min"],
            "stall_s": used["checkpoint.stall_s"],
        },
        "recovery": {"detection_min": 0.0, "queue_min": 0.0, "restart_min": used["recovery.restart_min"]},
        "evidence": {
            "cluster.n_gpus": told if run.n_gpus and not n_gpus else given,
            "cluster.gpus_per_node": given,
            "job.productive_h": told,
            "failures.n_events": told,
            "failures.node_days": told,
            "recovery.detection_min": {"status": "derived", "note": "within the restart, which is the whole stop"},
            "recovery.queue_min": {"status": "derived", "note": "within the restart, which is the whole stop"},
            **{path: as_there if value is None else told for path, value in measured.items()},
        },
    }
    assumed = tuple(path for path, value in measured.items() if value is None)
    if not (n_gpus or run.n_gpus):
        assumed = ("cluster.n_gpus", *assumed)
    return Scenario.of(values, f"scenario from {run.source}"), assumed


def _work_h(run: TrainingRun) -> float:
    """Hours of training that a run like this is predicted for: those kept, or all of them where none was. [h]"""
    return max(run.hours["productive_h"] or run.hours["rework_h"], 1 / S_PER_H)


def _values(one: Prediction) -> dict[str, Any]:
    return {
        "scenario": one.scenario.name,
        "ettr": one.budget and float(one.budget.ettr),
        "ettr_range": one.interval and [one.interval.low, one.interval.high],
    }
