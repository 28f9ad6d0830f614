"""Lost time by part of the wall clock, in hours and in money, per month and for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ettr.core.report import plain_values
from ettr.core.results import PART_WORDS, TimeBudget
from ettr.core.units import H_PER_MONTH
from ettr.scenario import Scenario
from ettr.scenario.fields import is_written
from ettr.scenario.paths import GPU_PRICE


@dataclass(frozen=True)
class Loss:
    """One kind of lost time.

    Attributes
    ----------
    part : str
        Name of the field of :class:`ettr.TimeBudget`, without its unit.
    words : str
        Name in tables.
    share : float
        Share of the wall clock.
    h_per_month, usd_per_month : float
        Loss per month of wall-clock time. [h], [USD]
    usd_per_run : float or None
        Loss over the whole run; None for a job without an end. [USD]
    """

    part: str
    words: str
    share: float
    h_per_month: float
    usd_per_month: float
    usd_per_run: float | None


@dataclass(frozen=True)
class Losses:
    """All lost time of a run, with its cost.

    Attributes
    ----------
    scenario : Scenario
        The run, with its prices.
    budget : TimeBudget
        Its hours.

    Examples
    --------
    >>> from ettr import plan
    >>> losses = plan.make("llama3-405b").losses
    >>> [loss.words for loss in losses.parts]
    ['checkpoint stalls', 'lost work (recomputed)', 'failure detection', 'restarts', 'planned maintenance']
    >>> round(losses.total.h_per_month)
    67
    """

    scenario: Scenario
    budget: TimeBudget

    @property
    def usd_per_h(self) -> float:
        """Cost of one hour of the job. [USD/h]"""
        return self.scenario.usd_per_h

    @property
    def price_is_assumed(self) -> bool:
        """Whether the price per GPU-hour is the default."""
        return not is_written(self.scenario, GPU_PRICE)

    @property
    def bill_usd_per_month(self) -> float:
        """Cost of the whole job per month. [USD]"""
        return self.usd_per_h * H_PER_MONTH

    def of(self, share: float, part: str = "", words: str = "") -> Loss:
        """Return a share of the wall clock as a loss."""
        run_usd = share * float(self.budget.total_h) * self.usd_per_h if self.scenario.ends else None
        return Loss(part, words, share, share * H_PER_MONTH, share * self.bill_usd_per_month, run_usd)

    @property
    def parts(self) -> tuple[Loss, ...]:
        """The kinds of lost time that occur."""
        return tuple(self._parts())

    def _parts(self) -> Iterator[Loss]:
        total_h = float(self.budget.total_h)
        for part, words in PART_WORDS.items():
            hours = float(getattr(self.budget, part))
            if part != "productive_h" and hours > 0:
                yield self.of(hours / total_h, part.removesuffix("_h"), words)

    @property
    def total(self) -> Loss:
        """All lost time together."""
        return self.of(1 - float(self.budget.ettr), "total", "total")


def record_of(losses: Losses) -> dict[str, Any]:
    """Return losses as values for JSON."""
    record = {
        "usd_per_gpu_h": losses.scenario.prices.usd_per_gpu_h,
        "price_assumed": losses.price_is_assumed,
        "bill_usd_per_month": losses.bill_usd_per_month,
        "parts": losses.parts,
        "total": losses.total,
    }
    return dict(plain_values(record))
