"""What is lost, by part of the wall clock, in hours and in money: a month, and the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ettr.core.report import plain_values
from ettr.core.results import PARTS, TimeBudget
from ettr.core.units import H_PER_MONTH
from ettr.scenario import Scenario
from ettr.scenario.fields import is_written
from ettr.scenario.paths import GPU_PRICE

WORDS = {
    "checkpoint_h": "stalls for checkpoints",
    "slowdown_h": "slower while one is written",
    "degraded_h": "with fewer replicas",
    "rework_h": "work done again",
    "detection_h": "until a failure is noticed",
    "queue_h": "waiting in the queue",
    "restart_h": "restarts",
    "maintenance_h": "planned maintenance",
}
"""Parts of the wall clock in which nothing is gained, as people call them."""


@dataclass(frozen=True)
class Loss:
    """One part of what is lost.

    Attributes
    ----------
    part : str
        As in :class:`ettr.TimeBudget`, without its unit.
    words : str
        The same as people call it.
    share : float
        Of the wall clock.
    h_per_month, usd_per_month : float
        Of a month of wall clock. [h], [USD]
    usd_per_run : float or None
        Of the whole run; None for a job without an end. [USD]
    """

    part: str
    words: str
    share: float
    h_per_month: float
    usd_per_month: float
    usd_per_run: float | None


@dataclass(frozen=True)
class Losses:
    """What the hours cost in which nothing is gained.

    Attributes
    ----------
    scenario : Scenario
        The run, whose prices count.
    budget : TimeBudget
        Its hours.
    """

    scenario: Scenario
    budget: TimeBudget

    @property
    def usd_per_h(self) -> float:
        """What an hour of the job costs. [USD/h]"""
        return self.scenario.usd_per_h

    @property
    def price_is_assumed(self) -> bool:
        """Whether nobody gave the price of a GPU-hour."""
        return not is_written(self.scenario, GPU_PRICE)

    @property
    def bill_usd_per_month(self) -> float:
        """What the whole job costs a month. [USD]"""
        return self.usd_per_h * H_PER_MONTH

    def of(self, share: float, part: str = "", words: str = "") -> Loss:
        """A share of the wall clock as a loss."""
        run_usd = share * float(self.budget.total_h) * self.usd_per_h if self.scenario.ends else None
        return Loss(part, words, share, share * H_PER_MONTH, share * self.bill_usd_per_month, run_usd)

    @property
    def parts(self) -> tuple[Loss, ...]:
        """Each part that takes time."""
        return tuple(self._parts())

    def _parts(self) -> Iterator[Loss]:
        total_h = float(self.budget.total_h)
        for name in PARTS:
            hours = float(getattr(self.budget, name))
            if name in WORDS and hours > 0:
                yield self.of(hours / total_h, name.removesuffix("_h"), WORDS[name])

    @property
    def total(self) -> Loss:
        """All of them together."""
        return self.of(1 - float(self.budget.ettr), "total", "total")


def record_of(losses: Losses) -> dict[str, Any]:
    """As plain values for JSON."""
    record = {
        "usd_per_gpu_h": losses.scenario.prices.usd_per_gpu_h,
        "price_assumed": losses.price_is_assumed,
        "bill_usd_per_month": losses.bill_usd_per_month,
        "parts": losses.parts,
        "total": losses.total,
    }
    return dict(plain_values(record))
