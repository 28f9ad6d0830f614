"""Ways to make more GPUs pay, and the size at which each yields most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ettr import sizing
from ettr.core.errors import InputError
from ettr.scenario import Scenario
from ettr.scenario.paths import N_GPUS, RESTART
from ettr.sizing.yields import throughput_of, yields

AS_IT_IS = "as it is"
_DOUBLINGS = 12
_COARSE, _FINE, _BEYOND = 300, 200, 1.002


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


def peak(run: Scenario, rate_factor: float = 1.0) -> Peak:
    """Where a job yields most, sizes taken as continuous.

    Parameters
    ----------
    run : Scenario
        A job given by its tokens.
    rate_factor : float
        Failure rate over the scenario's.

    Returns
    -------
    Peak
        Found on two grids, to about a thousandth of the size.
    """
    low, high = sizing.range_gpus(run)
    rate = run.failure_rate * rate_factor

    def useful(sizes: np.ndarray, layout: Any = None) -> np.ndarray:
        tokens = yields(run, sizes, layout, rate_per_1000_node_days=rate)
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
