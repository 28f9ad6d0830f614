"""Checkpoint intervals for a cluster of many jobs: as few rules as possible, each nearly best for all of its sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from ettr.budget.intervals import BAND_POINTS
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


def policy_of(classes: Sequence[JobClass], by_size: pd.DataFrame, current_min: float) -> tuple[Rule, ...]:
    """Return the fewest rules with which no class loses more than half a point of ETTR, largest jobs first.

    Parameters
    ----------
    classes : sequence of JobClass
        Classes by size, smallest first.
    by_size : DataFrame
        A row per class, with ``low_min`` and ``high_min``: the intervals that are nearly as good as the best, missing
        for jobs that practically never end.
    current_min : float
        Current interval, kept where it is nearly best. [min]

    Notes
    -----
    From the largest class down, a rule takes the next class as long as some interval is nearly best for all of them.
    No partition into neighbouring sizes has fewer rules.

    Examples
    --------
    >>> bands = pd.DataFrame({"low_min": [50, 12], "high_min": [400, 40]})
    >>> [rule.words for rule in policy_of([JobClass(64, 0.4), JobClass(1024, 0.6)], bands, 60.0)]
    ['over 64 GPUs: checkpoint every 12-40 min', 'up to 64 GPUs: every 1 h is fine']
    """
    rules: list[Rule] = []
    for of_size, low, high in reversed([*zip(classes, by_size["low_min"], by_size["high_min"], strict=True)]):
        last = rules[-1] if rules else None
        if last and max(low, last.low_min) <= min(high, last.high_min):
            rules[-1] = replace(last, low_min=max(low, last.low_min), high_min=min(high, last.high_min))
        elif low <= high:
            if last:
                rules[-1] = replace(last, above_gpus=of_size.largest)
            rules.append(Rule(None, of_size.largest if last else None, low, high, None))
    return tuple(
        replace(rule, current_min=current_min) if rule.low_min <= current_min <= rule.high_min else rule
        for rule in rules
    )


def policy_words(of: Sequence[Rule]) -> str:
    """Return the rules as a sentence."""
    if not of:
        return ""
    advice = "; ".join(rule.words for rule in of)
    return f"Jobs {advice}. This costs no size more than {points(BAND_POINTS)} of ETTR over its best interval."
