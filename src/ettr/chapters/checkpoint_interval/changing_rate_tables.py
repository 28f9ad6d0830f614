"""A failure rate that changes while the job runs: the rate, the interval that follows it, and what following gains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ettr import budget
from ettr.budget import rate_over_time
from ettr.core.errors import OutsideValidity
from ettr.plan import best_interval_min
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, RATE

SETTLED, BURN_IN, NEW_NODES = "settled", "burn-in", "new nodes"
"""Cases: the rate as it is, a new fleet, and Weibull nodes that all start new."""

LONGEST_FACTOR = 30.0


def changing_cases(scenario: Scenario, factor: float, decay_days: float, shape: float) -> dict[str, Scenario]:
    """The run with a settled rate, with burn-in, and on Weibull nodes that start new.

    Parameters
    ----------
    scenario : Scenario
        The run; what it says itself of burn-in and lifetimes is replaced.
    factor : float
        Rate of the new fleet, as a multiple of the settled rate.
    decay_days : float
        Exposed time in which the excess falls to 37%. [d]
    shape : float
        Weibull shape of the nodes' lifetimes.
    """
    settled = scenario.override({"failures.burn_in": None, "failures.lifetime": None})
    return {
        SETTLED: settled,
        BURN_IN: settled.override({"failures.burn_in": {"factor": factor, "decay_days": decay_days}}),
        NEW_NODES: settled.override({"failures.lifetime": {"shape": shape, "start": "new"}}),
    }


def rates_and_intervals(runs: dict[str, Scenario], n_points: int = 80) -> pd.DataFrame:
    """Failure rate and best interval while a run goes on.

    Parameters
    ----------
    runs : dict
        From :func:`changing_cases`.
    n_points : int
        Points a case, from a hundredth of the work on.

    Returns
    -------
    DataFrame
        ``case``, ``exposed_d`` [d], ``per_day`` (failures a day of exposed time) [1/d], ``interval_min`` (best for the
        rate of that moment) [min].
    """
    frames = []
    for case, run in runs.items():
        whole = rate_over_time(run)
        at_h = np.geomspace(run.work_h / 100, run.work_h, n_points)
        rate_per_h = np.interp(at_h, whole["exposed_h"], whole["rate_per_h"])
        columns = {"case": case, "exposed_d": at_h / 24, "per_day": 24 * rate_per_h}
        frames.append(pd.DataFrame({**columns, "interval_min": interval_of(run)(rate_per_h)}))
    return pd.concat(frames, ignore_index=True)


def one_interval(runs: Mapping[Any, Scenario]) -> pd.DataFrame:
    """What one interval for the whole run costs against one that follows the rate.

    Parameters
    ----------
    runs : dict
        By case, as from :func:`changing_cases`.

    Returns
    -------
    DataFrame
        ``case``, ``kept`` (``"settled rate"`` or ``"mean rate"``: the rate that the one interval is best for),
        ``interval_min`` [min], ``ettr``, ``following`` (ETTR if the interval follows), ``loss_points`` [points]. Cases
        in which the run makes no progress are left out.
    """
    rows = [row for case, run in runs.items() for row in _kept(case, run)]
    return pd.DataFrame(rows, columns=["case", "kept", "interval_min", "ettr", "following", "loss_points"])


def one_interval_by_factor(scenario: Scenario, decay_days: float, n_points: int = 13) -> pd.DataFrame:
    """:func:`one_interval` over how much more often a new fleet fails, up to ``LONGEST_FACTOR`` times.

    Parameters
    ----------
    scenario : Scenario
        The run.
    decay_days : float
        As for :func:`changing_cases`. [d]
    n_points : int
        Factors.

    Returns
    -------
    DataFrame
        ``factor``, and the columns of :func:`one_interval` but ``case``; factors at which the run makes no progress are
        left out.
    """
    factors = np.geomspace(1, LONGEST_FACTOR, n_points).tolist()
    young = {factor: changing_cases(scenario, factor, decay_days, 1.0)[BURN_IN] for factor in factors}
    return one_interval(young).rename(columns={"case": "factor"})


def interval_of(run: Scenario) -> Any:
    """The best interval for a failure rate of the job: a function of rates [1/h] that answers in minutes."""
    steady = run.override({"failures.burn_in": None, "failures.lifetime": None})
    per_rate = steady.failure_rate / steady.job_rate_per_h if steady.job_rate_per_h else 0.0
    return lambda rate_per_h: best_interval_min(steady, {RATE: per_rate * np.asarray(rate_per_h)})


def _kept(case: Any, run: Scenario) -> list[dict[str, Any]]:
    best = interval_of(run)
    try:
        following = budget.over_time(run, best)
        exposed_h = following.total_h - following.detection_h - following.queue_h - following.maintenance_h
        rates = {"settled rate": run.job_rate_per_h, "mean rate": following.n_failures / exposed_h}
        rows = []
        for kept, rate_per_h in rates.items():
            interval_min = float(best(rate_per_h))
            ettr = float(budget.over_time(run.override({INTERVAL: interval_min})).ettr)
            columns = {"case": case, "kept": kept, "interval_min": interval_min, "ettr": ettr}
            rows.append(columns | {"following": following.ettr, "loss_points": 100 * (following.ettr - ettr)})
    except OutsideValidity:
        return []
    return rows
