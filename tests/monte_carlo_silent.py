"""A small simulator of a run whose failures are silent at first, written from the rules alone.

The job trains on after a failure, with a clock that runs down to its discovery; checkpoints taken meanwhile hold
corrupt state, which nobody knows. It shares no code with the package, of which only ``rules_of`` knows anything.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

import numpy as np

PARTS = ("productive_h", "checkpoint_h", "rework_h", "detection_h", "queue_h", "restart_h")


@dataclass(frozen=True)
class Mode:
    """A kind of failure; hours. ``latency`` is each one's, or the mean where ``exponential`` or log-normal (``cv``)."""

    share: float
    detection: float
    queue: float
    restart: float
    latency: float
    exponential: bool = False
    cv: float = 0.0

    def draw(self, source: random.Random) -> float:
        if self.exponential:
            return source.expovariate(1 / self.latency)
        if self.cv == 0:
            return self.latency
        variance = math.log1p(self.cv**2)
        return source.lognormvariate(math.log(self.latency) - variance / 2, math.sqrt(variance))


@dataclass
class Run:
    tau: float
    stall: float
    rate: float
    modes: tuple[Mode, ...]
    random: random.Random = field(default_factory=random.Random)

    def simulate(self, n_cycles: int) -> dict[str, np.ndarray]:
        """Hours by part from one clean checkpoint to the next.

        Nothing ever goes back beyond a clean checkpoint, and no failure lies hidden there, so the cycles are
        independent.
        """
        self.clock = 0.0
        self.hidden: list[tuple[float, float, Mode]] = []  # when it is found, when it struck
        self._new_failure()
        rows = []
        for _ in range(n_cycles):
            self.hours = dict.fromkeys(PARTS, 0.0) | {"n_failures": 0.0}
            self.places = [self.clock]  # when each checkpoint was taken that is still kept
            self.lived = 0.0
            while len(self.places) < 2 or self.hidden:
                self._train(self.tau + self.stall)
            assert len(self.places) == 2, "a second one would stand on a corrupt first"
            self.hours["productive_h"], self.hours["checkpoint_h"] = self.tau, self.stall
            self.hours["rework_h"] = self.lived - self.tau - self.stall
            rows.append(self.hours)
        table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return table | {"total_h": sum(table[part] for part in PARTS)}

    def _new_failure(self) -> None:
        self.to_failure = self.random.expovariate(self.rate) if self.rate else math.inf

    def _train(self, left: float) -> None:
        """Train and stall for one checkpoint; failures strike meanwhile, and older ones are found."""
        while left > 0:
            # what is found while the job is down is acted on when it trains again
            found_in = max(0.0, min(self.hidden)[0] - self.clock) if self.hidden else math.inf
            hours = min(left, self.to_failure, found_in)
            self.clock += hours
            self.lived += hours
            self.to_failure -= hours
            left -= hours
            if hours == found_in:
                self._find()
                return
            if self.to_failure <= 0:
                mode = self.random.choices(self.modes, [mode.share for mode in self.modes])[0]
                self.hidden.append((self.clock + mode.draw(self.random), self.clock, mode))
                self._new_failure()
        self.places.append(self.clock)

    def _find(self) -> None:
        """Back to the newest checkpoint that was taken before the failure struck."""
        first = min(self.hidden, key=lambda failure: failure[0])
        _, struck, mode = first
        self.hours["n_failures"] += 1
        self.places = [taken for taken in self.places if taken <= struck]
        self.hidden = [failure for failure in self.hidden if failure is not first and failure[1] < self.places[-1]]
        self.hours["detection_h"] += mode.detection
        self.hours["queue_h"] += mode.queue
        self.hours["restart_h"] += mode.restart
        self.clock += mode.detection + mode.queue + mode.restart


def rules_of(scenario) -> dict:
    """What a scenario says, as the fields of a :class:`Run`, with a constant latency for each mode."""
    of = scenario.in_hours().modes
    latencies = [*(mode.latency_h for mode in scenario.failures.modes), None]
    modes = tuple(
        Mode(
            weight,
            *(of.detection[i], of.queue[i], of.restart[i] + scenario.load_h),
            latency=latencies[i],
        )
        for i, weight in enumerate(scenario.mode_weights)
        if weight > 1e-12
    )
    return {"tau": scenario.interval_h, "stall": scenario.stall_h, "rate": scenario.job_rate_per_h, "modes": modes}
