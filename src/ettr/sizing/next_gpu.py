"""The marginal throughput of one more GPU, and the size at which it becomes negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import ROUNDING
from ettr.scaling import Layout, micro_batches
from ettr.scenario import Scenario
from ettr.sizing.yields import throughput_of, yields

_SIZES, _NEAR = 400, 0.98


@dataclass(frozen=True)
class NextGpu:
    """The marginal throughput of one more GPU.

    Attributes
    ----------
    n_gpus : float
        Size of the job. [GPUs]
    useful_tokens_per_day : float
        Useful throughput of the job. [tokens/d]
    mean_tokens_per_day, marginal_tokens_per_day : float
        Useful throughput per GPU on average, and of the next GPU; NaN if the batch has no work for another. [tokens/d]

    Examples
    --------
    >>> NextGpu(100.0, 5000.0, 50.0, 40.0).share
    0.8
    """

    n_gpus: float
    useful_tokens_per_day: float
    mean_tokens_per_day: float
    marginal_tokens_per_day: float

    @property
    def share(self) -> float:
        """Throughput of the next GPU relative to the average GPU; negative if it slows the job down."""
        return self.marginal_tokens_per_day / self.mean_tokens_per_day if self.mean_tokens_per_day > 0 else np.nan


def next_gpu(scenario: Scenario, n_gpus: float | None = None) -> NextGpu:
    """Return the marginal throughput of one more GPU, with sizes treated as continuous.

    Parameters
    ----------
    scenario : Scenario
        A job given by its tokens.
    n_gpus : float, optional
        Size of the job; that of the scenario by default. [GPUs]

    Returns
    -------
    NextGpu
        Useful tokens per day of the job, of the average GPU, and of the next one.

    Raises
    ------
    InputError
        The job is given by its hours, or a size below one node.

    Examples
    --------
    >>> from ettr import Scenario, sizing
    >>> gpu = sizing.next_gpu(Scenario.load("llama3-405b-tokens"))
    >>> 0 < gpu.share < 1
    True
    """
    size = float(scenario.cluster.n_gpus if n_gpus is None else n_gpus)
    now, then = yields(scenario, np.array([size, size + 1])).useful_tokens_per_day
    added = np.nan if batch_ends(scenario, size) else float(then - now)
    return NextGpu(size, float(now), float(now / size), added)


def batch_ends(scenario: Scenario, n_gpus: float) -> bool:
    """Return whether the fastest layout has one micro-batch per replica left, so no work for one more GPU."""
    through = throughput_of(scenario)
    layout = through.fastest(float(n_gpus))
    if layout.tensor == 0:
        return True  # no layout fits, or none has work at this size
    return bool(micro_batches(through.model, layout, n_gpus + 1.0, through.batch_tokens) < 1)


def range_gpus(scenario: Scenario) -> tuple[float, float]:
    """Return the smallest size that fits the model, and the size with one micro-batch per replica left. [GPUs]

    Examples
    --------
    >>> low, high = range_gpus(Scenario.load("llama3-405b-tokens"))
    >>> low < 16384 < high
    True
    """
    through = throughput_of(scenario)
    low = through.smallest_gpus()
    if low is None:  # the size of the scenario was checked when it was created
        raise InputError("the model fits no number of GPUs")
    return float(low), max(float(low), through.largest_gpus() * (1 - ROUNDING))


def turning_point(scenario: Scenario) -> int | None:
    """Return the number of GPUs after which one more slows the job down. [GPUs]

    Parameters
    ----------
    scenario : Scenario
        A job given by its tokens.

    Returns
    -------
    int or None
        The integer size with the most useful tokens per day, with layouts treated as continuous; None if more GPUs are
        better up to the largest size that the batch has work for.

    Raises
    ------
    InputError
        The job is given by its hours, or fits no number of GPUs.

    Notes
    -----
    For each layout that is the fastest at one of 400 sizes within 2% of the maximum, bisection finds where the marginal
    throughput changes sign; the highest of these peaks is returned. A layout may end before that, where each of its
    replicas has one micro-batch left. If larger layouts yield less, that end is the turning point.

    Examples
    --------
    >>> from ettr import Scenario, sizing
    >>> run = Scenario.load("llama3-405b-tokens")
    >>> peak = sizing.turning_point(run)
    >>> sizing.next_gpu(run, peak - 1).marginal_tokens_per_day > 0 > sizing.next_gpu(run, peak).marginal_tokens_per_day
    True
    """
    low, high = range_gpus(scenario)
    sizes = np.unique(np.floor(np.geomspace(low, high, _SIZES).clip(low, high)))
    chosen = throughput_of(scenario).fastest(sizes)
    useful = yields(scenario, sizes, chosen).useful_tokens_per_day
    if useful.max() <= 0:
        return None
    near = useful >= _NEAR * useful.max()
    layouts = {str(layout): layout for layout in (chosen.at(i) for i in np.flatnonzero(near))}
    best = max((_peak_of(scenario, sizes, layout) for layout in layouts.values()), key=lambda peak: peak[1])
    return best[0] if best[0] < int(high) else None


def _peak_of(scenario: Scenario, sizes: np.ndarray, layout: Layout) -> tuple[int, float]:
    """Return the size with the most useful tokens per day for one layout, and these tokens."""
    through = throughput_of(scenario)

    def useful(at: np.ndarray) -> np.ndarray:
        fits = through.memory_gb(at, layout) <= through.usable_gb
        return np.where(fits, yields(scenario, at, layout).useful_tokens_per_day, 0.0)

    def adds(size: int) -> bool:
        now, then = useful(np.array([float(size), float(size + 1)]))
        return bool(then > now)

    tokens_per_day = useful(sizes)
    peak = int(tokens_per_day.argmax())
    left = peak - 1 if peak and tokens_per_day[peak - 1] > 0 else peak
    left, right = int(sizes[left]), int(sizes[min(peak + 1, sizes.size - 1)]) + 1
    if not adds(left):
        return left, float(useful(np.array([float(left)]))[0])
    while right - left > 1:  # one more GPU helps at left and does not at right
        middle = (left + right) // 2
        left, right = (middle, right) if adds(middle) else (left, middle)
    return right, float(useful(np.array([float(right)]))[0])
