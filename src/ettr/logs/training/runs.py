"""Training logs of a run: its ETTR, its stops, and the lost work that it recomputed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.units import S_PER_H
from ettr.core.validity import above_zero
from ettr.files.formats import Formats
from ettr.files.ledger import Ledger
from ettr.files.opening import STDIN, Progress, Source
from ettr.files.tables import columns_found
from ettr.logs.options import checked_options
from ettr.logs.training import lines, step_records
from ettr.logs.training.goodput import by_period, kept_hours, rolling
from ettr.logs.training.steps import DAY_S, SAVE, Process, StepLog

FORMATS = Formats("training log", "", *lines.FORMATS, *step_records.FORMATS)
_STEPS = step_records.FORMATS[-1].name
PARTS = {
    "productive_h": "productive steps",
    "rework_h": "lost work (recomputed)",
    "stops_h": "waits after failures",
    "planned_h": "planned stops",
    "start_h": "first start",
    "slow_h": "saves, slow steps, evaluation",
    "tail_h": "after the last step",
}
"""Parts of the wall clock of a run, with their names in reports."""
_GAP_S, _GAP_STEPS = 300.0, 5.0
"""A gap between steps is longer than this, and this many times the time of its steps. [s], [count]"""
_FITS = 0.95
"""If steps must be scaled below this to fit into the wall clock, there is a caution."""


@dataclass(frozen=True)
class TrainingRun:
    """A run according to its own log.

    Attributes
    ----------
    source, format : str
        Name and format of the file.
    n_gpus : int or None
        GPUs of the run, if they are in the log.
    start : Timestamp
        First time in the log.
    wall_h : float
        Wall clock from the first to the last time. [h]
    hours : dict of str to float
        Hours of each of ``PARTS``; none is negative, and their sum is the wall clock. [h]
    step_s, step_low_s, step_high_s : float
        Median and quartiles of the time of a step while training. [s]
    n_steps : int
        Productive steps: the last step minus the step at which the log starts, at least 0. [count]
    stops : DataFrame
        One row per stop: ``time`` of the last step before it, ``place`` (the number of that step), ``from_step``,
        ``rework_h``, ``down_h`` [h], ``planned`` and ``n_attempts`` (starts that reached no step).
    save_every_h : float or None
        Training time between two saves; None if neither save lines nor restarts show it. [h]
    saves_from : str
        ``"save lines"`` or ``"restarts"``; empty if the interval is not known.
    named_s : dict of str to float
        Mean durations that the log itself has, such as saves. [s]
    notes, doubts : tuple of str
        Assumptions, and cautions that concern the whole answer.
    records : DataFrame
        Records that were left out, by reason.
    progress : DataFrame
        Productive hours up to each step line: ``time`` and ``productive_h`` [h].
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
    saves_from: str
    named_s: Mapping[str, float]
    notes: tuple[str, ...]
    doubts: tuple[str, ...]
    records: pd.DataFrame
    progress: pd.DataFrame

    @property
    def end(self) -> pd.Timestamp:
        """Last time in the log."""
        return self.start + pd.Timedelta(hours=self.wall_h)

    def goodput(self, by: str = "day") -> pd.DataFrame:
        """Return the ETTR in each hour, day or week, in UTC.

        Parameters
        ----------
        by : str
            ``"hour"``, ``"day"`` or ``"week"``.

        Returns
        -------
        DataFrame
            One row per period: ``start``, ``end``, ``wall_h`` and ``productive_h`` [h], ``ettr`` and ``n_stops``
            [count].

        Raises
        ------
        UnknownName
            No period of that name.
        """
        return by_period(self.progress, self.stops, self.start, self.end, by)

    def rolling_goodput(self, window_h: float = 24.0) -> pd.DataFrame:
        """Return ``time`` and ``ettr``, the ETTR in the ``window_h`` hours up to it."""
        return rolling(self.progress, self.start, self.end, window_h)

    @property
    def ettr(self) -> float:
        """Productive over wall-clock hours, from 0 to 1."""
        return min(self.hours["productive_h"] / self.wall_h, 1.0)  # rounding

    @property
    def ettr_range(self) -> tuple[float, float]:
        """ETTR if a step takes the lower or the upper quartile of its times."""
        low, high = (min(self.ettr * step_s / self.step_s, 1.0) for step_s in (self.step_low_s, self.step_high_s))
        return low, high

    @property
    def save_s(self) -> float | None:
        """Mean duration of a save according to the log; None if it has none. [s]"""
        return self.named_s.get(SAVE)

    @property
    def failures(self) -> pd.DataFrame:
        """Stops that were not planned."""
        return self.stops[~self.stops["planned"]]

    @property
    def n_failures(self) -> int:
        """Number of failures: unplanned stops, and starts that reached no step. [count]"""
        return len(self.failures) + int(self.stops["n_attempts"].sum())

    @property
    def wait_h(self) -> float:
        """Mean wait after a failure until training resumes or fails again; NaN without failures. [h]"""
        return self.hours["stops_h"] / self.n_failures if self.n_failures else np.nan

    @property
    def again_h(self) -> float:
        """Mean lost work (recomputed) per failure; NaN without failures. [h]"""
        return float(self.failures["rework_h"].sum()) / self.n_failures if self.n_failures else np.nan


def is_training_log(
    path: str | Path,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    header: Sequence[str] | None = None,
    encoding: str | None = None,
) -> bool:
    """Return whether a file is a training log, by its format, its columns or its first lines.

    Parameters
    ----------
    path : str or path
        The file.
    format, columns, header, encoding
        See `read_training`; columns of a time and a step, and a header with a step, are those of a training log.
    """
    if format is not None:
        return format in FORMATS
    if columns and not set(columns) <= {*step_records.ROLES}:
        return False
    head = Source(path, encoding=encoding).head()
    if columns or header:
        return "step" in (columns or ()) or step_records.has_steps(header or step_records.names_in(head))
    return any(format_.sniff(head) for format_ in FORMATS.values())


def refuse_training_log(source: Source) -> None:
    """Refuse a training log in place of a failure log, from its first lines.

    Raises
    ------
    InputError
        It has training steps, in a known format or in an unknown one.
    """
    head, table = source.head(), f"a table with the columns time and step (see `ettr formats {_STEPS}`)"
    if format_ := next((format_ for format_ in FORMATS.values() if format_.sniff(head)), None):
        raise InputError(
            f"{source.name} is a training log ({format_.name}), not a failure log: read it with "
            "`ettr.logs.read_training`, or with `ettr fit` without options for failure logs"
        )
    if step_records.has_steps(step_records.names_in(head)):
        raise InputError(
            f"{source.name} has training steps but no column of their times, which the ETTR needs: export {table}. "
            f"{columns_found(step_records.names_in(head))} If one of them has the times, name it, e.g. "
            '`columns={"time": "logged", "step": "step"}`'
        )
    if place := step_records.place_of_steps(head):
        raise InputError(
            f"{source.name} looks like the log of a training framework that is not known ({place}): make {table}, or "
            f"name the format of a known one with `format`: {', '.join(FORMATS)}"
        )


def read_training(
    path: str | Path,
    format: str | None = None,
    *,
    step_s: float | None = None,
    columns: Mapping[str, str] | None = None,
    header: Sequence[str] | None = None,
    zone: str | tzinfo | None = None,
    year: int | None = None,
    time_unit: str | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> TrainingRun:
    """Read the log of a training framework: its steps, its stops, and the time that they took.

    Parameters
    ----------
    path : str or path
        The file: a log of Megatron, torchtitan, NeMo, MaxText, nanotron or ml-goodput, or a table or JSON of ``time``
        and ``step``, as W&B and TensorBoard export them.
    format : str or None
        Format of the file; detected from the first lines if not given.
    step_s : float or None
        Time of one step while training; from the log if not given. [s]
    columns : mapping of str to str or None
        For tables: the columns of ``time``, ``step`` and ``step_s``, by the names of the file.
    header : sequence of str or None
        For a table without a header: the names of its columns in order.
    zone : str, tzinfo or None
        Time zone of times without one; UTC if not given.
    year : int or None
        Year of the first time, if times have none; the latest possible one if not given.
    time_unit : str or None
        Unit of times that are numbers since an origin, such as ``s``.
    encoding : str or None
        Encoding of the file; UTF-8 if not given.
    progress : callable or None
        Called with the bytes read and the size of the file.

    Returns
    -------
    TrainingRun

    Raises
    ------
    InputError
        Fewer than two steps with a time, times out of order, or no way to find the time of a step.

    Notes
    -----
    Productive steps are the progress at the end of the log: its last step minus the step at which it starts. A process
    that resumes from an earlier step recomputes the steps between. If it goes back to a step before the start of the
    log, the steps up to there are recomputed too, so none of them is progress. A log that starts at step 10,000,
    reaches 12,000, restarts from 5,000 and ends at 15,000 has 5,000 productive steps of the 12,000 in it. If it ends at
    7,000, it has none of 4,000, and its ETTR is 0.

    The step from which a process resumed is the one in its log, else its first logged step minus the usual number of
    steps between two lines. A stop lasts from the last step before it until the process starts the first step after
    it, including steps that were done but not logged before the stop.

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
    options = checked_options(zone=zone, year=year, time_unit=time_unit, columns=columns, header=header)
    format = _STEPS if (columns or header) and format is None else format
    if (columns or header) and format != _STEPS:
        option = "columns" if columns else "header"
        raise InputError(f"`{option}` applies only to the format {_STEPS}, a table of steps, got the format {format}")
    if step_s is not None:
        above_zero("step_s", step_s, unit="s")
    source, chosen = FORMATS.open(path, format, progress, encoding)
    ledger = Ledger()
    steps = StepLog(ledger)
    chosen.read(source, options, steps, ledger)
    ledger.close()
    if source.cut:
        ledger.doubt(f"{source.name} {source.cut}; the rest of the log is missing")
    steps.finish(source.name)
    label = source.name if str(path) == STDIN else str(path)
    return _run(steps, ledger, step_s, label, chosen.name, source.name)


def _run(log: StepLog, ledger: Ledger, step_s: float | None, path: str, format: str, name: str) -> TrainingRun:
    """The run from the steps of its log."""
    processes = [process for process in log.processes if process.step]
    between = _steps_between(processes)
    from_steps = [_from(process, between) for process in processes]
    low_s, middle_s, high_s = _step_times(processes, name) if step_s is None else (step_s,) * 3
    if middle_s * between > 1.5 * DAY_S:
        ledger.note("steps are logged less than once a day: stops between two lines are not detected")
    begun = [
        process.time_s[0] - (process.step[0] - at) * middle_s for process, at in zip(processes, from_steps, strict=True)
    ]
    if begun[0] < log.first_s:  # the log starts in the middle of these steps
        n_unlogged = int((processes[0].time_s[0] - log.first_s) / middle_s)
        from_steps[0] = processes[0].step[0] - n_unlogged
        begun[0] = processes[0].time_s[0] - n_unlogged * middle_s
    stops = _stops(processes, begun, from_steps, middle_s)
    _note_gaps(processes, middle_s, ledger)
    _doubt_missing(from_steps, processes[-1].step[-1], between, ledger)
    if processes[0].n_attempts:
        ledger.note(f"starts that reached no step before the first step: {processes[0].n_attempts:,}")
    wall_h = (log.last_s - log.first_s) / S_PER_H
    n_steps = max(processes[-1].step[-1] - from_steps[0], 0)
    start_h = (begun[0] - log.first_s) / S_PER_H
    tail_h = (log.last_s - processes[-1].time_s[-1]) / S_PER_H
    hours, fits = _hours(stops, wall_h, start_h, tail_h, n_steps * middle_s / S_PER_H)
    n_done = n_steps + round(stops["rework_h"].sum() * S_PER_H / middle_s)
    save_every_h, saves_from = _save_every_h(log, stops, middle_s)
    stops["rework_h"] *= fits
    if fits < _FITS:
        ledger.doubt(
            f"{n_done:,} steps of {middle_s:g} s take longer than the {wall_h:.4g} h of the log: the time of a step "
            "is wrong, or steps were skipped"
        )
    return TrainingRun(
        source=path,
        format=format,
        n_gpus=log.n_gpus,
        start=pd.Timestamp(log.first_s, unit="s", tz="UTC"),
        wall_h=wall_h,
        hours={part: hours[part] for part in PARTS},
        step_s=middle_s,
        step_low_s=low_s,
        step_high_s=high_s,
        n_steps=n_steps,
        stops=stops,
        save_every_h=save_every_h,
        saves_from=saves_from,
        named_s={name: float(np.mean(seconds)) for name, seconds in log.named_s.items()},
        notes=tuple(ledger.notes),
        doubts=tuple(ledger.doubts),
        records=ledger.to_frame(),
        progress=kept_hours(processes, begun, from_steps, middle_s * fits),
    )


def _stops(processes: list[Process], begun: list[float], from_steps: list[int], step_s: float) -> pd.DataFrame:
    """One row per stop, with the hours lost to it."""
    rows = []
    for (before, after), (began, from_step) in zip(
        itertools.pairwise(processes), itertools.islice(zip(begun, from_steps, strict=True), 1, None), strict=True
    ):
        last, last_s = before.step[-1], before.time_s[-1]
        unlogged_s = max(from_step - last, 0) * step_s
        down_s = max(began - last_s - unlogged_s, 0.0)
        stamp = pd.Timestamp(last_s, unit="s", tz="UTC")
        n_lost = max(last - from_step, 0)
        rows.append((stamp, last, from_step, n_lost, down_s / S_PER_H, before.ended, after.n_attempts))
    # steps lost from before the start of the log and not yet recomputed at its end took none of its time
    missing = max(from_steps[0] - processes[-1].step[-1], 0)
    recomputed = [row[3] for row in rows]
    for i in reversed(range(len(recomputed))):
        n_missing = min(recomputed[i], missing)
        recomputed[i], missing = recomputed[i] - n_missing, missing - n_missing
    columns = ["time", "place", "from_step", "rework_h", "down_h", "planned", "n_attempts"]
    stops = pd.DataFrame(rows, columns=columns).astype({"planned": bool, "time": "datetime64[ns, UTC]"})
    return stops.assign(rework_h=np.array(recomputed, dtype=float) * step_s / S_PER_H)


def _hours(
    stops: pd.DataFrame, wall_h: float, start_h: float, tail_h: float, productive_h: float
) -> tuple[dict[str, float], float]:
    """The parts of the wall clock, and the factor that scales steps to fit into it."""
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


def _doubt_missing(from_steps: list[int], last: int, between: int, ledger: Ledger) -> None:
    """Caution if the run restarts from a step before the start of the log."""
    first, lowest = from_steps[0], min(from_steps)
    if lowest >= first - between:
        return
    ending = f", and ETTR is 0 because the log ends at step {last:,}" if last <= first else ""
    ledger.doubt(
        f"the run restarts from step {lowest:,}, before step {first:,} at which the log starts: earlier steps are "
        f"missing, and steps up to {first:,} count as recomputed{ending}; join it with the previous log"
    )


def _steps_between(processes: list[Process]) -> int:
    """The median number of steps between two lines."""
    steps = [n for process in processes for n in np.diff(process.step)]
    return max(int(np.median(steps)), 1) if steps else 1


def _from(process: Process, between: int) -> int:
    """The step from which a process resumed."""
    first = process.step[0]
    if process.from_step is not None and process.from_step <= first:
        return process.from_step
    return max(first - between, 0) if np.isfinite(process.step_s[0]) or between == 1 else first


def _step_times(processes: list[Process], name: str) -> tuple[float, float, float]:
    """Quartiles of the time of a step: from the log, else from line to line within a process. [s]"""
    step_s = np.concatenate([np.asarray(process.step_s) for process in processes])
    step_s = step_s[np.isfinite(step_s) & (step_s > 0)]
    if not step_s.size:
        pairs = [(np.diff(process.time_s), np.diff(process.step)) for process in processes if len(process.step) > 1]
        times, steps = (np.concatenate(parts) for parts in zip(*pairs, strict=True)) if pairs else (np.empty(0),) * 2
        if times.size and not np.all(times % DAY_S == 0):
            step_s = np.repeat(times / steps, np.minimum(steps, 1000).astype(int))
    low, middle, high = np.quantile(step_s, (0.25, 0.5, 0.75)) if step_s.size else (0.0,) * 3
    if middle == 0:
        raise InputError(
            f"{name} does not have the time of a step, and its times are too coarse to infer it: give `step_s`, the "
            "seconds of one step while training, or `time_unit` if the times are numbers"
        )
    return float(low), float(middle), float(high)


def _note_gaps(processes: list[Process], step_s: float, ledger: Ledger) -> None:
    """Note gaps much longer than their steps: a hang, or a restart that lost no step."""
    gaps = [
        np.diff(process.time_s)[long]
        for process in processes
        if (long := np.diff(process.time_s) > np.maximum(_GAP_S, _GAP_STEPS * step_s * np.diff(process.step))).any()
    ]
    if gaps:
        gaps_h = np.concatenate(gaps) / S_PER_H
        ledger.note(
            f"gaps between steps that count as slow steps: {gaps_h.size:,}, {gaps_h.sum():.2g} h in all; they may be "
            "hangs, evaluation, or restarts that lost no step"
        )


def _save_every_h(log: StepLog, stops: pd.DataFrame, step_s: float) -> tuple[float | None, str]:
    """Training time between two saves [h], and where it comes from.

    Save lines give the median number of steps between two. Otherwise the steps from which the run resumed differ by
    multiples of the interval, and so does the only one from 0; and the interval is no shorter than the steps that a
    failure lost. The smallest divisor that fits is taken.
    """
    steps = np.diff(log.saved)
    steps = steps[steps > 0]
    if steps.size:
        return float(np.median(steps)) * step_s / S_PER_H, "save lines"
    restarts = stops[~stops["planned"] & (stops["from_step"] > 0)]
    n_lost = int((restarts["place"] - restarts["from_step"]).max()) if len(restarts) else 0
    resumed = np.unique(restarts["from_step"])
    common = int(np.gcd.reduce(np.diff(resumed) if resumed.size > 1 else resumed)) if resumed.size else 0
    is_stated = any(process.from_step for process in log.processes)  # else it is only near the first line
    if not 1 <= n_lost <= common or (resumed.size == 1 and not is_stated):  # nothing lost, or saves not regular
        return None, ""
    n_steps = next(n for n in range(n_lost, common + 1) if common % n == 0)
    return n_steps * step_s / S_PER_H, "restarts"
