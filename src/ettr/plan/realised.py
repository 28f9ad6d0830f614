"""The ETTR that a run achieved according to its training log, compared with the model's prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ettr import budget
from ettr.budget.intervals import best_interval_min
from ettr.core.errors import OutsideValidity, UnknownName
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values, without_marks
from ettr.core.results import TimeBudget
from ettr.core.sentences import capital, count, duration, joined_range, listed, pct, roughly, span
from ettr.core.units import H_PER_DAY, MIN_PER_H, S_PER_H
from ettr.failures.log_words import counted
from ettr.logs.training.goodput import PERIODS
from ettr.logs.training.runs import PARTS, TrainingRun
from ettr.plan.single_run import PredictionInterval, prediction_interval
from ettr.scenario import Scenario
from ettr.scenario.checkpoints import Checkpoint
from ettr.scenario.fields import amount_of
from ettr.scenario.sections import Recovery

_SHOWN_STOPS, _NAMED = 5, 0.005
_MOST_PERIODS = 60
"""Periods shown in a table of the ETTR over time."""
_LEAST_LOST_H = 1 / S_PER_H
"""Lost time that is shown. [h]"""
_SHORT_H = 3.0
"""For shorter runs each part is shown in its own unit, because most would be 0.0 h."""
_LEFT_OUT = {
    "planned_h": "planned stops",
    "slow_h": "slow steps and evaluation",
    "start_h": "the first start",
    "tail_h": "the time after the last step",
}
_NARROW = 0.01
"""With a narrower range the ETTR is shown with a decimal."""


@dataclass(frozen=True)
class PredictedRun:
    """The model's prediction for a scenario.

    Attributes
    ----------
    scenario : Scenario
        The run.
    budget : TimeBudget or None
        Its hours at the current interval; None where it would practically never end.
    interval : PredictionInterval or None
        The 95% prediction interval of a single run; None without a budget or without failures.
    """

    scenario: Scenario
    budget: TimeBudget | None
    interval: PredictionInterval | None


@dataclass(frozen=True, repr=False)
class RealisedPlan(Answer):
    """A run according to its training log, compared with the model's prediction.

    Attributes
    ----------
    run : TrainingRun
        The run in the log.
    predicted : PredictedRun
        Prediction with the failures, restarts, saves and size from the log, and assumed values for :attr:`assumed`.
    assumed : tuple of str
        Fields of the scenario that the log does not contain.
    planned : PredictedRun or None
        Prediction of the scenario that the user planned with; None without one.
    best_interval_min : float
        Best checkpoint interval with the numbers of the log. [min]
    by : str or None
        Period by which the ETTR is also reported: ``"hour"``, ``"day"`` or ``"week"``.
    """

    run: TrainingRun
    predicted: PredictedRun
    assumed: tuple[str, ...]
    planned: PredictedRun | None
    best_interval_min: float
    by: str | None = None

    @property
    def scenario(self) -> Scenario:
        """The scenario from the log, for further commands."""
        return self.predicted.scenario

    def to_dict(self) -> dict[str, Any]:
        """Return the run, its stops and the predictions for JSON."""
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
            "saves_from": run.saves_from,
            "named_s": dict(run.named_s),
            "doubts": list(run.doubts),
            "notes": list(run.notes),
            "records": plain_values(run.records),
            "predicted": _values(self.predicted),
            "planned": _values(self.planned) if self.planned else None,
            "assumed": list(self.assumed),
            "best_interval_min": self.best_interval_min,
            **({"goodput": plain_values(self.run.goodput(self.by))} if self.by else {}),
        }

    @property
    def headline(self) -> str:
        """The ETTR that the run achieved."""
        run, (low, high) = self.run, self.run.ettr_range
        spread = f" (plausible range {joined_range(_share(run, low), _share(run, high))})" if high > low else ""
        on = f" on {count(run.n_gpus)} GPUs" if run.n_gpus else ""
        return f"{run.source}: ETTR {_share(run, run.ettr)}{spread} over {duration(run.wall_h)}{on}"

    def report(self) -> Report:
        """Return the time budget of the run, its stops, and the comparison with the model."""
        run = self.run
        sections: Report = [Headline(self.headline), *(Note(f"Warning: {doubt}.") for doubt in run.doubts)]
        sections += [Note(_lost(run)), _parts(run), Note(_stops(run))]
        if len(run.stops):
            sections.append(_stop_table(run))
        if self.by:
            sections.append(_by_period(run, self.by))
        details = (Note(text, dim=True) for text in _details(self))
        return [*sections, _comparison(self), Note(_explanation(self)), *details]


def from_training(
    run: TrainingRun,
    like: str | None = None,
    n_gpus: int | None = None,
    gpus_per_node: int = 8,
    name: str = "realised",
    by: str | None = None,
) -> RealisedPlan:
    """Return a run from its training log, compared with the model's prediction.

    Parameters
    ----------
    run : TrainingRun
        From :func:`ettr.logs.read_training`.
    like : str, optional
        Preset or scenario file with values that the log does not contain; the defaults otherwise.
    n_gpus : int, optional
        GPUs of the run; by default those of the log, of ``like``, or of one node, in this order. [GPUs]
    gpus_per_node : int
        GPUs per node. [GPUs]
    name : str
        Short name of the scenario.
    by : str or None
        Also report the ETTR of each ``"hour"``, ``"day"`` or ``"week"``.

    Returns
    -------
    RealisedPlan

    Raises
    ------
    UnknownName
        ``by`` is no such period.
    InputError
        ``n_gpus`` is no multiple of ``gpus_per_node``, or ``like`` is unknown.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ettr import logs
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.csv"
    >>> rows = ["time,step,step_s"] + [f"2025-06-04 {10 + i}:00:00,{400 * i},9" for i in range(5)]
    >>> _ = path.write_text("\\n".join([*rows, "2025-06-04 16:00:00,1600,9", "2025-06-04 17:00:00,2000,9"]))
    >>> realised = from_training(logs.read_training(path, zone="UTC"))
    >>> round(realised.run.ettr, 3), realised.run.n_failures
    (0.714, 1)
    """
    if by is not None and by not in PERIODS:
        raise UnknownName("period", by, PERIODS, "`by`")
    reference = Scenario.load(like) if like else None
    scenario, assumed = _scenario(run, reference, n_gpus, gpus_per_node, name)
    return RealisedPlan(
        run=run,
        predicted=_predicted(scenario),
        assumed=assumed,
        planned=_predicted(reference) if reference else None,
        best_interval_min=best_interval_min(scenario),
        by=by,
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
    """Return the scenario of a run from its log, and the fields that are assumed."""
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
    origin = f"as in {reference.name}" if reference else "default value"
    not_logged = {"status": "assumed", "note": f"{origin}; not in the training log"}
    from_user = {"status": "assumed", "note": "given with the log, or as in the scenario named"}
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
            "cluster.n_gpus": logged if run.n_gpus and not n_gpus else from_user,
            "cluster.gpus_per_node": from_user,
            "job.productive_h": logged,
            "failures.n_events": logged,
            "failures.node_days": logged,
            "recovery.detection_min": {
                "status": "derived",
                "note": "part of the restart, which is the entire stop",
            },
            "recovery.queue_min": {"status": "derived", "note": "part of the restart, which is the entire stop"},
            **{path: not_logged if value is None else logged for path, value in measured.items()},
        },
    }
    assumed = tuple(path for path, value in measured.items() if value is None)
    if not (n_gpus or run.n_gpus):
        assumed = ("cluster.n_gpus", *assumed)
    return Scenario.of(values, f"scenario from {run.source}"), assumed


def _work_h(run: TrainingRun) -> float:
    """Return the hours of training to predict for: those kept, or all recomputed ones where none was kept. [h]"""
    return max(run.hours["productive_h"] or run.hours["rework_h"], 1 / S_PER_H)


def _values(predicted: PredictedRun) -> dict[str, Any]:
    return {
        "scenario": predicted.scenario.name,
        "ettr": predicted.budget and float(predicted.budget.ettr),
        "ettr_range": predicted.interval and [predicted.interval.low, predicted.interval.high],
    }


def _share(run: TrainingRun, fraction: float) -> str:
    low, high = run.ettr_range
    return pct(fraction, 1 if high - low < _NARROW else 0)


def _lost(run: TrainingRun) -> str:
    parts = sorted(((h, part) for part, h in run.hours.items() if part != "productive_h"), reverse=True)
    named = [f"{PARTS[part]} ({pct(h / run.wall_h, 1)}, {roughly(h)})" for h, part in parts if h > _NAMED * run.wall_h]
    lost = f"Lost time: {listed(named[:3])}." if named else "No kind of loss took more than half a percent of the time."
    step = f"A step takes {duration(run.step_s / S_PER_H)}"
    if run.step_high_s > run.step_low_s:
        quartiles = span((run.step_low_s / S_PER_H, run.step_high_s / S_PER_H), float)
        step += f" (interquartile range {quartiles})"
    kept = f"{capital(counted(run.n_steps, 'step'))} {'was' if run.n_steps == 1 else 'were'} kept."
    return f"{kept} {lost} {step}."


def _parts(run: TrainingRun) -> Table:
    time = duration if run.wall_h < _SHORT_H else lambda h: f"{h:,.1f} h"
    rows = [(PARTS[part], time(h), pct(h / run.wall_h, 1)) for part, h in run.hours.items() if h]
    return Table(
        ("part", "time", "share"),
        [*rows, ("total", time(run.wall_h), "100%")],
        total=True,
        bars=[*(h / run.wall_h for h in run.hours.values() if h), 0.0],
    )


def _stops(run: TrainingRun) -> str:
    n, n_planned = len(run.stops), int(run.stops["planned"].sum())
    if not n:
        return "The run never stopped between its first and its last step."
    often = f"The run stopped {count(n)} time{'' if n == 1 else 's'}, every {roughly(run.wall_h / n)} on average"
    planned = f"; {count(n_planned)} stop{'' if n_planned == 1 else 's'} planned" if n_planned else ""
    n_failed = int(run.stops["n_attempts"].sum())
    failed = f" {counted(n_failed, 'start')} reached no step and count as failures." if n_failed else ""
    if not run.n_failures:
        return f"{often}{planned}.{failed}"
    return (
        f"{often}{planned}.{failed} A failure costs {roughly(run.wait_h)} until training resumes, and "
        f"{roughly(run.again_h)} of lost work (recomputed), on average."
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
            "planned" if stop.planned else "failure",
        )
        for stop in worst.itertuples()
    ]
    title = "Stops" if len(run.stops) <= _SHOWN_STOPS else f"The {_SHOWN_STOPS} longest of {len(run.stops):,} stops"
    columns = ("after (UTC)", "at step", "resumed from", "downtime", "lost work", "kind")
    return Table(columns, rows, title=title, words=("kind",))


def _by_period(run: TrainingRun, by: str) -> Table:
    """Return the ETTR of each period, or of the worst ones if there are many."""
    periods = run.goodput(by)
    shown = periods.nsmallest(_MOST_PERIODS, "ettr").sort_index()
    stamp = "%Y-%m-%d %H:%M" if by == "hour" else "%Y-%m-%d"
    rows = [
        (
            f"{period.start:{stamp}}",
            pct(period.ettr, 0),
            duration(period.productive_h),
            duration(lost_h) if (lost_h := period.wall_h - period.productive_h) > _LEAST_LOST_H else "",
            count(period.n_stops) if period.n_stops else "",
        )
        for period in shown.itertuples()
    ]
    worst = f"ETTR by {by}, the {_MOST_PERIODS} worst of {len(periods):,}"
    title = f"ETTR by {by}" if len(shown) == len(periods) else worst
    columns = (f"{by} (UTC)", "ETTR", "productive", "lost", "stops")
    return Table(columns, rows, title=title, bars=shown["ettr"].tolist())


def _comparison(answer: RealisedPlan) -> Table:
    """Return the run next to the model with the log's numbers, and to the plan if there is one."""
    run, n = answer.run, answer.run.n_failures
    columns = ["quantity", "this run", "predicted"]
    every = "not logged"
    if run.save_every_h:
        every = f"{roughly(run.save_every_h)}{' (from restarts)' if run.saves_from == 'restarts' else ''}"
    realised = [
        _share(run, run.ettr),
        roughly(run.wall_h / n) if n else "none",
        roughly(run.wait_h) if n else "",
        roughly(run.again_h) if n else "",
        every,
        roughly(run.save_s / S_PER_H) if run.save_s is not None else "not logged",
    ]
    rows = [_cells(answer.predicted)]
    if answer.planned:
        columns.append(f"as planned ({answer.planned.scenario.name})")
        rows.append(_cells(answer.planned))
    names = (
        "ETTR",
        "MTBF",
        "downtime per failure",
        "lost work per failure",
        "checkpoint interval",
        "checkpoint stall",
    )
    cells = zip(names, realised, *rows, strict=True)
    return Table(columns, [tuple(row) for row in cells], title="Compared with the model")


def _cells(predicted: PredictedRun) -> list[str]:
    run = predicted.scenario
    recovery = run.recovery
    waits_h = (recovery.detection_min + recovery.queue_min + recovery.restart_min) / MIN_PER_H
    rate = run.failure_rate
    if predicted.budget is None:
        return ["never ends", *[""] * 5]
    budget = predicted.budget
    rework = roughly(budget.rework_h / budget.n_failures) if budget.n_failures > 0 else ""
    ends = predicted.interval
    spread = f" ({joined_range(pct(ends.low, 0), pct(ends.high, 0))})" if ends and ends.high > ends.low else ""
    return [
        f"{pct(float(budget.ettr), 0)}{spread}",
        roughly(run.job_mttf_h) if rate > 0 else "none",
        roughly(waits_h) if rate > 0 else "",
        rework,
        roughly(run.interval_h),
        roughly(run.checkpoint.stall_s / S_PER_H),
    ]


def _explanation(answer: RealisedPlan) -> str:
    """Return how to read the prediction, what it leaves out, and the best checkpoint interval."""
    run, predicted = answer.run, answer.predicted
    if predicted.budget is None:
        return "With failures this frequent and restarts this long, the model predicts that the run never ends."
    hours = {**run.hours, "slow_h": run.hours["slow_h"] - predicted.budget.checkpoint_h}
    beyond = [words for part, words in _LEFT_OUT.items() if hours[part] > _NAMED * run.wall_h]
    left = f" It leaves out {listed(beyond)}." if beyond else ""
    advice = f"The best checkpoint interval for this run is {roughly(answer.best_interval_min / MIN_PER_H)}"
    if run.save_every_h:
        advice += f" (current: {roughly(run.save_every_h)})"
    return (
        "The prediction uses the failures, restarts and checkpoints of the log; in parentheses the 95% prediction "
        f"interval of a single run.{left} {advice}."
    )


def _details(answer: RealisedPlan) -> list[str]:
    """Return the assumed values, the durations in the log, and the lines that were not used."""
    run = answer.run
    lines = []
    if run.saves_from == "restarts":
        lines.append(
            "The checkpoint interval is the shortest that fits the steps from which the run resumed; the log has no "
            "line for each save."
        )
    if answer.assumed:
        names = listed([amount_of(path, type(answer.scenario)) for path in answer.assumed])
        lines.append(f"Assumed, because the log does not contain it: {names}.")
    if run.named_s:
        timed = [f"{name} {roughly(seconds / S_PER_H)}" for name, seconds in run.named_s.items()]
        lines.append(f"Mean durations in the log: {listed(timed)}.")
    for row in run.records.itertuples():
        where = f" ({row.example})" if row.example else ""
        lines.append(f"{counted(row.n, 'line')} {row.action}: {row.reason}{where}.")
    return [*lines, *(without_marks(f"{capital(note)}.") for note in run.notes)]
