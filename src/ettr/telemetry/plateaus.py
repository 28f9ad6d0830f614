"""Plateaus of power: the levels of a recording, and the samples on each."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from ettr.telemetry.format import GAP_STEPS

MOST = 8
"""Most plateaus; with more levels, power drifts instead."""

_BINS = 600
_WIDTH = 0.012
"""Standard deviation of the smoothing relative to the range of power; fluctuations of 1-2% stay one plateau."""
_VALLEY = 0.6
"""Density between two plateaus, relative to the lower one, below which they are separate."""
_APART = 0.05
"""Smallest distance between plateaus, relative to the higher one."""
_LEAST_SHARE = 0.01
_MOVING, _LEAST_STILL = 0.02, 0.2
"""Change between samples, relative to the range, that is a transition; and the smallest share of other samples."""
_STEPPED = 0.9
"""Smallest share of samples with a step name for which the names define the plateaus."""
_SHORT_RUNS = 2
_SETTLED_TAUS = 4.0
_MOST_LEFT_OUT = 2 / 3


@dataclass(frozen=True)
class Plateaus:
    """Plateaus of power, and the plateau of each sample.

    Attributes
    ----------
    label : ndarray
        Plateau of each sample, numbered from the lowest power; -1 without power or during a transition.
    names : tuple of str
        Name of the recorded step of each plateau; empty if plateaus were found from power.
    """

    label: np.ndarray
    names: tuple[str, ...]


def find(samples: pd.DataFrame, window_s: float = 0.0, step_s: float = 1.0) -> Plateaus:
    """Find plateaus from the recorded steps, or from the peaks of the distribution of power.

    Without steps, the density of power, smoothed by about 1% of its range, is cut at its valleys. Two peaks are two
    plateaus if they are 5% apart, the density between them falls below 0.6 of the lower peak, and each has 1% of the
    samples. The order of samples is ignored, so that correlation between them creates no plateaus. If readings average
    over more than a step, samples during transitions are left out, because an average over a change is on no plateau.
    """
    power = samples["power_w"].to_numpy()
    measured = np.isfinite(power)
    steps = samples["step"].to_numpy()
    if (steps[measured] != "").mean() >= _STEPPED:
        return _by_steps(power, steps, measured)
    use = measured & _still(samples) if window_s > 1.5 * step_s else measured
    use = use if use.sum() >= _LEAST_STILL * measured.sum() else measured
    edges = _cuts(power[use])
    label = np.full(power.size, -1)
    label[use] = np.searchsorted(edges, power[use])
    return Plateaus(label, ("",) * (len(edges) + 1))


def _still(samples: pd.DataFrame) -> np.ndarray:
    """Which samples are close to the previous and the next sample of their GPU."""
    change = samples.groupby("gpu", sort=False)["power_w"].diff().abs()
    after = change.groupby(samples["gpu"], sort=False).shift(-1)
    limit = _MOVING * float(np.ptp(samples["power_w"].dropna()))
    still: np.ndarray = ~((change > limit) | (after > limit)).to_numpy()
    return still


def _by_steps(power: np.ndarray, steps: np.ndarray, measured: np.ndarray) -> Plateaus:
    """Plateaus from the names of recorded steps, in order of mean power."""
    names = sorted(set(steps[measured]), key=lambda name: float(np.mean(power[measured & (steps == name)])))
    number = {name: i for i, name in enumerate(names)}
    label = np.array([number.get(name, -1) if ok else -1 for name, ok in zip(steps, measured, strict=True)])
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
    # Merge peaks that are too close, too shallow or too small, worst first, until every pair is a pair of plateaus.
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
    """Return which samples of a GPU have settled on their plateau, clear of the change before and after it.

    Left out are samples within an averaging window and a step after a change, and the last before one; with ``tau_s``
    also the first four time constants of a visit, while leakage still follows the die, but at most two thirds of it.
    Visits shorter than one time constant are kept.
    """
    step_s = float(np.median(np.diff(t_s))) if t_s.size > 1 else 0.0
    cut = (label[1:] != label[:-1]) | (np.diff(t_s) > GAP_STEPS * step_s)
    visit = np.concatenate([[0], np.cumsum(cut)])
    first = t_s[np.searchsorted(visit, visit)]
    last = t_s[np.searchsorted(visit, visit, side="right") - 1]
    settled: np.ndarray = (label >= 0) & (t_s - first >= window_s + step_s) & (t_s <= last - step_s / 2)
    if tau_s is not None:
        length = last - first
        left_out = np.where(length >= tau_s, np.minimum(_SETTLED_TAUS * tau_s, _MOST_LEFT_OUT * length), 0.0)
        settled &= t_s - first >= left_out
    return settled


def visits(t_s: np.ndarray, label: np.ndarray) -> pd.DataFrame:
    """Return the visits of a GPU to its plateaus.

    A visit lasts until another plateau is entered; samples in transition or on no plateau do not end it. A single
    sample enters a plateau only if most runs on it are that short, as for a level no longer than the sampling step;
    otherwise power only passed through.

    Returns
    -------
    DataFrame
        ``level`` (number of the plateau), ``from_s`` and ``to_s`` (first and last sample) [s], in order of time.

    Examples
    --------
    >>> label = np.array([0, 0, -1, 0, 1, 1, 1, 0, 1, 1, 2, 2])
    >>> visits(np.arange(12.0), label)["level"].tolist()
    [0, 1, 2]
    """
    labelled = np.flatnonzero(label >= 0)
    runs = _runs(label[labelled])
    size, level = np.diff(runs), label[labelled][runs[:-1]]
    median = pd.Series(size).groupby(level).median()
    entered = (size > 1) | (median.reindex(level).to_numpy() < _SHORT_RUNS)
    kept = np.flatnonzero(np.repeat(entered, size))
    runs = _runs(label[labelled][kept])
    at = t_s[labelled][kept]
    return pd.DataFrame(
        {"level": label[labelled][kept][runs[:-1]], "from_s": at[runs[:-1]], "to_s": at[np.maximum(runs[1:] - 1, 0)]}
    )


def _runs(values: np.ndarray) -> np.ndarray:
    """Start index of each run of equal values, and the end of the last."""
    if not values.size:
        return np.zeros(1, dtype=int)
    return np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1, [values.size]])
