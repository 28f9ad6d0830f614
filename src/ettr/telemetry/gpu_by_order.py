"""Which GPU a row is of, where the file does not say: found from the rhythm of its stamps."""

from __future__ import annotations

import numpy as np

from ettr.core.errors import InputError
from ettr.telemetry.samples import Samples

_WITHIN = 0.25
"""Rows of one round lie within this share of the time between rounds."""


def by_order(samples: Samples, name: str) -> None:
    """Number the rows of each round: the first is GPU 0.

    Rows whose stamps are equal, or much nearer to each other than to the next ones, are one round of a tool that
    asks one GPU after the other. All rounds must have as many rows, but for the last, which may be cut off.

    Raises
    ------
    InputError
        Rounds of different sizes: which row is of which GPU cannot be known.
    """
    times = samples.times
    if times.size < 2:
        return
    steps = np.diff(times)
    starts = np.flatnonzero(np.concatenate([[True], _new_round(steps)]))
    sizes = np.diff(np.append(starts, times.size))
    n = int(np.median(sizes))
    if n == 1 and (sizes == 1).mean() > 0.98:  # a stamp seen twice is no second GPU
        samples.rename(["0"] * times.size)
        return
    whole = sizes[:-1] == n
    if n < 1 or not whole.all() or sizes[-1] > n:
        odd = int(sizes[int(np.argmin(np.append(whole, sizes[-1] <= n)))])
        raise InputError(
            f"{name} has no column of the GPU, and rounds of {n} rows and of {odd}: which row is of which GPU cannot "
            "be known. Ask for the column index as well, or cut the file where GPUs come and go"
        )
    if n > 1:
        samples.ledger.note(f"rows name no GPU: {n} rows a round are taken as GPU 0 to {n - 1}, in order")
    samples.rename([str(i) for i in np.arange(times.size) - np.repeat(starts, sizes)])


def _new_round(steps: np.ndarray) -> np.ndarray:
    """Whether each row but the first begins a round."""
    forward = steps[steps > 0]
    if not forward.size:
        return np.zeros(steps.size, dtype=bool)
    large = float(np.quantile(forward, 0.9))
    small = forward[forward < _WITHIN * large]
    if not (steps == 0).any() and small.size < 0.02 * steps.size:
        return np.ones(steps.size, dtype=bool)  # one GPU, whose stamps now and then come closer
    return (steps > _WITHIN * large) | (steps < 0)
