"""Bandwidths at which the store is too slow, and sets the checkpoint interval."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import evidence
from ettr.budget.intervals import best_interval_min
from ettr.checkpoint import checkpoint_bytes, needed_gb_s, transfer_h
from ettr.core.sentences import say
from ettr.core.units import S_PER_H
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.theme import BLUE, ORANGE, finish, touchable
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, PERSIST
from ettr_book.chapters.checkpoint_tiers.tiers import store_only
from ettr_book.chapters.common.steady_state import answered, ettr_at

_SIZES = (BLUE, ORANGE)
_GB_PER_TB = 1000.0
_SLOWEST_GB_S, _FASTEST_GB_S = (0.01, 1.0), 10_000.0


def stored_bytes(scenario: Scenario, n_parameters: float, bytes_per_parameter: float) -> float:
    """Return the size of a checkpoint, from the scenario's own store if it has one. [B]"""
    store = scenario.store
    return float(checkpoint_bytes(n_parameters, bytes_per_parameter) if store is None else store.bytes_written())


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


def store(scenario: Scenario, n_bytes: float, n_gpus: int) -> Any:
    """Draw the best interval over the store's bandwidth, with the bandwidth below which the write sets it.

    Parameters
    ----------
    scenario, n_bytes, n_gpus
        As in :func:`by_bandwidth`.
    """
    frame, published = by_bandwidth(scenario, n_bytes, n_gpus), published_stores(n_bytes)
    curves = frame.assign(job=[f"{size:,.0f} GPUs" for size in frame["n_gpus"]])
    jobs = list(dict.fromkeys(curves["job"]))
    low, high = float(curves["write_gb_s"].min()), float(curves["write_gb_s"].max())
    x = builders.across("write_gb_s", ticks=5, domain=[low, high])
    y = alt.Y(
        "interval_min:Q",
        title="Best interval [min]",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(format="~g", tickCount=5, labelOverlap=True),
    )
    colour = builders.strokes("job", dict(zip(jobs, _SIZES, strict=False)), "Job")
    tips = tooltips("job", "write_gb_s", "write_min", "interval_min", "ettr", interval_min="Best interval")
    lines = touchable(alt.Chart(curves).mark_line().encode(x=x, y=y, color=colour, tooltip=tips))
    crossings = curves.drop_duplicates("job")
    crossings = crossings[crossings["crossing_gb_s"].between(low, high)]
    dots = (
        alt.Chart(crossings)
        .mark_point(size=130, opacity=1)
        .encode(
            x=alt.X("crossing_gb_s:Q"),
            y=alt.Y("stall_interval_min:Q"),
            color=colour,
            tooltip=tooltips("job", "crossing_gb_s", "stall_interval_min"),
        )
    )
    fastest_first = published.sort_values("write_gb_s", ascending=False)
    # each rule starts next to its name, so that none crosses the name of a faster store
    stores = alt.Chart(fastest_first.assign(place=[8 + 16 * i for i in range(len(published))]))
    rules = stores.mark_rule(strokeDash=[3, 3]).encode(
        x=alt.X("write_gb_s:Q"),
        y=alt.Y("place:Q", scale=None),
        y2=alt.value("height"),
        tooltip=tooltips("store", "write_gb_s", "write_s"),
    )
    names = stores.mark_text(align="right", dx=-4).encode(
        x=alt.X("write_gb_s:Q"), y=alt.Y("place:Q", scale=None), text=alt.Text("store:N")
    )
    bends = "; ".join(f"{row.job} {row.crossing_gb_s:,.3g} GB/s" for row in curves.drop_duplicates("job").itertuples())
    drawn = rules + names + lines
    return finish(
        drawn + dots if len(crossings) else drawn,  # no layer without rows
        title=say("Below {bend:about} GB/s the store sets the interval", bend=curves["crossing_gb_s"].iloc[0]),
        subtitle=scenario.title,
        description=(
            f"Curves of the best interval over the bandwidth of the store, both logarithmic: falling where the write "
            f"sets it, level where the stall does. They bend at: {bends}."
        ),
    )
