"""Simulate a scenario many times: check the request, choose the number of runs, and collect them."""

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
from ettr.core.seeds import Seed, seed_of
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
"""Expected failures that one call may simulate: minutes of computing."""
MOST_RUNS = 10_000_000
MOST_STRETCHES = 5_000_000
"""Largest number of rows of a timeline."""
_LEAST_LIMIT, _MARGIN = 1_000_000, 100
_RUNS, _FIRST_BATCH, _STEP = 1000, 200, 1.15
_FEW_FAILURES, _MOST_QUIET_RUNS = 100, 1_000_000
"""Failures needed to estimate the spread of runs, and the number of runs after which rarer failures are not awaited."""

OnProgress = Callable[[int, int], None]


def simulate(
    scenario: Scenario,
    n_runs: int | None = None,
    seed: Seed = 0,
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
        The run. All mechanisms of a scenario are simulated, except for a few combinations that are refused.
    n_runs : int, optional
        Number of runs, 1,000 if not given. With ``until`` the smallest number, 200 if not given.
    seed : int or numpy.random.Generator, optional
        Run i of a seed is always the same, and scenarios simulated with the same seed share their random numbers. From
        a generator, a whole number is drawn as seed, which the result has as ``seed``.
    timeline : iterable of int, optional
        Numbers of the runs to record stretch by stretch, from 0.
    until : float, optional
        Simulate more runs until the relative standard error of the mean total is at most this: 0.001 for 0.1%.
    control_variates : bool, optional
        Reduce the error of the means with control variates: sums of the random numbers, whose means are known.
    horizon_h : float, optional
        Wall clock at which every run ends, instead of at the end of its work. Work that is only in memory by then
        counts as done. [h]
    on_progress : callable, optional
        Called with the number of runs that are done, and with the number of runs that is expected by then.

    Returns
    -------
    Simulation
        Runs, mean time budget, ETTR and finishing dates.

    Raises
    ------
    InputError
        An argument outside its range, or ``until`` so small that it would take more than ten million runs.
    NotModelled
        Mechanisms that the simulator does not combine, or more tiers or checkpoints than it has room for.
    NoProgress
        A job that practically never makes progress, or more failures than one call may simulate.

    Examples
    --------
    >>> from ettr import Scenario, simulate
    >>> simulated = simulate(Scenario.load("llama3-405b"), n_runs=200)
    >>> round(simulated.ettr, 2)
    0.91
    >>> import numpy as np
    >>> simulate(Scenario.load("llama3-405b"), n_runs=10, seed=np.random.default_rng(1)).seed
    2032329983
    """
    if not isinstance(scenario, Scenario):
        raise InputError(f"simulate takes a Scenario, e.g. Scenario.load('llama3-405b'), got {scenario!r}")
    if n_runs is None:
        n_runs = _RUNS if until is None else _FIRST_BATCH
    n_runs, seed = _whole("n_runs", n_runs, 1, MOST_RUNS), _whole("seed", seed_of(seed), 0, 2**63 - 1)
    traced_runs = _numbers_of_runs(timeline, n_runs)
    _check_until(until)
    original = scenario
    if horizon_h is not None:
        scenario = _endless(scenario, horizon_h)
    rules = rules_of(scenario, math.inf if horizon_h is None else horizon_h)
    expected = outlook(scenario)
    if horizon_h is None:
        _refuse_endless(expected, scenario.job_mttf_h)
    else:
        expected = expected.within(horizon_h, scenario)
    failures_per_run = max(expected.n_failures, 1.0)
    limit = int(max(_LEAST_LIMIT, _MARGIN * failures_per_run))
    _refuse_too_many(expected, n_runs if until is None else 1)
    _refuse_long_timelines(expected, rules, len(traced_runs))

    n_done, n_met = 0, 0.0
    rows = np.empty((0, N_COLUMNS))
    goal = n_runs if until is None else _FIRST_BATCH
    fewest = n_runs
    if until is not None and expected.n_failures > 0:
        fewest = max(fewest, math.ceil(min(_FEW_FAILURES / expected.n_failures, _MOST_QUIET_RUNS)))

    def check(done: np.ndarray) -> None:
        nonlocal n_done, n_met
        n_done += len(done)
        n_met += done[:, N_FAILURES].sum()
        _refuse_stuck(done, n_met, limit)
        if on_progress:
            on_progress(n_done, goal)

    while True:
        more = simulate_runs(rules, seed, range(len(rows), goal), limit, failures_per_run, check)
        rows = np.concatenate((rows, _scaled(scenario, rules, more)))
        if until is None:
            break
        error = _error_of(Simulation(original, seed, rows, pd.DataFrame(), control_variates, horizon_h))
        if goal >= fewest and not error > until:  # NaN, and so no reason to go on, where no run met a failure
            break
        wanted = max(fewest, goal + 1, _runs_for(until, error, goal))
        _refuse_too_many(expected, wanted, f"until={until:g} needs about ")
        goal = min(wanted, 50 * goal)
    return Simulation(original, seed, rows, _timeline(rules, seed, traced_runs, limit), control_variates, horizon_h)


def _endless(scenario: Scenario, horizon_h: Any) -> Scenario:
    """Scenario with more work than can be done by a horizon."""
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
    """Relative standard error of the mean total, or of the mean work at a horizon."""
    return simulated.relative_error if simulated.horizon_h is None else simulated.ettr_error / simulated.ettr


def _runs_for(until: float, error: float, n_runs: int) -> int:
    """Number of runs for an error of ``until``, if ``n_runs`` runs have ``error``, which falls with their root."""
    if not error > until:
        return n_runs
    runs = _STEP * n_runs * (error / until) * (error / until)
    if runs > MOST_RUNS:
        raise InputError(
            f"until={until:g} needs about {runs:.2g} runs, and the limit is {MOST_RUNS:,}: {n_runs:,} runs have an "
            f"error of {error:.2g}"
        )
    return math.ceil(runs)


def _numbers_of_runs(timeline: Any, n_runs: int) -> list[int]:
    if isinstance(timeline, str) or not isinstance(timeline, Iterable):
        raise InputError(f"timeline must be a list of run numbers, e.g. [0, 1], got {timeline!r}")
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
        raise InputError(f"until must be > 0 and < 1, the relative standard error to reach, got {until!r}")


def _refuse_endless(expected: Outlook, job_mttf_h: float) -> None:
    if expected.is_endless(LEAST_ETTR, _LEAST_LIMIT / _MARGIN):
        raise NoProgress(f"{expected.words}, and the limit is {LEAST_ETTR:g}; the MTTF is {job_mttf_h:.3g} h; {REMEDY}")


def _refuse_too_many(expected: Outlook, n_runs: int, reason: str = "") -> None:
    n_failures = expected.n_failures * n_runs
    if n_failures > MOST_FAILURES:
        which, remedy = (", which", "a larger error") if reason else ("", "fewer runs")
        raise NoProgress(
            f"{reason}{n_runs:,} runs{which} would meet about {n_failures:.2g} failures, and the limit of one call is "
            f"{MOST_FAILURES:,}: ask for {remedy} or less work (expected ETTR {expected.ettr:.3g})"
        )


def _refuse_stuck(rows: np.ndarray, n_met: float, limit: int) -> None:
    stuck = rows[:, OUTCOME] == STUCK
    if stuck.any():
        row = rows[stuck][0]
        total_h = row[: len(PARTS)].sum()
        raise NoProgress(
            f"a run made no progress: it reached the limit of {limit:,} failures or {MOST_EVENTS * limit:,} events, "
            f"with {row[N_FAILURES]:,.0f} recoveries and an ETTR of {row[PRODUCTIVE] / total_h:.2g} by then"
        )
    if n_met > MOST_FAILURES:
        raise NoProgress(
            f"the runs have met {n_met:,.0f} failures, and the limit of one call is {MOST_FAILURES:,}: ask for fewer "
            "runs or less work"
        )


def _scaled(scenario: Scenario, rules: Rules, table: np.ndarray) -> np.ndarray:
    """Rows scaled to the work: the steady state is simulated in whole intervals."""
    scale = scenario.work_h / float(rules.run["work"])
    if scale != 1.0:
        table[:, : len(COLUMNS)] *= scale
        table[:, CONTROL:OUTCOME] *= scale
    return table


def _timeline(rules: Rules, seed: int, traced_runs: list[int], limit: int) -> pd.DataFrame:
    frames = [_stretches(run, trace_run(rules, seed, run, limit)) for run in traced_runs]
    return pd.concat(frames, ignore_index=True) if frames else _no_stretches().copy()


@functools.cache
def _no_stretches() -> pd.DataFrame:
    return _stretches(0, np.empty((0, 3)))


def _stretches(run: int, trace: np.ndarray) -> pd.DataFrame:
    """Timeline of a run: consecutive stretches of the same state joined, each from the end of the one before."""
    trace = trace[trace[:, 2] > trace[:, 1]]
    last = np.append(trace[1:, 0] != trace[:-1, 0], True)[: len(trace)]  # of consecutive stretches in the same state
    first = np.append(True, last)[: len(trace)]
    trace = np.column_stack((trace[last, 0], trace[first, 1], trace[last, 2]))
    end_h = trace[:, 2]
    start_h = np.concatenate((trace[:1, 1], end_h[:-1]))  # exactly the end of the stretch before, without rounding
    state = pd.Categorical.from_codes(trace[:, 0].astype(int), list(STATES))
    return pd.DataFrame({"run": run, "start_h": start_h, "end_h": end_h, "state": state}).astype({"run": int})


def _refuse_long_timelines(expected: Outlook, rules: Rules, n_traced: int) -> None:
    stretches = n_traced * (2 * expected.trained_h / float(rules.run["step"]) + 4 * expected.n_failures)
    if stretches > MOST_STRETCHES:
        raise InputError(
            f"timeline of {n_traced:,} runs would have about {stretches:,.0f} stretches, and the limit is "
            f"{MOST_STRETCHES:,}: ask for fewer runs or less work"
        )
