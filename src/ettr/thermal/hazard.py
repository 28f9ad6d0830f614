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


def warming_of(factor: Any, reference_c: Any, energy_ev: Any) -> Any:
    """Warming over a temperature that multiplies the failure rate by a factor, by Arrhenius [K].

    Parameters
    ----------
    factor : float or ndarray
        Failure rate over that at ``reference_c``.
    reference_c : float or ndarray
        Temperature. [°C]
    energy_ev : float or ndarray
        Activation energy. [eV]

    Returns
    -------
    float or ndarray
        Broadcast shape; negative for a factor below 1. [K]

    Raises
    ------
    InputError
        A factor or energy that is not positive, or an impossible temperature.

    Examples
    --------
    >>> round(warming_of(2.25, 40.0, 0.7), 1)
    10.1
    """
    reference = machine_k("reference_c", reference_c)
    energy = above_zero("energy_ev", energy_ev, unit="eV")
    inverse = 1 / reference - np.log(above_zero("factor", factor)) * BOLTZMANN_EV_PER_K / energy
    return plain(1 / inverse - reference)


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


def coffin_manson_factor(swing_k: Any, reference_k: Any, exponent: Any, cycles: Any = 1.0) -> Any:
    r"""Failure rate by thermal cycles over that at another swing.

    Parameters
    ----------
    swing_k, reference_k : float or ndarray
        Temperature swings of one cycle. [K]
    exponent : float or ndarray
        n; 1.9 to 2.7 for solder.
    cycles : float or ndarray
        Cycles per time over those at the reference.

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        A swing, exponent or number of cycles that is negative, or a reference that is not positive.

    Notes
    -----
    Cycles to failure :math:`N_f = A\,\Delta T^{-n}`, so the rate is proportional to cycles :math:`\times \Delta T^n`.

    Examples
    --------
    >>> coffin_manson_factor(40.0, 20.0, 2.0), round(coffin_manson_factor(40.0, 20.0, 2.65), 1)
    (4.0, 6.3)
    """
    swing = at_least_zero("swing_k", swing_k, unit="K")
    ratio = swing / above_zero("reference_k", reference_k, unit="K")
    return plain(at_least_zero("cycles", cycles) * ratio ** above_zero("exponent", exponent))


def norris_landzberg_factor(
    swing_k: Any,
    reference_k: Any,
    hottest_c: Any,
    reference_c: Any,
    cycles: Any = 1.0,
    exponent: float = 1.9,
    frequency_exponent: float = 1 / 3,
    temperature_k: float = 1414.0,
) -> Any:
    r"""Failure rate of solder joints by thermal cycles over that of another cycle.

    Parameters
    ----------
    swing_k, reference_k : float or ndarray
        Temperature swings. [K]
    hottest_c, reference_c : float or ndarray
        Hottest temperatures of the cycles. [°C]
    cycles : float or ndarray
        Cycles per time over those at the reference.
    exponent, frequency_exponent, temperature_k : float
        n, m and Ea/k of the joint; by default those of tin-lead solder, assumed. [1], [1], [K]

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        A swing, number of cycles or exponent that is negative, or an impossible temperature.

    Notes
    -----
    Norris and Landzberg (1969): life in cycles goes as :math:`\Delta T^{-n} f^m e^{(E_a/k)/T_{max}}`, so the rate per
    time goes as :math:`\Delta T^n f^{1-m} e^{-(E_a/k)/T_{max}}`.

    Examples
    --------
    >>> round(norris_landzberg_factor(40.0, 20.0, 70.0, 70.0), 2)
    3.73
    """
    per_time = coffin_manson_factor(swing_k, reference_k, exponent)
    frequency = at_least_zero("cycles", cycles) ** (1 - frequency_exponent)
    hot, reference = machine_k("hottest_c", hottest_c), machine_k("reference_c", reference_c)
    return plain(per_time * frequency * np.exp(temperature_k * (1 / reference - 1 / hot)))
