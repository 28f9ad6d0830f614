"""Settings of a drill: the job, its checkpoints, and a seeded plan of faults."""

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
"""Kinds of fault: SIGKILL and SIGSTOP to a worker, SIGKILL to the supervisor, a silently flipped bit of a worker's
parameters, a flipped bit of the newest checkpoint, a temporarily slow worker, and a temporarily full disk."""
STOPPING = (CRASH, HANG, SUPERVISOR)
"""Faults that stop the job at once."""
WHILE_TRAINING = (FLIP, CORRUPT, SLOW)
"""Faults without effect while the workers start."""
SLOW_FACTOR, SLOW_S, DISK_S = 2.0, 4.0, 3.0
"""Factor on the step time of a slow worker, and durations of a slow worker and a full disk. [s]"""
N_KEPT = 8
"""Checkpoints kept on disk."""


class Fault(NamedTuple):
    """Planned fault: exposed time at which it strikes [s], kind, and rank of the worker."""

    at_s: float
    kind: str
    rank: int


@dataclass(frozen=True)
class Settings:
    """Settings of a drill.

    Attributes
    ----------
    n_workers : int
        Worker processes.
    work_s : float
        Training time without faults. [s]
    step_s : float
        Minimum step time; a worker that computes faster waits, as for an accelerator. [s]
    interval_s : float
        Training between two checkpoints. [s]
    write_s : float
        Minimum duration of a checkpoint write. [s]
    background : bool
        True if training continues during the write.
    heartbeat_s : float
        Silence after which a worker counts as hanging. [s]
    check_steps : int
        Steps between two comparisons of the workers' parameters; 0: never.
    faults : mapping of str to float
        Mean time between faults by kind, while the job trains, stalls or restarts. [s]
    plan : sequence of Fault
        Faults at fixed times, instead of random ones.
    seed : int
        Seed of the model, its data and the plan.

    Raises
    ------
    InputError
        If a value is out of range, or values conflict.
    UnknownName
        If a kind of fault does not exist.

    Examples
    --------
    >>> settings = Settings(n_workers=4, work_s=20.0, faults={"crash": 5.0})
    >>> settings.n_steps, settings.interval_steps, next(settings.planned()).kind
    (1000, 50, 'crash')
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
            above_zero(f"the mean time between {kind} faults", mean_s, unit="s")
        if self.n_workers < 2:
            raise InputError(f"n_workers must be >= 2, got {self.n_workers}")
        if self.n_steps < 1:
            raise InputError(f"work_s must be >= {self.step_s:g} s, one step, got {self.work_s:g}")
        if self.background and self.interval_s <= self.write_s:
            raise InputError(
                f"interval_s must be > {self.write_s:g} s, the background write (write_s), got {self.interval_s:g}: "
                "the next write would start before it ends"
            )
        if self.heartbeat_s <= self.longest_silence_s:
            raise InputError(
                f"heartbeat_s must be > {self.longest_silence_s:g} s, five steps and two stalls, got "
                f"{self.heartbeat_s:g}: a healthy worker would count as hanging"
            )
        at_least_zero("check_steps", self.check_steps)
        if FLIP in self.kinds and not self.check_steps:
            raise InputError("check_steps must be >= 1 with flip faults, which no one else detects, got 0")
        if self.check_steps > (N_KEPT - 1) * self.interval_steps:
            raise InputError(
                f"check_steps must be <= {(N_KEPT - 1) * self.interval_steps}, {N_KEPT - 1} checkpoint intervals, got "
                f"{self.check_steps}: no checkpoint on disk would have verified parameters"
            )

    @property
    def n_steps(self) -> int:
        """Number of steps of the job."""
        return round(self.work_s / self.step_s)

    @property
    def longest_silence_s(self) -> float:
        """Longest silence of a healthy worker: five steps and two stalls. [s]"""
        return 5 * self.step_s + (0.0 if self.background else 2 * self.write_s)

    @property
    def interval_steps(self) -> int:
        """Steps between two checkpoints."""
        return max(1, round(self.interval_s / self.step_s))

    @property
    def start_timeout_s(self) -> float:
        """Time after which a worker that has not started counts as hanging. [s]"""
        return self.heartbeat_s + max(1.0, self.n_workers / (os.cpu_count() or 1))

    @property
    def kinds(self) -> set[str]:
        """Kinds of fault in this drill."""
        return set(self.faults) | {fault.kind for fault in self.plan}

    def planned(self, draw: int = 0) -> Iterator[Fault]:
        """Return the faults in order of time; random plans are endless.

        Parameters
        ----------
        draw : int
            Number of the random plan.
        """
        if self.plan:
            return iter(sorted(self.plan))
        return heapq.merge(*(self._drawn(kind, draw) for kind in self.faults))

    def _drawn(self, kind: str, draw: int) -> Iterator[Fault]:
        """Random faults of a kind, with exponential times between them."""
        generator = random.Random(f"{self.seed} {kind} {draw}")
        at_s = 0.0
        while True:
            at_s -= self.faults[kind] * math.log(1.0 - generator.random())
            yield Fault(at_s, kind, generator.randrange(self.n_workers))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values for JSON."""
        return {**asdict(self), "faults": dict(self.faults), "plan": [list(fault) for fault in self.plan]}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Settings:
        """Return settings from the values of ``to_dict``."""
        return cls(**{**values, "plan": tuple(Fault(*fault) for fault in values.get("plan", ()))})
