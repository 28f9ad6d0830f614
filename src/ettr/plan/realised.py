"""From a training log to the ETTR that a run had, beside what the model predicts for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ettr import budget
from ettr.budget.intervals import best_interval_min
from ettr.core.errors import OutsideValidity
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values, without_marks
from ettr.core.results import TimeBudget
from ettr.core.sentences import capital, count, duration, listed, pct, roughly
from ettr.core.units import H_PER_DAY, MIN_PER_H, S_PER_H
from ettr.failures.log_words import counted
from ettr.logs.training.runs import PARTS, TrainingRun
from ettr.plan.single_run import PredictionInterval, prediction_interval
from ettr.scenario import Scenario
from ettr.scenario.checkpoints import Checkpoint
from ettr.scenario.fields import amount_of
from ettr.scenario.sections import Recovery

_SHOWN_STOPS, _NAMED = 5, 0.005
_SHORT_H = 3.0
"""The parts of a run shorter than this are shown in the unit that fits each: in tenths of an hour most would be 0."""
_LEFT_OUT = {
    "planned_h": "stops that the run ended by itself",
    "slow_h": "slow steps and evaluation",
    "start_h": "the first start",
    "tail_h": "the time after the last step",
}
_SURE = 0.01
"""Quartiles nearer than this, and the ETTR has a digit after the point."""


@dataclass(frozen=True)
class PredictedRun:
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
    own : PredictedRun
        With the failures, restarts, saves and sizes of the log itself, and :attr:`assumed` for what it does not hold.
    assumed : tuple of str
        Fields of the scenario that the log does not hold.
    planned : PredictedRun or None
        With the scenario that the user planned with; None without one.
    best_interval_min : float
        Best checkpoint interval with the figures of the log. [min]
    """

    run: TrainingRun
    own: PredictedRun
    assumed: tuple[str, ...]
    planned: PredictedRun | None
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
        run, (low, high) = self.run, self.run.ettr_range
        spread = f" ({_share(run, low)} to {_share(run, high)})" if high > low else ""
        on = f" on {count(run.n_gpus)} GPUs" if run.n_gpus else ""
        return f"{run.source}: ETTR {_share(run, run.ettr)}{spread} over {duration(run.wall_h)}{on}"

    def report(self) -> Report:
        """Where the time of the run went, its stops, and what was to be expected."""
        run = self.run
        sections: Report = [Headline(self.headline), *(Note(f"! {capital(doubt)}.") for doubt in run.doubts)]
        sections += [Note(_lost(run)), _parts(run), Note(_stops(run))]
        if len(run.stops):
            sections.append(_stop_table(run))
        return [*sections, _beside(self), Note(_why(self)), *(Note(text, dim=True) for text in _details(self))]


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


def _predicted(scenario: Scenario) -> PredictedRun:
    try:
        hours = budget.exact(scenario)
    except OutsideValidity:
        return PredictedRun(scenario, None, None)
    return PredictedRun(scenario, hours, prediction_interval(scenario, hours, simulate=False))


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
    logged = {"status": "derived", "note": "from the training log"}
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
            "cluster.n_gpus": logged if run.n_gpus and not n_gpus else given,
            "cluster.gpus_per_node": given,
            "job.productive_h": logged,
            "failures.n_events": logged,
            "failures.node_days": logged,
            "recovery.detection_min": {"status": "derived", "note": "within the restart, which is the whole stop"},
            "recovery.queue_min": {"status": "derived", "note": "within the restart, which is the whole stop"},
            **{path: as_there if value is None else logged for path, value in measured.items()},
        },
    }
    assumed = tuple(path for path, value in measured.items() if value is None)
    if not (n_gpus or run.n_gpus):
        assumed = ("cluster.n_gpus", *assumed)
    return Scenario.of(values, f"scenario from {run.source}"), assumed


def _work_h(run: TrainingRun) -> float:
    """Hours of training that a run like this is predicted for: those kept, or all of them where none was. [h]"""
    return max(run.hours["productive_h"] or run.hours["rework_h"], 1 / S_PER_H)


def _values(predicted: PredictedRun) -> dict[str, Any]:
    return {
        "scenario": predicted.scenario.name,
        "ettr": predicted.budget and float(predicted.budget.ettr),
        "ettr_range": predicted.interval and [predicted.interval.low, predicted.interval.high],
    }


def _share(run: TrainingRun, fraction: float) -> str:
    low, high = run.ettr_range
    return pct(fraction, 1 if high - low < _SURE else 0)


def _lost(run: TrainingRun) -> str:
    lost = sorted(((h, part) for part, h in run.hours.items() if part != "productive_h"), reverse=True)
    named = [f"{PARTS[part]} ({pct(h / run.wall_h, 1)}, {roughly(h)})" for h, part in lost if h > _NAMED * run.wall_h]
    rest = "The rest" if run.n_steps else "The time"
    most = f"{rest} went to {listed(named[:3])}." if named else "Nothing else took more than half a point."
    step = f"A step takes {duration(run.step_s / S_PER_H)}"
    if run.step_high_s > run.step_low_s:
        step += f" (half of them {duration(run.step_low_s / S_PER_H)} to {duration(run.step_high_s / S_PER_H)})"
    kept = f"{capital(counted(run.n_steps, 'step'))} {'was' if run.n_steps == 1 else 'were'} kept."
    return f"{kept} {most} {step}."


def _parts(run: TrainingRun) -> Table:
    time = duration if run.wall_h < _SHORT_H else lambda h: f"{h:,.1f} h"
    rows = [(PARTS[part], time(h), pct(h / run.wall_h, 1)) for part, h in run.hours.items() if h]
    return Table(
        ("where the time went", "time", "share"),
        [*rows, ("all", time(run.wall_h), "100%")],
        total=True,
        bars=[*(h / run.wall_h for h in run.hours.values() if h), 0.0],
    )


def _stops(run: TrainingRun) -> str:
    n, own = len(run.stops), int(run.stops["planned"].sum())
    if not n:
        return "It stopped not once between its first and its last step."
    often = f"It stopped {count(n)} time{'' if n == 1 else 's'}, once in {roughly(run.wall_h / n)}"
    ended = f", {count(own)} of them by its own end" if own else ""
    tries = int(run.stops["n_attempts"].sum())
    vain = f" {counted(tries, 'start')} reached no step, and count as failures." if tries else ""
    if not run.n_failures:
        return f"{often}{ended}.{vain}"
    return (
        f"{often}{ended}.{vain} After a failure it took {roughly(run.wait_h)} until training went on, and "
        f"{roughly(run.again_h)} of steps were computed again."
    )


def _stop_table(run: TrainingRun) -> Table:
    worst = run.stops.assign(lost_h=run.stops["rework_h"] + run.stops["down_h"])
    worst = worst.sort_values("lost_h", ascending=False).head(_SHOWN_STOPS).sort_values("time")
    rows = [
        (
            f"{stop.time:%Y-%m-%d %H:%M}",
            f"{stop.place:,}",
            f"{stop.from_step:,}",
            roughly(stop.down_h),
            roughly(stop.rework_h) if stop.rework_h else "",
            "its own" if stop.planned else "",
        )
        for stop in worst.itertuples()
    ]
    title = "stops" if len(run.stops) <= _SHOWN_STOPS else f"the {_SHOWN_STOPS} longest of {len(run.stops):,} stops"
    columns = ("after (UTC)", "at step", "went on from", "waited", "again", "end")
    return Table(columns, rows, title=title, words=("end",))


def _beside(answer: RealisedPlan) -> Table:
    """The run, the model with its own figures, and the plan if there is one."""
    run, n = answer.run, answer.run.n_failures
    columns = ["", "this run", "predicted"]
    every = f"{roughly(run.save_every_h)}" if run.save_every_h else "not logged"
    realised = [
        _share(run, run.ettr),
        roughly(run.wall_h / n) if n else "none",
        roughly(run.wait_h) if n else "",
        roughly(run.again_h) if n else "",
        every,
        roughly(run.save_s / S_PER_H) if run.save_s is not None else "not logged",
    ]
    rows = [_cells(answer.own)]
    if answer.planned:
        columns.append(f"as planned ({answer.planned.scenario.name})")
        rows.append(_cells(answer.planned))
    names = ("ETTR", "a failure every", "wait after one", "computed again after one", "a save every", "a save takes")
    cells = zip(names, realised, *rows, strict=True)
    return Table(columns, [tuple(row) for row in cells], title="beside the model")


def _cells(predicted: PredictedRun) -> list[str]:
    run = predicted.scenario
    recovery = run.recovery
    waits_h = (recovery.detection_min + recovery.queue_min + recovery.restart_min) / MIN_PER_H
    rate = run.failure_rate
    if predicted.budget is None:
        return ["never ends", *[""] * 5]
    budget = predicted.budget
    again = roughly(budget.rework_h / budget.n_failures) if budget.n_failures > 0 else ""
    ends = predicted.interval
    spread = f" ({pct(ends.low, 0)} to {pct(ends.high, 0)})" if ends and ends.high > ends.low else ""
    return [
        f"{pct(float(budget.ettr), 0)}{spread}",
        roughly(run.job_mttf_h) if rate > 0 else "none",
        roughly(waits_h) if rate > 0 else "",
        again,
        roughly(run.interval_h),
        roughly(run.checkpoint.stall_s / S_PER_H),
    ]


def _why(answer: RealisedPlan) -> str:
    """What the model leaves out, and the interval that it advises."""
    run, own = answer.run, answer.own
    if own.budget is None:
        return "With failures so frequent and restarts so long the model gives the run no end."
    hours = {**run.hours, "slow_h": run.hours["slow_h"] - own.budget.checkpoint_h}
    beyond = [words for part, words in _LEFT_OUT.items() if hours[part] > _NAMED * run.wall_h]
    left = f" It leaves out {listed(beyond)}." if beyond else ""
    advice = f"With this run's figures a save every {roughly(answer.best_interval_min / MIN_PER_H)} is best"
    if run.save_every_h:
        advice += f"; it saved every {roughly(run.save_every_h)}"
    return (
        f"Predicted is what failures, restarts and saves like these leave of {duration(run.wall_h)}, with 95% of "
        f"single runs in brackets.{left} {advice}."
    )


def _details(answer: RealisedPlan) -> list[str]:
    """What was assumed, what the log names, and what became of its lines."""
    run = answer.run
    lines = []
    if answer.assumed:
        names = listed([amount_of(path, type(answer.scenario)) for path in answer.assumed])
        lines.append(f"Not in the log, and assumed: {names}.")
    if run.named_s:
        timed = [f"{name} {roughly(seconds / S_PER_H)}" for name, seconds in run.named_s.items()]
        lines.append(f"The log itself times, on average: {listed(timed)}.")
    for row in run.records.itertuples():
        where = f" ({row.example})" if row.example else ""
        lines.append(f"{counted(row.n, 'line')} {row.action}: {row.reason}{where}.")
    return [*lines, *(without_marks(f"{capital(note)}.") for note in run.notes)]
