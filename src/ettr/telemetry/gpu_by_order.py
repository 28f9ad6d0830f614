"""Which GPU a row is of, where the file does not say: found from the rhythm of its stamps."""

from __future__ import annotations

import numpy as np

from ettr.core.errors import InputError
from ettr.telemetry.samples import Samples

_WITHIN = 0.25
"""Rows of one round lie within this share of the time between rounds."""
_MOST_OUT = 0.2
"""More rows than this in rounds of another size, and the number of GPUs is another."""


def by_order(samples: Samples, name: str) -> None:
    """Number the rows of each round: the first is GPU 0.

    Rows whose stamps are equal, or much nearer to each other than to the next ones, are one round of a tool that
    asks one GPU after the other. All rounds must have as many rows, but for the last, which may be cut off; where the
    user says how many GPUs there are (``samples.gpus_in_turn``), other rounds are left out and counted.

    Raises
    ------
    InputError
        Rounds of different sizes, or few of the size that the user says: which row is of which GPU cannot be known.
    """
    times, given = samples.times, samples.gpus_in_turn
    if times.size < 2:
        return
    steps = np.diff(times)
    starts = np.flatnonzero(np.concatenate([[True], _new_round(steps)]))
    sizes = np.diff(np.append(starts, times.size))
    n = given or int(np.median(sizes))
    if n == 1 and (given or (sizes == 1).mean() > 0.98):  # a stamp seen twice is no second GPU
        samples.rename(["0"] * times.size)
        return
    whole = sizes == n
    if given:
        _keep_whole(samples, name, n, np.repeat(whole, sizes))
        sizes, starts = sizes[whole], np.cumsum(sizes[whole]) - sizes[whole]
    elif n < 1 or not whole[:-1].all() or sizes[-1] > n:
        odd = int(sizes[int(np.argmin(np.append(whole[:-1], sizes[-1] <= n)))])
        raise InputError(
            f"{name} has no column of the GPU, and rounds of {n} rows and of {odd}: which row is of which GPU cannot "
            f"be known. Ask for the column index as well, or give --gpus-in-turn {max(n, odd)} to leave out rounds of "
            "another size"
        )
    if n > 1:
        samples.ledger.note(f"rows name no GPU: {n} rows a round are taken as GPU 0 to {n - 1}, in order")
    samples.rename([str(i) for i in np.arange(sizes.sum()) - np.repeat(starts, sizes)])


def _keep_whole(samples: Samples, name: str, n: int, kept: np.ndarray) -> None:
    """Leave out the rows of rounds of another size, of which there may be a few."""
    n_out = int((~kept).sum())
    if n_out > _MOST_OUT * kept.size:
        raise InputError(
            f"--gpus-in-turn {n} must fit most rounds; in {name} {n_out:,} of {kept.size:,} rows are in rounds of "
            "another size"
        )
    samples.ledger.dropped(f"a round of other than {n} rows: which is of which GPU cannot be known", n_out)
    samples.keep(kept)


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
