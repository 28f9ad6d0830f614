"""Failure rate by temperature: Arrhenius' law, which nobody has confirmed for GPUs in training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.validity import at_least_zero, machine_k, plain

BOLTZMANN_EV_PER_K = 8.617333262e-5
"""Boltzmann's constant. [eV/K]"""


def arrhenius_factor(die_c: Any, reference_c: Any, energy_ev: Any) -> Any:
    r"""Return the failure rate at a die temperature, relative to the rate at a reference temperature (Arrhenius).

    Parameters
    ----------
    die_c, reference_c : float or ndarray
        Die temperature and reference temperature. [°C]
    energy_ev : float or ndarray
        Activation energy. [eV]

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        If a temperature is outside the range of machines, or the energy is negative.

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
