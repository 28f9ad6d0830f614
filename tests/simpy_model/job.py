"""A training run as processes of SimPy: the job, what strikes it, and what is asked of it."""

from __future__ import annotations

import math
import random
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy

from .clocks import Timer, lognormal
from .fleet import Fleet
from .hazard import Failure, Hazard
from .lineage import Copy, Lineage
from .rules import IN_TRAINING, PARTS, Mode, Rules

_STRIKE, _FALSE_ALARM, _SLOW, _FOUND_SLOW = "strike", "false alarm", "slow", "found slow"
_ROUNDING = 1e-9


@dataclass(eq=False)
class Hidden:
    """A silent failure that nobody has found so far."""

    mode: Mode
    struck: float
    found_at: float


@dataclass(eq=False)
class Write:
    """A copy on its way to a tier."""

    copy: Copy
    tier: int
    left: float


class Job:
    """One run. ``kept`` are the hours of training that led to the state in memory, ``hours`` those that are settled."""

    def __init__(self, rules: Rules, source: random.Random) -> None:
        self.rules, self.random = rules, source
        self.env = simpy.Environment()
        self.fleet = Fleet(self.env, rules, source)
        self.hazard = Hazard(rules, self.fleet, source)
        self.lineage = Lineage(rules)
        self.hours = dict.fromkeys(PARTS, 0.0)
        self.counts = dict.fromkeys(("n_failures", "n_planned", "waiting_h", "n_waits"), 0.0)
        self.kept = dict.fromkeys(IN_TRAINING, 0.0)
        self.position = 0.0
        self.stall_left = 0.0
        self.writes: list[Write] = []
        self.hidden: list[Hidden] = []
        self.stop_requested = False
        self.finished = False
        self.ended = False
        self.doing, self.since, self.is_waiting = "", 0.0, False
        # without a start or alarms the run is counted in whole intervals of the store
        self.last_step = None
        if not rules.include_start and not rules.alarms:
            self.last_step = max(1, math.ceil(rules.work / rules.tau - _ROUNDING)) * rules.tiers[-1].every
        if rules.stops_per_h:
            self.env.process(self._request_stops())
        self.process = self.env.process(self._run())

    def result(self) -> dict[str, float]:
        """The run's hours by part and its counts."""
        horizon = self.env.timeout(self.rules.horizon) if self.rules.horizon < math.inf else self.env.event()
        self.env.run(until=self.process | horizon)
        self.fleet.check()
        self._stop_here()
        outcome = self.hours | self.kept | self.counts | {"n_undetected": float(len(self.hidden))}
        total = sum(outcome[part] for part in PARTS)
        assert math.isclose(total, self.env.now, rel_tol=1e-6), (total, self.env.now)
        outcome["n_ended"] = float(self.ended)
        if self.last_step is None:
            whole = self.rules.horizon == math.inf and not self.ended
            assert not whole or math.isclose(outcome["productive_h"], self.rules.work, rel_tol=1e-9)
            return outcome
        scale = self.rules.work / (self.last_step * self.rules.step)
        return {name: value * scale for name, value in outcome.items()}

    def _stop_here(self) -> None:
        """Put down the hours of whatever is going on; training in memory stands."""
        if self.doing and self.env.now > self.since:
            hours = self.env.now - self.since
            if self.doing in ("training", "stall"):
                self._note(hours, self.doing == "stall")
            else:
                self.hours[self.doing] += hours
                if self.doing == "queue_h" and self.is_waiting:
                    self.counts["waiting_h"] += hours
                    self.counts["n_waits"] += 1

    def _request_stops(self) -> Generator:
        while True:
            yield self.env.timeout(self.random.expovariate(self.rules.stops_per_h))
            self.stop_requested = True

    # the run

    def _run(self) -> Generator:
        if self.rules.include_start:
            yield from self._down("queue_h", self.rules.queue)
            yield from self._start_up()
        else:
            yield from self._snapshot(step=0)
        while not self.finished:
            yield from self._go_on()

    def _go_on(self) -> Generator:
        """Train or stall up to whatever comes next, and see to it."""
        detected = self._found_while_down()
        if detected:
            yield from self._recover(detected)
            return
        stalling = self.stall_left > 0
        left = self.stall_left if stalling else (self._goal - self.position) / self._pace
        hours = min([left, *(write.left for write in self.writes)])
        lived, event = yield from self._live(hours, "stall" if stalling else "training")
        self._note(lived, stalling)
        if isinstance(event, Failure):
            if not stalling and self._is_announced(event.mode) and self._worth_an_answer():
                yield from self._answer(event)
            else:
                yield from self._recover(event)
        elif event == _FALSE_ALARM:
            if self._worth_an_answer():
                yield from self._answer(None)
        elif event:
            self._see_to_slow_nodes(event)
        else:
            yield from self._arrive(stalling, reached=hours == left)

    def _arrive(self, stalling: bool, reached: bool) -> Generator:
        """At the end of a stretch that nothing broke off: of training, of a stall, or of a write."""
        if reached and not stalling:
            self.position = self._goal
            if self.last_step is None and self.position >= self.rules.work - _ROUNDING:
                self.finished = True
                return
        if reached and stalling:
            self.stall_left = 0.0
        written = [write for write in self.writes if write.left <= _ROUNDING]
        self.writes = [write for write in self.writes if write not in written]
        for write in written:
            self.lineage.make_durable(write.copy, write.tier)
        for write in written:
            if write.tier == self.rules.store and (yield from self._planned_stop(write.copy)):
                return
        if reached:
            step = self.lineage.newest.step + 1
            self.stall_left = 0.0 if stalling else self.rules.stall_at(step)
            if self.stall_left == 0:
                yield from self._snapshot(step)

    @property
    def _goal(self) -> float:
        place = self.lineage.newest.position + self.rules.step
        return place if self.last_step is not None or place < self.rules.work - _ROUNDING else self.rules.work

    @property
    def _write_share(self) -> float:
        return self.rules.slowdown if self.writes else 0.0

    @property
    def _pace(self) -> float:
        """Productive hours per hour of training."""
        return self.fleet.speed * (1 - self._write_share)

    def _note(self, lived: float, stalling: bool) -> None:
        """Hours of training or of a stall, which are rework if they do not last."""
        if stalling:
            self.kept["checkpoint_h"] += lived
            self.stall_left -= lived
        else:
            self.kept["productive_h"] += lived * self._pace
            self.kept["slowdown_h"] += lived * self._write_share
            self.kept["degraded_h"] += lived * (1 - self._write_share) * (1 - self.fleet.speed)
            self.position += lived * self._pace
        for write in self.writes:
            write.left -= lived

    def _snapshot(self, step: int) -> Generator:
        """All tiers that are due get a copy of this moment."""
        copy = Copy(self.position, step, self.env.now, dict(self.kept), pending=set(self.rules.due(step)))
        self.lineage.take(copy)
        if step == self.last_step:
            self.finished = True
            return
        for tier in sorted(copy.pending):
            write = self.rules.tiers[tier].write
            if write > 0:
                self.writes.append(Write(copy, tier, write))
            else:
                self.lineage.make_durable(copy, tier)
        if self.rules.store in copy.durable:
            yield from self._planned_stop(copy)

    # hours that something may break off

    def _live(self, hours: float, doing: str) -> Generator:
        """Exposed hours, until they end or something happens; answers those lived, and what it was.

        Silent failures are noted, and life goes on.
        """
        lived = 0.0
        self.doing, self.since = {"restart": "restart_h"}.get(doing, doing), self.env.now
        while lived < hours:
            began = self.env.now
            timers = self._set_timers(doing)
            event: Any = None
            try:
                yield self.env.timeout(hours - lived)
            except simpy.Interrupt as interrupt:
                event = interrupt.cause
            for timer in timers:
                timer.stop()
            spent = self.env.now - began if event else hours - lived
            if doing != "restart" or self.rules.exposed:
                self.hazard.advance(spent)
            lived = lived + spent if event else hours
            if event == _STRIKE:
                event = self.hazard.strike()
                if event.mode.latency:
                    if doing != "restart":
                        self._hide(event.mode)
                    continue
            elif isinstance(event, Hidden):
                event = Failure(event.mode, struck=event.struck)
            self.doing = ""
            return lived, event
        self.doing = ""
        return hours, None

    def _set_timers(self, doing: str) -> list[Timer]:
        rules, rates = self.rules, {}
        if doing == "restart" and not rules.exposed:
            return []
        ends = {_STRIKE: self.hazard.hours_to_next_strike()}
        if doing == "training":
            if rules.alarms:
                rates[_FALSE_ALARM] = rules.alarms.false_per_h
            if rules.slow_nodes:
                rates[_SLOW] = rules.slow_nodes.rate
                rates[_FOUND_SLOW] = len(self.fleet.slow) * rules.slow_nodes.found_per_h
        ends |= {cause: self.random.expovariate(rate) for cause, rate in rates.items() if rate > 0}
        if doing != "restart" and self.hidden:
            first = min(self.hidden, key=lambda hidden: hidden.found_at)
            ends[first] = max(0.0, first.found_at - self.env.now)
        return [Timer(self.env, self.process, end, cause) for cause, end in ends.items() if end < math.inf]

    def _hide(self, mode: Mode) -> None:
        found_at = self.env.now + lognormal(self.random, *mode.latency)
        self.hidden.append(Hidden(mode, self.env.now, found_at))

    def _found_while_down(self) -> Failure | None:
        first = min(self.hidden, key=lambda hidden: hidden.found_at, default=None)
        return Failure(first.mode, struck=first.struck) if first and first.found_at <= self.env.now else None

    def _see_to_slow_nodes(self, event: str) -> None:
        {
            _SLOW: self.fleet.one_more_is_slow,
            _FOUND_SLOW: self.fleet.one_is_found,
        }[event]()

    # alarms

    def _is_announced(self, mode: Mode) -> bool:
        alarms = self.rules.alarms
        return bool(alarms) and mode.can_be_announced and self.random.random() < alarms.recall

    def _worth_an_answer(self) -> bool:
        at_risk = self.position - self.lineage.newest_durable().position
        return at_risk >= self.rules.alarms.action / self.rules.alarms.precision * (1 - 1e-12)

    def _answer(self, announced: Failure | None) -> Generator:
        """Save all while training and writes stand still; then the failure strikes, if the alarm was true."""
        lived, other = yield from self._live(self.rules.alarms.action, "stall")
        self.kept["checkpoint_h"] += lived
        if other:
            if announced and announced.node:
                self.fleet.renew(announced.node)
            yield from self._recover(other)
            return
        self.writes.clear()
        self.lineage.give_up_writes()
        copy = Copy(self.position, 0, self.env.now, dict(self.kept))
        self.lineage.take(copy)
        for tier in range(len(self.rules.tiers)):
            self.lineage.make_durable(copy, tier)
        if announced:
            yield from self._recover(announced)
        else:
            yield from self._planned_stop(copy)

    # stops

    def _down(self, part: str, hours: float) -> Generator:
        """Hours in which nothing can strike."""
        if hours > 0:
            self.doing, self.since = part, self.env.now
            yield self.env.timeout(hours)
            self.hours[part] += hours
            self.doing = ""

    def _recover(self, failure: Failure | None) -> Generator:
        """From a failure to training, through failures of restarts."""
        rules, source = self.rules, None
        while failure:
            mode = failure.mode
            severity, tried = self._severity(mode, 0 if source is None else source)
            if source is not None:
                source = severity
                copy = self.lineage.newest_durable(source)
            elif failure.struck is not None:
                copy, source = self.lineage.clean(failure.struck, severity)
            else:
                copy, source = self.lineage.newest_durable(severity), severity
            self._fall_back(copy)
            self.counts["n_failures"] += 1
            yield from self._down("detection_h", mode.detection)
            self.fleet.leave(self.fleet.blamed(mode, failure.node), mode)
            yield from self._wait_for_nodes()
            if self.ended:
                return
            self.fleet.swap()
            if rules.person_share and self.random.random() < rules.person_share and rules.person:
                yield from self._down("queue_h", self.random.expovariate(1 / rules.person))
            yield from self._down("queue_h", rules.queue)
            failure = yield from self._restart(mode.restart, source, tried)

    def _severity(self, mode: Mode, least: int) -> tuple[int, float]:
        """The fastest tier, from one on, that outlives a failure with a sound copy; and the hours of trying others."""
        drawn, tried = self.random.random(), 0.0
        tier = next((tier for tier, share in enumerate(mode.survived) if drawn < share), self.rules.store)
        tier = max(tier, least)
        while tier < self.rules.store and self.random.random() < self.rules.tiers[tier].corrupt:
            tried += self.rules.tiers[tier].load
            tier += 1
        return tier, tried

    def _fall_back(self, copy: Copy) -> None:
        self.hours["rework_h"] += sum(self.kept[part] - copy.tally[part] for part in IN_TRAINING)
        self.kept, self.position = dict(copy.tally), copy.position
        self.stall_left = 0.0
        self.writes.clear()
        self.lineage.fall_back(copy)
        self.hidden = [hidden for hidden in self.hidden if hidden.struck < copy.taken_at]

    def _wait_for_nodes(self) -> Generator:
        self.doing, self.since, self.is_waiting = "queue_h", self.env.now, True
        waited = yield from self.fleet.fill()
        self.doing, self.is_waiting = "", False
        self.ended = not self.fleet.may_go_on(self.fleet.missing)
        self.finished = self.ended
        self.hours["queue_h"] += waited
        self.counts["waiting_h"] += waited
        self.counts["n_waits"] += waited > 0

    def _restart(self, restart: float, source: int, tried: float = 0.0) -> Generator:
        """Initialise and load; answers the failure that broke it off."""
        lived, failure = yield from self._live(restart + self.rules.tiers[source].load + tried, "restart")
        self.hours["restart_h"] += lived
        return failure

    def _start_up(self) -> Generator:
        """A restart that was planned, and the recovery from failures meanwhile."""
        failure = yield from self._restart(self.rules.restart, self.rules.store)
        yield from self._recover(failure)

    def _planned_stop(self, copy: Copy) -> Generator:
        """Do all that waits for a durable checkpoint; answers whether there was anything."""
        rules, fleet = self.rules, self.fleet
        if not (self.stop_requested or fleet.can_rejoin or fleet.can_swap):
            return False
        self.counts["n_planned"] += 1
        self._fall_back(copy)
        fleet.rejoin()
        fleet.swap()
        if self.stop_requested:
            self.stop_requested = False
            if fleet.can_roll():
                fleet.roll()
            else:
                yield from self._down("maintenance_h", rules.stop)
        yield from self._start_up()
        return True
