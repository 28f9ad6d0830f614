"""Formulas of power swings, as the second way to what is simulated."""

from __future__ import annotations

import numpy as np


def harmonic_amplitude(m, d, swing, step_s=1.0, jitter_s=0.0):
    """Half of the peak to peak of the m-th harmonic of a square wave, at the swing for a share d of each step.

    The jitter of the step's length takes the characteristic function of its normal distribution off it.
    """
    turned = 2 * np.pi * m * jitter_s / step_s
    return 2 * swing * np.abs(np.sin(np.pi * m * d)) / (np.pi * m) * np.exp(-(turned**2) / 2)


def sinusoid_storage_j(swing_w, period_s):
    """Energy that passes to and fro when a sinusoid is made flat, A T / 2π. [J]"""
    return swing_w * period_s / (2 * np.pi)


def square_storage_j(swing_w, period_s, d=0.5):
    """The same of a square wave, A d (1 - d) T. [J]"""
    return swing_w * d * (1 - d) * period_s


def filter_gain(frequency_hz, tau_s):
    """Gain of a filter of first order."""
    return 1 / np.sqrt(1 + (2 * np.pi * frequency_hz * tau_s) ** 2)


def square_swing_left(d, step_s, tau_s):
    """What such a filter leaves of the swing of a step of two levels; its store takes up that times its time constant.

    The two levels last d T and (1 - d) T: each end of the swing is an exponential's after its own time.
    """
    up, down, whole = -np.expm1(-d * step_s / tau_s), -np.expm1(-(1 - d) * step_s / tau_s), -np.expm1(-step_s / tau_s)
    return up * down / whole
