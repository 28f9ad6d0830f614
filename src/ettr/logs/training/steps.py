"""Contents of a training log of any framework: steps, processes that start and end, and saves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY, S_PER_H
from ettr.files.ledger import Ledger
from ettr.files.times import END_US, LAST_YEAR, SECOND

SAVE, LOAD = "saves", "loading"
"""Names of durations that several frameworks log."""

_TOGETHER_S, _SLACK_S = 10.0, 5.0
"""Starts by several ranks within the first are one start; lines may be out of order by the second. [s]"""
_FEW_SOON = 2
_MANY_PROCESSES, _MOST_RESTARTS = 10, 0.4
"""Processes, and their share of the lines, above which steps of several runs alternate."""
_FAR_AHEAD = 0.01
"""A step that would have taken less than this share of the usual time is no step of the run."""
DAY_S = H_PER_DAY * S_PER_H
_PAUSE_S = 30 * DAY_S
"""A time this far after all earlier ones is ignored, unless it is that of a step. [s]"""
_MOST_BACK = 0.1
"""Share of step lines with times before earlier ones above which the file is out of order."""


@dataclass
class Process:
    """One process of the run: from its start, or its first step, to its last.

    Attributes
    ----------
    from_step : int or None
        Step from which it resumed; None if it is not in the log.
    ended : bool
        Whether it ended by itself, so that the next stop is not a failure.
    n_attempts : int
        Starts before it that reached no step.
    started_s, starter : float or None, and str
        Time of the line that logged its start [s since 1970 UTC], and the rank that wrote the line.
    time_s, step, step_s : list
        For each step line: its time [s since 1970 UTC], the steps done, and the time of a step according to the log
        (NaN if missing) [s].
    """

    from_step: int | None = None
    ended: bool = False
    n_attempts: int = 0
    started_s: float | None = None
    starter: str = ""
    time_s: list[float] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    step_s: list[float] = field(default_factory=list)

    @property
    def last_step_s(self) -> float:
        """Time of a step between the last two step lines; 0 without two. [s]"""
        if len(self.step) < 2:
            return 0.0
        return (self.time_s[-1] - self.time_s[-2]) / (self.step[-1] - self.step[-2])


class StepLog:
    """Collects the steps and events of a training log, in the order of the file.

    Parameters
    ----------
    ledger : Ledger
        Records lines that cannot be used.

    Attributes
    ----------
    processes : list of Process
        Processes of the run, in order.
    first_s, last_s : float
        First and last time in the file, of any line. [s since 1970 UTC]
    n_gpus : int or None
        GPUs of the run, if they are in the log.
    saved : list of int
        Steps at which a checkpoint was saved.
    named_s : dict of str to list of float
        Durations that the log has by name, such as saves. [s]
    n_inferred : int
        Step lines without a time stamp. [count]
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.processes: list[Process] = [Process()]
        self.first_s, self.last_s = math.nan, math.nan
        self.n_gpus: int | None = None
        self.saved: list[int] = []
        self.named_s: dict[str, list[float]] = {}
        self.n_inferred = 0
        self._writer: dict[int, str] = {}
        self._n_lines = self._n_back = self._n_soon = 0
        self._first_back = self._first_soon = ""
        self._last_step_s = _TOGETHER_S

    @property
    def now(self) -> Process:
        """The current process."""
        return self.processes[-1]

    def seen(self, at_s: float) -> None:
        """Add the time of any line; ignored if it is before or far after the earlier ones."""
        far = abs(at_s - self.last_s) > _PAUSE_S
        if math.isnan(self.first_s) or (far and not self._n_lines):
            self.first_s = self.last_s = at_s
        elif not far:
            self.last_s = max(self.last_s, at_s)

    def starts(self, writer: str = "") -> None:
        """Add the start of a process."""
        now = self._begin() if self.now.step else self.now
        if now.started_s is None:
            now.started_s, now.starter = self.last_s, writer
        elif writer == now.starter and not self.last_s - now.started_s < _TOGETHER_S:
            now.n_attempts += 1
            now.started_s = self.last_s

    def goes_on(self, from_step: int | None) -> None:
        """Add the step from which a process resumes (None for the first), which may follow a line with its start."""
        now = self._begin() if self.now.step else self.now
        if from_step is not None:
            now.from_step = from_step

    def ends(self) -> None:
        """Mark the current process as ended by itself."""
        self.now.ended = bool(self.now.step)

    def saves(self, step: int) -> None:
        """Add a saved checkpoint."""
        if not self.saved or self.saved[-1] != step:
            self.saved.append(step)

    def timed(self, name: str, seconds: float) -> None:
        """Add a duration that the log has by name."""
        self.named_s.setdefault(name, []).append(seconds)

    def reached(self, step: int, at_s: float | None, step_s: float, place: str, writer: str = "") -> None:
        """Add a step line.

        Parameters
        ----------
        step : int
            Steps done.
        at_s : float or None
            Time of the line; inferred from the time of a step if None. [s since 1970 UTC]
        step_s : float
            Time of a step according to the log; NaN if missing. [s]
        place : str
            Line number, for messages.
        writer : str
            Rank that wrote the line, if known; several ranks may write the same step.
        """
        self._n_lines += 1
        now = self.now
        if at_s is None and self._writer.get(step, writer) != writer:
            return self.ledger.merged("same step from another rank", place=place)
        if at_s is None:
            at_s = self._inferred_s(step, step_s)
        if at_s is None:
            return self.ledger.not_parsed("step before any line with a time", place=place)
        if not at_s < END_US / SECOND:  # inferred for a step number far ahead
            return self.ledger.not_parsed(f"time after the year {LAST_YEAR}", place=place)
        if at_s < self.last_s - _SLACK_S:
            self._n_back += 1
            self._first_back = self._first_back or place
            return self.ledger.not_parsed("time before that of earlier lines", place=place)
        self._last_step_s = step_s if math.isfinite(step_s) else now.last_step_s or self._last_step_s
        if now.step and step <= now.step[-1]:
            # the first line after a restart takes at least one step
            if at_s - now.time_s[-1] < max(1.0, self._last_step_s):
                return self._soon(step, now.step[-1], place)
            now = self._begin()
        elif len(now.step) > 1 and at_s - now.time_s[-1] < _FAR_AHEAD * now.last_step_s * (step - now.step[-1]):
            return self.ledger.not_parsed("step far ahead of its time", place=f"{place}: {step}")
        self._writer[step] = writer
        if at_s > self.last_s + _PAUSE_S and now.step:
            self.ledger.doubt(
                f"no step for {(at_s - self.last_s) / DAY_S:.0f} days before {place}: is it a single run?"
            )
        self.last_s = at_s = at_s if math.isnan(self.last_s) else max(self.last_s, at_s)
        self.first_s = at_s if math.isnan(self.first_s) else self.first_s
        now.time_s.append(at_s)
        now.step.append(step)
        now.step_s.append(step_s)
        return None

    def finish(self, name: str) -> None:
        """Check the log as a whole, and add cautions.

        Raises
        ------
        InputError
            Fewer than two steps with a time, or times out of order.
        """
        if self._n_back > _MOST_BACK * self._n_lines:
            raise InputError(
                f"{name} must be in order of time, but times go back at {self._first_back}, and {self._n_back:,} of "
                f"{self._n_lines:,} steps are before earlier ones. Join logs of one run in order of time, read logs "
                "of several runs one by one, and give times in UTC if clocks were set back"
            )
        if self._n_soon > max(_FEW_SOON, _MOST_BACK * self._n_lines):
            raise InputError(
                f"{name} must have the steps of one run, but {self._n_soon:,} of {self._n_lines:,} come sooner after a "
                f"later one than a step takes, the first at {self._first_soon}: several runs, hosts or metrics with "
                "steps of their own share the log. Keep one of them, e.g. with grep"
            )
        n_processes = sum(bool(process.step) for process in self.processes)
        if n_processes > max(_MANY_PROCESSES, _MOST_RESTARTS * self._n_lines):
            raise InputError(
                f"{name} must have the steps of one run, but they fall at {n_processes - 1:,} of {self._n_lines:,} "
                "lines: several runs share the log. Keep one of them, e.g. with grep"
            )
        if self._n_back:
            self.ledger.doubt(
                f"the clock goes back at {self._first_back}: {self._n_back:,} of {self._n_lines:,} steps are left out"
            )
        if not self.now.step and len(self.processes) > 1:
            unstarted = self.processes.pop()
            self.ledger.note(f"starts at the end of the file that reached no step: {unstarted.n_attempts + 1}")
        n_steps = sum(len(process.step) for process in self.processes)
        if n_steps < 2 or not self.last_s > self.first_s:
            counted = f"{n_steps:,} at one time" if n_steps > 1 else f"{n_steps} step{'' if n_steps else 's'}"
            raise InputError(
                f"{name} must have at least two steps at different times, got {counted}. "
                f"{self.ledger.reasons() or 'No line was left out'}. Lines without times get them while they are "
                "written: torchrun ... | ts '%Y-%m-%dT%H:%M:%S'"
            )
        if self.n_inferred:
            self.ledger.doubt(
                f"{self.n_inferred:,} of {self._n_lines:,} steps have no time stamp: their times are inferred from the "
                "time of a step, so saves and waits between them are not detected"
            )

    def _soon(self, step: int, last: int, place: str) -> None:
        """Leave out a step that is not ahead of the last one and comes sooner than a step takes."""
        if step in self._writer:
            return self.ledger.merged("same step from another rank, or another metric of it", place=place)
        self._n_soon += 1
        self._first_soon = self._first_soon or f"{place} step {step:,} follows step {last:,}"
        return self.ledger.dropped("step before the last one, sooner than a step takes", place=place)

    def _inferred_s(self, step: int, step_s: float) -> float | None:
        """Time of a step line without a time stamp; None without an earlier time or the time of a step."""
        if math.isnan(self.last_s) or math.isnan(step_s):
            return None
        self.n_inferred += 1
        before = self.now.from_step if not self.now.step else self.now.step[-1]
        n = step - before if before is not None and step > before else 1
        return float(self.last_s + n * step_s)

    def _begin(self) -> Process:
        """Start a new process."""
        self.processes.append(Process())
        self._writer.clear()
        return self.now
