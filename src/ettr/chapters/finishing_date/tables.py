"""One run day by day, and when runs are done: the spread of the date, and what moves it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy

from ettr import budget
from ettr.chapters.common.simulated_runs import SHARES, some_runs_of
from ettr.chapters.finishing_date.beyond_formula_tables import (
    Mechanism,
    formula_run,
    mechanisms_of_nodes,
    node_memories,
    nodes_in_repair,
    rack_failures,
    with_interval,
)
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.results import PARTS, TimeBudget
from ettr.core.units import H_PER_DAY, MIN_PER_H, ROUNDING
from ettr.scenario import Scenario, paths

if TYPE_CHECKING:
    from ettr.simulation import Simulation

CHANCE, RATE = "Chance alone", "Rate not known"
"""Names of the rows in which nothing is added, and in which only the failure rate differs from run to run."""

_DOTS, _BINS = 100, 30
_N_RATES = 25
_FAILURES_A_ROW, _FAILURES_A_POINT = 120_000, 60_000


def finishing_dates(simulation: Simulation) -> pd.DataFrame:
    """The finishing date as a hundred dots, each one run in a hundred.

    Parameters
    ----------
    simulation : Simulation
        The runs.

    Returns
    -------
    DataFrame
        ``done`` (share of runs that are done by then), ``finish_h`` since submission [h], ``bin_day`` (the middle of
        the dot's column) [days], ``height`` (place in the column, from 1).
    """
    done = (np.arange(_DOTS) + 0.5) / _DOTS
    finish_h = simulation.finish_h(100 * done)
    days = finish_h / H_PER_DAY
    width = max(float(np.ptp(days)) / _BINS, ROUNDING)
    column = np.floor((days - days[0]) / width).astype(int)
    return pd.DataFrame(
        {
            "done": done,
            "finish_h": finish_h,
            "bin_day": days[0] + (column + 0.5) * width,
            "height": pd.Series(column).groupby(column).cumcount() + 1,
        }
    )


def finish_by_cause(
    scenario: Scenario,
    repair_h: float = 48.0,
    rack_nodes: int = 16,
    shapes: Iterable[float] = (0.5, 1.5),
    n_runs: int = 500,
    seed: int = 0,
) -> pd.DataFrame:
    """Finishing dates by what else there is beside chance: a rate that is not known, nodes with a memory, spares.

    Parameters
    ----------
    scenario : Scenario
        The run.
    repair_h, rack_nodes
        As in :func:`mechanisms_of_nodes`.
    shapes : iterable of float
        More Weibull shapes of the nodes' lifetimes, all in the middle of their lives.
    n_runs : int
        Runs a row, or fewer where runs meet many failures. [count]
    seed : int
        As in :func:`ettr.simulate`.

    Returns
    -------
    DataFrame
        ``cause``, ``setting``, ``n_runs``, ``ettr``, ``error`` (standard, of the ETTR), ``mean_h``,
        ``p5_h`` to ``p95_h``: hours by which so many of a hundred runs are done [h], ``low`` and ``high`` (95%, of the
        ETTR). The row of the rate is missing where nothing is known of it, and so are rows that cannot be simulated
        together with the scenario.

    Raises
    ------
    OutsideValidity
        The run practically never ends.

    Notes
    -----
    The rate is drawn from what is known of it, in strata of equal probability: 25 rates with as many runs each.
    """
    plain = formula_run(scenario)
    causes = [Mechanism(CHANCE, "the formula's own rules, all values known", {})]
    causes += [*mechanisms_of_nodes(plain, repair_h, rack_nodes), *node_memories(shapes, "stationary")]
    rows: list[dict[str, Any]] = []
    for one in causes:
        simulation = some_runs_of(plain.override(one.changes), n_runs, seed, _FAILURES_A_ROW)
        if simulation is not None:
            rows.append({"cause": one.name, "setting": one.setting, **_row(simulation)})
        if one.name == CHANCE and (spread := _over_rates(scenario, plain, n_runs, seed)):
            rows.append(spread)
    if not rows or rows[0]["cause"] != CHANCE:
        raise OutsideValidity(f"{scenario.name} practically never ends")
    return with_interval(pd.DataFrame(rows))


def _row(simulation: Simulation) -> dict[str, Any]:
    done = {f"p{share}_h": simulation.finish_h(share) for share in SHARES}
    means = {"ettr": simulation.ettr, "error": simulation.ettr_error, "mean_h": simulation.budget.total_h}
    return {"n_runs": simulation.n_runs, **means, **done}


def _over_rates(scenario: Scenario, plain: Scenario, n_runs: int, seed: int) -> dict[str, Any] | None:
    """Runs whose rate is drawn from what is known of it; None if nothing is, or if one of them never ends."""
    known = scenario.failures.posterior
    if known is None or scenario.failure_rate == 0:
        return None
    likely = (np.arange(_N_RATES) + 0.5) / _N_RATES
    rates = 1000 * scipy.stats.gamma.ppf(likely, known.shape) / known.node_days
    each = max(2, n_runs // _N_RATES)
    runs = [
        some_runs_of(plain.override({paths.RATE: float(rate)}), each, seed + number, _FAILURES_A_ROW)
        for number, rate in enumerate(rates)
    ]
    answered = [one for one in runs if one is not None]
    if len(answered) < len(runs):
        return None
    total_h = np.concatenate([one.total_h for one in answered])
    mean_h = float(np.mean([one.total_h.mean() for one in answered]))
    ettr = plain.work_h / mean_h
    inside = np.mean([one.total_h.var(ddof=1) / one.n_runs for one in answered]) / len(answered)
    return {
        "cause": RATE,
        "setting": f"the rate as far as it is known, worth {known.shape:,.4g} failures",
        "n_runs": total_h.size,
        "ettr": float(ettr),
        "error": float(ettr * np.sqrt(inside) / mean_h),
        "mean_h": mean_h,
        **{f"p{share}_h": float(np.percentile(total_h, share)) for share in SHARES},
    }


def finish_by_spares(
    scenario: Scenario, repair_h: float = 48.0, rack_nodes: int = 16, n_runs: int = 300, seed: int = 0
) -> pd.DataFrame:
    """ETTR and finishing date over the number of hot spares, if nodes fail one by one and if racks fail at once too.

    Parameters
    ----------
    scenario : Scenario
        The run; only what closed forms have a term for is kept of it.
    repair_h, rack_nodes
        As in :func:`mechanisms_of_nodes`.
    n_runs : int
        Runs a point, or fewer where runs meet many failures. [count]
    seed : int
        As in :func:`ettr.simulate`.

    Returns
    -------
    DataFrame
        ``failures`` (``single nodes`` or ``racks too``), ``n_spares`` [nodes], ``in_repair`` (nodes in repair on
        average) [nodes], ``n_runs``, ``ettr``, ``error`` (standard), ``waiting_h`` (mean wait for nodes of a run) [h],
        ``mean_h`` and ``p5_h`` to ``p95_h`` [h], ``low`` and ``high`` (95%, of the ETTR), ``closed_ettr``, ``closed_h``
        [h] of :func:`ettr.budget.exact`, where spares never run out.

    Raises
    ------
    OutsideValidity
        The run practically never ends.
    """
    plain = formula_run(scenario)
    with_racks = plain.override(rack_failures(plain, rack_nodes))
    rack = with_racks.failures.modes[-1]
    demand = {
        "single nodes": nodes_in_repair(plain, repair_h),
        "racks too": nodes_in_repair(plain, repair_h, float(rack.share or 0.0), rack.n_out_nodes),
    }
    numbers = _numbers_of_spares(demand["single nodes"], rack.n_out_nodes)
    closed = budget.exact(plain)
    rows = []
    for kind, run in (("single nodes", plain), ("racks too", with_racks)):
        for n_spares in numbers:
            held = {"spares": {"n_nodes": n_spares}, "repair": {"manual_h": repair_h, "cv": 1.0}}
            simulation = some_runs_of(run.override(held), n_runs, seed, _FAILURES_A_POINT)
            if simulation is None:
                continue
            columns = {"failures": kind, "n_spares": n_spares, "in_repair": demand[kind], **_row(simulation)}
            rows.append({**columns, "waiting_h": float(simulation.runs["waiting_h"].mean())})
    if not rows:
        raise OutsideValidity(f"{scenario.name} practically never ends, whatever its spares")
    return with_interval(pd.DataFrame(rows)).assign(closed_ettr=float(closed.ettr), closed_h=float(closed.total_h))


def _numbers_of_spares(in_repair: float, rack_nodes: int) -> list[int]:
    """From as many as are in repair on average to so many that a second rack finds its spares, no two nearly alike."""
    some = {round(share * in_repair) for share in (1, 1.25, 1.5, 2, 2.5, 3)}
    some |= {round(in_repair) + more for more in (1, 2, 4, rack_nodes, 2 * rack_nodes)}
    kept: list[int] = []
    for n_spares in sorted(some):
        if not kept or n_spares > 1.08 * kept[-1]:
            kept.append(n_spares)
    return kept


_SHORTEST_H = 1 / MIN_PER_H
"""A shorter stall is thinner than a picture of a day can show."""
_MOST_STRETCHES = 2000
_RANGE = 5, 95


def days_of_run(simulation: Simulation, run: int = 0, first_day: int = 1, n_days: int = 14) -> pd.DataFrame:
    """The stretches of some days of one run, a row a stretch of one day.

    Parameters
    ----------
    simulation : Simulation
        With this run in its ``timeline``.
    run : int
        Number of the run.
    first_day : int
        First day shown, counted from submission; the first is 1. [days]
    n_days : int
        Days shown, or fewer if the run ends before, or if there would be more stretches than a page can hold. [days]

    Returns
    -------
    DataFrame
        ``day`` (from 1), ``from_h``, ``to_h`` (hours of that day, 0 to 24) [h], ``state``, ``lasts_min`` (within the
        day) [min], in the order of time. Stalls of less than a minute count as training.

    Raises
    ------
    InputError
        The run was not written down, or ends before the first day.
    """
    own = simulation.timeline[simulation.timeline["run"] == run]
    if own.empty:
        raise InputError(f"run {run} is not in the timeline: simulate(..., timeline=[{run}])")
    if first_day < 1 or n_days < 1:
        raise InputError(f"first_day and n_days must be >= 1, got {first_day} and {n_days}")
    end_h, from_h = float(own["end_h"].iloc[-1]), (first_day - 1) * H_PER_DAY
    if from_h >= end_h:
        raise InputError(f"first_day must be before the end of run {run} on day {end_h / H_PER_DAY:.1f}")
    until_h = min(from_h + n_days * H_PER_DAY, end_h)
    state, start_h = _merged(own)
    inside = (start_h > from_h) & (start_h < until_h)
    edges = np.union1d(start_h[inside], np.arange(from_h, until_h, H_PER_DAY))
    ends = np.append(edges[1:], until_h)
    day = np.floor(edges / H_PER_DAY + ROUNDING).astype(int)
    stretches = pd.DataFrame(
        {
            "day": day + 1,
            "from_h": edges - day * H_PER_DAY,
            "to_h": ends - day * H_PER_DAY,
            "state": state[np.searchsorted(start_h, edges, side="right") - 1],
            "lasts_min": MIN_PER_H * (ends - edges),
        }
    )
    return _whole_days(stretches)


def _merged(own: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """States and beginnings of the stretches, those of one state in a row as one."""
    state, lasts_h = own["state"].astype(str), own["end_h"] - own["start_h"]
    state = np.where((state == "checkpoint") & (lasts_h < _SHORTEST_H), "training", state)
    begins = np.append(True, state[1:] != state[:-1])
    return state[begins], own["start_h"].to_numpy()[begins]


def _whole_days(stretches: pd.DataFrame) -> pd.DataFrame:
    """The first days that a page can hold; the beginning of the first if even that is too much."""
    if len(stretches) <= _MOST_STRETCHES:
        return stretches
    whole = stretches["day"] < stretches["day"].iloc[_MOST_STRETCHES]
    return stretches[whole] if whole.any() else stretches.iloc[:_MOST_STRETCHES]


def losses_of_runs(simulation: Simulation, closed: TimeBudget, run: int = 0) -> pd.DataFrame:
    """Hours lost by one run, by runs on average and in between, and by the closed form.

    Parameters
    ----------
    simulation : Simulation
        The runs.
    closed : TimeBudget
        Of the same work, by the closed form.
    run : int
        Number of the run to tell apart.

    Returns
    -------
    DataFrame
        ``part`` (``lost`` for all together), ``this_h``, ``mean_h``, ``error_h`` (standard error of the mean),
        ``low_h`` and ``high_h`` (five and ninety-five of a hundred runs lose less), ``closed_h`` [h]. Parts that
        nobody loses anything to are left out.
    """
    means = simulation.budget_interval.set_index("part")
    parts = [*(part.removesuffix("_h") for part in PARTS[1:]), "lost"]
    runs = simulation.runs.rename(columns=lambda name: name.removesuffix("_h"))
    runs = runs.assign(lost=runs["total"] - runs["productive"])
    expected = {part: float(getattr(closed, f"{part}_h")) for part in parts[:-1]}
    expected["lost"] = float(closed.total_h - closed.productive_h)
    low, high = np.percentile(runs[parts], _RANGE, axis=0)
    losses = pd.DataFrame(
        {
            "part": parts,
            "this_h": runs.loc[run, parts].to_numpy(float),
            "mean_h": [*means.loc[parts[:-1], "mean"], means.loc["total", "mean"] - means.loc["productive", "mean"]],
            "error_h": [*means.loc[parts[:-1], "error"], means.loc["total", "error"]],
            "low_h": low,
            "high_h": high,
            "closed_h": [expected[part] for part in parts],
        }
    )
    there = (losses[["high_h", "mean_h", "closed_h", "this_h"]] > 0).any(axis=1)
    return losses[there].reset_index(drop=True)
