"""What the bandwidth of the store allows: the best interval, and the shortest that the background write leaves."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

from ettr import evidence
from ettr.checkpoint import checkpoint_bytes, needed_gb_s, transfer_h
from ettr.curves.tiers import store_only
from ettr.errors import OutsideValidity
from ettr.plan import best_interval_min
from ettr.plan.intervals import quiet_ettr
from ettr.scenario import Scenario

_GB_PER_TB, _S_PER_H = 1000.0, 3600.0
_SLOWEST_GB_S, _FASTEST_GB_S = (0.01, 1.0), 10_000.0


def stored_bytes(scenario: Scenario, n_parameters: float, bytes_per_parameter: float) -> float:
    """Size of a checkpoint, by the scenario's own store where it has one. [B]"""
    own = scenario.checkpoint.store
    if own is None:
        return float(checkpoint_bytes(n_parameters, bytes_per_parameter))
    return float(checkpoint_bytes(own.n_parameters, own.bytes_per_parameter, own.changed_share, own.compression_ratio))


def by_bandwidth(scenario: Scenario, n_bytes: float, n_gpus: int, n_points: int = 80) -> pd.DataFrame:
    """The best interval over the bandwidth of the store, for the job and for one of another size.

    Parameters
    ----------
    scenario : Scenario
        The run; its stall stays, its background write is what the bandwidth makes of it.
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
    run = _free_store(scenario)
    bends = bandwidth_crossings(scenario, n_bytes, n_gpus).query("stall == 'own'")
    slowest = np.clip(bends["crossing_gb_s"].min() / 3, *_SLOWEST_GB_S)
    bandwidth = np.geomspace(slowest, _FASTEST_GB_S, n_points)
    write_h = transfer_h(n_bytes, bandwidth)
    frames = []
    for row in bends.itertuples():
        at = {"cluster.n_gpus": np.array([float(row.n_gpus)]), "checkpoint.persist_s": write_h * 3600}
        interval_min = best_interval_min(run, at)
        columns = {"write_gb_s": bandwidth, "n_gpus": row.n_gpus, "write_min": write_h * 60}
        columns |= {"interval_min": interval_min, "stall_interval_min": row.interval_min}
        columns |= {"crossing_gb_s": row.crossing_gb_s}
        ettr = quiet_ettr(run, {**at, "checkpoint.interval_min": interval_min})
        frames.append(pd.DataFrame({**columns, "ettr": ettr}))
    points = pd.concat(frames, ignore_index=True).dropna(subset=["ettr"], ignore_index=True)
    if points.empty:
        raise OutsideValidity(f"no point of this curve of {scenario.name} has an answer: the run never ends")
    return points


def bandwidth_crossings(scenario: Scenario, n_bytes: float, n_gpus: int) -> pd.DataFrame:
    """The bandwidth below which the write, not the stall, sets the best interval, by size of the job and stall.

    Parameters
    ----------
    scenario, n_bytes, n_gpus
        As in :func:`by_bandwidth`.

    Returns
    -------
    DataFrame
        ``n_gpus`` [GPUs], ``stall`` (``own``, or ``published`` for that of a 405B run), ``stall_s`` [s],
        ``interval_min`` (the best if writing took no time) [min], ``crossing_gb_s`` [GB/s].
    """
    stalls = {"own": scenario.checkpoint.stall_s, "published": evidence.figure("bytecheckpoint_stall_s").value}
    rows = []
    for size, (stall, stall_s) in itertools.product(dict.fromkeys([scenario.cluster.n_gpus, n_gpus]), stalls.items()):
        at = {"cluster.n_gpus": np.array([float(size)]), "checkpoint.stall_s": np.array([stall_s])}
        interval_min = float(best_interval_min(_free_store(scenario), at)[0])
        columns = {"n_gpus": size, "stall": stall, "stall_s": stall_s, "interval_min": interval_min}
        rows.append({**columns, "crossing_gb_s": needed_gb_s(n_bytes, interval_min / 60)})
    return pd.DataFrame(rows)


def _free_store(scenario: Scenario) -> Scenario:
    """The run with a store that writes at once."""
    return store_only(scenario).override({"checkpoint.store": None, "checkpoint.persist_s": 0})


def published_stores(n_bytes: float) -> pd.DataFrame:
    """Bandwidths of stores that are published, and how long a checkpoint of a size takes there.

    Parameters
    ----------
    n_bytes : float
        Size of a checkpoint. [B]

    Returns
    -------
    DataFrame
        ``store``, ``write_gb_s`` [GB/s], ``write_s`` [s], ``source``, ``status``. What was timed is a whole save of
        405 billion parameters, taken as of 12 bytes each.

    Examples
    --------
    >>> published_stores(405e9 * 12)["write_s"].round(2).tolist()
    [2.43, 0.69, 51.06]
    """
    rows = []
    for store, key in (
        ("Llama 3, sustained", "llama3_storage_sustained_tb_s"),
        ("Llama 3, peak", "llama3_storage_peak_tb_s"),
    ):
        known = evidence.figure(key)
        bandwidth = known.value * _GB_PER_TB
        columns = {"store": store, "write_gb_s": bandwidth, "write_s": transfer_h(n_bytes, bandwidth) * _S_PER_H}
        rows.append({**columns, "source": known.source, "status": known.status})
    known = evidence.figure("bytecheckpoint_write_s")
    size = checkpoint_bytes(evidence.figure("llama3_n_parameters").value)
    bandwidth = needed_gb_s(size, known.value / _S_PER_H)
    columns = {"store": "ByteCheckpoint", "write_gb_s": bandwidth, "source": known.source, "status": "derived"}
    rows.append({**columns, "write_s": transfer_h(n_bytes, bandwidth) * _S_PER_H})
    return pd.DataFrame(rows)
