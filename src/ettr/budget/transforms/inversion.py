"""Numerical inversion: from a transform to the distribution of hours, by a Fourier series over its support."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ettr.core.finishing import Finishing, constant, table
from ettr.core.validity import plain

Transform = Callable[[Any], Any]
"""Takes values of s, with one more axis than the points; returns E e^(-sT)."""

_LADDER = 2.0 ** np.arange(-4, 26)
"""Steps of s for the moments, relative to 1e-3 over the mean hours."""
_SIDE = 8.0
"""Half width of the interval, in standard deviations; more by this factor per unit of skewness on its long side."""
_MOST_SKEW = 25.0
_FIRST_TERMS, MOST_TERMS = 32, 4096
_IN_ALL = 1 << 20
"""Largest number of terms of all points of an array together, to limit the size of their tables."""
_ENOUGH = 1e-9
_RESOLVED = 1e-7
"""Size of the last terms at which the series ends, and up to which it counts as resolved without damping."""
_SMALLEST_ATOM = 1e-12
_TURNS = 2
"""Multiples of a resonance frequency that are checked."""
_CERTAIN = 1e-9
"""Standard deviation over mean below which a time is constant."""


def inverted(
    transform: Transform,
    about_h: Any,
    shape: tuple[int, ...],
    atom: Any,
    atom_h: Any,
    alike_h: Sequence[Any] = (),
    terms_at_most: int = MOST_TERMS,
) -> Finishing:
    """Return the distribution of a transform.

    Parameters
    ----------
    transform : callable
        Takes imaginary values of s [1/h], of shape ``(*shape, k)``; returns the transform there.
    about_h : float or ndarray
        Mean hours, to a few digits. [h]
    shape : tuple of int
        Shape of the points.
    atom, atom_h : float or ndarray
        Probability that the run meets no event, and its hours then. [1, h]
    alike_h : sequence of float or ndarray
        Constant hours that a run may lose repeatedly: terms are large again at frequencies of which these are a
        multiple of the period. [h]
    terms_at_most : int
        Largest number of terms; fewer are faster, and smooth the distribution of a run with few events.

    Notes
    -----
    With the period P, the mean m and :math:`\\omega_j = 2\\pi j/P`, :math:`P(T \\le t) = 1/2 + (t-m)/P + \\sum_j
    \\mathrm{Im}[\\Phi(i\\omega_j) e^{i\\omega_j t}]/(\\pi j)` wherever no time is more than P from t. The atom is
    subtracted first, also from the moments, because it would dominate a run with few events. Terms that do not decay
    are damped, which convolves the distribution with a normal one of standard deviation ``smoothed_h``.
    """
    # 1. subtract the atom
    atom = np.broadcast_to(atom, shape)
    atom = np.where((atom > _SMALLEST_ATOM) & (1 - atom > _SMALLEST_ATOM), atom, 0.0)
    atom_h = np.where(atom > 0, np.broadcast_to(atom_h, shape), 0.0)

    def without_atom(s: Any) -> Any:
        return transform(s) - atom[..., None] * np.exp(-s * atom_h[..., None])

    # 2. moments of the rest, and an interval that contains practically all its probability: the period of the series
    rest_about_h = np.maximum((about_h - atom * atom_h) / (1 - atom), atom_h)
    rest_h, sd_h, skewness = _moments(lambda s: without_atom(s) / (1 - atom)[..., None], rest_about_h)
    mean_h, all_sd_h = _with_atom(atom, atom_h, rest_h, sd_h)
    if not shape and all_sd_h <= _CERTAIN * mean_h:
        return constant(float(mean_h))
    sd_h = np.maximum(sd_h, _CERTAIN * mean_h)
    low_h = rest_h - _SIDE * (1 + np.clip(-skewness, 0.0, _MOST_SKEW)) * sd_h
    high_h = rest_h + _SIDE * (1 + np.clip(skewness, 0.0, _MOST_SKEW)) * sd_h
    low_h = np.where(atom > 0, np.maximum(low_h, atom_h - 0.02 * (high_h - atom_h)), low_h)
    period_h = high_h - low_h
    turns = 2 * np.pi / period_h[..., None]

    def terms(j: np.ndarray) -> Any:
        """Fourier terms of the distribution without the atom, with the origin at the start of the interval."""
        s = 1j * turns * j
        return np.exp(s * low_h[..., None]) * without_atom(s)

    # 3. the first terms, and those near resonances, where terms may be large again
    turns_back = _turns_back(period_h, alike_h)
    near = (turns_back[:, None] * np.arange(1, _TURNS + 1)).ravel()
    near = np.concatenate([near - 1, near, near + 1])
    tried = terms(np.concatenate([np.arange(1, _FIRST_TERMS + 1), near]))
    series, echoes = tried[..., :_FIRST_TERMS], np.abs(tried[..., _FIRST_TERMS:])
    most = min(terms_at_most, max(_FIRST_TERMS, _IN_ALL // max(1, mean_h.size)))
    last = near[np.any(echoes > _RESOLVED, axis=tuple(range(len(shape))))]
    back = 1.25 * last.max(initial=0)
    # 4. twice as many terms until the last quarter is negligible, beyond the last resonance
    while 2 * series.shape[-1] <= most:
        n = series.shape[-1]
        if n >= back and np.abs(series[..., -n // 4 :]).max() <= _ENOUGH:
            break
        series = np.concatenate([series, terms(np.arange(n + 1, 2 * n + 1))], axis=-1)
    # 5. damp a series that does not decay, by e^{-d (j/n)^2}
    n = series.shape[-1]
    j = np.arange(1, n + 1)
    unresolved = np.abs(series[..., -n // 4 :]).max(axis=-1) > _RESOLVED
    unresolved = unresolved | (n < back)
    damping = np.log(1 / _ENOUGH)
    series = series * np.exp(np.where(unresolved[..., None], -damping * (j / n) ** 2, 0.0))
    smoothed_h = np.where(unresolved, np.sqrt(2 * damping) * period_h / (2 * np.pi * n), 0.0)
    # 6. sum the series for the probability and for the density by FFT, at eight places per term
    size = 8 * n
    wave = np.zeros((*shape, size // 2 + 1), dtype=complex)
    wave[..., 1 : n + 1] = series * (-1j * size / (2 * np.pi * j))
    of_mean = (1 - atom) * (1 / 2 + (low_h - rest_h) / period_h)
    at = np.arange(size) / size
    below = np.fft.irfft(wave, size) + of_mean[..., None] + (1 - atom)[..., None] * at
    wave[..., 1 : n + 1] = series * (size / period_h[..., None])
    density = np.fft.irfft(wave, size) + ((1 - atom) / period_h)[..., None]
    if np.any(atom > 0):  # no run takes fewer hours than one without events
        before = low_h[..., None] + at * period_h[..., None] < atom_h[..., None]
        below, density = np.where(before, 0.0, below), np.where(before, 0.0, density)
    named = {
        "mean_h": mean_h,
        "sd_h": np.maximum(all_sd_h, _CERTAIN * mean_h),
        "first_h": low_h,
        "step_h": period_h / size,
        "atom": atom,
        "atom_h": atom_h,
        "smoothed_h": smoothed_h,
    }
    return table(below, density, **{name: plain(value) for name, value in named.items()})


def _with_atom(atom: Any, atom_h: Any, rest_h: Any, sd_h: Any) -> tuple[Any, Any]:
    """Mean and standard deviation with the atom, from those without it. [h, h]"""
    mean_h = atom * atom_h + (1 - atom) * rest_h
    variance = (1 - atom) * (sd_h**2 + (rest_h - mean_h) ** 2) + atom * (atom_h - mean_h) ** 2
    return mean_h, np.sqrt(variance)


def _turns_back(period_h: Any, alike_h: Sequence[Any]) -> np.ndarray:
    """Numbers of the terms, beyond the first ones, with some hours as their period: they may be large again."""
    turns = [np.max(period_h / np.maximum(hours, _CERTAIN * period_h)) for hours in alike_h]
    return np.array([round(turn) for turn in turns if _FIRST_TERMS < turn < MOST_TERMS], dtype=int)


def _moments(transform: Transform, about_h: Any) -> tuple[Any, Any, Any]:
    """Mean, standard deviation and skewness, from the transform at small steps of s. [h, h, 1]

    ln Φ(iω) = -iωm - ω²v/2 + iω³k/6: the phase gives the mean m and the third cumulant k, the modulus the variance v.
    """
    steps = 1e-3 / about_h[..., None] * _LADDER
    values = transform(1j * steps)
    about_h = about_h - np.angle(values[..., 0] * np.exp(1j * steps[..., 0] * about_h)) / steps[..., 0]
    with np.errstate(divide="ignore"):
        spread = np.maximum.accumulate(np.maximum(-2 * np.log(np.abs(values)), 0.0), axis=-1)

    def at_widest(most: float) -> tuple[Any, Any, Any]:
        """Step, value, and spread over the square of the step, at the largest step with a spread below ``most``.

        The last axis also has the step before it, which is half as long.
        """
        place = np.maximum((spread < most).sum(axis=-1) - 1, 1)[..., None] + np.array([-1, 0])
        step, value, width = (np.take_along_axis(array, place, -1) for array in (steps, values, spread))
        return step, value, width / step**2

    def extrapolated(values: Any) -> Any:
        """Richardson's extrapolation, from a step and its half, for an error of second order."""
        return (4 * values[..., 0] - values[..., 1]) / 3

    step, value, _ = at_widest(1e-5)
    mean_h = about_h - extrapolated(np.angle(value * np.exp(1j * step * about_h[..., None])) / step)
    sd_h = np.sqrt(np.maximum(extrapolated(at_widest(1e-3)[2]), 0.0))

    def skewed(most: float) -> Any:
        step, value, _ = at_widest(most)
        turned = np.angle(value * np.exp(1j * step * mean_h[..., None]))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(6 * turned[..., 1] / (step[..., 1] * sd_h) ** 3)

    # rare, very long hours wrap around at the larger step, and only show at the smaller one
    skewness, rare = skewed(0.1), skewed(1e-3)
    with np.errstate(over="ignore"):  # where the hours have no spread
        return mean_h, sd_h, np.where(np.abs(rare) > 2 * np.abs(skewness), rare, skewness)
