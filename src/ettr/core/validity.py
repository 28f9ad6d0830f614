"""What a closed form accepts, and what it answers outside its validity."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ettr.core.errors import InputError, OutsideValidity

AIR_C = -90.0, 60.0
"""Beyond what was ever measured outdoors. [°C]"""
MACHINE_C = -60.0, 150.0
"""Outside these no machine works. [°C]"""
_ZERO_C_IN_K = 273.15

LEAST_ETTR = 1e-6
"""A run that trains for a smaller share of its time practically never ends: no model gives numbers for it."""
ENDS = f"runs that practically end, productive for at least {LEAST_ETTR:g} of their time"
"""The rule in words, where a formula says what it holds for."""


class ValidityWarning(UserWarning):
    """Some points of an array lie outside a formula's validity and are NaN."""


def numbers(name: str, values: Any) -> np.ndarray:
    """Return numbers as float64."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number or an array of numbers, got {values!r}") from error


def at_least_zero(name: str, values: Any, *, unit: str = "", infinite: bool = False) -> np.ndarray:
    """Check for numbers >= 0 and return them as float64."""
    return _checked(name, values, unit, strictly=False, infinite=infinite)


def above_zero(name: str, values: Any, *, unit: str = "", infinite: bool = False) -> np.ndarray:
    """Check for numbers > 0 and return them as float64."""
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
    """Return a float for a single value, and the array itself otherwise."""
    return float(values) if np.ndim(values) == 0 else values


def valid_only(formula: str, rule: str, values: Any, outside: Any) -> Any:
    """Return results at the points inside a formula's validity.

    Parameters
    ----------
    formula : str
        Name of the formula, for the message.
    rule : str
        The condition that must hold.
    values : float or ndarray
        Results, whatever they are outside.
    outside : bool or ndarray of bool
        True where the condition fails.

    Returns
    -------
    float or ndarray
        The results, NaN where outside.

    Raises
    ------
    OutsideValidity
        A single value outside. An array warns once with the count instead.
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
    """Check for temperatures of outdoor air and return them as float64. [°C]"""
    return _between(name, values, *AIR_C)


def machine_c(name: str, values: Any) -> np.ndarray:
    """Check for temperatures of a working machine and return them as float64. [°C]"""
    return _between(name, values, *MACHINE_C)


def machine_k(name: str, values: Any) -> np.ndarray:
    """Check for temperatures of a working machine in °C and return them in kelvins. [K]"""
    return np.asarray(machine_c(name, values) + _ZERO_C_IN_K)


def _between(name: str, values: Any, low: float, high: float) -> np.ndarray:
    array = numbers(name, values)
    bad = ~((array >= low) & (array <= high))
    if bad.any():
        raise InputError(f"{name} must be from {low:g} to {high:g} °C, got {array[bad].flat[0]:g}")
    return array
