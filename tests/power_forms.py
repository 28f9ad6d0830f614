"""Formulas of power swings, as the second way to what is simulated."""

from __future__ import annotations

import numpy as np


def harmonic_amplitude(m, d, swing, step_s=1.0, jitter_s=0.0):
    """Half of the peak to peak of the m-th harmonic of a square wave, at the swing for a share d of each step.

    The jitter of the step's length takes the characteristic function of its normal distribution off it.
    """
    turned = 2 * np.pi * m * jitter_s / step_s
    return 2 * swing * np.abs(np.sin(np.pi * m * d)) / (np.pi * m) * np.exp(-(turned**2) / 2)


def square_storage_j(swing_w, period_s, d=0.5):
    """Energy that passes to and fro when a square wave is made flat, A d (1 - d) T. [J]"""
    return swing_w * d * (1 - d) * period_s


def square_swing_left(d, step_s, tau_s):
    """What a filter of first order leaves of a step of two levels; its store takes up that times its time constant.

    The two levels last d T and (1 - d) T: each end of the swing is an exponential's after its own time.
    """
    up, down, whole = -np.expm1(-d * step_s / tau_s), -np.expm1(-(1 - d) * step_s / tau_s), -np.expm1(-step_s / tau_s)
    return up * down / whole
