"""Plateaus of power: how many levels a recording has, and which samples lie on which."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from ettr.telemetry.format import GAP_STEPS

MOST = 8
"""More levels than this are no plateaus but a power that wanders."""

_BINS = 600
_WIDTH = 0.012
"""Width of the smoothing, as a share of the range of power; fluctuations of a percent or two stay one plateau."""
_VALLEY = 0.6
"""Between two plateaus the density falls below this share of the lower one."""
_APART = 0.05
"""Levels nearer than this share of the higher one are a ripple of one."""
_LEAST_SHARE = 0.01
_MOVING, _LEAST_STILL = 0.02, 0.2
"""A change to the next sample, as a share of the range, that is a way; and the share of samples that must stand."""
_STEPPED = 0.9
"""Share of samples that must carry a step's name for the names to be the plateaus."""
_SHORT_RUNS = 2
_SETTLED_TAUS = 4.0
_MOST_LEFT_OUT = 2 / 3


@dataclass(frozen=True)
class Plateaus:
    """Levels of power and their samples.

    Attributes
    ----------
    label : ndarray
        Of each sample the number of its plateau, from the lowest power up; -1 where power is silent, or on its way.
    names : tuple of str
        The recorded step's name of each plateau; empty texts where plateaus were found from power alone.
    """

    label: np.ndarray
    names: tuple[str, ...]


def find(samples: pd.DataFrame, window_s: float = 0.0, step_s: float = 1.0) -> Plateaus:
    """Tell plateaus apart: by the recorded steps, or by the peaks of the distribution of power.

    Without steps the density of power, smoothed by a hundredth of its range, is cut at its valleys. Two peaks are two
    plateaus if they are 5% apart, the density between them falls below 0.6 of the lower, and each holds a hundredth of
    the time. How
    samples follow each other plays no part, so that their correlation makes no plateaus. Only where readings are means
    over longer than a step are those left out that are on the way from one level to the next: a mean over a change lies
    between both, on no plateau.
    """
    power = samples["power_w"].to_numpy()
    known = np.isfinite(power)
    steps = samples["step"].to_numpy()
    if (steps[known] != "").mean() >= _STEPPED:
        return _by_steps(power, steps, known)
    use = known & _still(samples) if window_s > 1.5 * step_s else known
    use = use if use.sum() >= _LEAST_STILL * known.sum() else known
    edges = _cuts(power[use])
    label = np.full(power.size, -1)
    label[use] = np.searchsorted(edges, power[use])
    return Plateaus(label, ("",) * (len(edges) + 1))


def _still(samples: pd.DataFrame) -> np.ndarray:
    """Whether each sample is near the ones before and after it, of its GPU."""
    change = samples.groupby("gpu", sort=False)["power_w"].diff().abs()
    after = change.groupby(samples["gpu"], sort=False).shift(-1)
    limit = _MOVING * float(np.ptp(samples["power_w"].dropna()))
    still: np.ndarray = ~((change > limit) | (after > limit)).to_numpy()
    return still


def _by_steps(power: np.ndarray, steps: np.ndarray, known: np.ndarray) -> Plateaus:
    names = sorted(set(steps[known]), key=lambda name: float(np.mean(power[known & (steps == name)])))
    number = {name: i for i, name in enumerate(names)}
    label = np.array([number.get(name, -1) if there else -1 for name, there in zip(steps, known, strict=True)])
    return Plateaus(label, tuple(str(name) for name in names))


def _cuts(power: np.ndarray) -> np.ndarray:
    """Powers at the valleys between plateaus."""
    low, high = float(power.min()), float(power.max())
    if high - low < max(2.0, 0.02 * high):
        return np.empty(0)
    density, edges = np.histogram(power, _BINS, (low, high))
    smooth = scipy.ndimage.gaussian_filter1d(density.astype(float), _WIDTH * _BINS, mode="constant")
    middle = (edges[1:] + edges[:-1]) / 2
    inner = (smooth[1:-1] >= smooth[:-2]) & (smooth[1:-1] > smooth[2:])
    peaks = list(np.flatnonzero(np.concatenate([[smooth[0] > smooth[1]], inner, [smooth[-1] > smooth[-2]]])))
    while len(peaks) > 1:
        valleys = [int(a + np.argmin(smooth[a : b + 1])) for a, b in itertools.pairwise(peaks)]
        ratios = [smooth[v] / min(smooth[a], smooth[b]) for v, a, b in zip(valleys, peaks[:-1], peaks[1:], strict=True)]
        close = [middle[b] - middle[a] < _APART * middle[b] for a, b in itertools.pairwise(peaks)]
        shares = np.add.reduceat(density, [0, *valleys]) / density.sum()
        worst = close.index(True) if any(close) else int(np.argmax(ratios))
        if any(close) or ratios[worst] > _VALLEY:
            peaks.pop(worst if smooth[peaks[worst]] < smooth[peaks[worst + 1]] else worst + 1)
        elif shares.min() < _LEAST_SHARE:
            peaks.pop(int(np.argmin(shares)))
        else:
            cuts: np.ndarray = middle[valleys]
            return cuts
    return np.empty(0)


def settled(t_s: np.ndarray, label: np.ndarray, *, window_s: float, tau_s: float | None = None) -> np.ndarray:
    """Whether each sample of one GPU stands on its plateau, clear of the change before and after it.

    A sample is left out within a window and a step of a change, or as the last before one; with ``tau_s`` also the
    first four time constants of a visit, in which leakage still follows the die, but no more than two thirds of it.
    Visits shorter than one time constant are left whole.
    """
    step_s = float(np.median(np.diff(t_s))) if t_s.size > 1 else 0.0
    cut = (label[1:] != label[:-1]) | (np.diff(t_s) > GAP_STEPS * step_s)
    visit = np.concatenate([[0], np.cumsum(cut)])
    first = t_s[np.searchsorted(visit, visit)]
    last = t_s[np.searchsorted(visit, visit, side="right") - 1]
    clear: np.ndarray = (label >= 0) & (t_s - first >= window_s + step_s) & (t_s <= last - step_s / 2)
    if tau_s is not None:
        length = last - first
        out = np.where(length >= tau_s, np.minimum(_SETTLED_TAUS * tau_s, _MOST_LEFT_OUT * length), 0.0)
        clear &= t_s - first >= out
    return clear


def visits(t_s: np.ndarray, label: np.ndarray) -> pd.DataFrame:
    """When one GPU came to each plateau, and when it left.

    A visit lasts until another plateau is entered for real: samples on their way, or of no plateau, do not end it. A
    single sample enters a plateau only if most runs on it are so short, as where a level lasts no longer than the time
    between samples; else power passed through on its way.

    Returns
    -------
    DataFrame
        ``level`` (number of the plateau), ``from_s`` and ``to_s`` (its first and last sample) [s], in order of time.

    Examples
    --------
    >>> label = np.array([0, 0, -1, 0, 1, 1, 1, 0, 1, 1, 2, 2])
    >>> visits(np.arange(12.0), label)["level"].tolist()
    [0, 1, 2]
    """
    known = np.flatnonzero(label >= 0)
    runs = _runs(label[known])
    size, level = np.diff(runs), label[known][runs[:-1]]
    usual = pd.Series(size).groupby(level).median()
    real = (size > 1) | (usual.reindex(level).to_numpy() < _SHORT_RUNS)
    kept = np.flatnonzero(np.repeat(real, size))
    runs = _runs(label[known][kept])
    at = t_s[known][kept]
    return pd.DataFrame(
        {"level": label[known][kept][runs[:-1]], "from_s": at[runs[:-1]], "to_s": at[np.maximum(runs[1:] - 1, 0)]}
    )


def _runs(values: np.ndarray) -> np.ndarray:
    """Where each run of one value begins, and the end of the last."""
    if not values.size:
        return np.zeros(1, dtype=int)
    return np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1, [values.size]])
