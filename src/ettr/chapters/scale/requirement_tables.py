"""What a target needs at several sizes: one field alone, and two together."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd

from ettr import evidence, plan
from ettr.core.errors import InputError
from ettr.plan.fields import field_of
from ettr.scenario import Scenario
from ettr.scenario.fields import amount_of
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE, RESTART

_ASIDE = (N_GPUS, "job.productive_h", INTERVAL)
"""What is planned for, and the interval, which is the best one everywhere."""

_RESTARTS_MIN = 0.05, 120.0


def field_name(path: str) -> str:
    """A field as a sentence calls it."""
    return amount_of(path, Scenario)


def required_by_size(scenario: Scenario, target_ettr: float, sizes: Iterable[int]) -> pd.DataFrame:
    """Each field solved alone for a target, at several sizes, with the best interval at each value.

    Parameters
    ----------
    scenario : Scenario
        The run.
    target_ettr : float
        The target, in (0, 1).
    sizes : iterable of int
        Sizes of the job, rounded to whole nodes. [GPUs]

    Returns
    -------
    DataFrame
        A row a field and size: ``n_gpus``, ``target``, ``field``, ``unit``, ``sense`` (``at most``, ``at least``),
        ``given``, ``value`` (NaN where no value reaches the target), ``best_ettr`` (with the field at its ideal),
        ``blocker`` and ``blocked_ettr``: where no value does, the field that, ideal as well, leaves the most, other
        than the failure rate, and that ETTR. Costs that the scenario has at 0 are left out: there is nothing to reduce.
    """
    sizes = list(sizes)
    if not sizes or min(sizes) < 1:
        raise InputError(f"sizes must be at least one number of GPUs, each >= 1, got {sizes}")
    whole = [scenario.cluster.nearest_n_gpus(n_gpus) for n_gpus in sizes]
    rows = []
    for field in plan.solvable(scenario):
        own = field_of(scenario, field)
        if field in _ASIDE or own.sense == "between" or (own.sense == "at most" and not own.given):
            continue
        for n_gpus, need in zip(sizes, plan.required_at_sizes(scenario, field, target_ettr, whole), strict=True):
            other = next((one for one in need.blocking if one.field != RATE), None)
            rows.append(
                {
                    "n_gpus": n_gpus,
                    "target": target_ettr,
                    "field": field,
                    "unit": need.unit,
                    "sense": need.sense,
                    "given": np.nan if need.given is None else need.given,
                    "value": np.nan if need.value is None else need.value,
                    "best_ettr": need.best_ettr,
                    "blocker": other.field if other else "",
                    "blocked_ettr": other.ettr if other else np.nan,
                }
            )
    columns = ["n_gpus", "target", "field", "unit", "sense", "given", "value", "best_ettr", "blocker", "blocked_ettr"]
    return pd.DataFrame(rows, columns=columns)


def frontiers(scenario: Scenario, target_ettr: float, sizes: Iterable[int], n_points: int = 60) -> pd.DataFrame:
    """The largest failure rate that reaches a target with each restart time, for several sizes.

    Parameters
    ----------
    scenario, target_ettr, sizes
        As for :func:`required_by_size`.
    n_points : int
        Restart times, from three seconds to two hours.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``restart_min`` [min], ``rate`` [1 / (1000 node-days)], ``interval_min`` (best there) [min].
        Restarts with which no rate reaches the target are left out.
    """
    restarts = np.geomspace(*_RESTARTS_MIN, n_points)
    frames = []
    for n_gpus in sizes:
        grown = scenario.override({N_GPUS: scenario.cluster.nearest_n_gpus(n_gpus)})
        line = plan.frontier(grown, RESTART, RATE, target_ettr, x_values=restarts).points
        line = line[line["reaches"] & (line[RATE] > 0) & np.isfinite(line[RATE])]
        columns = {"n_gpus": n_gpus, "restart_min": line[RESTART], "rate": line[RATE]}
        frames.append(pd.DataFrame({**columns, "interval_min": line["interval_min"]}))
    return pd.concat(frames, ignore_index=True)


def rates_at(frame: pd.DataFrame, restart_min: float) -> dict[float, float]:
    """The largest rates at a restart time, between points by the logarithm.

    Parameters
    ----------
    frame : DataFrame
        As from :func:`frontiers`.
    restart_min : float
        The restart. [min]

    Returns
    -------
    dict
        Rate by number of GPUs [1 / (1000 node-days)]; sizes whose line does not reach the restart are left out.
    """
    rates = {}
    for n_gpus, line in frame.groupby("n_gpus"):
        if line["restart_min"].min() <= restart_min <= line["restart_min"].max():
            at = np.interp(math.log(restart_min), np.log(line["restart_min"]), np.log(line["rate"]))
            rates[float(n_gpus)] = math.exp(at)
    return rates


def reached_as_given(rows: pd.DataFrame) -> pd.Series:
    """Whether a field's own value is enough, by row of :func:`required_by_size`; false where no value is."""
    at_most = rows["sense"] == "at most"
    enough = np.where(at_most, rows["given"] <= rows["value"], rows["given"] >= rows["value"])
    return pd.Series(enough, index=rows.index)


def rates_and_restarts() -> pd.DataFrame:
    """Failure rate and restart time of the presets.

    Returns
    -------
    DataFrame
        ``run`` (title), ``rate`` [1 / (1000 node-days)], ``restart_min`` [min], ``restart_is`` (``published`` or
        ``assumed``).

    Examples
    --------
    >>> rates_and_restarts().set_index("run").loc["RSC-1, one job on all 16,000 A100", "restart_is"]
    'published'
    """
    rows = []
    for name in evidence.scenario_names():
        run = Scenario.load(name)
        known = run.to_frame().set_index("field").loc[RESTART, "status"]
        rows.append(
            {
                "run": run.title,
                "rate": run.failure_rate,
                "restart_min": run.recovery.restart_min,
                "restart_is": "assumed" if known == "assumed" else "published",
            }
        )
    return pd.DataFrame(rows)
