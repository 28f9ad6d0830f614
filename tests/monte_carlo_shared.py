"""A shared cluster, event by event and node by node: the second road to `ettr.cluster.shared_cluster`."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Slot:
    """A small job on its nodes: it restarts from ``ready`` on and trains from ``trains`` on."""

    ready: float
    trains: float


@dataclass
class Tally:
    """Node-hours of one stretch."""

    useful: float = 0.0
    borrowed: float = 0.0
    in_repair: float = 0.0
    spares_idle: float = 0.0
    fragments_idle: float = 0.0
    preemptions: float = 0.0


@dataclass
class Cluster:
    """Failures of the large job come by a Poisson process; all repairs are exponential."""

    large_rate: float
    node_rate: float
    repair_h: float
    n_spares: int
    for_small: int
    n_nodes: int
    tau: float
    stall: float
    queue: float
    restart: float
    preempts: bool
    released_nodes: int = 0
    seed: int = 0
    now: float = 0.0
    large_out: int = 0
    small_out: int = 0
    slots: list[Slot] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.repairs: list[tuple[float, bool]] = []
        self.fill()

    @property
    def short(self) -> int:
        return max(self.large_out - self.n_spares, 0) if self.preempts else 0

    @property
    def left(self) -> int:
        return self.for_small - self.short - self.small_out

    @property
    def idle(self) -> int:
        return self.left - self.n_nodes * len(self.slots)

    def fill(self) -> None:
        while self.idle >= self.n_nodes:
            ready = self.now + self.queue
            self.slots.append(Slot(ready, ready + self.restart))

    def exposed(self) -> list[Slot]:
        return [slot for slot in self.slots if slot.ready <= self.now]

    def stop(self, slot: Slot) -> None:
        """What was saved counts; the job begins again if it has its nodes, or else waits for them."""
        segments = math.floor(max(self.now - slot.trains, 0.0) / (self.tau + self.stall))
        self.tally.useful += self.n_nodes * self.tau * segments
        self.slots.remove(slot)

    def run(self, until: float) -> Tally:
        """Go on for a while; answers means an hour."""
        self.settle()
        begin, self.tally = self.now, Tally()
        while True:
            large = 0.0 if not self.preempts and self.large_out > self.n_spares else self.large_rate
            small = self.node_rate * self.n_nodes * len(self.slots)
            gap = self.random.exponential(1 / (large + small)) if large + small > 0 else math.inf
            back = self.repairs[0][0] if self.repairs else math.inf
            at = min(self.now + gap, back, until)
            self.pass_hours(at - self.now)
            self.now = at
            if at == until:
                break
            if at == back:
                self.come_back()
            elif self.random.random() * (large + small) < large:
                self.fail_large()
            else:
                self.fail_small()
            self.fill()
        self.settle()
        hours = until - begin
        return Tally(**{name: value / hours for name, value in vars(self.tally).items()})

    def settle(self) -> None:
        """Count what the running jobs have saved so far, so that stretches can be told apart."""
        for slot in self.slots:
            segments = math.floor(max(self.now - slot.trains, 0.0) / (self.tau + self.stall))
            self.tally.useful += self.n_nodes * self.tau * segments
            slot.trains += segments * (self.tau + self.stall)

    def pass_hours(self, hours: float) -> None:
        self.tally.borrowed += hours * self.short
        self.tally.in_repair += hours * (self.large_out + self.small_out)
        self.tally.spares_idle += hours * max(self.n_spares - self.large_out, 0)
        self.tally.fragments_idle += hours * self.idle

    def come_back(self) -> None:
        _, is_large = heapq.heappop(self.repairs)
        if is_large:
            self.large_out -= 1
        else:
            self.small_out -= 1

    def fail_large(self) -> None:
        takes = self.preempts and self.large_out >= self.n_spares and self.idle == 0
        if takes:
            self.preempt()
        self.large_out += 1
        heapq.heappush(self.repairs, (self.now + self.random.exponential(self.repair_h), True))
        for _ in range(self.released_nodes // self.n_nodes):
            self.preempt()
            self.fill()

    def preempt(self) -> None:
        self.tally.preemptions += 1
        victims = self.exposed() or self.slots
        self.stop(victims[self.random.integers(len(victims))])

    def fail_small(self) -> None:
        slot = self.slots[self.random.integers(len(self.slots))]
        if slot.ready > self.now:
            return  # nothing strikes in a queue
        self.stop(slot)
        self.small_out += 1
        heapq.heappush(self.repairs, (self.now + self.random.exponential(self.repair_h), False))
