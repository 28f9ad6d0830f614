"""Needs and costs of smoothing where there is a formula: the second way to every simulated number."""

from __future__ import annotations

import math
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


def compute_share_of_overhead(trough: Any, floor: Any, overhead: Any, peak: Any = 1.0) -> Any:
    r"""Share of compute at which a floor costs a given overhead: :func:`floor_overhead` solved for it.

    Parameters
    ----------
    trough, floor, peak : float or ndarray
        As there; the floor lies between trough and peak.
    overhead : float or ndarray
        Energy added, over the energy without it.

    Returns
    -------
    float or ndarray
        NaN where no share of compute gives that overhead.

    Notes
    -----
    :math:`d = [\phi - p_l - x\,p_l] / [\phi - p_l + x\,(p_h - p_l)]`.

    Examples
    --------
    >>> round(compute_share_of_overhead(0.45, 0.9, 0.105), 3)
    0.793
    """
    low, phi, high = _share("trough", trough), _share("floor", floor), _share("peak", peak)
    x = at_least_zero("overhead", overhead)
    if (phi > high).any():
        raise InputError("floor must be <= peak: above it compute pays too")
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (phi - low - x * low) / (phi - low + x * (high - low))
    return plain(np.where((low < phi) & (share >= 0) & (share <= 1), share, math.nan)[()])


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


def harmonic_amplitude(harmonic: Any, compute_share: Any, swing_mw: Any, step_s: Any = 1.0, jitter_s: Any = 0.0) -> Any:
    r"""Amplitude of one harmonic of a step of two levels, summed over nodes that jitter [MW].

    Parameters
    ----------
    harmonic : int or ndarray
        Its number m, from 1.
    compute_share : float or ndarray
        Share of the step at the higher level, d.
    swing_mw : float or ndarray
        Higher less lower level, of all nodes together. [MW]
    step_s : float or ndarray
        Duration of the step. [s]
    jitter_s : float or ndarray
        Standard deviation of the moment at which nodes change level. [s]

    Returns
    -------
    float or ndarray
        Half of its peak to peak. [MW]

    Notes
    -----
    :math:`2 A\,|\sin(\pi m d)|/(\pi m)\; e^{-(2\pi m \sigma/T)^2/2}`: the characteristic function of the jitter
    times the harmonic of a square wave.

    Examples
    --------
    >>> round(harmonic_amplitude(1, 0.5, 10.0), 3)
    6.366
    >>> round(harmonic_amplitude(1, 0.5, 10.0, 1.0, 0.05) / harmonic_amplitude(1, 0.5, 10.0), 3)
    0.952
    """
    m, d = above_zero("harmonic", harmonic), _share("compute_share", compute_share)
    a = at_least_zero("swing_mw", swing_mw, unit="MW")
    turned = 2 * np.pi * m * at_least_zero("jitter_s", jitter_s, unit="s") / above_zero("step_s", step_s, unit="s")
    return plain((2 * a * np.abs(np.sin(np.pi * m * d)) / (np.pi * m) * np.exp(-(turned**2) / 2))[()])


def sinusoid_storage_j(swing_w: Any, period_s: Any) -> Any:
    r"""Energy that must be stored to flatten a sinusoid [J].

    Parameters
    ----------
    swing_w : float or ndarray
        Peak to peak, A. [W]
    period_s : float or ndarray
        Period T. [s]

    Returns
    -------
    float or ndarray
        :math:`A\,T/(2\pi)`; the power is A/2. [J]

    Examples
    --------
    >>> round(sinusoid_storage_j(910.0, 1.0), 1)
    144.8
    """
    return plain(
        (at_least_zero("swing_w", swing_w, unit="W") * above_zero("period_s", period_s, unit="s") / (2 * np.pi))[()]
    )


def square_storage_j(swing_w: Any, period_s: Any, compute_share: Any = 0.5) -> Any:
    r"""Energy that must be stored to flatten a step of two levels [J].

    Parameters
    ----------
    swing_w : float or ndarray
        Higher less lower level, A. [W]
    period_s : float or ndarray
        Duration of the step, T. [s]
    compute_share : float or ndarray
        Share of the step at the higher level, d.

    Returns
    -------
    float or ndarray
        :math:`A\,d(1-d)\,T`; the power is :math:`A \max(d, 1-d)`. [J]

    Examples
    --------
    >>> round(square_storage_j(910.0, 1.0, 0.7), 1)
    191.1
    """
    d = _share("compute_share", compute_share)
    a, t = at_least_zero("swing_w", swing_w, unit="W"), above_zero("period_s", period_s, unit="s")
    return plain((a * d * (1 - d) * t)[()])


def filter_gain(frequency_hz: Any, tau_s: Any) -> Any:
    r"""What a filter of first order leaves of a sinusoid's amplitude.

    Parameters
    ----------
    frequency_hz : float or ndarray
        Frequency f. [Hz]
    tau_s : float or ndarray
        Time constant of the filter. [s]

    Returns
    -------
    float or ndarray
        :math:`1/\sqrt{1 + (2\pi f \tau)^2}`, in (0, 1].

    Examples
    --------
    >>> round(filter_gain(0.5, 3.9), 3)
    0.081
    """
    turned = (
        2 * np.pi * at_least_zero("frequency_hz", frequency_hz, unit="Hz") * at_least_zero("tau_s", tau_s, unit="s")
    )
    return plain((1 / np.sqrt(1 + turned**2))[()])


def square_swing_left(compute_share: Any, step_s: Any, tau_s: Any) -> Any:
    r"""What a filter of first order leaves of the swing of a step of two levels.

    Parameters
    ----------
    compute_share : float or ndarray
        Share of the step at the higher level, d, in (0, 1).
    step_s : float or ndarray
        Duration of the step, T. [s]
    tau_s : float or ndarray
        Time constant of the filter. [s]

    Returns
    -------
    float or ndarray
        In (0, 1].

    Notes
    -----
    :math:`1-e^{-dT/\tau}` times :math:`1-e^{-(1-d)T/\tau}` over :math:`1-e^{-T/\tau}`.

    The store behind such a filter takes up the time constant times the swing that is left.

    Examples
    --------
    >>> round(square_swing_left(0.5, 1.0, 10.0), 4)
    0.025
    """
    d, t = _share("compute_share", compute_share), above_zero("step_s", step_s, unit="s")
    tau = above_zero("tau_s", tau_s, unit="s")
    up, down, whole = -np.expm1(-d * t / tau), -np.expm1(-(1 - d) * t / tau), -np.expm1(-t / tau)
    return plain((up * down / whole)[()])
