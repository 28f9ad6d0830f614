"""Checkpoint intervals for a cluster of many jobs: as few rules as possible, each nearly best for all of its sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ettr.budget.intervals import BAND_POINTS, BestInterval
from ettr.cluster.classes import JobClass
from ettr.core.sentences import duration, gpus, points, span
from ettr.core.units import MIN_PER_H


@dataclass(frozen=True)
class Rule:
    """The checkpoint interval of the jobs of some sizes.

    Attributes
    ----------
    above_gpus, up_to_gpus : int or None
        The rule is for jobs of more than the first and at most the second; None for no limit.
    low_min, high_min : float
        Intervals that cost no class more than half a point of ETTR over its best. [min]
    current_min : float or None
        The current interval if it is among them. [min]
    """

    above_gpus: int | None
    up_to_gpus: int | None
    low_min: float
    high_min: float
    current_min: float | None

    @property
    def words(self) -> str:
        """The rule as a clause."""
        every = span((self.low_min / MIN_PER_H, self.high_min / MIN_PER_H))
        advice = f"checkpoint every {every}"
        if self.current_min is not None:
            advice = f"every {duration(self.current_min / MIN_PER_H)} is fine"
        if self.above_gpus is None:
            return f"of all sizes: {advice}" if self.up_to_gpus is None else f"up to {gpus(self.up_to_gpus)}: {advice}"
        if self.up_to_gpus is None:
            return f"over {gpus(self.above_gpus)}: {advice}"
        return f"over {self.above_gpus:,} and up to {gpus(self.up_to_gpus)}: {advice}"


def rules(classes: Sequence[JobClass], bands: Sequence[BestInterval], current_min: float) -> tuple[Rule, ...]:
    """Return the fewest rules with which no class loses more than half a point of ETTR, largest jobs first.

    Parameters
    ----------
    classes : sequence of JobClass
        Classes by size, smallest first.
    bands : sequence of BestInterval
        The intervals of each that are nearly as good as the best.
    current_min : float
        Current interval, kept where it is nearly best. [min]

    Notes
    -----
    From the largest class down, a rule takes the next class as long as some interval is nearly best for all of them.
    No partition into neighbouring sizes has fewer rules.

    Examples
    --------
    >>> bands = [BestInterval(90, 50, 400, 0.005, False), BestInterval(25, 12, 40, 0.005, False)]
    >>> [rule.words for rule in rules([JobClass(64, 0.4), JobClass(1024, 0.6)], bands, 60.0)]
    ['over 64 GPUs: checkpoint every 12-40 min', 'up to 64 GPUs: every 1 h is fine']
    """
    groups: list[list[int]] = []
    low = high = 0.0
    for i in reversed(range(len(classes))):
        next_low, next_high = max(low, bands[i].low_min), min(high, bands[i].high_min)
        if groups and next_low <= next_high:
            groups[-1].append(i)
            low, high = next_low, next_high
        else:
            groups.append([i])
            low, high = bands[i].low_min, bands[i].high_min
    return tuple(_rule(group, classes, bands, current_min) for group in groups)


def _rule(group: list[int], classes: Sequence[JobClass], bands: Sequence[BestInterval], current_min: float) -> Rule:
    low, high = max(bands[i].low_min for i in group), min(bands[i].high_min for i in group)
    largest, smallest = group[0], group[-1]
    return Rule(
        above_gpus=classes[smallest - 1].largest if smallest > 0 else None,
        up_to_gpus=classes[largest].largest if largest < len(classes) - 1 else None,
        low_min=low,
        high_min=high,
        current_min=current_min if low <= current_min <= high else None,
    )


def policy_words(of: Sequence[Rule]) -> str:
    """Return the rules as a sentence."""
    if not of:
        return ""
    advice = "; ".join(rule.words for rule in of)
    return f"Jobs {advice}. This costs no size more than {points(BAND_POINTS)} of ETTR over its best interval."
