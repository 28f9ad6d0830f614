"""Failure rates by temperature: laws that physics offers, of which none is proven for GPUs in training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.temperatures import machine_k
from ettr.core.validity import above_zero, at_least_zero, plain, valid_only

BOLTZMANN_EV_PER_K = 8.617333262e-5
"""Boltzmann's constant. [eV/K]"""


def arrhenius_factor(die_c: Any, reference_c: Any, energy_ev: Any) -> Any:
    r"""Failure rate at a temperature over that at another, by Arrhenius.

    Parameters
    ----------
    die_c, reference_c : float or ndarray
        The two temperatures. [°C]
    energy_ev : float or ndarray
        Activation energy. [eV]

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        A temperature at which no machine works, or a negative energy.

    Notes
    -----
    :math:`\exp[(E_a/k)(1/T_{ref} - 1/T)]`, temperatures in kelvin.

    Examples
    --------
    >>> round(arrhenius_factor(100.0, 60.0, 1.2), 4)
    88.2957
    """
    hot, reference = machine_k("die_c", die_c), machine_k("reference_c", reference_c)
    energy = at_least_zero("energy_ev", energy_ev, unit="eV")
    return plain(np.exp(energy / BOLTZMANN_EV_PER_K * (1 / reference - 1 / hot)))


def linear_factor(die_c: Any, reference_c: Any, per_k: Any) -> Any:
    """Failure rate at a temperature over that at another, along a straight line.

    Parameters
    ----------
    die_c, reference_c : float or ndarray
        The two temperatures. [°C]
    per_k : float or ndarray
        Rise per kelvin, as a share of the rate at the reference. [1/K]

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        A temperature at which no machine works.
    OutsideValidity
        A single value below zero. In an array that place is NaN, with one warning.

    Notes
    -----
    Errors of disks and memory in the field rise about linearly below 50 °C, where they rise at all (El-Sayed et al.
    2012).

    Examples
    --------
    >>> round(linear_factor(70.0, 60.0, 0.02), 6)
    1.2
    """
    warmer = machine_k("die_c", die_c) - machine_k("reference_c", reference_c)
    factor = 1 + np.asarray(per_k, dtype=float) * warmer
    return valid_only("the linear law", "rates that stay above zero", factor, factor < 0)


def coffin_manson_factor(swing_k: Any, reference_k: Any, exponent: Any) -> Any:
    r"""Failure rate by thermal cycles over that at another swing.

    Parameters
    ----------
    swing_k, reference_k : float or ndarray
        Temperature swings of one cycle. [K]
    exponent : float or ndarray
        n; 1.9 to 2.7 for solder.

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        A swing or exponent that is negative, or a reference that is not positive.

    Notes
    -----
    Cycles to failure :math:`N_f = A\,\Delta T^{-n}`, so the rate of as many cycles goes as :math:`\Delta T^n`.

    Examples
    --------
    >>> coffin_manson_factor(40.0, 20.0, 2.0), round(coffin_manson_factor(40.0, 20.0, 2.65), 1)
    (4.0, 6.3)
    """
    swing = at_least_zero("swing_k", swing_k, unit="K")
    ratio = swing / above_zero("reference_k", reference_k, unit="K")
    return plain(ratio ** above_zero("exponent", exponent))
