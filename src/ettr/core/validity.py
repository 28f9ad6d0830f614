"""Checks of the inputs of formulas, and results outside their range of validity."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ettr.core.errors import InputError, OutsideValidity

AIR_C = -90.0, 60.0
"""Range of outdoor temperatures, wider than any measured. [°C]"""
MACHINE_C = -60.0, 150.0
"""Range of temperatures of working machines. [°C]"""
_ZERO_C_IN_K = 273.15

LEAST_ETTR = 1e-6
"""Smallest ETTR with results; below it a run practically never ends."""
ENDS = f"runs that practically end, productive for at least {LEAST_ETTR:g} of their time"
"""The rule in words, for messages."""


class ValidityWarning(UserWarning):
    """Some points of an array are outside the validity of a formula, and NaN."""


def numbers(name: str, values: Any) -> np.ndarray:
    """Return numbers as float64.

    Examples
    --------
    >>> numbers("stall_s", [30, 60])
    array([30., 60.])
    """
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number or an array of numbers, got {values!r}") from error


def at_least_zero(name: str, values: Any, *, unit: str = "", infinite: bool = False) -> np.ndarray:
    """Return numbers as float64, checked to be >= 0.

    Examples
    --------
    >>> at_least_zero("stall_s", -1, unit="s")
    Traceback (most recent call last):
    ettr.core.errors.InputError: stall_s must be >= 0 s and finite, got -1
    """
    return _checked(name, values, unit, strictly=False, infinite=infinite)


def above_zero(name: str, values: Any, *, unit: str = "", infinite: bool = False) -> np.ndarray:
    """Return numbers as float64, checked to be > 0.

    Examples
    --------
    >>> above_zero("mttf_h", [1, 2])
    array([1., 2.])
    """
    return _checked(name, values, unit, strictly=True, infinite=infinite)


def _checked(name: str, values: Any, unit: str, *, strictly: bool, infinite: bool) -> np.ndarray:
    array = numbers(name, values)
    bad = np.isnan(array) | ((array <= 0) if strictly else (array < 0))
    if not infinite:
        bad |= np.isinf(array)
    if bad.any():
        rule = f"{'>' if strictly else '>='} 0{f' {unit}' if unit else ''}{'' if infinite else ' and finite'}"
        raise InputError(f"{name} must be {rule}, got {array[bad].flat[0]:g}")
    return array


def plain(values: Any) -> Any:
    """Return a float for a single value, and an array unchanged.

    Examples
    --------
    >>> plain(np.array(2))
    2.0
    """
    return float(values) if np.ndim(values) == 0 else values


def valid_only(formula: str, rule: str, values: Any, outside: Any) -> Any:
    """Return results with NaN outside the validity of a formula.

    Parameters
    ----------
    formula : str
        Name of the formula, for the message.
    rule : str
        The condition that must hold.
    values : float or ndarray
        Results; those outside are ignored.
    outside : bool or ndarray of bool
        True where the condition is not met.

    Returns
    -------
    float or ndarray
        The results, NaN outside.

    Raises
    ------
    OutsideValidity
        A single value is outside. For an array there is one warning with the count instead.

    Examples
    --------
    >>> valid_only("the interval", "a stall below the MTTF", 12.0, outside=False)
    12.0
    """
    if not np.any(outside):
        return plain(values)
    if np.ndim(values) == 0:
        raise OutsideValidity(f"{formula} holds only for {rule}")
    warn_outside(formula, rule, int(np.count_nonzero(np.broadcast_to(outside, np.shape(values)))), np.size(values))
    return np.where(outside, np.nan, values)


def warn_outside(formula: str, rule: str, n_outside: int, n_points: int) -> None:
    """Warn once that points of an array are NaN."""
    warnings.warn(
        f"{formula} holds only for {rule}: {n_outside} of {n_points} points are NaN",
        ValidityWarning,
        stacklevel=4,
    )


# --------------------------------------------------------------------------- temperatures


def air_c(name: str, values: Any) -> np.ndarray:
    """Return temperatures of outdoor air as float64, checked. [°C]"""
    return _between(name, values, *AIR_C)


def machine_c(name: str, values: Any) -> np.ndarray:
    """Return temperatures of a working machine as float64, checked. [°C]"""
    return _between(name, values, *MACHINE_C)


def machine_k(name: str, values: Any) -> np.ndarray:
    """Return temperatures of a working machine in kelvins, from °C, checked. [K]

    Examples
    --------
    >>> machine_k("die_c", 26.85).item()
    300.0
    """
    return np.asarray(machine_c(name, values) + _ZERO_C_IN_K)


def _between(name: str, values: Any, low: float, high: float) -> np.ndarray:
    array = numbers(name, values)
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        raise InputError(f"{name} must be from {low:g} to {high:g} °C, got {array[bad].flat[0]:g}")
    return array
