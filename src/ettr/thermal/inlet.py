"""Coolant temperature: outdoor air over the day, then the air or liquid that enters the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import air_c, at_least_zero, plain

HOTTEST_HOUR = 15.0
"""Hottest hour of the day: air temperature lags the sun by about three hours (assumed). [h]"""


def daily_c(hour: Any, mean_c: float, swing_k: float) -> Any:
    r"""Return the outdoor temperature at an hour of the day, a sinusoid. [°C]

    Parameters
    ----------
    hour : float or ndarray
        Any hour; 0 and 24 are midnight. [h]
    mean_c : float
        Mean over the day. [°C]
    swing_k : float
        Half the difference between the hottest and the coldest hour. [K]

    Returns
    -------
    float or ndarray
        Shape of ``hour``. [°C]

    Raises
    ------
    InputError
        If the temperature is outside the range of outdoor air, or the swing is negative.

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


def inlet_c(ambient_c: Any, approach_k: Any, set_point_c: Any, chiller_c: Any = np.inf) -> Any:
    """Return the temperature of the air or liquid that enters the GPU. [°C]

    Parameters
    ----------
    ambient_c : float or ndarray
        Outdoor air. [°C]
    approach_k : float or ndarray
        Temperature rise of the cooling plant above outdoor air. [K]
    set_point_c : float or ndarray
        Set point: the plant delivers no colder than this. [°C]
    chiller_c : float or ndarray
        Temperature at which a chiller takes over; infinite without one. [°C]

    Returns
    -------
    float or ndarray
        Broadcast shape. [°C]

    Raises
    ------
    InputError
        If a temperature is outside the range of outdoor air, the approach is negative, or the set point is above
        the chiller temperature.

    Examples
    --------
    >>> inlet_c(30.0, 2.0, 20.0), inlet_c(5.0, 2.0, 20.0), inlet_c(35.0, 2.0, 20.0, 27.0)
    (32.0, 20.0, 27.0)
    """
    ambient = air_c("ambient_c", ambient_c)
    if np.any(np.asarray(chiller_c, dtype=float) < np.asarray(set_point_c, dtype=float)):
        raise InputError(f"chiller_c must be >= {np.max(set_point_c):g} °C (set_point_c), got {np.min(chiller_c):g}")
    return plain(np.clip(ambient + at_least_zero("approach_k", approach_k, unit="K"), set_point_c, chiller_c))
