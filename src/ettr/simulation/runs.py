"""The public face: from a scenario to many simulated runs."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError, NoProgress
from ettr.core.results import PARTS
from ettr.core.validity import LEAST_ETTR
from ettr.scenario import Scenario
from ettr.simulation.chunks import simulate_runs, trace_run
from ettr.simulation.columns import COLUMNS, CONTROL, N_COLUMNS, N_FAILURES, OUTCOME, PRODUCTIVE, STUCK
from ettr.simulation.from_scenario import rules_of
from ettr.simulation.outcome import Simulation
from ettr.simulation.outlook import REMEDY, Outlook, outlook
from ettr.simulation.rules import MOST_EVENTS, Rules
from ettr.simulation.trace import STATES

MOST_FAILURES = 2**31
"""Failures that one call may be expected to meet: minutes of computing."""
MOST_RUNS = 10_000_000
MOST_STRETCHES = 5_000_000
"""Rows of a timeline."""
_LEAST_LIMIT, _MARGIN = 1_000_000, 100
_RUNS, _FIRST_BATCH, _STEP = 1000, 200, 1.15
_FEW_FAILURES, _MOST_QUIET_RUNS = 100, 1_000_000
"""Failures from which the spread of runs is known, and runs after which nothing that rare is waited for."""

OnProgress = Callable[[int, int], None]


def simulate(
    scenario: Scenario,
    n_runs: int | None = None,
    seed: int = 0,
    timeline: Iterable[int] = (),
    *,
    until: float | None = None,
    control_variates: bool = True,
    horizon_h: float | None = None,
    on_progress: OnProgress | None = None,
) -> Simulation:
    """Simulate a training run many times, from failure to failure.

    Parameters
    ----------
    scenario : Scenario
        The run; every mechanism that a scenario can describe is simulated, but for few combinations that are refused.
    n_runs : int, optional
        How many times, 1,000 if not given. With ``until`` the least number; 200 if not given, and at the least.
    seed : int, optional
        Run number i of a seed is always the same; scenarios simulated with one seed share their random numbers.
    timeline : iterable of int, optional
        Numbers of runs to write down stretch by stretch.
    until : float, optional
        Go on until the standard error of the mean total is this small, relative to it: 0.001 for a tenth of a per cent.
    control_variates : bool, optional
        Use what is known of the mean of the random numbers to make the means more certain.
    horizon_h : float, optional
        Wall clock after which every run ends, however much work is done by then, instead of at the end of the work.
        What is in memory then counts as done, saved or not. [h]
    on_progress : callable, optional
        Called with the number of runs that are done, and that there will be as far as is known.

    Returns
    -------
    Simulation
        Runs, mean time budget, ETTR and finishing dates.

    Raises
    ------
    InputError
        A number that makes no sense, or an error that would take more than ten million runs.
    NotModelled
        Mechanisms that have no rule together, or more of something than there is room for.
    NoProgress
        A job that practically never gets on, or more failures than one call may meet.

    Examples
    --------
    >>> from ettr import Scenario, simulate
    >>> simulated = simulate(Scenario.load("llama3-405b"), n_runs=200)
    >>> round(simulated.ettr, 2)
    0.91
    >>> bool(abs(simulated.runs.drop(columns=["run", "ettr"]).iloc[0, :9].sum() - simulated.runs["total_h"][0]) < 1e-6)
    True
    """
    if not isinstance(scenario, Scenario):
        raise InputError(f"simulate takes a Scenario, e.g. Scenario.load('llama3-405b'), got {scenario!r}")
    if n_runs is None:
        n_runs = _RUNS if until is None else _FIRST_BATCH
    n_runs, seed = _whole("n_runs", n_runs, 1, MOST_RUNS), _whole("seed", seed, 0, 2**63 - 1)
    chosen = _numbers_of_runs(timeline, n_runs)
    _check_until(until)
    asked = scenario
    if horizon_h is not None:
        scenario = _endless(scenario, horizon_h)
    rules = rules_of(scenario, math.inf if horizon_h is None else horizon_h)
    ahead = outlook(scenario)
    if horizon_h is None:
        _refuse_endless(ahead, scenario.job_mttf_h)
    else:
        ahead = ahead.within(horizon_h, scenario)
    failures = max(ahead.n_failures, 1.0)
    limit = int(max(_LEAST_LIMIT, _MARGIN * failures))
    _refuse_too_many(ahead, n_runs if until is None else 1)
    _refuse_long_timelines(ahead, rules, len(chosen))

    n_done, n_met = 0, 0.0
    table = np.empty((0, N_COLUMNS))
    goal = n_runs if until is None else _FIRST_BATCH
    least = n_runs
    if until is not None and ahead.n_failures > 0:
        least = max(least, math.ceil(min(_FEW_FAILURES / ahead.n_failures, _MOST_QUIET_RUNS)))

    def look_at(rows: np.ndarray) -> None:
        nonlocal n_done, n_met
        n_done += len(rows)
        n_met += rows[:, N_FAILURES].sum()
        _refuse_stuck(rows, n_met, limit)
        if on_progress:
            on_progress(n_done, goal)

    while True:
        more = simulate_runs(rules, seed, range(len(table), goal), limit, failures, look_at)
        table = np.concatenate((table, _scaled(scenario, rules, more)))
        if until is None:
            break
        error = _error_of(Simulation(asked, seed, table, pd.DataFrame(), control_variates, horizon_h))
        if goal >= least and not error > until:  # unknown where nothing struck in as many runs as may be asked for
            break
        wanted = max(least, goal + 1, _runs_for(until, error, goal))
        _refuse_too_many(ahead, wanted, f"an error of {until:g} needs about ")
        goal = min(wanted, 50 * goal)
    return Simulation(asked, seed, table, _timeline(rules, seed, chosen, limit), control_variates, horizon_h)


def _endless(scenario: Scenario, horizon_h: Any) -> Scenario:
    """The same with more work than can be done by a horizon."""
    if (
        isinstance(horizon_h, bool)
        or not isinstance(horizon_h, (int, float, np.number))
        or not 0 < horizon_h < math.inf
    ):
        raise InputError(f"horizon_h must be a number of hours > 0, got {horizon_h!r}")
    job = scenario.in_hours()
    start_h = float(job.first_queue + job.start)
    if scenario.starts and horizon_h <= start_h:
        raise InputError(f"horizon_h must be > {start_h:.3g} h, the first queue and restart, got {horizon_h:g}")
    return scenario.override({"job.productive_h": 2 * horizon_h})


def _error_of(simulated: Simulation) -> float:
    """Relative standard error of what is asked for: the mean total, or the mean work at a horizon."""
    return simulated.relative_error if simulated.horizon_h is None else simulated.ettr_error / simulated.ettr


def _runs_for(until: float, error: float, n_runs: int) -> int:
    """How many runs have this error if so many have that."""
    if not error > until:
        return n_runs
    runs = _STEP * n_runs * (error / until) * (error / until)
    if runs > MOST_RUNS:
        raise InputError(
            f"an error of {until:g} needs about {runs:.2g} runs, and the limit is {MOST_RUNS:,}: {n_runs:,} have "
            f"{error:.2g}"
        )
    return math.ceil(runs)


def _numbers_of_runs(timeline: Any, n_runs: int) -> list[int]:
    if isinstance(timeline, str) or not isinstance(timeline, Iterable):
        raise InputError(f"timeline must be a list of numbers of runs, got {timeline!r}")
    return sorted({_whole("timeline", run, 0, n_runs - 1) for run in timeline})


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputError(f"{name} must be a whole number, got {value!r}")
    whole = int(value)
    if not least <= whole <= most:
        raise InputError(f"{name} must be between {least:,} and {most:,}, got {whole:,}")
    return whole


def _check_until(until: Any) -> None:
    number = isinstance(until, numbers.Real) and not isinstance(until, bool)
    if until is not None and not (number and 0 < until < 1):
        raise InputError(f"until must be between 0 and 1, the relative standard error to reach, got {until!r}")


def _refuse_endless(ahead: Outlook, job_mttf_h: float) -> None:
    if ahead.is_endless(LEAST_ETTR, _LEAST_LIMIT / _MARGIN):
        often = f"failures come every {job_mttf_h:.3g} h"
        raise NoProgress(f"{ahead.words}, and the limit is {LEAST_ETTR:g}; {often}; {REMEDY}")


def _refuse_too_many(ahead: Outlook, n_runs: int, asked: str = "") -> None:
    n_failures = ahead.n_failures * n_runs
    if n_failures > MOST_FAILURES:
        which, less = (", which", "a larger error") if asked else ("", "fewer runs")
        raise NoProgress(
            f"{asked}{n_runs:,} runs{which} would meet about {n_failures:.2g} failures, and the limit of one call is "
            f"{MOST_FAILURES:,}: ask for {less} or less work (expected ETTR {ahead.ettr:.3g})"
        )


def _refuse_stuck(rows: np.ndarray, n_met: float, limit: int) -> None:
    stuck = rows[:, OUTCOME] == STUCK
    if stuck.any():
        row = rows[stuck][0]
        total_h = row[: len(PARTS)].sum()
        raise NoProgress(
            f"a run did not get on: it reached the limit of {limit:,} failures or {MOST_EVENTS * limit:,} events, with "
            f"{row[N_FAILURES]:,.0f} recoveries and an ETTR of {row[PRODUCTIVE] / total_h:.2g} by then"
        )
    if n_met > MOST_FAILURES:
        raise NoProgress(
            f"the runs have met {n_met:,.0f} failures, and the limit of one call is {MOST_FAILURES:,}: ask for fewer "
            "runs or less work"
        )


def _scaled(scenario: Scenario, rules: Rules, table: np.ndarray) -> np.ndarray:
    """The steady state is simulated in whole intervals and scaled to the work that was asked for."""
    scale = scenario.work_h / float(rules.run["work"])
    if scale != 1.0:
        table[:, : len(COLUMNS)] *= scale
        table[:, CONTROL:OUTCOME] *= scale
    return table


def _timeline(rules: Rules, seed: int, chosen: list[int], limit: int) -> pd.DataFrame:
    frames = [_stretches(run, trace_run(rules, seed, run, limit)) for run in chosen]
    return pd.concat(frames, ignore_index=True) if frames else _no_stretches().copy()


@functools.cache
def _no_stretches() -> pd.DataFrame:
    return _stretches(0, np.empty((0, 3)))


def _stretches(run: int, trace: np.ndarray) -> pd.DataFrame:
    trace = trace[trace[:, 2] > trace[:, 1]]
    last = np.append(trace[1:, 0] != trace[:-1, 0], True)[: len(trace)]  # of equal ones in a row
    first = np.append(True, last)[: len(trace)]
    trace = np.column_stack((trace[last, 0], trace[first, 1], trace[last, 2]))
    end_h = trace[:, 2]
    start_h = np.concatenate((trace[:1, 1], end_h[:-1]))  # where the last one ended, to the last digit
    state = pd.Categorical.from_codes(trace[:, 0].astype(int), list(STATES))
    return pd.DataFrame({"run": run, "start_h": start_h, "end_h": end_h, "state": state}).astype({"run": int})


def _refuse_long_timelines(ahead: Outlook, rules: Rules, n_chosen: int) -> None:
    stretches = n_chosen * (2 * ahead.trained_h / float(rules.run["step"]) + 4 * ahead.n_failures)
    if stretches > MOST_STRETCHES:
        raise InputError(
            f"timeline of {n_chosen:,} runs would have about {stretches:,.0f} stretches, and the limit is "
            f"{MOST_STRETCHES:,}: ask for fewer runs or less work"
        )
