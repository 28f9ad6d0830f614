"""A small simulator of a run whose failures are partly announced, written from the rules alone.

One clock counts down to the next failure and one to the next false alarm, both in exposed hours; a failure that was
announced acts where the rules let its alarm be answered, and strikes at once where they do not. It shares no code with
the package, of which only ``rules_of`` knows anything.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

import numpy as np

import monte_carlo

PARTS = tuple(part for part in monte_carlo.PARTS if part != "maintenance_h")


class _Stopped(Exception):
    """A failure; ``safe`` where an answered alarm had secured all work before it."""

    def __init__(self, safe: bool) -> None:
        self.safe = safe


@dataclass
class Run:
    tau: float
    stall: float
    rate: float
    modes: list  # (share, detection, queue, restart)
    recall: float
    precision: float
    action: float
    persist: float = 0.0
    slowdown: float = 0.0
    random: random.Random = field(default_factory=random.Random)

    def simulate(self, n_cycles: int) -> dict[str, np.ndarray]:
        """Hours by part between moments at which nothing is at risk and nothing is being written.

        From such a moment on the past is forgotten, so the cycles are independent.
        """
        self._new_failure()
        self._new_false_alarm()
        rows = []
        for _ in range(n_cycles):
            self.hours = dict.fromkeys(PARTS, 0.0) | {"n_failures": 0.0}
            self._forget()
            try:
                while self._go_on():
                    pass
            except _Stopped as stop:
                self._settle("rework_h" if not stop.safe else None)
                self._come_back()
            rows.append(self.hours)
        table = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return table | {"total_h": sum(table[part] for part in PARTS)}

    def _forget(self) -> None:
        self.before: list[tuple[str, float]] = []  # hours that the checkpoint being written covers
        self.after: list[tuple[str, float]] = []  # hours since the newest checkpoint, durable or not
        self.trained = 0.0  # productive hours in ``after``
        self.covered = 0.0  # productive hours in ``before``
        self.write_left = 0.0

    def _settle(self, part: str | None) -> None:
        """Give the hours at risk to their parts, or all to one."""
        for name, hours in self.before + self.after:
            self.hours[part or name] += hours
        self._forget()

    def _new_failure(self) -> None:
        self.to_failure = self.random.expovariate(self.rate) if self.rate else math.inf
        self.announced = self.random.random() < self.recall

    def _new_false_alarm(self) -> None:
        rate = self.rate * self.recall * (1 - self.precision) / self.precision
        self.to_false_alarm = self.random.expovariate(rate) if rate else math.inf

    def _exposed(self, hours: float) -> float:
        """Live through some hours, or until the next failure; false alarms meanwhile are not answered."""
        lived = min(hours, self.to_failure)
        self.to_failure -= lived
        self.to_false_alarm -= lived
        while self.to_false_alarm <= 0:
            late = self.to_false_alarm
            self._new_false_alarm()
            self.to_false_alarm += late
        return lived

    def _go_on(self) -> bool:
        """Train up to the next event, and see to it; answers whether anything is at risk then."""
        speed = 1 - self.slowdown if self.write_left > 0 else 1.0
        heeded_from = self.action / self.precision
        at_risk = self.covered + self.trained
        heeded = at_risk >= heeded_from * (1 - 1e-12)
        ends = {"interval": (self.tau - self.trained) / speed}
        if self.write_left > 0:
            ends["write"] = self.write_left
        if not heeded:
            ends["heed"] = (heeded_from - at_risk) / speed
        else:
            ends["false alarm"] = self.to_false_alarm
        ends["failure"] = self.to_failure
        first = min(ends, key=ends.get)
        hours = ends[first]
        self.to_failure -= hours
        if heeded:
            self.to_false_alarm -= hours
        else:
            self.to_failure += hours
            self._exposed(hours)
        self.trained += hours * speed
        self.after += [("productive_h", hours * speed), ("slowdown_h", hours * (1 - speed))]
        if self.write_left > 0:
            self.write_left -= hours
        if first == "heed":
            self.trained = max(self.trained, heeded_from - self.covered)
        if first == "write" or (first == "interval" and self.before and self.write_left < 1e-9):
            self._durable()
        if first == "interval":
            self._checkpoint()
        if first == "failure":
            answered = heeded and self.announced
            self._new_failure()
            if answered:
                self._answer()
            raise _Stopped(safe=answered)
        if first == "false alarm":
            self._new_false_alarm()
            self._answer()
        return bool(self.before or self.after)

    def _answer(self) -> None:
        """Save all; a failure meanwhile loses all."""
        lived = self._exposed(self.action)
        self.after.append(("checkpoint_h", lived))
        if lived < self.action:
            self._new_failure()
            raise _Stopped(safe=False)
        self._settle(None)

    def _checkpoint(self) -> None:
        lived = self._exposed(self.stall)
        self.after.append(("checkpoint_h", lived))
        if lived < self.stall:
            self._new_failure()
            raise _Stopped(safe=False)
        assert not self.before, "the last write ends before the next begins"
        self.before, self.covered, self.write_left = self.after, self.trained, self.persist
        self.after, self.trained = [], 0.0
        if self.persist == 0:
            self._durable()

    def _durable(self) -> None:
        for name, hours in self.before:
            self.hours[name] += hours
        self.before, self.covered, self.write_left = [], 0.0, 0.0

    def _come_back(self) -> None:
        while True:
            self.hours["n_failures"] += 1
            mode = self.random.choices(self.modes, [m[0] for m in self.modes])[0]
            self.hours["detection_h"] += mode[1]
            self.hours["queue_h"] += mode[2]
            lived = self._exposed(mode[3])
            self.hours["restart_h"] += lived
            if lived == mode[3]:
                return
            self._new_failure()


def rules_of(scenario) -> dict:
    """What a scenario says, as the fields of a :class:`Run`; a predictor that comes too late is none."""
    plain = monte_carlo.rules_of(scenario)
    prediction = scenario.prediction
    action = prediction.action_s / 3600
    useless = prediction.lead_s < prediction.action_s or action / prediction.precision > plain["tau"]
    modes = [(*others, restart + scenario.load_h) for *others, restart in plain["modes"]]
    return {name: plain[name] for name in ("tau", "stall", "rate", "persist", "slowdown")} | {
        "modes": modes,
        "recall": 0.0 if useless else prediction.recall,
        "precision": prediction.precision,
        "action": action,
    }
