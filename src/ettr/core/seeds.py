"""Seeds of random numbers: a whole number, or a NumPy generator that one is drawn from."""

from __future__ import annotations

import numpy as np

Seed = int | np.random.Generator


def seed_of(seed: Seed) -> int:
    """Return a whole number as seed: the number itself, or the next one that a generator draws.

    Examples
    --------
    >>> seed_of(7), seed_of(np.random.default_rng(7)) == seed_of(np.random.default_rng(7))
    (7, True)
    """
    return int(seed.integers(2**32)) if isinstance(seed, np.random.Generator) else seed
