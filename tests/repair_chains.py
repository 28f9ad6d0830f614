"""The states of a repair shop, from its own equations."""

from __future__ import annotations

import numpy as np


def chances(offered: float, n_servers: int, most: int) -> np.ndarray:
    """Stationary chances of a birth-death chain with up to ``most`` in it, from its own equations."""
    rates = np.zeros((most + 1, most + 1))
    for k in range(most):
        rates[k, k + 1] = offered
        rates[k + 1, k] = min(k + 1, n_servers)
    rates -= np.diag(rates.sum(axis=1))
    system = np.vstack([rates.T, np.ones(most + 1)])
    return np.linalg.lstsq(system, np.append(np.zeros(most + 1), 1.0), rcond=None)[0]
