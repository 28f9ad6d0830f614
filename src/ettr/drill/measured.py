"""Measured time budget and faults of a drill, from its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ettr.core.errors import InputError
from ettr.core.results import TimeBudget
from ettr.core.units import S_PER_H
from ettr.drill.settings import FLIP, STOPPING, Settings


@dataclass
class Account:
    """Seconds of a run by part of the time budget, while steps are done and lost.

    Attributes
    ----------
    step_s, stall_s : dict of int to float
        Duration of each step that is not lost, and of the stall after it. [s]
    rework_s, detection_s, queue_s, restart_s : float
        Lost work, failure detection, queue and restarts. [s]
    n_stops : int
        Number of times the workers were restarted.

    Examples
    --------
    >>> account = Account(step_s={1: 0.5, 2: 0.5, 3: 0.5})
    >>> account.undo(after=2)  # step 3 is lost
    >>> account.rework_s, len(account.step_s)
    (0.5, 2)
    """

    step_s: dict[int, float] = field(default_factory=dict)
    stall_s: dict[int, float] = field(default_factory=dict)
    rework_s: float = 0.0
    detection_s: float = 0.0
    queue_s: float = 0.0
    restart_s: float = 0.0
    n_stops: int = 0

    def undo(self, after: int) -> None:
        """Return to a step: everything since then is lost work."""
        for durations in (self.step_s, self.stall_s):
            for step in [step for step in durations if step > after]:
                self.rework_s += durations.pop(step)

    def budget(self, full_step_s: float) -> TimeBudget:
        """Return the time budget; the time of a step beyond a step at full speed is slowdown. [s]"""
        kept_s = sum(self.step_s.values())
        productive_s = min(kept_s, len(self.step_s) * full_step_s)
        return TimeBudget(
            productive_h=productive_s / S_PER_H,
            checkpoint_h=sum(self.stall_s.values()) / S_PER_H,
            slowdown_h=(kept_s - productive_s) / S_PER_H,
            rework_h=self.rework_s / S_PER_H,
            detection_h=self.detection_s / S_PER_H,
            queue_h=self.queue_s / S_PER_H,
            restart_h=self.restart_s / S_PER_H,
            n_failures=float(self.n_stops),
        )


@dataclass(frozen=True)
class Strike:
    """Fault that struck during a drill.

    Attributes
    ----------
    attempt : int
        Number of the start of the workers, from 0.
    into_s : float
        Time since that start, or since training began. [s]
    kind : str
        Kind of fault.
    in_start : bool
        True if it struck before training began.
    """

    attempt: int
    into_s: float
    kind: str
    in_start: bool = False


@dataclass
class MeasuredDrill:
    """Measurements from the log of a drill.

    Attributes
    ----------
    account : Account
        Seconds by part of the time budget.
    strikes : list of Strike
        Faults that had an effect.
    restart_s, stall_s, write_s, free_step_s, writing_step_s : list of float
        Durations of completed restarts, stalls and writes, and of steps without and during a background write. [s]
    detection_s : dict of str to list of float
        Times from a fault to the next start, by kind. [s]
    n_lost_steps : int
        Steps of durable, verified checkpoints that a restart did not use; 0 unless there is a bug.
    n_resumed : int
        Number of times the drill was interrupted and resumed.
    """

    account: Account
    strikes: list[Strike]
    restart_s: list[float]
    stall_s: list[float]
    write_s: list[float]
    free_step_s: list[float]
    writing_step_s: list[float]
    detection_s: dict[str, list[float]]
    n_lost_steps: int
    n_resumed: int


def measured(events: Sequence[Mapping[str, Any]], settings: Settings) -> MeasuredDrill:
    """Return the measurements of a drill from its events.

    Parameters
    ----------
    events : sequence of dict
        Events as from :func:`ettr.drill.log.events`.
    settings : Settings
        Settings of the drill.

    Raises
    ------
    InputError
        If the drill is not done.
    """
    if not events or events[-1]["event"] != "end":
        raise InputError("the drill is not done; run the same command again to resume it")
    starts = [index for index, event in enumerate(events) if event["event"] == "start"]
    if not starts:
        raise InputError("the log of the drill is damaged: it has an end and no start")
    result = MeasuredDrill(Account(), [], [], [], [], [], [], {}, 0, 0)
    durable: set[int] = set()
    corrupted: set[int] = set()
    verified = 0
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(events)], strict=True)):
        attempt = events[start:end]
        # A restart must resume from the newest durable checkpoint that is neither corrupted nor unverified.
        usable = [step for step in durable - corrupted if not settings.check_steps or step <= verified]
        result.n_lost_steps += max(0, max(usable, default=0) - attempt[0]["step"])
        verified = attempt[0]["step"]
        durable, corrupted = ({step for step in steps if step <= verified} for steps in (durable, corrupted))
        result.account.undo(verified)
        for event in attempt:
            if event["event"] == "durable":
                durable.add(event["step"])
            elif event["event"] == "step" and event["checked"]:
                verified = event["step"]
            elif event["event"] == "fault" and event.get("spoilt_step"):
                corrupted.add(event["spoilt_step"])
        _account(result, number, attempt, events[end]["at_s"] if end < len(events) else None)
    return result


def _account(result: MeasuredDrill, number: int, attempt: Sequence[Mapping[str, Any]], next_s: float | None) -> None:
    """Add an attempt, from a start of the workers until the next start or the last step."""
    account = result.account
    began_s = mark_s = attempt[0]["at_s"]
    ready_s, writing_since_s = None, None
    for event in attempt:
        spent_s, kind = event["at_s"] - mark_s, event["event"]
        if kind not in ("ready", "step", "stalled", "durable"):
            continue
        if kind == "durable":
            result.write_s.append(event["at_s"] - (writing_since_s or mark_s))
            writing_since_s = None
            continue
        if kind == "ready":
            account.restart_s += spent_s
            result.restart_s.append(spent_s)
            ready_s = event["at_s"]
        elif kind == "step":
            account.step_s[event["step"]] = spent_s
            (result.writing_step_s if writing_since_s else result.free_step_s).append(spent_s)
        else:
            writing_since_s = event["at_s"] if event["writing"] else None
            account.stall_s[event["step"]] = spent_s
            result.stall_s.append(spent_s)
        mark_s = event["at_s"]
    faults = [event for event in attempt if event["event"] == "fault" and not event["missed"]]
    since_s = began_s if ready_s is None else ready_s
    result.strikes.extend(
        Strike(number, event["at_s"] - began_s, event["kind"], in_start=True)
        if ready_s is None or event["at_s"] < ready_s
        else Strike(number, event["at_s"] - ready_s, event["kind"])
        for event in faults
    )
    if next_s is None:
        return
    stop = next((event for event in faults if event["kind"] in STOPPING), None)
    detected = next((event for event in attempt if event["event"] in ("spoilt", "down")), None)
    struck_s = max(mark_s, (stop or detected or attempt[-1])["at_s"])
    if ready_s is None:
        account.restart_s += struck_s - mark_s
    else:
        account.rework_s += struck_s - mark_s
    if stop is None and detected is None:  # interrupted, and resumed by hand
        account.queue_s += next_s - struck_s
        result.n_resumed += 1
        return
    kind = stop["kind"] if stop else (detected or {}).get("why", FLIP)
    if stop is None and kind != FLIP:
        result.strikes.append(Strike(number, struck_s - since_s, kind, in_start=ready_s is None))
    if ready_s is not None:
        result.detection_s.setdefault(kind, []).append(next_s - struck_s)
    account.detection_s += next_s - struck_s
    account.n_stops += 1
