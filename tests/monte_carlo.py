"""A small simulator of one training run, written from the rules alone, to check the closed forms against.

It walks from event to event with a ledger of hours that are not yet safe: a durable checkpoint moves them to the
budget, a failure turns them into rework. It shares no code with the package, of which only ``rules_of`` knows anything.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

PARTS = (
    "productive_h",
    "checkpoint_h",
    "slowdown_h",
    "rework_h",
    "detection_h",
    "queue_h",
    "restart_h",
    "maintenance_h",
)


class _Failure(Exception):
    pass


@dataclass
class Run:
    work: float
    tau: float
    stall: float
    rate: float
    modes: list  # (share, detection, queue, restart)
    restart: float
    persist: float = 0.0
    slowdown: float = 0.0
    first_queue: float = 0.0
    stops_per_h: float = 0.0
    stop: float = 0.0
    random: random.Random = field(default_factory=random.Random)

    def simulate(self) -> dict[str, float]:
        self.hours = dict.fromkeys(PARTS, 0.0) | {"n_failures": 0.0}
        self.clock = 0.0
        self.safe = 0.0  # productive hours of the newest durable checkpoint
        self.done = 0.0
        self.ledger: list[tuple[str, float]] = []
        self.write_left = 0.0
        self.written = 0  # ledger entries that the write in progress covers
        self.snapshot = 0.0
        self._new_failure()
        self.next_stop = self.random.expovariate(self.stops_per_h) if self.stops_per_h else float("inf")
        self._spend("queue_h", self.first_queue)
        self._come_back(self.restart)
        while self.done < self.work - 1e-12:
            try:
                self._train_a_little()
            except _Failure:
                self._recover()
        self._commit(len(self.ledger))
        return self.hours

    def _new_failure(self) -> None:
        self.to_failure = self.random.expovariate(self.rate) if self.rate else float("inf")

    def _spend(self, part: str, hours: float) -> None:
        self.hours[part] += hours
        self.clock += hours

    def _exposed(self, hours: float) -> tuple[float, bool]:
        """Hours lived through, and whether a failure ended them."""
        lived = min(hours, self.to_failure)
        self.to_failure -= lived
        self.clock += lived
        return lived, lived < hours

    def _train_a_little(self) -> None:
        """Up to the next checkpoint, the end of the write, or the end of the work."""
        last = self.work - self.safe_mark() <= self.tau + 1e-12
        goal = self.work if last else self.safe_mark() + self.tau
        speed = 1 - self.slowdown if self.write_left > 0 else 1.0
        hours = (goal - self.done) / speed
        if self.write_left > 0:
            hours = min(hours, self.write_left)
        lived, failed = self._exposed(hours)
        self.ledger += [("productive_h", lived * speed), ("slowdown_h", lived * (1 - speed))]
        if failed:
            raise _Failure
        self.done += lived * speed
        if self.write_left > 0:
            self.write_left -= lived
            if self.write_left <= 1e-12:
                self._durable()
        if not last and abs(self.done - goal) < 1e-12:
            self._stall()

    def safe_mark(self) -> float:
        """Productive hours at the newest checkpoint taken, durable or not."""
        return self.snapshot

    def _stall(self) -> None:
        lived, failed = self._exposed(self.stall)
        self.ledger.append(("checkpoint_h", lived))
        if failed:
            raise _Failure
        self.snapshot, self.written, self.write_left = self.done, len(self.ledger), self.persist
        if self.persist == 0:
            self._durable()

    def _durable(self) -> None:
        self.write_left = 0.0
        self.safe = self.snapshot
        self._commit(self.written)
        self.written = 0
        if self.clock >= self.next_stop:
            while self.next_stop <= self.clock:
                self.next_stop += self.random.expovariate(self.stops_per_h)
            self._throw_away()
            self._spend("maintenance_h", self.stop)
            self._come_back(self.restart)

    def _commit(self, n_entries: int) -> None:
        for part, hours in self.ledger[:n_entries]:
            self.hours[part] += hours
        del self.ledger[:n_entries]

    def _throw_away(self) -> None:
        self.hours["rework_h"] += sum(hours for _, hours in self.ledger)
        self.ledger.clear()
        self.done = self.snapshot = self.safe
        self.write_left, self.written = 0.0, 0

    def _recover(self) -> None:
        self._throw_away()
        self._come_back(None)

    def _come_back(self, restart: float | None) -> None:
        """Restart until one survives; ``None`` begins with the failure that just struck."""
        while True:
            if restart is None:
                self.hours["n_failures"] += 1
                mode = self.random.choices(self.modes, [m[0] for m in self.modes])[0]
                self._spend("detection_h", mode[1])
                self._spend("queue_h", mode[2])
                self._new_failure()
                restart = mode[3]
            lived, failed = self._exposed(restart)
            self.hours["restart_h"] += lived
            if not failed:
                return
            restart = None


def means(n_runs: int, seed: int, **rules) -> tuple[dict[str, float], dict[str, float]]:
    """Mean and standard error of every part over independent runs."""
    source = random.Random(seed)
    rows = [Run(**rules, random=source).simulate() for _ in range(n_runs)]
    table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    table["total_h"] = np.sum([table[part] for part in PARTS], axis=0)
    errors = {name: float(column.std(ddof=1) / n_runs**0.5) for name, column in table.items()}
    return {name: float(column.mean()) for name, column in table.items()}, errors


def rules_of(scenario) -> dict:
    """What a scenario says, as the fields of a :class:`Run`."""
    of = scenario.in_hours().modes
    modes = list(zip(of.weight, of.detection, of.queue, of.restart, strict=True))
    return {
        "work": scenario.job.productive_h,
        "tau": scenario.interval_h,
        "stall": scenario.stall_h,
        "rate": scenario.job_rate_per_h,
        "modes": modes,
        "restart": scenario.restart_h,
        "persist": scenario.persist_h,
        "slowdown": scenario.checkpoint.persist_slowdown,
        "first_queue": scenario.first_queue_h,
        "stops_per_h": scenario.maintenance_rate_per_h,
        "stop": scenario.maintenance_h,
    }
