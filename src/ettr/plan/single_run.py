"""The 95% prediction interval of the ETTR and the failures of a single run, or of one month of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ettr.core.probability import count_quantile
from ettr.core.results import TimeBudget
from ettr.core.units import H_PER_MONTH
from ettr.plan.dates import Dates, dates_of
from ettr.scenario import Scenario

if TYPE_CHECKING:
    from ettr.simulation import Simulation

TAILS = (0.025, 0.975)
"""Quantiles at the ends of a 95% interval."""
_LITTLE = 1e-9
"""Relative variance beyond that of a Poisson count that is ignored."""
_FEWEST_RUNS = 100
"""Simulated runs that the ends of the interval need."""


@dataclass(frozen=True)
class PredictionInterval:
    """The 95% prediction interval of the ETTR and of the failures of a single run, with exact inputs.

    Attributes
    ----------
    low, high : float
        Ends of the 95% interval of the ETTR.
    n_failures : float
        Expected failures.
    n_low, n_high : int or None
        Ends of the 95% interval of the number of failures; None with silent failures, whose number has no formula.
    window : {"run", "month", "year of training"}
        Period of the interval: a job with an end; one month of a job without one; or, if that was simulated, a year of
        its training.
    counted : float or None
        Failures from which the failure rate was estimated, whose uncertainty is included; None if the rate is exact.
    n_runs : int or None
        Simulated runs behind the interval; None where the distribution is exact.

    Examples
    --------
    >>> from ettr import plan
    >>> interval = plan.make("llama3-405b").prediction_interval
    >>> interval.window, interval.n_low < interval.n_failures < interval.n_high
    ('run', True)
    """

    low: float
    high: float
    n_failures: float
    n_low: int | None
    n_high: int | None
    window: str
    counted: float | None
    n_runs: int | None


def prediction_interval(
    scenario: Scenario,
    budget: TimeBudget,
    dates: Dates | None = None,
    *,
    rate_is_exact: bool = False,
    simulate: bool = True,
) -> PredictionInterval | None:
    """Return the 95% prediction interval of the ETTR and of the failures of a single run.

    Parameters
    ----------
    scenario : Scenario
        The run.
    budget : TimeBudget
        Its expected hours.
    dates : Dates, optional
        Distribution of the finishing date of the whole run; calculated if not given.
    rate_is_exact : bool
        Whether the uncertainty of the failure rate is left out.
    simulate : bool
        Whether runs may be simulated where the analytical model gives no distribution.

    Returns
    -------
    PredictionInterval or None
        Of the whole run, or of one month of a job without an end. None without failures, or where the distribution of
        the finishing time would have to be simulated.

    Raises
    ------
    OutsideValidity
        The run practically never ends.

    Notes
    -----
    The ends are the work divided by the 97.5% and 2.5% quantiles of the finishing time (:func:`ettr.budget.finishing`).
    For a job without an end the work is that of an average month, without the first start. The number of failures in a
    month is Poisson. In a run it is negative binomial with the variance of a branching process, because failures make
    the job repeat work in which more failures can strike; likewise with a gamma-distributed rate.

    Examples
    --------
    >>> from ettr import budget
    >>> run = Scenario.load("llama3-405b")
    >>> interval = prediction_interval(run, budget.exact(run))
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.9, 0.918)
    """
    if not float(budget.n_failures) > 0:
        return None
    run = scenario if scenario.ends else _month(scenario, float(budget.ettr))
    if dates is None or not scenario.ends:
        dates = dates_of(run, rate_is_exact=rate_is_exact, simulate=simulate)
    if dates is None:
        return None
    low_h, high_h = dates.finishing.quantile(TAILS).tolist()
    window_h = float(budget.total_h) if scenario.ends else H_PER_MONTH
    n = float(budget.n_failures / budget.total_h) * window_h
    posterior = None if dates.counted is None else scenario.failures.posterior
    # beyond Poisson: failures that strike while work is repeated, and the error of the rate
    extra_variance = n * (_dispersion(budget) - 1 if scenario.ends else 0.0) + (
        n**2 / posterior.shape if posterior else 0.0
    )
    shape = n**2 / extra_variance if extra_variance > _LITTLE * n else None
    n_low, n_high = (None if scenario.latencies_h else count_quantile(p, n, shape) for p in TAILS)
    window = "run" if scenario.ends else "month"
    n_runs = dates.simulation.n_runs if dates.is_simulated and dates.simulation else None
    return PredictionInterval(run.work_h / high_h, run.work_h / low_h, n, n_low, n_high, window, dates.counted, n_runs)


def _dispersion(budget: TimeBudget) -> float:
    """Return the variance over the mean of the number of failures of a job with a fixed amount of work.

    Each failure makes the job repeat hours in which more can strike, a share m of one failure on average: a branching
    process, whose index of dispersion is 1/(1 - m)².
    """
    repeated_h = float(budget.rework_h + budget.restart_h)
    exposed_h = repeated_h + float(budget.productive_h + budget.checkpoint_h + budget.slowdown_h)
    return (1 - repeated_h / exposed_h) ** -2


def of_simulated(runs: Simulation, counted: float | None) -> PredictionInterval | None:
    """Return the 95% prediction interval from simulated runs; None where they are too few.

    ``counted`` are the failures from which the rate was estimated, where the runs differ in it.
    """
    if runs.n_runs < _FEWEST_RUNS:
        return None
    low, high = np.quantile(runs.runs["ettr"], TAILS)
    failures = runs.runs["n_failures"]
    n_low, n_high = np.quantile(failures, TAILS, method="inverted_cdf")
    window = "run" if runs.scenario.ends else "year of training"
    n = float(failures.mean())
    return PredictionInterval(float(low), float(high), n, int(n_low), int(n_high), window, counted, runs.n_runs)


def _month(scenario: Scenario, ettr: float) -> Scenario:
    """Return the job with the work of an average month, in its steady state."""
    work_h = H_PER_MONTH * ettr * scenario.speed
    return scenario.override({"job.productive_h": work_h, "job.include_start": False, "measured": None})
