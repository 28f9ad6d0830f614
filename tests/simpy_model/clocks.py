"""Times that vary, and timers that interrupt the job."""

from __future__ import annotations

import math
import random
from collections.abc import Generator
from typing import Any

import simpy


def lognormal(source: random.Random, mean: float, cv: float) -> float:
    """A log-normal time with this mean and coefficient of variation; the mean itself without variation."""
    if mean == 0 or cv == 0:
        return mean
    variance = math.log1p(cv**2)
    return source.lognormvariate(math.log(mean) - variance / 2, math.sqrt(variance))


class Timer:
    """A process that interrupts another after some hours, unless it is stopped before."""

    def __init__(self, env: simpy.Environment, whom: simpy.Process, hours: float, cause: Any) -> None:
        self.env, self.whom, self.hours, self.cause = env, whom, hours, cause
        self.process = env.process(self._ring())

    def _ring(self) -> Generator:
        try:
            yield self.env.timeout(self.hours)
        except simpy.Interrupt:
            return
        self.whom.interrupt(self.cause)

    def stop(self) -> None:
        if self.process.is_alive:
            self.process.interrupt()
