"""Tables on larger jobs: what moves the point at which the next GPU stops paying, and what a million would need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr import evidence, plan, simulation, sizing
from ettr.core.errors import InputError, NoProgress
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, RATE, RESTART
from ettr.sizing.yields import throughput_of, yields

FACTORS = tuple(2.0**i for i in range(-3, 4))
AS_IT_IS = "as it is"
FEW_SPARES, ELASTIC = "few spares (simulated)", "few spares, elastic (simulated)"
_DOUBLINGS = 12
_COARSE, _FINE, _BEYOND = 300, 200, 1.002
_BY_TOKENS = ("model", "layout", "network", "scaling", "sync")
_FAILURES_A_RUN = 150
_TOO_LITTLE = 0.02
"""Where less of the time than this is left, a run takes too many failures to be simulated here."""


@dataclass(frozen=True)
class Peak:
    """The size with the most useful tokens a day.

    Attributes
    ----------
    n_gpus : float
        The size. [GPUs]
    tokens_per_day : float
        Useful tokens there. [tokens/d]
    ends : bool
        The batch leaves nothing for one more replica there, so that failures do not set the size.
    """

    n_gpus: float
    tokens_per_day: float
    ends: bool


def peak(run: Scenario, rate_factor: float = 1.0, best_interval: bool = True) -> Peak:
    """Where a job yields most, sizes taken as continuous.

    Parameters
    ----------
    run : Scenario
        A job given by its tokens.
    rate_factor : float
        Failure rate over the scenario's.
    best_interval : bool
        Checkpoint at the best interval of each size, or at the scenario's own.

    Returns
    -------
    Peak
        Found on two grids, to about a thousandth of the size.
    """
    low, high = sizing.range_gpus(run)
    rate = run.failure_rate * rate_factor

    def useful(sizes: np.ndarray, layout: Any = None) -> np.ndarray:
        tokens = yields(run, sizes, layout, rate_per_1000_node_days=rate, best_interval=best_interval)
        return tokens.useful_tokens_per_day

    sizes = np.geomspace(low, high, _COARSE)
    near = int(useful(sizes).argmax())
    sizes = np.linspace(sizes[max(near - 1, 0)], sizes[min(near + 1, _COARSE - 1)], _FINE)
    tokens = useful(sizes)
    best = float(sizes[tokens.argmax()])
    layout = throughput_of(run).fastest(best)
    beyond = useful(np.array([best * _BEYOND]), layout)
    return Peak(best, float(tokens.max()), bool(beyond[0] <= 0))


def restarts_times(run: Scenario, factor: float) -> Scenario:
    """The same run with restart times, those of its modes too, multiplied."""
    changes = {RESTART: run.recovery.restart_min * factor}
    for mode in run.failures.modes:
        if mode.restart_min is not None:
            changes[f"failures.modes.{mode.name}.restart_min"] = mode.restart_min * factor
    return run.override(changes)


def turning_by_factor(run: Scenario, factors: Iterable[float] = FACTORS) -> pd.DataFrame:
    """Where the next GPU stops paying, with one field at a time multiplied.

    Parameters
    ----------
    run : Scenario
        A job given by its tokens.
    factors : iterable of float
        Multiply the failure rate, the restart, the interval (which is that of the scenario here, and the best of each
        size elsewhere), the jitter and the bandwidth out of a node.

    Returns
    -------
    DataFrame
        ``what`` (in words), ``factor``, ``n_gpus`` (with the most useful tokens a day) [GPUs], ``tokens_per_day``
        (there) [tokens/d], ``ends`` (whether the batch ends there). Jitter is kept at 1 or less. Fields that are 0 are
        left out: no factor moves them.
    """
    through = throughput_of(run)
    jitter, across = float(through.constants.jitter), float(through.network.across_gb_s)
    interval_min = run.interval_min
    moved: dict[str, tuple[bool, Callable[[float], Peak]]] = {
        "failure rate": (run.failure_rate > 0, lambda by: peak(run, by)),
        "restart": (run.recovery.restart_min > 0, lambda by: peak(restarts_times(run, by))),
        "interval, if it stays": (
            True,
            lambda by: peak(run.override({INTERVAL: interval_min * by}), best_interval=False),
        ),
        "jitter": (jitter > 0, lambda by: peak(run.override({"scaling.jitter": min(jitter * by, 1.0)}))),
        "bandwidth": (np.isfinite(across), lambda by: peak(run.override({"network.across_gb_s": across * by}))),
    }
    rows = []
    for what, (there, at) in moved.items():
        for factor in factors if there else ():
            try:
                best = at(factor)
            except InputError:  # an interval that the background write does not leave
                continue
            rows.append({"what": what, "factor": factor, **vars(best)})
    return pd.DataFrame(rows, columns=["what", "factor", "n_gpus", "tokens_per_day", "ends"])


def by_hours(run: Scenario, n_gpus: int, productive_h: float, interval_min: float) -> Scenario:
    """The same run on another size in its steady state, given by hours: it needs no layout."""
    there = {name: None for name in _BY_TOKENS if getattr(run, name) is not None}
    return run.override(
        {
            **there,
            "job.productive_h": productive_h,
            "job.include_start": False,
            N_GPUS: n_gpus,
            INTERVAL: interval_min,
        }
    )


def large_jobs(run: Scenario, sizes: Iterable[float], target_ettr: float = 0.9) -> pd.DataFrame:
    """What synchronous training on many GPUs gives, and what it would need.

    Parameters
    ----------
    run : Scenario
        A job given by its tokens.
    sizes : iterable of float
        Rounded to whole nodes. [GPUs]
    target_ettr : float
        The ETTR to be reached.

    Returns
    -------
    DataFrame
        The columns of :func:`ettr.sizing.best_batch`, ``target_ettr``, and for the restart and the failure rate
        ``restart_given``, ``restart_needed`` (largest value that reaches the target; NaN if none does),
        ``restart_ettr`` (with it at its ideal), and the same with ``rate_``. [min], [1/(1000 node-days)]
    """
    jobs = sizing.best_batch(run, [run.cluster.nearest_n_gpus(size) for size in sizes])
    needs = []
    for row in jobs.itertuples():
        works = row.useful_tokens_per_day > 0
        hours = row.days * row.ettr * 24 if works else 1.0
        there = by_hours(run, int(row.n_gpus), hours, row.interval_min)
        of_row: dict[str, float] = {"target_ettr": target_ettr}
        for name, field in (("restart", RESTART), ("rate", RATE)):
            need = plan.required(there, field, target_ettr)
            of_row[f"{name}_given"] = need.given
            of_row[f"{name}_needed"] = np.nan if need.value is None else need.value
            of_row[f"{name}_ettr"] = need.best_ettr
        needs.append(of_row)
    return pd.concat([jobs, pd.DataFrame(needs)], axis=1)


@dataclass(frozen=True)
class Way:
    """Another way to train.

    Attributes
    ----------
    name : str
        In a few words.
    setting : str
        What is assumed.
    changes : mapping
        Path of a scenario's field to value.
    rate_factor, restart_factor : float
        Multiply failure rate and restart.
    """

    name: str
    setting: str
    changes: Mapping[str, Any]
    rate_factor: float = 1.0
    restart_factor: float = 1.0


def ways(
    local_sgd_steps: float = 30,
    local_sgd_efficiency: float = 0.91,
    compression_ratio: float = 4,
    compression_share: float = 0.01,
    restart_factor: float = 0.2,
    rate_factor: float = 0.5,
) -> tuple[Way, ...]:
    """Ways to make more GPUs pay, each alone.

    Parameters
    ----------
    local_sgd_steps, local_sgd_efficiency : float
        Steps between exchanges, and tokens that synchronous training needs over those that this needs (assumed).
    compression_ratio, compression_share : float
        Of gradients: bytes over compressed bytes, and time to compress over that of computing (assumed).
    restart_factor, rate_factor : float
        Restart and failure rate over the scenario's.

    Examples
    --------
    >>> [way.name for way in ways()]
    ['as it is', 'local SGD', 'compressed gradients', 'faster restart', 'fewer failures', 'sequences cut in two']
    """
    local = {"sync.every_steps": local_sgd_steps, "sync.efficiency": local_sgd_efficiency}
    compressed = {"sync.compression_ratio": compression_ratio, "sync.compression_share": compression_share}
    return (
        Way(AS_IT_IS, "the scenario", {}),
        Way(
            "local SGD",
            f"an exchange every {local_sgd_steps:g} steps; {1 / local_sgd_efficiency:.2f} times the tokens (assumed)",
            local,
        ),
        Way(
            "compressed gradients",
            f"{compression_ratio:g} times fewer bytes; compressing takes {compression_share:.0%} of computing; no more "
            "tokens (assumed)",
            compressed,
        ),
        Way("faster restart", f"{restart_factor:g} times the restart time", {}, restart_factor=restart_factor),
        Way("fewer failures", f"{rate_factor:g} times the failure rate", {}, rate_factor=rate_factor),
        Way("sequences cut in two", "each sequence on 2 GPUs", {"layout.context": 2}),
    )


def ways_out(run: Scenario, tried: Iterable[Way], from_gpus: float = 0.0, n_sizes: int = 80) -> pd.DataFrame:
    """Useful tokens a day by size, for each way to train.

    Parameters
    ----------
    run : Scenario
        A job given by its tokens.
    tried : iterable of Way
        As from :func:`ways`.
    from_gpus : float
        Smallest size; that which holds the model if this is larger. [GPUs]
    n_sizes : int
        How many.

    Returns
    -------
    DataFrame
        ``way``, ``n_gpus`` [GPUs], ``tokens_per_day`` [tokens/d]; sizes that yield nothing are left out, and so is a
        way for which no layout fits.
    """
    low, high = sizing.range_gpus(run)
    sizes = np.geomspace(min(max(low, from_gpus), high), high, n_sizes)
    frames = []
    for way in tried:
        changed = _changed(run, way)
        if changed is None:
            continue
        at_sizes = yields(changed, sizes, rate_per_1000_node_days=run.failure_rate * way.rate_factor)
        frame = pd.DataFrame({"way": way.name, "n_gpus": sizes, "tokens_per_day": at_sizes.useful_tokens_per_day})
        frames.append(frame[frame["tokens_per_day"] > 0])
    return pd.concat(frames, ignore_index=True)


def peaks_of_ways(run: Scenario, tried: Iterable[Way]) -> pd.DataFrame:
    """Where each way to train yields most.

    Returns
    -------
    DataFrame
        ``way``, ``setting``, ``n_gpus`` [GPUs], ``tokens_per_day`` [tokens/d], ``ends``, ``gain`` (of tokens a day,
        over the first way's). NaN where no layout fits.
    """
    rows = []
    for way in tried:
        changed = _changed(run, way)
        best = Peak(np.nan, np.nan, False) if changed is None else peak(changed, way.rate_factor)
        rows.append({"way": way.name, "setting": way.setting, **vars(best)})
    frame = pd.DataFrame(rows)
    return frame.assign(gain=frame["tokens_per_day"] / frame["tokens_per_day"].iloc[0] - 1)


def _changed(run: Scenario, way: Way) -> Scenario | None:
    """The run that trains that way; on more GPUs where no layout of that way fits its own, None if none does there."""
    if way.restart_factor != 1:
        run = restarts_times(run, way.restart_factor)
    for doubling in range(_DOUBLINGS):
        try:
            return run.override({**way.changes, N_GPUS: run.cluster.n_gpus * 2**doubling})
        except InputError:  # replicas that are not sharded take more memory
            continue
    return None


@dataclass(frozen=True)
class PublishedLocalSGD:
    """What is published on the price of local SGD.

    Attributes
    ----------
    loss_pct : float
        How much higher the loss is at 10 billion parameters with 4 replicas. [%]
    factor_4_replicas : float
        Times the tokens that this comes to.
    factor_8_replicas : float
        Times the tokens at 2.4 billion parameters with 8 replicas.
    """

    loss_pct: float
    factor_4_replicas: float
    factor_8_replicas: float


def published_local_sgd() -> PublishedLocalSGD:
    """The published price of local SGD in loss and tokens."""
    keys = ("10b_4_replicas_loss_pct", "10b_4_replicas_tokens_factor", "2b_8_replicas_tokens_factor")
    return PublishedLocalSGD(*(evidence.figure(f"diloco_{key}").value for key in keys))


def elastic_by_size(
    run: Scenario,
    around_gpus: float,
    repair_h: float = 24.0,
    least_share: float = 0.9,
    n_runs: int = 20,
    seed: int = 0,
) -> pd.DataFrame:
    """Simulated: as many spares as nodes are in repair on average, for a job that waits and for an elastic one.

    Parameters
    ----------
    run : Scenario
        A job given by its tokens.
    around_gpus : float
        Simulated are an eighth, a quarter, a half and all of it, in whole replicas and nodes. [GPUs]
    repair_h : float
        Until a node is back. [h]
    least_share : float
        Replicas that the elastic job needs to go on, of all.
    n_runs, seed : int
        Runs of each, of about 150 failures, in the steady state.

    Returns
    -------
    DataFrame
        ``way``, ``n_gpus`` [GPUs], ``tokens_per_day`` with ``low`` and ``high`` (95% of the mean) [tokens/d], ``ettr``,
        ``closed_ettr`` (with spares that never run out), ``n_spares``, ``n_runs``. Empty for a job without failures or
        with a single replica; sizes that hardly get on are left out.
    """
    parts = (0.125, 0.25, 0.5, 1.0) if run.failure_rate > 0 else ()
    rows = [row for part in parts for row in _elastic_at(run, around_gpus * part, repair_h, least_share, n_runs, seed)]
    columns = ["way", "n_gpus", "tokens_per_day", "low", "high", "ettr", "closed_ettr", "n_spares", "n_runs"]
    return pd.DataFrame(rows, columns=columns)


def _elastic_at(
    run: Scenario, size: float, repair_h: float, least_share: float, n_runs: int, seed: int
) -> list[dict[str, Any]]:
    if size < sizing.range_gpus(run)[0]:
        return []
    node = run.cluster.gpus_per_node
    layout = throughput_of(run).fastest(size)
    unit = int(np.lcm(max(int(layout.replica_gpus), 1), node))
    n_gpus = int(size // unit) * unit
    replicas = min(n_gpus // max(int(layout.replica_gpus), 1), n_gpus // node)
    if n_gpus == 0 or replicas < 2:
        return []
    at = yields(run, np.array([float(n_gpus)]), layout)
    ettr = float(at.ettr[0])
    if ettr < _TOO_LITTLE:
        return []
    base = by_hours(run, n_gpus, float(at.days[0]) * 24 * ettr, float(at.interval_min[0]))
    base = base.override({"job.productive_h": min(base.productive_h, _FAILURES_A_RUN * base.job_mttf_h)})
    n_spares = max(1, round(base.job_rate_per_h * repair_h))
    pool = {"spares": {"n_nodes": n_spares}, "repair": {"manual_h": repair_h}}
    elastic = {"n_replicas": replicas, "n_least": max(1, min(replicas - 1, round(replicas * least_share)))}
    rows = []
    for way, changes in ((FEW_SPARES, pool), (ELASTIC, {**pool, "elastic": elastic})):
        try:
            runs = simulation.simulate(base.override(changes), n_runs, seed)
        except NoProgress:
            continue
        scale = float(at.useful_tokens_per_day[0]) / ettr
        low, high = (scale * end for end in runs.ettr_interval)
        rows.append(
            {
                "way": way,
                "n_gpus": float(n_gpus),
                "tokens_per_day": scale * runs.ettr,
                "low": max(low, 0.0),
                "high": high,
                "ettr": runs.ettr,
                "closed_ettr": ettr,
                "n_spares": n_spares,
                "n_runs": n_runs,
            }
        )
    return rows
