"""What a training log says of the run that wrote it: the ETTR that it had, its stops, and what it computed twice."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY, S_PER_H
from ettr.core.validity import above_zero
from ettr.files.clock import Stamps
from ettr.files.formats import Formats
from ettr.files.ledger import Ledger
from ettr.files.opening import STDIN, Progress, Source
from ettr.files.zones import zone_of
from ettr.logs.training import lines, step_records
from ettr.logs.training.steps import SAVE, Process, StepLog

FORMATS = Formats("training log", "", *lines.FORMATS, *step_records.FORMATS)
PARTS = {
    "productive_h": "steps that the run kept",
    "rework_h": "lost work (recomputed)",
    "stops_h": "stops, until training went on",
    "planned_h": "stops that the run ended by itself",
    "start_h": "the first start",
    "slow_h": "saves, slow steps, evaluation",
    "tail_h": "after the last step",
}
"""Parts of the wall clock of a run, as people call them."""
_GAP_S, _GAP_STEPS = 300.0, 5.0
"""A gap is so long, and so many times what its steps take."""
_FITS = 0.95
"""Steps that have to be shortened by more than this to fit into the time of the log are a doubt."""
_DAY_S = H_PER_DAY * S_PER_H


@dataclass(frozen=True)
class TrainingRun:
    """A run as its own log has it.

    Attributes
    ----------
    source, format : str
        The file, and what it was read as.
    n_gpus : int or None
        GPUs of the run, where the log says.
    start : Timestamp
        The first time in the log.
    wall_h : float
        From there to the last. [h]
    hours : dict of str to float
        Of each of ``PARTS``; none is negative, and they add up to the wall clock. [h]
    step_s, step_low_s, step_high_s : float
        Median and quartiles of the time of a step while training. [s]
    n_steps : int
        Steps that the run kept: its last step less the one at which the log begins, at least 0. [count]
    stops : DataFrame
        A row a stop: ``time`` of the last step before it, ``place`` (that step), ``from_step``, ``rework_h``,
        ``down_h`` [h], ``planned`` and ``n_attempts`` (starts that reached no step).
    save_every_h : float or None
        Median training between two saves; None where the log says of fewer than three. [h]
    named_s : dict of str to float
        Mean of what the log itself times, such as saves. [s]
    notes, doubts : tuple of str
        What was assumed, and what puts all of it in doubt.
    records : DataFrame
        What became of each record of the file.
    """

    source: str
    format: str
    n_gpus: int | None
    start: pd.Timestamp
    wall_h: float
    hours: Mapping[str, float]
    step_s: float
    step_low_s: float
    step_high_s: float
    n_steps: int
    stops: pd.DataFrame
    save_every_h: float | None
    named_s: Mapping[str, float]
    notes: tuple[str, ...]
    doubts: tuple[str, ...]
    records: pd.DataFrame

    @property
    def ettr(self) -> float:
        """Productive over wall-clock hours, from 0 to 1."""
        return self.hours["productive_h"] / self.wall_h

    @property
    def ettr_range(self) -> tuple[float, float]:
        """The same if a step takes the lower, or the upper quartile of its times."""
        low, high = (min(self.ettr * each / self.step_s, 1.0) for each in (self.step_low_s, self.step_high_s))
        return low, high

    @property
    def save_s(self) -> float | None:
        """What a save takes by the log's own timing; None where it has none. [s]"""
        return self.named_s.get(SAVE)

    @property
    def failures(self) -> pd.DataFrame:
        """Stops that the run did not end by itself."""
        return self.stops[~self.stops["planned"]]

    @property
    def n_failures(self) -> int:
        """Those stops, and starts that reached no step. [count]"""
        return len(self.failures) + int(self.stops["n_attempts"].sum())

    @property
    def wait_h(self) -> float:
        """Mean wait after a failure until training goes on, or fails again; NaN without one. [h]"""
        return self.hours["stops_h"] / self.n_failures if self.n_failures else np.nan

    @property
    def again_h(self) -> float:
        """Mean of what is computed again after a failure; NaN without one. [h]"""
        return float(self.failures["rework_h"].sum()) / self.n_failures if self.n_failures else np.nan


def knows(path: str | Path, encoding: str | None = None) -> bool:
    """Whether a file is a training log, by its first lines."""
    head = Source(path, encoding=encoding).head()
    return any(each.sniff(head) for each in FORMATS.values())


def read_training(
    path: str | Path,
    format: str | None = None,
    *,
    step_s: float | None = None,
    zone: str | tzinfo | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> TrainingRun:
    """Read the log of a training framework: what the run reached, where it stopped, and what that took.

    Parameters
    ----------
    path : str or path
        The file: Megatron, torchtitan, NeMo, ml-goodput, or a table of ``time`` and ``step``.
    format : str or None
        Its format; found from the first lines if not named.
    step_s : float or None
        Time of one step while training; from the log if not given. [s]
    zone : str, tzinfo or None
        Zone of times that carry none; UTC if not given.
    encoding : str or None
        Of the file's text; UTF-8 if not given.
    progress : callable or None
        Called now and then with the bytes read and the bytes there are.

    Returns
    -------
    TrainingRun

    Raises
    ------
    InputError
        Fewer than two steps with a time, times in no order, or nothing that says what a step takes.

    Notes
    -----
    Productive steps are the progress that is left at the end of the log: its last step less the step at which it
    begins. A process that goes on from an earlier step recomputes what lies between. If it goes back to a step before
    the log begins, the steps up to there had been done before and are recomputed, so none of them is progress. A log
    that begins at step 10,000, reaches 12,000, restarts from 5,000 and ends at 15,000 has 5,000 productive steps of
    the 12,000 that it shows. If it ends at 7,000 it has none of 4,000, and its ETTR is 0.

    The step from which a process went on is what its log says, else the first step that it logged less the usual number
    between two lines. A stop lasts from the last step before it until the step that it went on from is taken up; steps
    that were done and not logged before it are within.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.csv"
    >>> rows = ["time,step,step_s"] + [f"2025-06-04 {10 + i}:00:00,{400 * i},9" for i in range(5)]
    >>> _ = path.write_text("\\n".join([*rows, "2025-06-04 16:00:00,1600,9", "2025-06-04 17:00:00,2000,9"]))
    >>> run = read_training(path, zone="UTC")
    >>> round(run.ettr, 3), run.stops[["place", "from_step", "down_h"]].to_dict("list")
    (0.714, {'place': [1600], 'from_step': [1200], 'down_h': [1.0]})
    """
    named_zone = zone_of(zone)
    if step_s is not None:
        above_zero("step_s", step_s, unit="s")
    source, chosen = FORMATS.open(path, format, progress, encoding)
    ledger = Ledger()
    taken = StepLog(ledger)
    chosen.read(source, Stamps(named_zone, ledger), taken, ledger)
    ledger.close()
    if source.cut:
        ledger.doubt(f"{source.name} {source.cut}; the rest of the log is missing")
    taken.finish(source.name)
    shown = source.name if str(path) == STDIN else str(path)
    return _run(taken, ledger, step_s, shown, chosen.name, source.name)


def _run(taken: StepLog, ledger: Ledger, step_s: float | None, path: str, format: str, name: str) -> TrainingRun:
    """The account of what was taken."""
    processes = [process for process in taken.processes if process.step]
    between = _steps_between(processes)
    went_on = [_from(process, between) for process in processes]
    low_s, middle_s, high_s = _step_times(processes, name) if step_s is None else (step_s,) * 3
    if middle_s * between > 1.5 * _DAY_S:
        ledger.note("steps are logged less than once a day: stops between two lines are not seen")
    begun = [
        process.time_s[0] - (process.step[0] - at) * middle_s for process, at in zip(processes, went_on, strict=True)
    ]
    if begun[0] < taken.first_s:  # the log begins amid these steps
        seen_s = processes[0].time_s[0] - taken.first_s
        went_on[0] = processes[0].step[0] - int(seen_s / middle_s)
        begun[0] = processes[0].time_s[0] - int(seen_s / middle_s) * middle_s
    stops = _stops(processes, begun, went_on, middle_s)
    _say_gaps(processes, middle_s, ledger)
    _say_missing(went_on, processes[-1].step[-1], between, ledger)
    if processes[0].n_attempts:
        ledger.note(f"starts before the first step that reached none: {processes[0].n_attempts:,}")
    wall_h = (taken.last_s - taken.first_s) / S_PER_H
    n_steps = max(processes[-1].step[-1] - went_on[0], 0)
    start_h = (begun[0] - taken.first_s) / S_PER_H
    tail_h = (taken.last_s - processes[-1].time_s[-1]) / S_PER_H
    hours, fits = _hours(stops, wall_h, start_h, tail_h, n_steps * middle_s / S_PER_H)
    n_done = n_steps + round(stops["rework_h"].sum() * S_PER_H / middle_s)
    stops["rework_h"] *= fits
    if fits < _FITS:
        ledger.doubt(
            f"{n_done:,} steps of {middle_s:g} s take longer than the {wall_h:.4g} h of the log: the time of a step "
            "is wrong, or steps were skipped"
        )
    return TrainingRun(
        source=path,
        format=format,
        n_gpus=taken.n_gpus,
        start=pd.Timestamp(taken.first_s, unit="s", tz="UTC"),
        wall_h=wall_h,
        hours={part: hours[part] for part in PARTS},
        step_s=middle_s,
        step_low_s=low_s,
        step_high_s=high_s,
        n_steps=n_steps,
        stops=stops,
        save_every_h=_save_every_h(taken, middle_s),
        named_s={name: float(np.mean(seconds)) for name, seconds in taken.named_s.items()},
        notes=tuple(ledger.notes),
        doubts=tuple(ledger.doubts),
        records=ledger.to_frame(),
    )


def _stops(processes: list[Process], begun: list[float], went_on: list[int], step_s: float) -> pd.DataFrame:
    """A row a stop, with the hours that it cost."""
    rows = []
    for (one, then), (began, at) in zip(
        itertools.pairwise(processes), itertools.islice(zip(begun, went_on, strict=True), 1, None), strict=True
    ):
        unseen_s = max(at - one.step[-1], 0) * step_s
        down_s = max(began - one.time_s[-1] - unseen_s, 0.0)
        stamp = pd.Timestamp(one.time_s[-1], unit="s", tz="UTC")
        rows.append((stamp, one.step[-1], at, max(one.step[-1] - at, 0), down_s / S_PER_H, one.ended, then.n_attempts))
    # steps that were lost from before the log begins, and not yet recomputed at its end, took none of its time
    missing = max(went_on[0] - processes[-1].step[-1], 0)
    again = [row[3] for row in rows]
    for i in reversed(range(len(again))):
        again[i], missing = again[i] - min(again[i], missing), missing - min(again[i], missing)
    columns = ["time", "place", "from_step", "rework_h", "down_h", "planned", "n_attempts"]
    stops = pd.DataFrame(rows, columns=columns).astype({"planned": bool})
    return stops.assign(rework_h=np.array(again, dtype=float) * step_s / S_PER_H)


def _hours(
    stops: pd.DataFrame, wall_h: float, start_h: float, tail_h: float, productive_h: float
) -> tuple[dict[str, float], float]:
    """The parts of the wall clock, and the factor by which steps had to be shortened to fit into it."""
    waits = {
        "stops_h": float(stops.loc[~stops["planned"], "down_h"].sum()),
        "planned_h": float(stops.loc[stops["planned"], "down_h"].sum()),
        "start_h": start_h,
        "tail_h": tail_h,
    }
    left_h = max(wall_h - sum(waits.values()), 0.0)
    stepping_h = productive_h + float(stops["rework_h"].sum())
    fits = min(1.0, left_h / stepping_h) if stepping_h else 1.0
    hours = {
        "productive_h": productive_h * fits,
        "rework_h": (stepping_h - productive_h) * fits,
        **waits,
        "slow_h": max(left_h - stepping_h * fits, 0.0),
    }
    return hours, fits


def _say_missing(went_on: list[int], last: int, between: int, ledger: Ledger) -> None:
    """Say where the run restarts from a step before those of the log."""
    first, lowest = went_on[0], min(went_on)
    if lowest >= first - between:
        return
    ending = f", and ETTR is 0 because the log ends at step {last:,}" if last <= first else ""
    ledger.doubt(
        f"the run restarts from step {lowest:,}, before step {first:,} at which the log begins: earlier steps are "
        f"missing, and steps up to {first:,} count as recomputed{ending}; join it with the log before it"
    )


def _steps_between(processes: list[Process]) -> int:
    """Steps between two lines, as usual."""
    steps = [n for process in processes for n in np.diff(process.step)]
    return max(int(np.median(steps)), 1) if steps else 1


def _from(process: Process, between: int) -> int:
    """The step that a process went on from."""
    first = process.step[0]
    if process.from_step is not None and process.from_step <= first:
        return process.from_step
    return max(first - between, 0) if np.isfinite(process.step_s[0]) or between == 1 else first


def _step_times(processes: list[Process], name: str) -> tuple[float, float, float]:
    """Quartiles of the time of a step: as the log has it, else from line to line within a process. [s]"""
    step_s = np.concatenate([np.asarray(process.step_s) for process in processes])
    step_s = step_s[np.isfinite(step_s) & (step_s > 0)]
    if not step_s.size:
        pairs = [(np.diff(process.time_s), np.diff(process.step)) for process in processes if len(process.step) > 1]
        times, steps = (np.concatenate(each) for each in zip(*pairs, strict=True)) if pairs else (np.empty(0),) * 2
        if times.size and not np.all(times % _DAY_S == 0):
            step_s = np.repeat(times / steps, np.minimum(steps, 1000).astype(int))
    low, middle, high = np.quantile(step_s, (0.25, 0.5, 0.75)) if step_s.size else (0.0,) * 3
    if middle == 0:
        raise InputError(
            f"{name} does not say what a step takes, and its times are too coarse to tell: give --step-s, the "
            "seconds of one step while training"
        )
    return float(low), float(middle), float(high)


def _say_gaps(processes: list[Process], step_s: float, ledger: Ledger) -> None:
    """Say where a process took far longer than its steps: nothing tells a hang from a restart that lost no step."""
    over = [
        np.diff(process.time_s)[long]
        for process in processes
        if (long := np.diff(process.time_s) > np.maximum(_GAP_S, _GAP_STEPS * step_s * np.diff(process.step))).any()
    ]
    if over:
        gaps_h = np.concatenate(over) / S_PER_H
        ledger.note(
            f"gaps between steps that count as slow steps: {gaps_h.size:,}, of {gaps_h.sum():.2g} h in all; hangs, "
            "evaluation, or restarts that went on where they had stopped"
        )


def _save_every_h(taken: StepLog, step_s: float) -> float | None:
    apart = np.diff(taken.saved)
    apart = apart[apart > 0]
    return float(np.median(apart)) * step_s / S_PER_H if apart.size >= 2 else None
