"""Training methods that make more GPUs pay, and the best size of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from ettr import sizing
from ettr.core.errors import InputError
from ettr.core.sentences import capital
from ettr.plots import builders
from ettr.plots.columns import tooltips
from ettr.plots.encodings import but_size, rounded
from ettr.plots.theme import AZURE, GREEN, GREY, PINK, RUST, VIOLET, NoChart, finish
from ettr.scenario import Scenario
from ettr.scenario.paths import N_GPUS, RESTART
from ettr.sizing.yields import yields

UNCHANGED = "current method"
_DOUBLINGS = 12
_COARSE, _FINE = 300, 200
_TOKENS = "Billion useful tokens per day"
_LOOKS = (
    (GREY, [1, 0]),
    (VIOLET, [8, 2]),
    (GREEN, [8, 2, 2, 2]),
    (PINK, [6, 3]),
    (RUST, [2, 3]),
    (AZURE, [12, 3, 2, 3]),
)


def peak(run: Scenario, rate_factor: float = 1.0) -> tuple[float, float]:
    """Return the size with the highest yield, on a continuous scale [GPUs], and its useful tokens [tokens/d].

    Found on two grids, to about a thousandth of the size; ``rate_factor`` is the failure rate over the scenario's.
    """
    low, high = sizing.range_gpus(run)
    rate = run.failure_rate * rate_factor
    sizes = np.geomspace(low, high, _COARSE)
    near = int(yields(run, sizes, rate_per_1000_node_days=rate).useful_tokens_per_day.argmax())
    sizes = np.linspace(sizes[max(near - 1, 0)], sizes[min(near + 1, _COARSE - 1)], _FINE)
    tokens = yields(run, sizes, rate_per_1000_node_days=rate).useful_tokens_per_day
    return float(sizes[tokens.argmax()]), float(tokens.max())


@dataclass(frozen=True)
class Way:
    """Another training method.

    Attributes
    ----------
    name : str
        Short name.
    changes : mapping
        New values by field path.
    rate_factor, restart_factor : float
        Factors on failure rate and restart time.
    """

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
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
    """Return training methods that make more GPUs pay, one change each.

    Parameters
    ----------
    local_sgd_steps, local_sgd_efficiency : float
        Steps between synchronisations, and tokens of synchronous training over tokens of local SGD (assumed).
    compression_ratio, compression_share : float
        Compression of gradients, and compression time over computing time (assumed).
    restart_factor, rate_factor : float
        Factors on the scenario's restart time and failure rate.

    Examples
    --------
    >>> [way.name for way in ways()]
    ['current method', 'local SGD', 'compressed gradients', 'faster restart', 'fewer failures', 'sequences cut in two']
    """
    return (
        Way(UNCHANGED),
        Way("local SGD", {"sync.every_steps": local_sgd_steps, "sync.efficiency": local_sgd_efficiency}),
        Way(
            "compressed gradients",
            {"sync.compression_ratio": compression_ratio, "sync.compression_share": compression_share},
        ),
        Way("faster restart", restart_factor=restart_factor),
        Way("fewer failures", rate_factor=rate_factor),
        Way("sequences cut in two", {"layout.context": 2}),
    )


def ways_out(run: Scenario, tried: Iterable[Way], from_gpus: float = 0.0, n_sizes: int = 80) -> pd.DataFrame:
    """Return useful tokens per day by size, for each training method.

    Parameters
    ----------
    run : Scenario
        A job given by its tokens.
    tried : iterable of Way
        As from :func:`ways`.
    from_gpus : float
        Smallest size, at least the one that holds the model. [GPUs]
    n_sizes : int
        Number of sizes.

    Returns
    -------
    DataFrame
        ``way``, ``n_gpus`` [GPUs], ``tokens_per_day`` [tokens/d]; sizes without yield are left out, and so are
        methods that no layout fits.
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
    """Return the best size of each training method.

    Returns
    -------
    DataFrame
        ``way``, ``n_gpus`` [GPUs], ``tokens_per_day`` [tokens/d], ``gain`` (of tokens per day, over the first method).
        NaN where no layout fits.
    """
    rows = []
    for way in tried:
        changed = _changed(run, way)
        rows.append((way.name, *((np.nan, np.nan) if changed is None else peak(changed, way.rate_factor))))
    frame = pd.DataFrame(rows, columns=["way", "n_gpus", "tokens_per_day"])
    return frame.assign(gain=frame["tokens_per_day"] / frame["tokens_per_day"].iloc[0] - 1)


def methods(run: Scenario, tried: Iterable[Way], peaks: pd.DataFrame, from_gpus: float = 0.0) -> Any:
    """Draw useful tokens per day by size, one line per training method; ``peaks`` as from :func:`peaks_of_ways`."""
    ranked = peaks.iloc[1:].dropna(subset="gain").sort_values("gain", ascending=False)
    if ranked.empty:
        return NoChart("no layout fits another training method.")
    frame = ways_out(run, tried, from_gpus)
    billions = frame.assign(tokens_per_day=frame["tokens_per_day"] / 1e9)
    looks = dict(zip(dict.fromkeys(frame["way"]), _LOOKS, strict=False))
    y = alt.Y("tokens_per_day:Q", title=_TOKENS, axis=alt.Axis(format=",.3~r", tickCount=6))
    tips = tooltips("way", "n_gpus", "tokens_per_day", tokens_per_day=_TOKENS)
    best = billions.loc[billions.groupby("way", sort=False)["tokens_per_day"].idxmax()]
    most = "; ".join(f"{row.way} {row.tokens_per_day:,.0f} at {row.n_gpus:,.0f} GPUs" for row in best.itertuples())
    return finish(
        builders.lines(rounded(billions, 4), builders.across("n_gpus"), y, "way", looks, tips),
        title=f"{capital(ranked['way'].iloc[0])} would yield most: {100 * ranked['gain'].iloc[0]:+.0f}% tokens per day",
        subtitle=but_size(run.title),
        description=f"Lines of billions of useful tokens per day over GPUs, logarithmic; maxima: {most}.",
        height=340,
    )


def _changed(run: Scenario, way: Way) -> Scenario | None:
    """Return the run with a training method, on more GPUs if needed; None if no layout fits."""
    changes = {**way.changes, RESTART: run.recovery.restart_min * way.restart_factor}
    for mode in run.failures.modes:
        if mode.restart_min is not None:
            changes[f"failures.modes.{mode.name}.restart_min"] = mode.restart_min * way.restart_factor
    for doubling in range(_DOUBLINGS):
        try:
            return run.override({**changes, N_GPUS: run.cluster.n_gpus * 2**doubling})
        except InputError:  # replicas that are not sharded take more memory
            continue
    return None
