"""Copies of the state that the job descends from, and the tiers that hold them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .rules import IN_TRAINING, Rules


@dataclass(eq=False)
class Copy:
    """The state at a position of the work [h of training], taken at a time of the wall clock.

    ``step`` counts places of the fastest tier since all tiers had a copy; ``tally`` are the hours by part that led
    here; ``durable`` and ``pending`` the tiers that hold the copy, and those to which it is being written.
    """

    position: float
    step: int
    taken_at: float
    tally: dict[str, float]
    durable: set[int] = field(default_factory=set)
    pending: set[int] = field(default_factory=set)


class Lineage:
    """From old to new; the first copy is where the job begins again when there is nothing else, and is always there."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.n_kept = rules.n_kept if rules.has_silent else 1  # others only go back to the newest
        self.copies: list[Copy] = []
        if rules.include_start:
            tally = dict.fromkeys(IN_TRAINING, 0.0)
            self.copies.append(Copy(0.0, 0, -math.inf, tally, durable=set(range(len(rules.tiers)))))
        else:
            self._begin_in_the_middle()

    def _begin_in_the_middle(self) -> None:
        """Each tier has its copy of one interval ago."""
        rules = self.rules
        for number, tier in reversed([*enumerate(rules.tiers)]):
            if self.copies and self.copies[-1].step == -tier.every:
                self.copies[-1].durable.add(number)
                continue
            tally = {
                "productive_h": -tier.every * rules.step,
                "checkpoint_h": -sum(rules.stall_at(step) for step in range(1 - tier.every, 1)),
                "slowdown_h": -rules.slowdown * rules.tiers[-1].write,
                "degraded_h": 0.0,
            }
            self.copies.append(Copy(tally["productive_h"], -tier.every, sum(tally.values()), tally, {number}))

    @property
    def newest(self) -> Copy:
        """Durable or not."""
        return self.copies[-1]

    def newest_durable(self, tier: int | None = None) -> Copy:
        """Of one tier, or of any."""
        return next(copy for copy in reversed(self.copies) if (copy.durable if tier is None else tier in copy.durable))

    def clean(self, struck: float, severity: int) -> tuple[Copy, int]:
        """Where to go back to from a corruption, and the tier to load from."""
        for tier in range(severity, len(self.rules.tiers)):
            copy = self.newest_durable(tier)
            if copy.taken_at <= struck:
                return copy, tier
        store = self.rules.store
        kept = [copy for copy in self.copies if store in copy.durable and copy.taken_at <= struck]
        return kept[-1] if kept else self.copies[0], store

    def take(self, copy: Copy) -> None:
        self.copies.append(copy)

    def make_durable(self, copy: Copy, tier: int) -> None:
        """A faster tier keeps its newest copy only, the store the number that is kept."""
        copy.pending.discard(tier)
        copy.durable.add(tier)
        holders = [kept for kept in self.copies if tier in kept.durable]
        n_kept = self.n_kept if tier == self.rules.store else 1
        if tier == self.rules.store:
            holders = [kept for kept in holders if kept is not self.copies[0]]
        for old in holders[:-n_kept] if n_kept else ():
            old.durable.discard(tier)
        self._forget_what_nobody_holds()

    def give_up_writes(self) -> None:
        for copy in self.copies:
            copy.pending.clear()
        self._forget_what_nobody_holds()

    def fall_back(self, copy: Copy) -> None:
        """Forget what came after; writes of what a faster tier keeps are finished, and faster tiers hold this copy."""
        del self.copies[self.copies.index(copy) + 1 :]
        for kept in self.copies:
            for tier in sorted(kept.pending):
                self.make_durable(kept, tier)
        for tier in self.rules.due(copy.step):
            self.make_durable(copy, tier)

    def _forget_what_nobody_holds(self) -> None:
        self.copies = [
            copy for i, copy in enumerate(self.copies) if i in (0, len(self.copies) - 1) or copy.durable or copy.pending
        ]
