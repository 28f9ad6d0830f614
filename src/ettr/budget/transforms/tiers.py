r"""A run with several tiers of checkpoints: its places are nested, and so are the transforms of its blocks.

A value is the transform of the hours that are left. With :math:`V_i` of a run that was just restored at place i,
:math:`Z_i` of one that just passed it, x the hours to the next place, :math:`R_{kt}` a failure of severity k whose
recovery ends at tier t, :math:`i_t` the newest place of tier t up to i, and m the slowest tier that is due at i,

.. math::
    V_i = A(x)\,Z_{i+1} + F(x) \sum_{k \le t} R_{kt} V_{i_t}, \qquad
    Z_i = V_i + \sum_{k \le t \le m} F(p_k)\,R_{kt}\,(V_{i-c_t} - V_i) :

a failure that finds the write to its tier not finished goes back one block of that tier. So every value in a block is
linear in those of the blocks around it and in Z at its end, and blocks of one size follow each other as powers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.budget.refusals import SIMULATE
from ettr.budget.transforms.recoveries import (
    Exposure,
    Kind,
    kinds_of,
    missing_down,
    missing_restart,
    whole_intervals,
    widened,
)
from ettr.budget.transforms.stages import Of, Quiet, Square, log_larger, through
from ettr.core.errors import NotModelled
from ettr.core.units import ROUNDING
from ettr.scenario import JobInHours

_MOST_PLACES = 4096
"""Checkpoints of a faster tier in one write to the store."""


@dataclass(frozen=True)
class _Value:
    """Linear in what comes at a block's end, and in the values where the blocks of slower tiers began, by tier."""

    end: Any
    back: dict[int, Any]

    def scaled(self, by: Any) -> _Value:
        return _Value(self.end * by, {tier: value * by for tier, value in self.back.items()})

    def plus(self, other: _Value) -> _Value:
        tiers = self.back.keys() | other.back.keys()
        return _Value(self.end + other.end, {t: self.back.get(t, 0.0) + other.back.get(t, 0.0) for t in tiers})

    def then(self, next_: _Value) -> _Value:
        """With another stretch, or the end of the run, in place of the end."""
        return _Value(self.end * next_.end, dict(self.back)).plus(_Value(0.0, next_.scaled(self.end).back))

    def solved(self, tier: int) -> _Value:
        """With itself in place of the value where a tier's block began."""
        back = dict(self.back)
        return _Value(self.end, back).scaled(1 / (1 - back.pop(tier, 0.0)))


def whole(run: JobInHours, starts: bool) -> Of:
    """Transform of a run with tiers, from submission to its end or in its steady state."""
    kinds, run = kinds_of(run), widened(run)
    asked = np.any(run.stops_per_h)

    def finite(at: Exposure) -> Any:
        blocks = _Blocks(run, kinds, at)
        begun = np.exp(-at.down * run.first_queue) * blocks.recoveries.planned if starts else 1.0
        return begun * blocks.to_the_end().value

    def finite_served(at: Exposure) -> Any:
        blocks, quiet = (_Blocks(run, kinds, one) for one in (at, at.later(run.stops_per_h)))
        end, n = blocks.to_the_end(), _counts(run)[-1]
        waits, differs = through(_served(blocks, quiet), n - 1, *_last_served(blocks, quiet, end))
        begun, quiet_begun = (
            np.exp(-one.at.down * run.first_queue) * one.recoveries.planned if starts else 1.0
            for one in (blocks, quiet)
        )
        value = begun * blocks.again * waits + quiet_begun * quiet.again * differs
        return np.where(n > 0, value, begun * end.value)

    def steady(at: Exposure) -> Any:
        at = at.of_whole_intervals(run)
        if not asked:
            return _Blocks(run, kinds, at).interval ** whole_intervals(run)
        step = _served(*(_Blocks(run, kinds, one) for one in (at, at.later(run.stops_per_h))))
        return sum(through(step, whole_intervals(run), 1.0, 0.0))

    if not run.include_start:
        return steady
    return finite_served if asked else finite


def log_cycle(run: JobInHours, kinds: list[Kind], at: Exposure) -> Any:
    """Logarithm of the transform of one interval of the store in the long run."""
    if not np.any(run.stops_per_h):
        return np.log(_Blocks(run, kinds, at).interval)
    return log_larger(_served(*(_Blocks(run, kinds, one) for one in (at, at.later(run.stops_per_h)))))


def _served(blocks: _Blocks, quiet: _Blocks) -> Square:
    """From one checkpoint of the store to the next, with maintenance once it is durable and nothing struck meanwhile.

    Of the value where a request waits, and of how much more that is where none does; the second at s + μ.
    """
    pass_, quiet_pass = blocks.by_store(), quiet.by_store()
    again, quiet_again = blocks.again, quiet.again
    written, quiet_written = (one.at.survives(one.run.writes[-1]) for one in (blocks, quiet))
    goes_on = again - blocks.struck_in_write()  # of those that the write is done for, at their place
    stops, quiet_stops = blocks.stop * again, quiet.stop * quiet_again
    return (
        (pass_.kept * again + written * stops - goes_on) / pass_.rest,
        written * quiet_stops / pass_.rest,
        quiet_written * (goes_on / written - stops) / quiet_pass.rest,
        (quiet_pass.kept * quiet_again - quiet_written * quiet_stops) / quiet_pass.rest,
    )


def _last_served(blocks: _Blocks, quiet: _Blocks, end: _End) -> tuple[Any, Any]:
    """The same where the last checkpoint of the store is passed: after it nothing is served."""
    write_h = blocks.run.writes[-1]
    pass_, quiet_pass = blocks.by_store(end.left_h), quiet.by_store(end.left_h)
    # failures in that write go back to places that are as much nearer the end as in any other block
    goes_on = end.restored * (1 - blocks.struck_in_write() / blocks.again)
    written, quiet_written = (one.at.survives(write_h) for one in (blocks, quiet))
    stops = blocks.stop * end.restored
    waits = (pass_.kept * end.restored + written * stops - goes_on) / pass_.rest
    differs = quiet_written * (goes_on / written - stops) / quiet_pass.rest
    durable = end.left_h > write_h
    return np.where(durable, waits, pass_.kept * end.restored / pass_.rest), np.where(durable, differs, 0.0)


def quiet(run: JobInHours, starts: bool) -> Quiet:
    """A run in which nothing strikes."""
    if not run.include_start:
        stall_h = sum(run.tau / tau * stall for tau, stall in zip(run.taus, run.stalls, strict=True))
        cycle_h, whole_n = run.tau + stall_h, whole_intervals(run)
        asked_h = run.persist + (whole_n - 1) * cycle_h
        exposed_h = whole_n * cycle_h
        return Quiet(np.exp(-run.rate * exposed_h - run.stops_per_h * asked_h), run.work / run.tau * cycle_h, exposed_h)
    start_h = run.start if starts else 0.0
    exposed_h = start_h + run.work + _stalls_h(run, _counts(run))
    queue_h = run.first_queue if starts else 0.0
    asked_h = np.maximum(queue_h + exposed_h - _after_last_h(run), 0.0)
    chance = np.exp(-run.rate * exposed_h - run.stops_per_h * asked_h)
    return Quiet(chance * (run.restart_cv == 0 or not starts), queue_h + exposed_h, exposed_h)


def _after_last_h(run: JobInHours) -> Any:
    """Hours after the last checkpoint in the store is durable; all where there is none. [h]"""
    counts = _counts(run)
    left_h = run.work - counts[-1] * run.tau + _stalls_h(run, counts[:-1]) - run.persist
    return np.where((counts[-1] > 0) & (left_h > 0), left_h, np.inf)


def _counts(run: JobInHours) -> list[Any]:
    """Checkpoints after the last one of the next slower tier, up to the end, fastest first; of the store all."""
    left, counts = run.work, []
    for tau in reversed(run.taus):
        n = np.maximum(np.ceil(left / tau - ROUNDING) - 1, 0)
        left = left - n * tau
        counts.append(n)
    return counts[::-1]


def _stalls_h(run: JobInHours, counts: list[Any]) -> Any:
    """Stalls of all tiers at places that were counted: a checkpoint of a slower tier is one of each faster one. [h]"""
    hours: Any = 0.0
    for tier, stall in enumerate(run.stalls):
        hours = hours + stall * sum(counts[i] * run.taus[i] / run.taus[tier] for i in range(tier, len(counts)))
    return hours


@dataclass(frozen=True)
class _End:
    """A run from its beginning to its end, from its last checkpoint in the store, and the hours after that."""

    value: Any
    restored: Any
    left_h: Any


@dataclass(frozen=True)
class _Pass:
    """What a pass keeps of the value of a run restored there, and what its own value is to be divided by."""

    kept: Any
    rest: Any


class _Recoveries:
    """Where failures of each severity go back to, with the time until training goes on."""

    def __init__(self, run: JobInHours, kinds: list[Kind], at: Exposure) -> None:
        n = range(len(run.loads))
        again: list[list[Any]] = [[0.0 for _ in n] for _ in n]  # after a failure while a tier is loaded
        self.first: list[list[Any]] = [[0.0 for _ in n] for _ in n]  # by the severity of the failure
        share_of_rate = at.rate / at.ends
        each = []
        for kind in kinds:
            kept = [*kind.survives, 1.0]
            severity = [kept[t] - (kept[t - 1] if t else 0.0) for t in n]
            down = kind.share * (1 - missing_down(run, kind, at.down))
            lacks = [missing_restart(run, kind.restart_h, kind.restart_cv, load, at.ends) for load in run.loads]
            each.append((down, kept, severity, lacks))
        for floor in reversed(n):
            repeats: Any = 0.0
            for down, kept, severity, lacks in each:
                repeats = repeats + down * kept[floor] * lacks[floor] * share_of_rate
                again[floor][floor] = again[floor][floor] + down * kept[floor] * (1 - lacks[floor])
                for slower in n[floor + 1 :]:
                    moved = down * severity[slower]
                    again[floor][slower] = again[floor][slower] + moved * (1 - lacks[slower])
                    for end in n[slower:]:
                        struck = moved * lacks[slower] * share_of_rate * again[slower][end]
                        again[floor][end] = again[floor][end] + struck
            for end in n[floor:]:
                again[floor][end] = again[floor][end] / (1 - repeats)
        for down, _, severity, lacks in each:
            for k in n:
                moved = down * severity[k]
                self.first[k][k] = self.first[k][k] + moved * (1 - lacks[k])
                for end in n[k:]:
                    self.first[k][end] = self.first[k][end] + moved * lacks[k] * share_of_rate * again[k][end]
        lacks = missing_restart(run, run.restart, run.restart_cv, run.load, at.ends)
        self.planned = 1 - lacks * (1 - share_of_rate * sum(again[0]))

    def to(self, tier: int) -> Any:
        """A failure of any severity whose recovery ends at a tier."""
        return sum(row[tier] for row in self.first[: tier + 1])


class _Blocks:
    """Stretches of a run between checkpoints of each tier, at values of s.

    ``restored[l][r]`` is the value of a run restored where a block of tier l begins, and ``passed[l][r]`` of one that
    comes by there straight; r is the slowest tier that is due at the block's end.
    """

    def __init__(self, run: JobInHours, kinds: list[Kind], at: Exposure) -> None:
        self.run, self.at, self.store = run, at, len(run.taus) - 1
        self.recoveries = _Recoveries(run, kinds, at)
        levels = range(len(run.taus))
        self.restored: list[dict[int, _Value]] = [{} for _ in levels]
        self.passed: list[dict[int, _Value]] = [{} for _ in levels]
        for level in levels:
            for due in levels[level:]:
                self.restored[level][due] = self._first(due) if level == 0 else self._nested(level, due)
            for due in levels[level:]:
                self.passed[level][due] = self._by(level, self.restored[level][due])

    @property
    def interval(self) -> Any:
        """From one checkpoint of the store to the next."""
        return self.passed[-1][self.store].end

    @property
    def again(self) -> Any:
        """The same of a run that is restored at the first."""
        return self.restored[-1][self.store].end

    @property
    def stop(self) -> Any:
        """Maintenance, and the restart after it."""
        return np.exp(-self.at.down * self.run.stop) * self.recoveries.planned

    def by_store(self, left_h: Any = np.inf) -> _Pass:
        """A pass of a checkpoint of the store, with some hours left."""
        lost, of_itself, _ = self._lost(self.store, left_h)
        return _Pass(1 - sum(lost.values()), 1 - of_itself)

    def to_the_end(self) -> _End:
        """From the beginning, restored, to the end of the work."""
        counts, run = _counts(self.run), self.run
        rest_h = run.work - sum(n * tau for n, tau in zip(counts, run.taus, strict=True))
        value = self._stretch(rest_h).solved(0)
        left_h: Any = rest_h
        for level, n in enumerate(counts):
            after = counts[:level]
            left_h = rest_h + sum(m * tau for m, tau in zip(after, run.taus, strict=False)) + _stalls_h(run, after)
            before, came_by = value, self._by(level, value, left_h)
            inner = self.restored[level][level].then(_chain(self.passed[level][level], n - 1).then(came_by))
            # of a block with no such checkpoint in it the value at its beginning is that of its last one
            value = _where(n > 0, inner, value)
            if level < self.store:
                value = value.solved(level + 1)
        return _End(value.end, before.end, left_h)

    def struck_in_write(self) -> Any:
        """Failures in the write of a store's checkpoint that was restored, as the value where they go back to.

        Over the value at the next one; a failure goes back to the newest copy of its tier that is durable by then.
        """
        run, at = self.run, self.at
        write_h, values = run.writes[-1], {}
        total = at.strikes(write_h) * self.recoveries.first[self.store][self.store] * self.again
        for tier in range(self.store):
            places, n = self._every(tier), int(np.max(np.floor(write_h / run.taus[tier]))) + 1
            if n > _MOST_PLACES:
                raise NotModelled(
                    f"budget.finishing has no form for maintenance beside a store that {n:,} checkpoints of a faster "
                    f"tier are taken while it is written: {SIMULATE}"
                )
            for q in range(n):
                begin_h = self._hours_to(tier, q) + run.writes[tier] if q else 0.0
                end_h = np.minimum(self._hours_to(tier, q + 1) + run.writes[tier], write_h)
                struck = at.strikes(end_h) - at.strikes(np.minimum(begin_h, end_h))
                key = float(np.max(q * places)) if np.ndim(places) == 0 else (tier, q)
                if key not in values:
                    values[key] = self._newest(q * places)
                for slower in range(tier, self.store + 1):
                    total = total + struck * self.recoveries.first[tier][slower] * values[key][slower]
        return total

    def _every(self, tier: int) -> Any:
        """Places of the fastest tier from one checkpoint of a tier to the next."""
        return np.round(self.run.taus[tier] / self.run.taus[0])

    def _hours_to(self, tier: int, n: int) -> Any:
        """From a place, restored, to the end of the n-th stall of a tier after it. [h]"""
        hours: Any = n * self.run.taus[tier]
        for other, stall in enumerate(self.run.stalls):
            hours = hours + stall * np.floor(n * self.run.taus[tier] / self.run.taus[other] * (1 + ROUNDING))
        return hours

    def _newest(self, place: Any) -> list[Any]:
        """Values where each tier's newest checkpoint is restored, up to a place in an interval of the store.

        Over the value at the end of the interval.
        """
        restored: list[Any] = [0.0] * self.store + [self.again]
        ahead: list[Any] = [0.0] * self.store + [1.0]  # where the next checkpoint of each tier is passed
        last: list[Any] = [False] * self.store + [True]  # whether that is one of the next slower tier too
        for level in reversed(range(self.store)):
            every = self._every(level)
            n_blocks = np.round(self._every(level + 1) / every)
            left = n_blocks - np.floor(place / every * (1 + ROUNDING)) % n_blocks
            slower = range(level + 1, self.store + 1)

            def number(value: _Value, above: int = level + 1) -> Any:
                return value.end * ahead[above] + sum(value.back[t] * restored[t] for t in value.back)

            end_restored, end_passed = self.restored[level][self.store], self.passed[level][self.store]
            for due in reversed(slower[:-1]):
                is_due = ~np.asarray(last[due], dtype=bool)
                end_restored = _where(is_due, self.restored[level][due], end_restored)
                end_passed = _where(is_due, self.passed[level][due], end_passed)
            on = _chain(self.passed[level][level], left - 2).then(end_passed)
            last[level] = left == 1
            restored[level] = np.where(left == 1, number(end_restored), number(self.restored[level][level].then(on)))
            ahead[level] = np.where(left == 1, ahead[level + 1], number(on))
        return restored

    def _stretch(self, hours: Any) -> _Value:
        """Hours without a checkpoint of any tier; a failure goes back to where each tier's block began."""
        struck = self.at.strikes(hours)
        tiers = range(len(self.run.taus))
        return _Value(self.at.survives(hours), {tier: struck * self.recoveries.to(tier) for tier in tiers})

    def _first(self, due: int) -> _Value:
        return self._stretch(self.run.taus[0] + sum(self.run.stalls[: due + 1])).solved(0)

    def _nested(self, level: int, due: int) -> _Value:
        """A block of a tier as blocks of the next faster one."""
        inside, n = level - 1, self.run.taus[level] / self.run.taus[level - 1]
        last = _chain(self.passed[inside][inside], n - 2).then(self.passed[inside][due])
        several = self.restored[inside][inside].then(last)
        return _where(n < 1.5, self.restored[inside][due], several).solved(level)

    def _by(self, level: int, restored: _Value, left_h: Any = np.inf) -> _Value:
        """A run that comes by where a block begins that would have this value if it were restored there."""
        lost, of_itself, back = self._lost(level, left_h)
        return restored.scaled(1 - sum(lost.values())).plus(back).scaled(1 / (1 - of_itself))

    def _lost(self, level: int, left_h: Any) -> tuple[dict[int, Any], Any, _Value]:
        """What finds the write to its tier unfinished, by the tier that its recovery ends at.

        It is lost with a failure of its severity, if the run is not done before. What goes back one block is linear in
        the value of the pass itself, and in those where the blocks of slower tiers began.
        """
        tiers = range(level + 1)
        struck = [self.at.strikes(np.minimum(self.run.writes[k], left_h)) for k in tiers]
        lost = {t: sum(struck[k] * self.recoveries.first[k][t] for k in range(t + 1)) for t in tiers}
        previous: dict[int, _Value] = {}
        of_itself: Any = 0.0
        back = _Value(0.0, {})
        for tier in reversed(tiers):
            block = self.restored[tier][level]
            value = _Value(block.end, {t: one for t, one in block.back.items() if t > level})
            for slower, one in block.back.items():
                if slower <= level:
                    value = value.plus(previous[slower].scaled(one))
            previous[tier] = value
            of_itself = of_itself + lost[tier] * value.end
            back = back.plus(_Value(0.0, value.scaled(lost[tier]).back))
        return lost, of_itself, back


def _chain(block: _Value, n: Any) -> _Value:
    """Blocks of one kind, one after the other; fewer than none, of a run that has no such block, count as none."""
    n = np.maximum(n, 0)
    power = block.end**n
    short = np.abs(1 - block.end) * (1 + np.abs(n)) < 1e-9
    total = np.where(short, n, (1 - power) / np.where(short, 1.0, 1 - block.end))
    return _Value(power, {tier: value * total for tier, value in block.back.items()})


def _where(condition: Any, one: _Value, other: _Value) -> _Value:
    tiers = one.back.keys() | other.back.keys()
    return _Value(
        np.where(condition, one.end, other.end),
        {t: np.where(condition, one.back.get(t, 0.0), other.back.get(t, 0.0)) for t in tiers},
    )
