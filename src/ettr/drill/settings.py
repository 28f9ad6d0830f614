"""What a drill is asked to do: its job, its checkpoints, and a seeded plan of faults."""

from __future__ import annotations

import heapq
import math
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from ettr.core.errors import InputError, UnknownName
from ettr.core.validity import above_zero, at_least_zero

CRASH, HANG, SUPERVISOR, FLIP, CORRUPT, SLOW, DISK = (
    "crash",
    "hang",
    "supervisor",
    "flip",
    "corrupt",
    "slow",
    "disk",
)
KINDS = (CRASH, HANG, SUPERVISOR, FLIP, CORRUPT, SLOW, DISK)
"""Faults: SIGKILL and SIGSTOP to a worker, SIGKILL to the supervisor, a bit of a worker's parameters flipped in
silence, a bit of the newest checkpoint flipped, a worker slow and the disk of the checkpoints full, each for a time."""
STOPPING = (CRASH, HANG, SUPERVISOR)
"""Those that stop the job at once."""
WHILE_TRAINING = (FLIP, CORRUPT, SLOW)
"""Those that find nothing to spoil while the workers start."""
SLOW_FACTOR, SLOW_S, DISK_S = 2.0, 4.0, 3.0
"""What a slow worker's steps are multiplied by, and how long it is slow and a disk full. [s]"""
N_KEPT = 8
"""Checkpoints kept on disk."""


class Fault(NamedTuple):
    """A fault of the plan: the exposed seconds at which it strikes, its kind, and the worker."""

    at_s: float
    kind: str
    rank: int


@dataclass(frozen=True)
class Settings:
    """What a drill is asked to do.

    Attributes
    ----------
    n_workers : int
        Processes that train together.
    work_s : float
        Training without any disturbance. [s]
    step_s : float
        Least duration of a step: what it computes sooner, it waits for, as for an accelerator. [s]
    interval_s : float
        Training between two checkpoints. [s]
    write_s : float
        Least duration of the write of a checkpoint. [s]
    background : bool
        Whether training goes on during the write.
    heartbeat_s : float
        A worker that is silent for so long hangs. [s]
    check_steps : int
        Each so many steps the workers compare their parameters; 0: they do not.
    faults : mapping of str to float
        For each kind the mean time between two, while the job trains, stalls or restarts. [s]
    plan : sequence of Fault
        Faults at given times, in place of those drawn.
    seed : int
        Of the model, its data and the plan.

    Raises
    ------
    InputError
        A value out of range, or values that do not go together.
    UnknownName
        A fault that does not exist.
    """

    n_workers: int = 4
    work_s: float = 20.0
    step_s: float = 0.02
    interval_s: float = 1.0
    write_s: float = 0.1
    background: bool = False
    heartbeat_s: float = 0.5
    check_steps: int = 0
    faults: Mapping[str, float] = field(default_factory=dict)
    plan: tuple[Fault, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("work_s", "step_s", "interval_s", "heartbeat_s"):
            above_zero(name, getattr(self, name), unit="s")
        at_least_zero("write_s", self.write_s, unit="s")
        for kind, mean_s in self.faults.items():
            if kind not in KINDS:
                raise UnknownName("fault", kind, KINDS)
            above_zero(f"the mean time between faults of the kind {kind}", mean_s, unit="s")
        if self.n_workers < 2:
            raise InputError(f"n_workers must be 2 or more, as they train together, got {self.n_workers}")
        if self.n_steps < 1:
            raise InputError(f"work_s must be a step of {self.step_s:g} s at least, got {self.work_s:g} s")
        if self.background and self.interval_s <= self.write_s:
            raise InputError(
                f"interval_s must be longer than a write of {self.write_s:g} s in the background, "
                f"got {self.interval_s:g} s: the next would begin before it ends"
            )
        if self.heartbeat_s <= self.longest_silence_s:
            raise InputError(
                f"heartbeat_s must be longer than five steps and two stalls, got {self.heartbeat_s:g} s: "
                "a healthy worker would count as hanging"
            )
        at_least_zero("check_steps", self.check_steps)
        if FLIP in self.kinds and not self.check_steps:
            raise InputError("check_steps must be 1 or more where bits flip, got 0: nobody would notice")
        if self.check_steps > (N_KEPT - 1) * self.interval_steps:
            raise InputError(
                f"check_steps must be {N_KEPT - 1} intervals of {self.interval_steps} steps at most, got "
                f"{self.check_steps}: no checkpoint that is kept would be known to be sound"
            )

    @property
    def n_steps(self) -> int:
        """Steps of the job."""
        return round(self.work_s / self.step_s)

    @property
    def longest_silence_s(self) -> float:
        """What a healthy worker may be silent for: five steps, and two stalls. [s]"""
        return 5 * self.step_s + (0.0 if self.background else 2 * self.write_s)

    @property
    def interval_steps(self) -> int:
        """Steps between two checkpoints."""
        return max(1, round(self.interval_s / self.step_s))

    @property
    def start_timeout_s(self) -> float:
        """A worker that has not begun by then hangs. [s]"""
        return self.heartbeat_s + max(1.0, self.n_workers / (os.cpu_count() or 1))

    @property
    def kinds(self) -> set[str]:
        """Faults that occur."""
        return set(self.faults) | {fault.kind for fault in self.plan}

    def planned(self, draw: int = 0) -> Iterator[Fault]:
        """The plan: every fault in the order of time, without end if it is drawn.

        Parameters
        ----------
        draw : int
            Another one draws another plan.
        """
        if self.plan:
            return iter(sorted(self.plan))
        return heapq.merge(*(self._drawn(kind, draw) for kind in self.faults))

    def _drawn(self, kind: str, draw: int) -> Iterator[Fault]:
        numbers = random.Random(f"{self.seed} {kind} {draw}")
        at_s = 0.0
        while True:
            at_s -= self.faults[kind] * math.log(1.0 - numbers.random())
            yield Fault(at_s, kind, numbers.randrange(self.n_workers))

    def to_dict(self) -> dict[str, Any]:
        """All of it, as plain values for JSON."""
        return {**asdict(self), "faults": dict(self.faults), "plan": [list(fault) for fault in self.plan]}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """Settings from what ``to_dict`` gave."""
        return cls(**{**values, "plan": tuple(Fault(*fault) for fault in values.get("plan", ()))})
