"""What a drill took, read from its log: the parts of its time budget, and when each fault struck."""

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
    """Seconds by where they go, while a run goes forth and back.

    Attributes
    ----------
    step_s, stall_s : dict of int to float
        What each step that is not undone took, and the stall after it. [s]
    rework_s, detection_s, queue_s, restart_s : float
        What is lost. [s]
    n_stops : int
        How often the workers had to be started again.
    """

    step_s: dict[int, float] = field(default_factory=dict)
    stall_s: dict[int, float] = field(default_factory=dict)
    rework_s: float = 0.0
    detection_s: float = 0.0
    queue_s: float = 0.0
    restart_s: float = 0.0
    n_stops: int = 0

    def undo(self, after: int) -> None:
        """Go back to a step: all since then is rework."""
        for kept in (self.step_s, self.stall_s):
            for step in [step for step in kept if step > after]:
                self.rework_s += kept.pop(step)

    def budget(self, full_step_s: float) -> TimeBudget:
        """The parts, with all that a step takes beyond one at full speed as slowdown. [s]"""
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
    """A fault as it struck.

    Attributes
    ----------
    attempt : int
        In which start of the workers, counted from 0.
    into_s : float
        Since that start, or since training began. [s]
    kind : str
        Of fault.
    in_start : bool
        Whether training had not begun.
    """

    attempt: int
    into_s: float
    kind: str
    in_start: bool = False


@dataclass
class MeasuredDrill:
    """What a drill took.

    Attributes
    ----------
    account : Account
        Where the seconds went.
    strikes : list of Strike
        The faults, those that missed left out.
    restart_s, stall_s, write_s, free_step_s, writing_step_s : list of float
        Every start, stall and write that was not cut off, and every step beside no write and beside one. [s]
    detection_s : dict of str to list of float
        Every time from a fault to the next start, by kind. [s]
    n_lost_steps : int
        Steps of checkpoints known to be durable and sound that a restart did not find: none, if the drill holds.
    n_resumed : int
        How often it was ended from outside, and gone on with.
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
    """Read a drill's log.

    Parameters
    ----------
    events : sequence of dict
        As from :func:`ettr.drill.log.events`.
    settings : Settings
        What the drill was asked to do.

    Raises
    ------
    InputError
        The drill is not done.
    """
    if not events or events[-1]["event"] != "end":
        raise InputError("the drill is not done: the same command goes on with it")
    starts = [place for place, event in enumerate(events) if event["event"] == "start"]
    if not starts:
        raise InputError("the drill has an end and no start: its log is damaged")
    found = MeasuredDrill(Account(), [], [], [], [], [], [], {}, 0, 0)
    durable: set[int] = set()
    spoilt: set[int] = set()
    sound = 0
    for number, (place, end) in enumerate(zip(starts, [*starts[1:], len(events)], strict=True)):
        attempt = events[place:end]
        known = [step for step in durable - spoilt if not settings.check_steps or step <= sound]
        found.n_lost_steps += max(0, max(known, default=0) - attempt[0]["step"])
        sound = attempt[0]["step"]
        durable, spoilt = ({step for step in steps if step <= sound} for steps in (durable, spoilt))
        found.account.undo(sound)
        for event in attempt:
            if event["event"] == "durable":
                durable.add(event["step"])
            elif event["event"] == "step" and event["checked"]:
                sound = event["step"]
            elif event["event"] == "fault" and event.get("spoilt_step"):
                spoilt.add(event["spoilt_step"])
        _account(found, number, attempt, events[end]["at_s"] if end < len(events) else None)
    return found


def _account(found: MeasuredDrill, number: int, attempt: Sequence[Mapping[str, Any]], next_s: float | None) -> None:
    """One start of the workers, until the next one; the last one ends with its last step."""
    account = found.account
    began_s = mark_s = attempt[0]["at_s"]
    ready_s, writing_since_s = None, None
    for event in attempt:
        spent_s, kind = event["at_s"] - mark_s, event["event"]
        if kind not in ("ready", "step", "stalled", "durable"):
            continue
        if kind == "durable":
            found.write_s.append(event["at_s"] - (writing_since_s or mark_s))
            writing_since_s = None
            continue
        if kind == "ready":
            account.restart_s += spent_s
            found.restart_s.append(spent_s)
            ready_s = event["at_s"]
        elif kind == "step":
            account.step_s[event["step"]] = spent_s
            (found.writing_step_s if writing_since_s else found.free_step_s).append(spent_s)
        else:
            writing_since_s = event["at_s"] if event["writing"] else None
            account.stall_s[event["step"]] = spent_s
            found.stall_s.append(spent_s)
        mark_s = event["at_s"]
    faults = [event for event in attempt if event["event"] == "fault" and not event["missed"]]
    since_s = began_s if ready_s is None else ready_s
    found.strikes.extend(
        Strike(number, event["at_s"] - began_s, event["kind"], in_start=True)
        if ready_s is None or event["at_s"] < ready_s
        else Strike(number, event["at_s"] - ready_s, event["kind"])
        for event in faults
    )
    if next_s is None:
        return
    stop = next((event for event in faults if event["kind"] in STOPPING), None)
    noticed = next((event for event in attempt if event["event"] in ("spoilt", "down")), None)
    struck_s = max(mark_s, (stop or noticed or attempt[-1])["at_s"])
    if ready_s is None:
        account.restart_s += struck_s - mark_s
    else:
        account.rework_s += struck_s - mark_s
    if stop is None and noticed is None:  # ended from outside, and begun again by hand
        account.queue_s += next_s - struck_s
        found.n_resumed += 1
        return
    kind = stop["kind"] if stop else (noticed or {}).get("why", FLIP)
    if stop is None and kind != FLIP:
        found.strikes.append(Strike(number, struck_s - since_s, kind, in_start=ready_s is None))
    if ready_s is not None:
        found.detection_s.setdefault(kind, []).append(next_s - struck_s)
    account.detection_s += next_s - struck_s
    account.n_stops += 1
