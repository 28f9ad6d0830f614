"""Number of spares for a given availability."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ettr.core.errors import InputError
from ettr.core.validity import at_least_zero


def enough_spares(in_repair: Any, share: Any) -> np.ndarray:
    """Return the minimum number of spares that is sufficient for a share of the time, with Poisson distributed
    repairs. [nodes]

    Parameters
    ----------
    in_repair : float or ndarray
        Nodes in repair on average. [nodes]
    share : float or ndarray
        Share of the time, in (0, 1).

    Returns
    -------
    ndarray
        Broadcast shape; whole numbers. [nodes]

    Raises
    ------
    InputError
        A negative number of nodes, or a share that is not between 0 and 1.

    Notes
    -----
    The number in repair is Poisson distributed if failures are a Poisson process and as many nodes are repaired at a
    time as need it; the distribution of repair times does not matter.

    Examples
    --------
    >>> enough_spares(7.76, [0.9, 0.999]).tolist()
    [11.0, 18.0]
    """
    mean, share = np.broadcast_arrays(at_least_zero("in_repair", in_repair), np.asarray(share, dtype=float))
    outside = ~((share > 0) & (share < 1))
    if outside.any():
        raise InputError(f"share must be between 0 and 1, both excluded, got {share[outside].flat[0]:g}")
    some = np.where(mean > 0, mean, 1.0)
    spares = np.ceil(scipy.special.pdtrik(share, some))
    fewer = np.maximum(spares - 1, 0)  # rounding may have lifted it over a whole number
    spares = np.where(scipy.special.pdtr(fewer, some) >= share, fewer, spares)
    return np.where(mean > 0, spares, 0.0)
