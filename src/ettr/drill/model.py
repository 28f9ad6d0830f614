"""The model that a drill trains: a small network, data-parallel, the same in every bit whenever it is run again."""

from __future__ import annotations

import zlib

import numpy as np

_INPUTS, _HIDDEN, _BATCH = 32, 128, 16
_RATE, _MOMENTUM = 0.02, 0.9
N_PARAMETERS = _INPUTS * _HIDDEN + _HIDDEN


class DrillModel:
    """Parameters with their momentum.

    Parameters
    ----------
    seed : int
        Of the first parameters, and of the data.
    n_workers : int
        Among which a batch is spread.
    state : bytes, optional
        As from :attr:`state`; the first parameters by default.
    """

    def __init__(self, seed: int, n_workers: int, state: bytes | None = None) -> None:
        self._seed, self._n_workers = seed, n_workers
        if state is None:
            first = np.random.default_rng(seed).normal(0.0, _INPUTS**-0.5, N_PARAMETERS)
            self.values = np.stack([first, np.zeros(N_PARAMETERS)])
        else:
            self.values = np.frombuffer(state, dtype=float).reshape(2, N_PARAMETERS).copy()

    @property
    def state(self) -> bytes:
        """All that has to be kept."""
        return self.values.tobytes()

    @property
    def digest(self) -> int:
        """Equal on two workers if their parameters are."""
        return zlib.crc32(self.state)

    def gradient(self, step: int, rank: int) -> tuple[np.ndarray, float]:
        """The gradient of one worker's part of a step's batch, and its loss."""
        numbers = np.random.default_rng([self._seed, step, rank])
        inputs = numbers.normal(size=(_BATCH, _INPUTS))
        wanted = np.sin(inputs.sum(axis=1))
        into = self.values[0, :-_HIDDEN].reshape(_INPUTS, _HIDDEN)
        out = self.values[0, -_HIDDEN:]
        hidden = np.tanh(inputs @ into)
        off = hidden @ out - wanted
        back = np.outer(off, out) * (1.0 - hidden**2)
        slopes = np.concatenate([(inputs.T @ back).ravel(), hidden.T @ off]) / (_BATCH * self._n_workers)
        return slopes, float(off @ off / _BATCH)

    def update(self, slopes: np.ndarray) -> None:
        """Take a step along the sum of all workers' gradients."""
        self.values[1] = _MOMENTUM * self.values[1] + slopes
        self.values[0] -= _RATE * self.values[1]

    def flip(self, place: int) -> None:
        """Flip a bit of a parameter."""
        self.values[0].view(np.uint64)[place % N_PARAMETERS] ^= np.uint64(1 << 51)


def summed(parts: list[np.ndarray]) -> np.ndarray:
    """Gradients added in the order of ranks, so that every run rounds alike."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def undisturbed(seed: int, n_workers: int, n_steps: int) -> bytes:
    """The state that a run without any fault ends with, computed in one process."""
    model = DrillModel(seed, n_workers)
    for step in range(1, n_steps + 1):
        model.update(summed([model.gradient(step, rank)[0] for rank in range(n_workers)]))
    return model.state
