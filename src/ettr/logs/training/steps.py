"""What passes in a training log, whatever wrote it: steps, processes that start and end, and saves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY, S_PER_H
from ettr.files.ledger import Ledger
from ettr.files.times import END_US, LAST_YEAR, SECOND

SAVE, LOAD = "saves", "loading"
"""Names of what logs time by name, beside those that only one of them has."""

_TOGETHER_S, _SLACK_S = 10.0, 5.0
"""Starts so near to each other are one, said by several ranks; lines of several ranks may be so far out of order."""
_DAY_S = H_PER_DAY * S_PER_H
_PAUSE_S = 30 * _DAY_S
"""A time so far ahead of all before belongs to no line of the run, unless it is that of a step."""
_MOST_BACK = 0.1
"""More step lines than this whose time is before that of the line before, and the file is in no order."""


@dataclass
class Process:
    """One process of the run: from its start, or its first step, to its last.

    Attributes
    ----------
    from_step : int or None
        The step from which it went on; None where no line says.
    ended : bool
        Whether it ended by itself: what follows is no failure.
    n_attempts : int
        Starts that reached no step before this one did.
    started_s, starter : float or None, and str
        When a line said that it starts [s since 1970 UTC], and the rank that wrote the line.
    time_s, step, step_s : list
        Of each step line: seconds since 1970 UTC [s], the steps done by then, and the time of one as the log has it
        (NaN where it does not) [s].
    """

    from_step: int | None = None
    ended: bool = False
    n_attempts: int = 0
    started_s: float | None = None
    starter: str = ""
    time_s: list[float] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    step_s: list[float] = field(default_factory=list)


class StepLog:
    """Takes what a reader finds, in the order of the file.

    Parameters
    ----------
    ledger : Ledger
        Takes what cannot be used.

    Attributes
    ----------
    processes : list of Process
        The run, process by process.
    first_s, last_s : float
        The first and the last time in the file, of whatever line. [s since 1970 UTC]
    n_gpus : int or None
        GPUs of the run, where the log says.
    saved : list of int
        Steps at which a checkpoint was saved.
    named_s : dict of str to list of float
        What the log itself times by name, such as saves. [s]
    n_inferred : int
        Step lines without a time of their own.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.processes: list[Process] = [Process()]
        self.first_s, self.last_s = np.nan, np.nan
        self.n_gpus: int | None = None
        self.saved: list[int] = []
        self.named_s: dict[str, list[float]] = {}
        self.n_inferred = 0
        self._writer: dict[int, str] = {}
        self._n_lines = self._n_back = 0
        self._first_back = ""

    @property
    def now(self) -> Process:
        """The process whose lines pass."""
        return self.processes[-1]

    def seen(self, at_s: float) -> None:
        """A time, of whatever line; one before those that passed, or far from them, counts for nothing."""
        far = abs(at_s - self.last_s) > _PAUSE_S
        if np.isnan(self.first_s) or (far and not self._n_lines):
            self.first_s = self.last_s = at_s
        elif not far:
            self.last_s = max(self.last_s, at_s)

    def starts(self, writer: str = "") -> None:
        """A line says that a process starts."""
        now = self._begin() if self.now.step else self.now
        if now.started_s is None:
            now.started_s, now.starter = self.last_s, writer
        elif writer == now.starter and not self.last_s - now.started_s < _TOGETHER_S:
            now.n_attempts += 1
            now.started_s = self.last_s

    def goes_on(self, from_step: int | None) -> None:
        """A process goes on from a step, or from the beginning; another line may have said that it starts."""
        now = self._begin() if self.now.step else self.now
        if from_step is not None:
            now.from_step = from_step

    def ends(self) -> None:
        """A process ends by itself."""
        self.now.ended = bool(self.now.step)

    def saves(self, step: int) -> None:
        """A checkpoint of a step is saved."""
        if not self.saved or self.saved[-1] != step:
            self.saved.append(step)

    def timed(self, name: str, seconds: float) -> None:
        """Something that the log times by name."""
        self.named_s.setdefault(name, []).append(seconds)

    def reached(self, step: int, at_s: float | None, step_s: float, place: str, writer: str = "") -> None:
        """A number of steps is done.

        Parameters
        ----------
        step : int
            Steps done.
        at_s : float or None
            When; reckoned from the time of a step if None. [s since 1970 UTC]
        step_s : float
            Time of a step as the log has it; NaN if it does not. [s]
        place : str
            Of the line.
        writer : str
            Rank that wrote it, where lines say; several may write the same.
        """
        self._n_lines += 1
        now = self.now
        if self._writer.get(step, writer) != writer:
            return self.ledger.merged("the same step, from another rank", place=place)
        if at_s is None:
            at_s = self._reckoned(step, step_s)
        if at_s is None:
            return self.ledger.not_parsed("a step before any line with a time", place=place)
        if not at_s < END_US / SECOND:  # reckoned over a step number that is far ahead
            return self.ledger.not_parsed(f"a time after the year {LAST_YEAR}", place=place)
        if at_s < self.last_s - _SLACK_S:
            self._n_back += 1
            self._first_back = self._first_back or place
            return self.ledger.not_parsed("the time is before that of the lines before", place=place)
        if now.step and step <= now.step[-1]:
            if step == now.step[-1] and at_s - now.time_s[-1] < 1.0:
                return self.ledger.merged("the same step again", place=place)
            now = self._begin()
        self._writer[step] = writer
        if at_s > self.last_s + _PAUSE_S and now.step:
            self.ledger.doubt(f"no step for {(at_s - self.last_s) / _DAY_S:.0f} days before {place}: is it one run?")
        self.last_s = at_s = at_s if np.isnan(self.last_s) else max(self.last_s, at_s)
        self.first_s = at_s if np.isnan(self.first_s) else self.first_s
        now.time_s.append(at_s)
        now.step.append(step)
        now.step_s.append(step_s)
        return None

    def finish(self, name: str) -> None:
        """Refuse what says nothing, and say what is in doubt.

        Raises
        ------
        InputError
            Fewer than two steps with a time, or times in no order.
        """
        if self._n_back > _MOST_BACK * self._n_lines:
            raise InputError(
                f"{name}: times go back at {self._first_back} and {self._n_back:,} of {self._n_lines:,} steps are "
                "before others. Join logs of one run in the order of time, and give those of several runs one by one"
            )
        if self._n_back:
            self.ledger.doubt(
                f"the clock goes back at {self._first_back}: {self._n_back:,} of {self._n_lines:,} steps are left out"
            )
        if not self.now.step and len(self.processes) > 1:
            unstarted = self.processes.pop()
            self.ledger.note(f"the last {unstarted.n_attempts + 1} starts reached no step before the file ends")
        n_steps = sum(len(process.step) for process in self.processes)
        if n_steps < 2 or not self.last_s > self.first_s:
            counted = f"{n_steps:,} at one time" if n_steps > 1 else f"{n_steps} step{'' if n_steps else 's'}"
            raise InputError(
                f"{name} must hold two steps at different times at least, got {counted}; lines without a time get it "
                "while they are written: torchrun ... | ts '%Y-%m-%dT%H:%M:%S'"
            )
        if self.n_inferred:
            self.ledger.doubt(
                f"{self.n_inferred:,} of {self._n_lines:,} steps carry no time: it is reckoned from the time of a "
                "step, so that saves and waits between them are not seen"
            )

    def _reckoned(self, step: int, step_s: float) -> float | None:
        if np.isnan(self.last_s) or np.isnan(step_s):
            return None
        self.n_inferred += 1
        before = self.now.from_step if not self.now.step else self.now.step[-1]
        n = step - before if before is not None and step > before else 1
        return float(self.last_s + n * step_s)

    def _begin(self) -> Process:
        self.processes.append(Process())
        self._writer.clear()
        return self.now
