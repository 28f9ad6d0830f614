"""How many old checkpoints to keep against corruption that is found late, and what it costs."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from ettr.checkpoint.placement import whole
from ettr.core.errors import InputError, UnknownName
from ettr.core.validity import above_zero, at_least_zero, plain

Latency = Literal["constant", "exponential"]
"""How the time from a corruption to its discovery is distributed."""

_ROUNDING = 1e-12


def checkpoints_to_keep(latency_h: Any, interval_h: Any, risk: Any = 0.0, distribution: Latency = "constant") -> Any:
    r"""Fewest newest checkpoints to keep so that one of them is clean when a corruption is found. [count]

    Parameters
    ----------
    latency_h : float or ndarray
        Mean time from a corruption to its discovery, Y. [h]
    interval_h : float or ndarray
        Time from one checkpoint to the next, stalls included, L. [h]
    risk : float or ndarray
        Accepted probability that none is clean, in [0, 1); above 0 for exponential latency.
    distribution : {"constant", "exponential"}
        Of the latency.

    Returns
    -------
    float or ndarray
        Broadcast shape; whole numbers >= 1, the newest checkpoint included. [count]

    Raises
    ------
    InputError
        A negative latency, an interval that is not positive, a risk outside [0, 1), or a risk of 0 that no number of
        checkpoints reaches.
    UnknownName
        A distribution that is neither.

    Notes
    -----
    The smallest n with a risk of at most :math:`\varepsilon` in :func:`risk_of_none_clean`. Constant latency:
    :math:`\lceil Y/L + 1 - \varepsilon \rceil`, so :math:`\lceil Y/L \rceil + 1` to be sure. Exponential latency:
    :math:`\lceil 1 + \frac{Y}{L} \ln \frac{(1 - e^{-L/Y})\,Y/L}{\varepsilon} \rceil`, never more than
    :math:`\lceil \frac{Y}{L} \ln\frac1\varepsilon \rceil + 1`.

    Examples
    --------
    >>> checkpoints_to_keep(6.0, 0.25), checkpoints_to_keep(6.0, 0.25, risk=0.01, distribution="exponential")
    (25.0, 112.0)
    """
    latency, interval = _times(latency_h, interval_h, distribution)
    accepted = at_least_zero("risk", risk)
    if np.any(accepted >= 1):
        raise InputError(f"risk must be < 1, got {accepted.max():g}")
    ratio = latency / interval
    if distribution == "constant":
        needed = ratio + 1 - accepted
    else:
        if np.any((accepted == 0) & (ratio > 0)):
            raise InputError("risk must be > 0 for exponential latency, which has no longest value, got 0")
        # where nothing is kept corrupt, any risk is met
        needed = 1 + ratio * np.log(_decay(ratio) / np.where(ratio > 0, accepted, 1.0))
    return plain(np.maximum(np.ceil(needed - _ROUNDING * np.maximum(ratio, 1)), 1.0))


def risk_of_none_clean(latency_h: Any, interval_h: Any, n_kept: Any, distribution: Latency = "constant") -> Any:
    r"""Probability that no checkpoint is clean when a corruption is found.

    Parameters
    ----------
    latency_h, interval_h : float or ndarray
        As in :func:`checkpoints_to_keep`. [h]
    n_kept : int or ndarray of int
        Newest checkpoints that are kept, n >= 1; may be infinite. [count]
    distribution : {"constant", "exponential"}
        Of the latency.

    Returns
    -------
    float or ndarray
        Broadcast shape; in [0, 1].

    Raises
    ------
    InputError
        A negative latency, an interval that is not positive, or a number that is not whole and >= 1.
    UnknownName
        A distribution that is neither.

    Notes
    -----
    A corruption strikes at a moment that is uniform within its interval, U hours after a checkpoint, and is found when
    :math:`\lfloor (U + Y)/L \rfloor` corrupt ones have followed. None of n is clean if
    :math:`U + Y \ge nL`: with probability :math:`Y/L - n + 1`, cut to [0, 1], for a constant Y, and
    :math:`\frac{Y}{L} (1 - e^{-L/Y})\, e^{-(n-1)L/Y}` for exponential latency of mean Y. Checkpoints go on as before
    meanwhile: no other failure strikes.

    Examples
    --------
    >>> risk_of_none_clean(6.0, 4.0, 2), round(risk_of_none_clean(6.0, 4.0, 2, "exponential"), 4)
    (0.5, 0.3747)
    """
    latency, interval = _times(latency_h, interval_h, distribution)
    kept = whole("n_kept", above_zero("n_kept", n_kept, infinite=True))
    ratio = latency / interval
    if distribution == "constant":
        return plain(np.clip(ratio - kept + 1, 0.0, 1.0))
    with np.errstate(divide="ignore", over="ignore"):  # a latency of next to nothing
        older = np.exp(-(kept - 1) / np.where(ratio > 0, ratio, 1.0))
    return plain(np.where(ratio > 0, _decay(ratio) * older, 0.0))


def _times(latency_h: Any, interval_h: Any, distribution: str) -> tuple[np.ndarray, np.ndarray]:
    if distribution not in get_args(Latency):
        raise UnknownName("distribution", distribution, get_args(Latency))
    return at_least_zero("latency_h", latency_h, unit="h"), above_zero("interval_h", interval_h, unit="h")


def _decay(ratio: np.ndarray) -> np.ndarray:
    """(1 - e^{-1/x}) x for the latency in intervals: the risk that the newest checkpoint is corrupt; 1 at 0, unused."""
    safe = np.where(ratio > 0, ratio, 1.0)
    with np.errstate(over="ignore"):
        return np.asarray(np.where(ratio > 0, -np.expm1(-1 / safe) * safe, 1.0))
