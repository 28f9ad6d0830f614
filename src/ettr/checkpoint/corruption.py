"""Number of old checkpoints to keep against silent corruption that is detected late."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.validity import above_zero, at_least_zero, plain

_ROUNDING = 1e-12


def checkpoints_to_keep(latency_h: Any, interval_h: Any) -> Any:
    r"""Return the fewest newest checkpoints to keep so that one is clean when corruption is detected. [count]

    Parameters
    ----------
    latency_h : float or ndarray
        Detection latency: time from a corruption to its detection, Y. [h]
    interval_h : float or ndarray
        Time from one checkpoint to the next, stalls included, L. [h]

    Returns
    -------
    float or ndarray
        Broadcast shape; whole numbers >= 1, the newest checkpoint included. [count]

    Raises
    ------
    InputError
        If the latency is negative, or the interval is not positive.

    Notes
    -----
    :math:`\lceil Y/L \rceil + 1`: a corruption strikes U hours after a checkpoint, and by the time it is detected
    :math:`\lfloor (U + Y)/L \rfloor` corrupt checkpoints have followed.

    Examples
    --------
    >>> checkpoints_to_keep(6.0, 0.25), checkpoints_to_keep(6.0, 4.0)
    (25.0, 3.0)
    """
    intervals = at_least_zero("latency_h", latency_h, unit="h") / above_zero("interval_h", interval_h, unit="h")
    return plain(np.ceil(intervals + 1 - _ROUNDING * np.maximum(intervals, 1)))
