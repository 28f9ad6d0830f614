"""From the weather to what cools the GPU: ambient air, then the air or liquid before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import air_c, at_least_zero, plain

HOTTEST_HOUR = 15.0
"""Hour of the day at which it is hottest: the air lags the sun by some three hours (assumed). [h]"""


def daily_c(hour: Any, mean_c: float, swing_k: float) -> Any:
    r"""Ambient temperature over the day, a sinusoid [°C].

    Parameters
    ----------
    hour : float or ndarray
        Hour, any; 0 and 24 are midnight. [h]
    mean_c : float
        Mean of the day. [°C]
    swing_k : float
        Half the distance between the hottest and the coldest hour. [K]

    Returns
    -------
    float or ndarray
        Shape of ``hour``. [°C]

    Raises
    ------
    InputError
        A temperature that no air has, or a negative swing.

    Notes
    -----
    :math:`T = T_m + A \cos(2\pi (h - 15)/24)`: it is hottest at 15:00.

    Examples
    --------
    >>> daily_c(15, 20, 8), round(daily_c(3, 20, 8), 6)
    (28.0, 12.0)
    """
    air_c("mean_c", mean_c)
    at_least_zero("swing_k", swing_k, unit="K")
    return plain(mean_c + swing_k * np.cos(2 * np.pi * (np.asarray(hour, dtype=float) - HOTTEST_HOUR) / 24))


def inlet_c(ambient_c: Any, approach_k: Any, least_c: Any, most_c: Any = np.inf) -> Any:
    """Temperature of the air or liquid before the GPU [°C].

    Parameters
    ----------
    ambient_c : float or ndarray
        Outdoor air. [°C]
    approach_k : float or ndarray
        How much warmer than outdoors the plant delivers. [K]
    least_c : float or ndarray
        Set point: colder is not delivered. [°C]
    most_c : float or ndarray
        A chiller takes over here; infinite without one. [°C]

    Returns
    -------
    float or ndarray
        Broadcast shape. [°C]

    Raises
    ------
    InputError
        A temperature that no air has, a negative approach, or a set point over the chiller's.

    Examples
    --------
    >>> inlet_c(30.0, 2.0, 20.0), inlet_c(5.0, 2.0, 20.0), inlet_c(35.0, 2.0, 20.0, 27.0)
    (32.0, 20.0, 27.0)
    """
    ambient = air_c("ambient_c", ambient_c)
    if np.any(np.asarray(most_c, dtype=float) < np.asarray(least_c, dtype=float)):
        raise InputError(f"most_c must be >= {np.max(least_c):g} °C, the least_c, got {np.min(most_c):g}")
    return plain(np.clip(ambient + at_least_zero("approach_k", approach_k, unit="K"), least_c, most_c))
