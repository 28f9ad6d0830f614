"""How much of a run's ETTR is chance: how many failures strike, and what each destroys."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ettr.core.results import TimeBudget
from ettr.core.units import H_PER_MONTH
from ettr.scenario import Scenario

_Z = 1.96
"""Normal quantile of a 95% interval."""


@dataclass(frozen=True)
class Luck:
    """The ETTR of a single run, or of a single month, where everything assumed is as assumed.

    Attributes
    ----------
    low, high : float
        Ends of its 95% interval.
    n_failures, n_low, n_high : float
        Failures expected, and the ends of their 95% interval.
    window : {"run", "month"}
        Of what: of a job that ends, or of a month of one that does not.
    counted : float or None
        Failures that the rate was learnt from, or that what is known of it is worth, whose number is chance as well;
        None where the rate is taken as exact.
    """

    low: float
    high: float
    n_failures: float
    n_low: float
    n_high: float
    window: str
    counted: float | None


def luck(scenario: Scenario, budget: TimeBudget, rate_is_exact: bool = False) -> Luck:
    """The 95% interval of the ETTR by chance alone.

    Parameters
    ----------
    scenario : Scenario
        The run.
    budget : TimeBudget
        Its hours, expected.
    rate_is_exact : bool
        Whether what is known of the rate is left out, as where it is a bound already.

    Returns
    -------
    Luck
        For the whole run, or for a month of one that does not end.

    Notes
    -----
    The hours lost to failures are a compound Poisson sum. Each failure loses what is recovered from in its mean time,
    spread by the coefficients of variation of detection and restart, and work that is uniform between nothing and twice
    its mean. What is known of the rate is a gamma distribution, which adds a share :math:`1/\\sqrt{k}` of the hours
    lost to failures, with k the failures that were counted. The sum is taken as normal.

    Examples
    --------
    >>> from ettr import budget
    >>> run = Scenario.load("llama3-405b")
    >>> one = luck(run, budget.exact(run))
    >>> round(one.low, 3), round(one.high, 3)
    (0.9, 0.917)
    """
    total_h = float(budget.total_h)
    window_h = total_h if scenario.ends else H_PER_MONTH
    scale = window_h / total_h
    n = float(budget.n_failures) * scale
    known = None if rate_is_exact else scenario.failures.posterior
    if n <= 0:
        return Luck(float(budget.ettr), float(budget.ettr), 0.0, 0.0, 0.0, _window(scenario), None)
    rework_h, detection_h, queue_h, restart_h = (
        float(getattr(budget, part)) * scale / n for part in ("rework_h", "detection_h", "queue_h", "restart_h")
    )
    recovery = scenario.recovery
    each_h = rework_h + detection_h + queue_h + restart_h
    spread = rework_h**2 / 3 + (recovery.detection_cv * detection_h) ** 2 + (recovery.restart_cv * restart_h) ** 2
    of_rate = (n * each_h) ** 2 / known.shape if known else 0.0
    sd_h = math.sqrt(n * (each_h**2 + spread) + of_rate)
    n_sd = math.sqrt(n + (n**2 / known.shape if known else 0.0))
    productive_h = float(budget.productive_h) * scale
    low, high = (productive_h / max(window_h + sign * _Z * sd_h, productive_h) for sign in (1, -1))
    n_low, n_high = (max(0.0, n + sign * _Z * n_sd) for sign in (-1, 1))
    counted = known.shape if known and scenario.failures.n_events is None else scenario.failures.n_events
    return Luck(low, high, n, n_low, n_high, _window(scenario), counted if known else None)


def _window(scenario: Scenario) -> str:
    return "run" if scenario.ends else "month"
