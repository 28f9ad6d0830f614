"""Needs and costs of smoothing where there is a formula: the second way to every simulated number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero, plain


def _share(name: str, values: Any) -> np.ndarray:
    share = at_least_zero(name, values)
    if (share > 1).any():
        raise InputError(f"{name} must be <= 1, got {share[share > 1].flat[0]:g}")
    return share


def floor_overhead(compute_share: Any, trough: Any, floor: Any, peak: Any = 1.0) -> Any:
    r"""Energy that a power floor adds, over the energy without it.

    Parameters
    ----------
    compute_share : float or ndarray
        Share of a step at the peak, d.
    trough : float or ndarray
        Power in the rest of the step, over the rated power.
    floor : float or ndarray
        The floor, over the rated power.
    peak : float or ndarray
        Power in the compute phase, over the rated power.

    Returns
    -------
    float or ndarray
        Broadcast shape; 0 where the floor is below the trough.

    Raises
    ------
    InputError
        A share outside of [0, 1], a trough above the peak, or a step that takes no energy.

    Notes
    -----
    Of a step of two levels, :math:`[d\,(\phi - p_h)^+ + (1-d)(\phi - p_l)^+] / [d\,p_h + (1-d)\,p_l]`. A floor of 90%
    cost 10.5% on a trace (Choukse et al. 2025); which step that was is not published.

    Examples
    --------
    >>> round(floor_overhead(0.8, 0.45, 0.9), 3)
    0.101
    """
    d, low, phi = _share("compute_share", compute_share), _share("trough", trough), _share("floor", floor)
    high = _share("peak", peak)
    if (low > high).any():
        raise InputError("trough must be <= peak")
    mean = d * high + (1 - d) * low
    if (mean <= 0).any():
        raise InputError("the step must take some energy: peak and trough are 0 where they last")
    return plain((d * np.maximum(phi - high, 0) + (1 - d) * np.maximum(phi - low, 0)) / mean)


def floor_range(floor: Any, overshoot: Any = 1.0) -> Any:
    """Range that is left between a power floor and the highest peak, over the rated power.

    Parameters
    ----------
    floor : float or ndarray
        The floor, over the rated power.
    overshoot : float or ndarray
        The highest peak, however short, over the rated power.

    Returns
    -------
    float or ndarray
        ``overshoot - floor``, not below 0.

    Examples
    --------
    >>> round(floor_range(0.9, 1.1), 2)
    0.2
    """
    return plain(np.maximum(above_zero("overshoot", overshoot) - at_least_zero("floor", floor), 0.0)[()])
