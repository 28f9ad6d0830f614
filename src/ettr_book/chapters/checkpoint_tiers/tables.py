"""Gain from faster checkpoint tiers, and bandwidths at which the store is too slow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ettr import budget, evidence
from ettr.budget.intervals import best_interval_min
from ettr.checkpoint import checkpoint_bytes, needed_gb_s, transfer_h
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.results import PARTS, TimeBudget
from ettr.core.units import S_PER_H
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, PERSIST, PREDICTION, RESTART, SLOWDOWN, TIERS
from ettr_book.chapters.common.runs import another_mode
from ettr_book.chapters.common.steady_state import answered, ettr_at

COMMON_LOSS = "Several nodes at once"
"""Name of the mode that :func:`with_common_losses` adds."""

CURRENT, STORE = "Current run", "Store only, without planned stops"
"""Names of the first rungs: the run of all other pages, and the baseline of the tiers."""
SCENARIO_TIERS = "The scenario's own tiers"
ALONE = ", instead"
"""End of the title of a rung that replaces all faster tiers."""


def store_only(scenario: Scenario) -> Scenario:
    """Return the run with the store as its only tier, in the steady state: the baseline of :func:`ladder`.

    Faster tiers are left out, and so are the features that the exact model cannot combine with tiers: planned
    maintenance, the slowdown by the background write, announced and silent failures, changing rates, and checkpoints
    that are not kept. If the scenario's restart includes loading, the published time to load 405 billion parameters (or
    all of a shorter restart) becomes ``checkpoint.load_s``: the sum stays the same, and a faster tier can load faster.

    Parameters
    ----------
    scenario : Scenario
        The run.

    Examples
    --------
    >>> run = store_only(Scenario.load("llama3-405b"))
    >>> round(run.load_h * S_PER_H, 2), round((run.restart_h + run.load_h) * 60, 6)
    (129.49, 5.0)
    """
    run = scenario.override(
        {
            "job.include_start": False,
            TIERS: [],
            SLOWDOWN: 0,
            "checkpoint.n_kept": None,
            "failures.burn_in": None,
            "failures.lifetime": None,
            "maintenance": None,
            PREDICTION: None,
            **{f"failures.modes.{mode.name}.latency_h": None for mode in scenario.failures.modes},
        }
    )
    if run.load_h > 0:
        return run
    by_mode = {mode.name: mode.restart_min for mode in run.failures.modes if mode.restart_min is not None}
    shortest_min = min([run.recovery.restart_min, *by_mode.values()])
    load_s = min(evidence.figure("bytecheckpoint_load_s").value, 60 * shortest_min)
    return run.override(
        {
            "checkpoint.load_s": load_s,
            RESTART: run.recovery.restart_min - load_s / 60,
            **{
                f"failures.modes.{name}.restart_min": restart_min - load_s / 60 for name, restart_min in by_mode.items()
            },
        }
    )


def with_common_losses(scenario: Scenario, share: float, n_lost_nodes: int) -> Scenario:
    """Return the run with a share of failures that erase the memory of several nodes; the rate stays the same.

    Parameters
    ----------
    scenario : Scenario
        The run; returned unchanged if one of its modes already erases several nodes.
    share : float
        Share of all failures, in [0, 1).
    n_lost_nodes : int
        Nodes lost at once, at most the whole job. [count]

    Examples
    --------
    >>> run = with_common_losses(Scenario.load("llama3-405b"), 0.01, 32)
    >>> run.failures.modes[-1].n_lost_nodes, round(float(run.mode_weights[-2]), 3)
    (32, 0.01)
    """
    if share == 0 or any(mode.n_lost_nodes > 1 for mode in scenario.failures.modes):
        return scenario
    n_lost_nodes = min(n_lost_nodes, scenario.n_nodes)
    return scenario.override(another_mode(scenario, COMMON_LOSS, share, n_lost_nodes=n_lost_nodes))


def rungs(scenario: Scenario, common_share: float, common_nodes: int, nodes_per_replica: int) -> dict[str, Scenario]:
    """Return the scenarios of :func:`ladder` by title, each with the best interval of its store.

    Parameters
    ----------
    scenario : Scenario
        The run.
    common_share, common_nodes : float, int
        As in :func:`with_common_losses`.
    nodes_per_replica : int
        Nodes that hold one replica of the model; just-in-time checkpoints copy from another replica. [count]
    """
    if nodes_per_replica < 1 or common_nodes < 1:
        raise InputError(f"nodes_per_replica and common_nodes must be >= 1, got {nodes_per_replica} and {common_nodes}")
    base = with_common_losses(store_only(scenario), common_share, common_nodes)
    runs: dict[str, Scenario] = {STORE: base}
    below: list[dict[str, Any]] = []
    for row in evidence.table("checkpoint_tiers").itertuples():
        replicas = max(1, base.n_nodes // nodes_per_replica)
        copies = replicas if pd.isna(row.copies) else int(row.copies)
        if copies > base.n_nodes or (pd.isna(row.copies) and copies < 2):
            continue  # more copies than nodes
        tier = _tier(row, copies, base)
        if row.alone:
            runs[f"{row.title}{ALONE}"] = _with_tiers(base, [tier])
        else:
            below = [*below, tier]
            runs[f"+ {row.title.lower()}"] = _with_tiers(base, below)
    if scenario.checkpoint.tiers:
        runs[SCENARIO_TIERS] = _with_tiers(base, [tier.model_dump() for tier in scenario.checkpoint.tiers])
    return {title: run.override({INTERVAL: best_interval_min(run)}) for title, run in runs.items()}


def _tier(row: Any, copies: int, base: Scenario) -> dict[str, Any]:
    """Return a tier of the table, never slower than the store."""
    return {
        "name": row.title,
        "interval_s": row.interval_s,
        "stall_s": row.stall_s,
        "write_s": min(row.write_s, base.persist_h * S_PER_H),
        "load_s": min(row.load_s, base.load_h * S_PER_H),
        "copies": copies,
        "placement": row.placement,
    }


def _with_tiers(base: Scenario, tiers: list[dict[str, Any]]) -> Scenario:
    least_min = max(tier["interval_s"] for tier in tiers) / 60
    return base.override({TIERS: tiers, INTERVAL: max(base.interval_min, least_min, base.least_interval_min)})


def ladder(
    scenario: Scenario, common_share: float = 0.0, common_nodes: int = 2, nodes_per_replica: int = 16
) -> pd.DataFrame:
    """Return the exact shares of wall-clock time: the current run, the store alone, and further tiers added one by one.

    Parameters
    ----------
    scenario, common_share, common_nodes, nodes_per_replica
        As in :func:`rungs`.

    Returns
    -------
    DataFrame
        ``rung``, in their order, ``part``, ``share`` in [0, 1], ``ettr``, ``interval_min`` (best of the store) [min],
        ``from_store`` (share of failures that only the store survives). The first, :data:`CURRENT`, has planned stops,
        the start, and its own interval. Rungs without an answer are left out, and so are parts that are zero
        everywhere.

    Raises
    ------
    OutsideValidity
        No rung has an answer: the run practically never ends.
    """
    frames = []
    current = {} if scenario.checkpoint.tiers else {CURRENT: scenario}
    for title, run in (current | rungs(scenario, common_share, common_nodes, nodes_per_replica)).items():
        hours = _answer(budget.simplified(run).scenario if title == CURRENT else run)
        if hours is None:
            continue
        parts = {part.removesuffix("_h"): float(getattr(hours, part) / hours.total_h) for part in PARTS}
        best = {"ettr": float(hours.ettr), "interval_min": run.interval_min}
        rung = pd.DataFrame({"rung": title, "part": [*parts], "share": [*parts.values()], **best})
        frames.append(rung.assign(from_store=float(run.in_hours().severity[-1])))
    if not frames:
        raise OutsideValidity(f"no rung of the ladder of {scenario.name} has an answer: the run practically never ends")
    shares = pd.concat(frames, ignore_index=True)
    return shares[shares.groupby("part")["share"].transform("max") > 0].reset_index(drop=True)


def _answer(run: Scenario) -> TimeBudget | None:
    try:
        hours = budget.exact(run)
    except OutsideValidity:
        return None
    return hours if np.isfinite(hours.ettr) else None


_GB_PER_TB = 1000.0
_SLOWEST_GB_S, _FASTEST_GB_S = (0.01, 1.0), 10_000.0


def stored_bytes(scenario: Scenario, n_parameters: float, bytes_per_parameter: float) -> float:
    """Return the size of a checkpoint, from the scenario's own store if it has one. [B]"""
    store = scenario.checkpoint.store
    if store is None:
        return float(checkpoint_bytes(n_parameters, bytes_per_parameter))
    return float(
        checkpoint_bytes(store.n_parameters, store.bytes_per_parameter, store.changed_share, store.compression_ratio)
    )


def by_bandwidth(scenario: Scenario, n_bytes: float, n_gpus: int, n_points: int = 80) -> pd.DataFrame:
    """Return the best interval over the store's bandwidth, for the job and for another size.

    Parameters
    ----------
    scenario : Scenario
        The run; its stall is kept, its background write follows from the bandwidth.
    n_bytes : float
        Size of a checkpoint. [B]
    n_gpus : int
        Size of the other job. [GPUs]
    n_points : int
        Bandwidths, on a logarithmic scale.

    Returns
    -------
    DataFrame
        ``write_gb_s`` [GB/s], ``n_gpus`` [GPUs], ``write_min`` [min], ``interval_min`` [min], ``stall_interval_min``
        (the best if writing took no time) [min], ``crossing_gb_s`` (below it the write sets the interval) [GB/s],
        ``ettr``. Points without an ETTR are left out.

    Raises
    ------
    OutsideValidity
        No point has an answer.
    """
    run = with_free_store(scenario)
    bends = bandwidth_crossings(scenario, n_bytes, n_gpus)
    slowest = np.clip(bends["crossing_gb_s"].min() / 3, *_SLOWEST_GB_S)
    bandwidth = np.geomspace(slowest, _FASTEST_GB_S, n_points)
    write_h = transfer_h(n_bytes, bandwidth)
    frames = []
    for row in bends.itertuples():
        at = {N_GPUS: np.array([float(row.n_gpus)]), PERSIST: write_h * S_PER_H}
        interval_min = best_interval_min(run, at)
        curve = {"write_gb_s": bandwidth, "write_min": write_h * 60, "interval_min": interval_min}
        bend = {"n_gpus": row.n_gpus, "stall_interval_min": row.interval_min, "crossing_gb_s": row.crossing_gb_s}
        frames.append(pd.DataFrame({**curve, **bend, "ettr": ettr_at(run, {**at, INTERVAL: interval_min})}))
    why = f"no point of this curve of {scenario.name} has an answer: the run never ends"
    return answered(pd.concat(frames, ignore_index=True), why)


def bandwidth_crossings(scenario: Scenario, n_bytes: float, n_gpus: int) -> pd.DataFrame:
    """Return the bandwidth below which the write, not the stall, sets the best interval, by job size.

    Parameters
    ----------
    scenario, n_bytes, n_gpus
        As in :func:`by_bandwidth`.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``interval_min`` (the best if writing took no time) [min], ``crossing_gb_s`` [GB/s].
    """
    run = with_free_store(scenario)
    sizes = list(dict.fromkeys([scenario.cluster.n_gpus, n_gpus]))
    interval_min = best_interval_min(run, {N_GPUS: np.array(sizes, dtype=float)})
    crossing_gb_s = [needed_gb_s(n_bytes, minutes / 60) for minutes in interval_min]
    return pd.DataFrame({"n_gpus": sizes, "interval_min": interval_min, "crossing_gb_s": crossing_gb_s})


def with_free_store(scenario: Scenario) -> Scenario:
    """Return the run with an instant write to its store, otherwise as from :func:`store_only`."""
    return store_only(scenario).override({"checkpoint.store": None, PERSIST: 0})


def published_stores(n_bytes: float) -> pd.DataFrame:
    """Return published store bandwidths, and the time to write a checkpoint of a given size.

    Parameters
    ----------
    n_bytes : float
        Size of a checkpoint. [B]

    Returns
    -------
    DataFrame
        ``store``, ``write_gb_s`` [GB/s], ``write_s`` [s]. The published time is for a full save of 405 billion
        parameters, assumed to take 12 bytes each.

    Examples
    --------
    >>> published_stores(405e9 * 12)["write_s"].round(2).tolist()
    [2.43, 0.69, 51.06]
    """
    size = checkpoint_bytes(evidence.figure("llama3_n_parameters").value)
    write_gb_s = {
        "Llama 3, sustained": evidence.figure("llama3_storage_sustained_tb_s").value * _GB_PER_TB,
        "Llama 3, peak": evidence.figure("llama3_storage_peak_tb_s").value * _GB_PER_TB,
        "ByteCheckpoint": needed_gb_s(size, evidence.figure("bytecheckpoint_write_s").value / S_PER_H),
    }
    table = pd.DataFrame(write_gb_s.items(), columns=["store", "write_gb_s"])
    return table.assign(write_s=transfer_h(n_bytes, table["write_gb_s"].to_numpy()) * S_PER_H)
