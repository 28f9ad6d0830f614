"""Model of a drill: a small data-parallel network whose training is reproducible bit for bit."""

from __future__ import annotations

import zlib

import numpy as np

_INPUTS, _HIDDEN, _BATCH = 32, 128, 16
_RATE, _MOMENTUM = 0.02, 0.9
N_PARAMETERS = _INPUTS * _HIDDEN + _HIDDEN


class DrillModel:
    """Parameters and momentum of the model.

    Parameters
    ----------
    seed : int
        Seed of the initial parameters and of the data.
    n_workers : int
        Number of workers that share a batch.
    state : bytes, optional
        State as from :attr:`state`; by default the initial parameters.
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
        """State to save in a checkpoint."""
        return self.values.tobytes()

    @property
    def digest(self) -> int:
        """Checksum of the state, equal on workers with equal parameters."""
        return zlib.crc32(self.state)

    def gradient(self, step: int, rank: int) -> tuple[np.ndarray, float]:
        """Return the gradient and the loss of a worker's part of the batch of a step."""
        generator = np.random.default_rng([self._seed, step, rank])
        inputs = generator.normal(size=(_BATCH, _INPUTS))
        target = np.sin(inputs.sum(axis=1))
        weights_in = self.values[0, :-_HIDDEN].reshape(_INPUTS, _HIDDEN)
        weights_out = self.values[0, -_HIDDEN:]
        # Forward pass of a tanh layer with mean squared error, then backpropagation.
        hidden = np.tanh(inputs @ weights_in)
        error = hidden @ weights_out - target
        backward = np.outer(error, weights_out) * (1.0 - hidden**2)
        gradient = np.concatenate([(inputs.T @ backward).ravel(), hidden.T @ error]) / (_BATCH * self._n_workers)
        return gradient, float(error @ error / _BATCH)

    def update(self, gradient: np.ndarray) -> None:
        """Apply the sum of all workers' gradients, with momentum."""
        self.values[1] = _MOMENTUM * self.values[1] + gradient
        self.values[0] -= _RATE * self.values[1]

    def flip(self, index: int) -> None:
        """Flip a bit of a parameter."""
        self.values[0].view(np.uint64)[index % N_PARAMETERS] ^= np.uint64(1 << 51)


def summed(parts: list[np.ndarray]) -> np.ndarray:
    """Return the sum of gradients in order of rank, so that every run rounds in the same way."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def undisturbed(seed: int, n_workers: int, n_steps: int) -> bytes:
    """Return the final state of a run without faults, computed in a single process."""
    model = DrillModel(seed, n_workers)
    for step in range(1, n_steps + 1):
        model.update(summed([model.gradient(step, rank)[0] for rank in range(n_workers)]))
    return model.state
