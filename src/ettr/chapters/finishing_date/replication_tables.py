"""How far to trust a simulation: error by the number of runs, common random numbers, short runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy

from ettr import budget, simulation
from ettr.chapters.common.steady_state import without_start
from ettr.chapters.finishing_date.beyond_formula_tables import formula_run, half_of_95, nodes_in_repair, with_interval
from ettr.core.errors import InputError
from ettr.core.units import H_PER_DAY, ROUNDING
from ettr.plan import best_interval_min, whole_interval_min
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL
from ettr.simulation.outlook import affordable_runs

if TYPE_CHECKING:
    from ettr.simulation import Simulation

PLAIN, CONTROLLED = "plain means", "control variates"
OTHER_SEEDS, OTHER_SEEDS_CONTROLLED = "different seeds", "different seeds, control variates"
SAME_SEED = "the same seed"
FULL_SUPPLY, FEW_SPARES = "spares never run out", "few spares"

_FEWEST, _GROUPS = 10, 8
_FAILURES_A_LENGTH, _MOST_RUNS = 60_000, 3000
_FAILURES_A_LESSON = 4_000_000
_SAME = 0.1


def lesson_run(scenario: Scenario) -> Scenario:
    """The run in the steady state by the closed form's rules, planned stops aside: quick, and its ETTR known."""
    return without_start(formula_run(scenario)).override({"maintenance": None})


def error_by_runs(scenario: Scenario, n_runs: int = 4000, seed: int = 0) -> pd.DataFrame:
    """How far the ETTR of a few runs lies from that of all, measured by cutting all runs into groups.

    Parameters
    ----------
    scenario : Scenario
        The run, of which :func:`lesson_run` is taken.
    n_runs : int
        Runs, or fewer where they meet many failures; at least 80. [count]
    seed : int
        As in :func:`ettr.simulate`.

    Returns
    -------
    DataFrame
        ``estimate`` (``plain means``, ``control variates``), ``n_runs`` of a group, ``n_groups``, ``error_points``
        (root mean square over the groups, in hundredths), ``low_points``, ``high_points`` (its own 95% interval),
        ``expected_points`` (from the spread of all runs and the root of their number), ``runs_ratio`` (how many times
        more runs plain means need for the same error). Control variates are there only for groups that are large enough
        for them, and where they change something.

    Notes
    -----
    The mean of all runs stands for the truth: errors are divided by the root of 1 - n/N for that.
    """
    if n_runs < _FEWEST * _GROUPS:
        raise InputError(f"n_runs must be >= {_FEWEST * _GROUPS} to measure errors, got {n_runs}")
    lesson = _lesson(lesson_run(scenario), n_runs, seed)
    rows: list[dict[str, Any]] = []
    for name, controlled in ((PLAIN, False), (CONTROLLED, True)):
        whole = replace(lesson, control_variates=controlled)
        sizes = [int(size) for size in _FEWEST * 2.0 ** np.arange(20) if size * _GROUPS <= whole.n_runs]
        if controlled:
            sizes = [size for size in sizes if _part(whole, size).variance_ratio != 1]
        about = {"estimate": name, "runs_ratio": whole.variance_ratio}
        rows += [about | _spread_of_groups(whole, size) for size in sizes]
    return pd.DataFrame(rows)


def _lesson(run: Scenario, n_runs: int, seed: int) -> Simulation:
    affordable = affordable_runs(float(budget.exact(run).n_failures), n_runs, _FAILURES_A_LESSON)
    return simulation.simulate(run, max(_FEWEST * _GROUPS, affordable), seed)


def _part(whole: Simulation, size: int, start: int = 0) -> Simulation:
    return replace(whole, table=whole.table[start : start + size])


def _spread_of_groups(whole: Simulation, size: int) -> dict[str, float]:
    n_groups = whole.n_runs // size
    off = 100 * (np.array([_part(whole, size, i * size).ettr for i in range(n_groups)]) - whole.ettr)
    error = float(np.sqrt(np.mean(off**2) / (1 - size / whole.n_runs)))
    low, high = (np.sqrt(n_groups / scipy.stats.chi2.ppf(at, n_groups)) for at in (0.975, 0.025))
    return {
        "n_runs": size,
        "n_groups": n_groups,
        "error_points": error,
        "low_points": error * low,
        "high_points": error * high,
        "expected_points": 100 * whole.ettr_error * np.sqrt(whole.n_runs / size),
    }


def other_interval_min(scenario: Scenario) -> float:
    """An interval to set beside the scenario's own: the closed form's best, or half if its own is the best. [min]

    Examples
    --------
    >>> round(other_interval_min(Scenario.load("llama3-405b")), 1)
    7.7
    """
    run = lesson_run(scenario)
    own = run.interval_min
    best = whole_interval_min(run, float(best_interval_min(run)))
    if abs(np.log(best / own)) > _SAME:
        return best
    half = whole_interval_min(run, own / 2)
    return half if half >= run.least_interval_min and half < own else 2 * own


def difference_by_seed(scenario: Scenario, interval_min: float, n_runs: int = 4000, seed: int = 0) -> pd.DataFrame:
    """The hours that another checkpoint interval saves, with the same random numbers for both and with others.

    Parameters
    ----------
    scenario : Scenario
        The run, of which :func:`lesson_run` is taken.
    interval_min : float
        The other interval. [min]
    n_runs : int
        Runs of each, or fewer where they meet many failures. [count]
    seed : int
        As in :func:`ettr.simulate`; the next one is the other.

    Returns
    -------
    DataFrame
        ``way`` (``different seeds``, the same with control variates, ``the same seed``), ``n_runs``, ``saved_h`` (mean
        total at the scenario's own interval less that at the other) [h], ``error_h`` (standard), ``low_h``, ``high_h``
        (95%) [h], ``runs_ratio``: how many times more runs ``different seeds`` needs for the same error; ``closed_h``,
        the difference by the closed form [h].
    """
    run = lesson_run(scenario)
    other = run.override({INTERVAL: interval_min})
    own = _lesson(run, n_runs, seed)
    n = own.n_runs
    same, different = (simulation.simulate(other, n, at) for at in (seed, seed + 1))
    shared_h = own.total_h - same.total_h
    controlled = [one.budget_interval.set_index("part").loc["total"] for one in (own, different)]
    rows = [
        (
            OTHER_SEEDS,
            own.total_h.mean() - different.total_h.mean(),
            np.sqrt((own.total_h.var(ddof=1) + different.total_h.var(ddof=1)) / n),
        ),
        (
            OTHER_SEEDS_CONTROLLED,
            controlled[0]["mean"] - controlled[1]["mean"],
            np.hypot(controlled[0]["error"], controlled[1]["error"]),
        ),
        (SAME_SEED, shared_h.mean(), shared_h.std(ddof=1) / np.sqrt(n)),
    ]
    table = pd.DataFrame(rows, columns=["way", "saved_h", "error_h"])
    half, errors = half_of_95(table["error_h"]), table["error_h"].to_numpy()
    ratio = np.divide(errors[0], errors, out=np.ones(len(errors)), where=errors > ROUNDING) ** 2
    closed_h = float(budget.exact(run).total_h - budget.exact(other).total_h)
    return table.assign(
        low_h=table["saved_h"] - half,
        high_h=table["saved_h"] + half,
        n_runs=n,
        runs_ratio=ratio,
        closed_h=closed_h,
    )


def ettr_by_length(scenario: Scenario, repair_h: float = 48.0, n_points: int = 7, seed: int = 0) -> pd.DataFrame:
    """ETTR over the length of the work, with spares that never run out, and with a pool that is full at the start.

    Parameters
    ----------
    scenario : Scenario
        The run, of which :func:`lesson_run` is taken.
    repair_h : float
        Mean repair time, with a coefficient of variation of 1. [h]
    n_points : int
        Lengths, from half a day to the scenario's own work.
    seed : int
        As in :func:`ettr.simulate`.

    Returns
    -------
    DataFrame
        ``pool`` (``spares never run out``, or ``few spares``: as many as nodes are in repair on average),
        ``productive_days`` [days], ``n_spares`` (0 where they never run out) [nodes], ``in_repair`` (on average)
        [nodes], ``n_runs``, ``ettr`` (ratio of sums), ``error`` (standard), ``excess`` (by how much the mean of the
        runs' own ETTRs is above the ratio of sums), ``excess_error`` (standard), ``closed_ettr``, and ``low`` and
        ``high`` (95%, of ``ettr``).

    Notes
    -----
    ETTR is the work over a total: the mean of ratios is never below the ratio of the sums, by Jensen's inequality.
    """
    plain = lesson_run(scenario)
    in_repair = nodes_in_repair(plain, repair_h)
    n_spares = max(1, round(in_repair))
    held = plain.override({"spares": {"n_nodes": n_spares}, "repair": {"manual_h": repair_h, "cv": 1.0}})
    shortest_h = min(max(0.5 * H_PER_DAY, 2 * plain.interval_h), plain.work_h)
    rows: list[dict[str, Any]] = []
    for work_h in np.unique(np.geomspace(shortest_h, plain.work_h, n_points)):
        for pool, whole in ((FULL_SUPPLY, plain), (FEW_SPARES, held)):
            run = whole.override({"job.productive_h": float(work_h) * whole.job.throughput_factor})
            expected = budget.exact(budget.simplified(run).scenario)
            n_runs = affordable_runs(float(expected.n_failures), _MOST_RUNS, _FAILURES_A_LENGTH)
            simulated = simulation.simulate(run, n_runs, seed)
            columns = {
                "pool": pool,
                "productive_days": work_h / H_PER_DAY,
                "n_spares": n_spares if run.spares else 0,
                "n_runs": n_runs,
                "ettr": simulated.ettr,
                "error": simulated.ettr_error,
                "closed_ettr": float(expected.ettr),
            }
            rows.append(columns | _mean_of_ratios(simulated))
    return with_interval(pd.DataFrame(rows)).assign(in_repair=in_repair)


def _mean_of_ratios(simulated: Simulation) -> dict[str, float]:
    """How far above the ratio of sums it is; both from the same runs, so that most of the error is shared."""
    ratios, total_h = simulated.runs["ettr"].to_numpy(), simulated.total_h
    of_sums = float(simulated.runs["productive_h"].sum() / total_h.sum())
    influence = ratios - ratios.mean() + of_sums * (total_h / total_h.mean() - 1)
    error = float(influence.std(ddof=1) / np.sqrt(simulated.n_runs))
    return {"excess": float(ratios.mean() - of_sums), "excess_error": error}
