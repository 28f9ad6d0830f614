"""A small simulator of a run with several tiers of checkpoints, written from the rules alone.

It walks from one place of the fastest tier to the next and keeps, for every tier, its newest durable copy and the write
that is under way. It shares no code with the package, of which only ``rules_of`` knows anything.
"""

from __future__ import annotations

import math
import random
from bisect import bisect
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

PARTS = ("productive_h", "checkpoint_h", "rework_h", "detection_h", "queue_h", "restart_h")


@dataclass(frozen=True)
class Tier:
    """A place for copies: a copy every ``every`` places of the fastest tier; hours."""

    every: int
    stall: float
    write: float
    load: float


@dataclass(frozen=True)
class Mode:
    """A kind of failure; ``survived[j]`` is the probability that tier j, or a faster one, outlives it; hours."""

    share: float
    detection: float
    queue: float
    restart: float
    survived: tuple[float, ...]


@dataclass
class Run:
    """Tiers from fast to safe; the last is the store. ``step`` is the interval of the fastest."""

    step: float
    tiers: tuple[Tier, ...]
    modes: tuple[Mode, ...]
    rate: float
    random: random.Random = field(default_factory=random.Random)

    def simulate(self, n_cycles: int) -> dict[str, np.ndarray]:
        """Hours by part between first arrivals at neighbouring places of the store.

        There the job has just stalled, a write to every tier begins, and the copy before is durable in each: every
        cycle starts from the same state, so the cycles are independent.
        """
        kinds = [
            (mode, severity, mode.share * (mode.survived[severity] - (mode.survived[severity - 1] if severity else 0)))
            for mode in self.modes
            for severity in range(len(self.tiers))
        ]
        self.kinds = [(mode, severity) for mode, severity, _ in kinds]
        self.cumulative = list(accumulate(weight for _, _, weight in kinds))
        whole = self.tiers[-1].every
        self.steps = [self.step + self.stall_at(place) for place in range(1, whole + 1)]
        self.place, self.lived = 0, 0.0  # lived: exposed hours of training, the clock of the writes
        self.kept = [-tier.every for tier in self.tiers]
        self.writes: list[tuple[int, float] | None] = [(0, tier.write) for tier in self.tiers]
        self.safe_at = {-whole: -sum(self.steps)}  # hours of kept training at the end of each place's stall
        for place in range(-whole, 0):
            self.safe_at[place + 1] = self.safe_at[place] + self.steps[place % whole]
        self._new_failure()
        stalls = sum(self.stall_at(place) for place in range(whole))
        rows = []
        for goal in range(whole, whole * (n_cycles + 1), whole):
            self.hours = dict.fromkeys(PARTS, 0.0) | {"n_failures": 0.0}
            while self.place < goal:
                self._to_the_next_place(whole)
            self.hours |= {"productive_h": whole * self.step, "checkpoint_h": stalls}
            rows.append(self.hours)
        table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return table | {"total_h": sum(table[part] for part in PARTS)}

    def stall_at(self, place: int) -> float:
        return sum(tier.stall for tier in self.tiers if place % tier.every == 0)

    def _new_failure(self) -> None:
        self.to_failure = self.random.expovariate(self.rate) if self.rate else math.inf

    def _to_the_next_place(self, whole: int) -> None:
        hours = self.steps[self.place % whole]
        if self.to_failure < hours:
            self.lived += self.to_failure
            self._fail(self.to_failure)
            return
        self.to_failure -= hours
        self.lived += hours
        self.place += 1
        self.safe_at[self.place] = self.safe_at[self.place - 1] + hours
        for number, tier in enumerate(self.tiers):
            if self.place % tier.every == 0:
                self._finish_write(number)
                self.writes[number] = (self.place, self.lived + tier.write)

    def _finish_write(self, number: int) -> None:
        """Take note of a copy that has become durable."""
        write = self.writes[number]
        if write and write[1] <= self.lived:
            self.kept[number], self.writes[number] = write[0], None

    def _fail(self, since_place: float) -> None:
        for number in range(len(self.tiers)):
            self._finish_write(number)
        mode, severity = self._strike()
        back = self.kept[severity]
        for slower in range(severity + 1, len(self.tiers)):
            write = self.writes[slower]
            if write and write[0] <= back:
                self.kept[slower] = write[0]
        source = self._come_back(mode, severity)
        back = self.kept[source]
        self.hours["rework_h"] += self.safe_at[self.place] + since_place - self.safe_at[back]
        self.place = back
        for number, tier in enumerate(self.tiers):
            self.writes[number] = None
            if number <= source:
                self.kept[number] = back
            assert self.kept[number] == back - back % tier.every

    def _strike(self) -> tuple[Mode, int]:
        self.hours["n_failures"] += 1
        self._new_failure()
        drawn = self.random.random() * self.cumulative[-1]
        return self.kinds[min(bisect(self.cumulative, drawn), len(self.kinds) - 1)]

    def _come_back(self, mode: Mode, severity: int) -> int:
        """Load until it succeeds, from slower tiers where failures meanwhile ask for them; answers the last one."""
        while True:
            self.hours["detection_h"] += mode.detection
            self.hours["queue_h"] += mode.queue
            hours = mode.restart + self.tiers[severity].load
            if self.to_failure >= hours:
                self.to_failure -= hours
                self.hours["restart_h"] += hours
                return severity
            self.hours["restart_h"] += self.to_failure
            mode, other = self._strike()
            severity = max(severity, other)


def rules_of(scenario) -> dict:
    """What a scenario says, as the fields of a :class:`Run`."""
    of = scenario.in_hours().modes
    survival = [*scenario.survival(), np.ones(len(scenario.mode_weights))]
    modes = tuple(
        Mode(
            weight,
            *(of.detection[i], of.queue[i], of.restart[i]),
            survived=tuple(float(shares[i]) for shares in survival),
        )
        for i, weight in enumerate(scenario.mode_weights)
        if weight > 0
    )
    faster = scenario.checkpoint.tiers
    step = faster[0].interval_s / 3600 if faster else scenario.interval_h
    tiers = [
        Tier(_whole(tier.interval_s / 3600 / step), tier.stall_s / 3600, tier.write_s / 3600, tier.load_s / 3600)
        for tier in faster
    ]
    store = Tier(_whole(scenario.interval_h / step), scenario.stall_h, scenario.persist_h, scenario.load_h)
    return {"step": step, "tiers": (*tiers, store), "modes": modes, "rate": scenario.job_rate_per_h}


def _whole(ratio: float) -> int:
    assert abs(ratio - round(ratio)) < 1e-9, ratio
    return round(ratio)
