"""How many old checkpoints to keep against corruption that is found late."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.validity import above_zero, at_least_zero, plain

_ROUNDING = 1e-12


def checkpoints_to_keep(latency_h: Any, interval_h: Any) -> Any:
    r"""Fewest newest checkpoints to keep so that one of them is clean when a corruption is found. [count]

    Parameters
    ----------
    latency_h : float or ndarray
        Time from a corruption to its discovery, Y. [h]
    interval_h : float or ndarray
        Time from one checkpoint to the next, stalls included, L. [h]

    Returns
    -------
    float or ndarray
        Broadcast shape; whole numbers >= 1, the newest checkpoint included. [count]

    Raises
    ------
    InputError
        A negative latency, or an interval that is not positive.

    Notes
    -----
    :math:`\lceil Y/L \rceil + 1`: a corruption strikes U hours after a checkpoint, and when it is found
    :math:`\lfloor (U + Y)/L \rfloor` corrupt ones have followed.

    Examples
    --------
    >>> checkpoints_to_keep(6.0, 0.25), checkpoints_to_keep(6.0, 4.0)
    (25.0, 3.0)
    """
    intervals = at_least_zero("latency_h", latency_h, unit="h") / above_zero("interval_h", interval_h, unit="h")
    return plain(np.ceil(intervals + 1 - _ROUNDING * np.maximum(intervals, 1)))
