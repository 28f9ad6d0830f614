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

from ettr.budget.transforms.recoveries import (
    Exposure,
    Kind,
    kinds_of,
    missing_down,
    missing_restart,
    widened,
)
from ettr.budget.transforms.stages import Of, Quiet
from ettr.core.units import ROUNDING
from ettr.scenario import JobInHours


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

    def solved(self, tier: int, whole: Any = 1.0) -> _Value:
        """With itself in place of the value where a tier's block began."""
        back = dict(self.back)
        return _Value(self.end, back).scaled(1 / (whole - back.pop(tier, 0.0)))


def whole(run: JobInHours, starts: bool) -> Of:
    """Transform of a run with tiers, from submission to its end or in its steady state."""
    kinds, run = kinds_of(run), widened(run)

    def finite(at: Exposure) -> Any:
        blocks = _Blocks(run, kinds, at)
        begun = np.exp(-at.down * run.first_queue) * blocks.start if starts else 1.0
        return begun * blocks.to_the_end()

    def steady(at: Exposure) -> Any:
        n = run.work / run.tau
        whole_n = np.ceil(n - ROUNDING)
        return _Blocks(run, kinds, Exposure(at.rate, at.s * n / whole_n, at.down * n / whole_n)).interval ** whole_n

    return finite if run.include_start else steady


def log_cycle(run: JobInHours, kinds: list[Kind], at: Exposure) -> Any:
    """Logarithm of the transform of one interval of the store in the long run."""
    return np.log(_Blocks(run, kinds, at).interval)


def quiet(run: JobInHours, starts: bool) -> Quiet:
    """A run in which nothing strikes."""
    if not run.include_start:
        stall_h = sum(run.tau / tau * stall for tau, stall in zip(run.taus, run.stalls, strict=True))
        n = run.work / run.tau
        cycle_h = run.tau + stall_h
        return Quiet(np.exp(-run.rate * np.ceil(n - ROUNDING) * cycle_h), n * cycle_h)
    start_h = run.start if starts else 0.0
    exposed_h = start_h + run.work + _stalls_h(run, _counts(run))
    queue_h = run.first_queue if starts else 0.0
    return Quiet(np.exp(-run.rate * exposed_h) * (run.restart_cv == 0 or not starts), queue_h + exposed_h)


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

    def to(self, tier: int, most: int | None = None) -> Any:
        """A failure, of any severity or up to one, whose recovery ends at a tier."""
        return sum(row[tier] for row in self.first[: (tier if most is None else most) + 1])


class _Blocks:
    """Stretches of a run between checkpoints of each tier, at values of s.

    ``restored[l][r]`` is the value of a run restored where a block of tier l begins, and ``passed[l][r]`` of one that
    comes by there straight; r is the slowest tier that is due at the block's end.
    """

    def __init__(self, run: JobInHours, kinds: list[Kind], at: Exposure) -> None:
        self.run, self.at = run, at
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
    def start(self) -> Any:
        """The first restart, after which all tiers hold the beginning."""
        return self.recoveries.planned

    @property
    def interval(self) -> Any:
        """From one checkpoint of the store to the next."""
        return self.passed[-1][len(self.run.taus) - 1].end

    def to_the_end(self) -> Any:
        """From the beginning, restored, to the end of the work."""
        counts, run = _counts(self.run), self.run
        rest_h = run.work - sum(n * tau for n, tau in zip(counts, run.taus, strict=True))
        value = self._stretch(rest_h).solved(0)
        for level, n in enumerate(counts):
            after = counts[:level]
            left_h = rest_h + sum(m * tau for m, tau in zip(after, run.taus, strict=False)) + _stalls_h(run, after)
            came_by = self._by(level, value, left_h)
            inner = self.restored[level][level].then(_chain(self.passed[level][level], n - 1).then(came_by))
            # of a block with no such checkpoint in it the value at its beginning is that of its last one
            value = _where(n > 0, inner, value)
            if level + 1 < len(counts):
                value = value.solved(level + 1)
        return value.end

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
        """A run that comes by where a block begins that would have this value if it were restored there.

        What is not durable yet is lost with a failure of its severity; a run may be done before, after some hours.
        """
        back: list[_Value] = []  # one block back, by tier, slowest first; linear in this value itself as the end
        tiers = range(level + 1)
        lost = [self.at.strikes(np.minimum(self.run.writes[k], left_h)) for k in tiers]
        share = {t: sum(lost[k] * self.recoveries.first[k][t] for k in range(t + 1)) for t in tiers}
        previous: dict[int, _Value] = {}
        result = restored.scaled(1 - sum(share.values()))
        of_itself: Any = 0.0
        for tier in reversed(tiers):
            block = self.restored[tier][level]
            value = _Value(block.end, {t: one for t, one in block.back.items() if t > level})
            for slower, one in block.back.items():
                if slower <= level:
                    value = value.plus(previous[slower].scaled(one))
            previous[tier] = value
            back.append(value)
            of_itself = of_itself + share[tier] * value.end
            result = result.plus(_Value(0.0, value.scaled(share[tier]).back))
        return result.scaled(1 / (1 - of_itself))


def _chain(block: _Value, n: Any) -> _Value:
    """Blocks of one kind, one after the other."""
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
