"""What a training log says, in words: the ETTR, where the rest went, and what was to be expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ettr.core.report import Headline, Note, Report, Table, without_marks
from ettr.core.sentences import capital, count, duration, listed, pct, roughly
from ettr.core.units import MIN_PER_H, S_PER_H
from ettr.failures.log_words import counted
from ettr.logs.training.runs import PARTS, TrainingRun
from ettr.scenario.fields import amount_of

if TYPE_CHECKING:
    from ettr.plan.realised import Prediction, RealisedPlan

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


def _share(run: TrainingRun, fraction: float) -> str:
    low, high = run.ettr_range
    return pct(fraction, 1 if high - low < _SURE else 0)


def headline(run: TrainingRun) -> str:
    """The ETTR that the run had, over how long."""
    low, high = run.ettr_range
    spread = f" ({_share(run, low)} to {_share(run, high)})" if high > low else ""
    on = f" on {count(run.n_gpus)} GPUs" if run.n_gpus else ""
    return f"{run.source}: ETTR {_share(run, run.ettr)}{spread} over {duration(run.wall_h)}{on}"


def report(answer: RealisedPlan) -> Report:
    """Where the time went, the stops, what was to be expected, and what was assumed."""
    run = answer.run
    sections: Report = [Headline(headline(run)), *(Note(f"! {capital(doubt)}.") for doubt in run.doubts)]
    sections += [Note(_lost(run)), _parts(run), Note(_stops(run))]
    if len(run.stops):
        sections.append(_stop_table(run))
    sections += [_beside(answer), Note(_why(answer)), *(Note(text, dim=True) for text in _details(answer))]
    return sections


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
    rows = [_predicted(answer.own)]
    if answer.planned:
        columns.append(f"as planned ({answer.planned.scenario.name})")
        rows.append(_predicted(answer.planned))
    names = ("ETTR", "a failure every", "wait after one", "computed again after one", "a save every", "a save takes")
    cells = zip(names, realised, *rows, strict=True)
    return Table(columns, [tuple(row) for row in cells], title="beside the model")


def _predicted(one: Prediction) -> list[str]:
    run = one.scenario
    recovery = run.recovery
    waits_h = (recovery.detection_min + recovery.queue_min + recovery.restart_min) / MIN_PER_H
    rate = run.failure_rate
    if one.budget is None:
        return ["never ends", *[""] * 5]
    budget = one.budget
    again = roughly(budget.rework_h / budget.n_failures) if budget.n_failures > 0 else ""
    ends = one.interval
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
    said = []
    if answer.assumed:
        names = listed([amount_of(path, type(answer.scenario)) for path in answer.assumed])
        said.append(f"Not in the log, and assumed: {names}.")
    if run.named_s:
        timed = [f"{name} {roughly(seconds / S_PER_H)}" for name, seconds in run.named_s.items()]
        said.append(f"The log itself times, on average: {listed(timed)}.")
    for row in run.records.itertuples():
        where = f" ({row.example})" if row.example else ""
        said.append(f"{counted(row.n, 'line')} {row.action}: {row.reason}{where}.")
    return [*said, *(without_marks(f"{capital(note)}.") for note in run.notes)]
