"""Power over a training step, averaged over nodes that change phase at slightly different times."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import LAST_DIGITS, ROUNDING
from ettr.core.validity import above_zero, at_least_zero

_POINTS_PER_STEP, _POINTS_PER_CHANGE = 1024, 1501
"""Points of the table of a step: evenly spaced, and around each phase change."""
_TAIL = 8.0
"""Standard deviations at which the normal distribution is cut off."""


@dataclass(frozen=True)
class Phase:
    """Phase of a training step.

    Attributes
    ----------
    name : str
        Activity of the GPUs, such as ``compute``.
    share : float
        Share of the step, in (0, 1].
    gpu_w : float
        Mean power of a GPU. [W]
    """

    name: str
    share: float
    gpu_w: float


@dataclass(frozen=True)
class Waveform:
    """Mean power of a GPU over a training step, repeated periodically.

    Attributes
    ----------
    phases : tuple of Phase
        Phases in order of time; their shares sum to 1.
    step_s : float
        Duration of the step. [s]
    jitter_s : float
        Standard deviation of the time at which a node changes phase, normal and independent between nodes. [s]

    Raises
    ------
    InputError
        If the shares do not sum to 1, or a duration is negative or zero.

    Examples
    --------
    >>> wave = Waveform((Phase("compute", 0.8, 696.0), Phase("communication", 0.2, 350.0)), 5.0)
    >>> round(wave.mean_w, 1)
    626.8
    """

    phases: tuple[Phase, ...]
    step_s: float
    jitter_s: float = 0.0

    def __post_init__(self) -> None:
        above_zero("step_s", self.step_s, unit="s")
        at_least_zero("jitter_s", self.jitter_s, unit="s")
        total = math.fsum(phase.share for phase in self.phases)
        if (
            not self.phases
            or min(phase.share for phase in self.phases) < 0
            or not math.isclose(total, 1, abs_tol=ROUNDING)
        ):
            raise InputError(f"the shares of a step's phases must be >= 0 and sum to 1, got {total:g}")

    @property
    def mean_w(self) -> float:
        """Mean power over the step. [W]"""
        return math.fsum(phase.share * phase.gpu_w for phase in self.phases)

    @property
    def swing_w(self) -> float:
        """Power of the highest phase minus that of the lowest. [W]"""
        levels = [phase.gpu_w for phase in self.phases if phase.share > 0]
        return max(levels) - min(levels)

    @property
    def shortest_s(self) -> float:
        """Duration of the shortest phase. [s]"""
        return min(phase.share for phase in self.phases if phase.share > 0) * self.step_s

    def excess_j(self, since_s: np.ndarray) -> np.ndarray:
        r"""Return the energy of a GPU since the first step, minus the energy at mean power. [J]

        Parameters
        ----------
        since_s : ndarray
            Time since the start of a segment of training steps, >= 0. [s]

        Returns
        -------
        ndarray
            Excess energy, periodic and 0 after each complete step. [J]

        Notes
        -----
        The mean over many nodes is the waveform of a node convolved with the normal distribution of its phase changes.
        Each phase change then contributes the integral of a normal distribution function,
        :math:`\sigma (z \Phi(z) + \varphi(z))` with :math:`z = t/\sigma`; the result is tabulated and interpolated.
        """
        at_s, energy_j = self._table
        return np.asarray(np.interp(np.mod(since_s, self.step_s), at_s, energy_j))

    @functools.cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """Times within a step, and the excess energy at each."""
        # Times: an even grid, and dense points within 8 sigma of each phase change.
        ends = np.cumsum([0.0, *(phase.share for phase in self.phases)]) * self.step_s
        ends[-1] = self.step_s
        offsets = self.jitter_s * np.linspace(-_TAIL, _TAIL, _POINTS_PER_CHANGE)
        near = np.mod(ends[:, None] + offsets, self.step_s).ravel() if self.jitter_s else ends
        at_s = np.union1d(np.linspace(0, self.step_s, _POINTS_PER_STEP), near)
        distinct = np.append(True, np.diff(at_s) > LAST_DIGITS * self.step_s)
        at_s = at_s[distinct]
        at_s[-1] = self.step_s
        # Energy: each phase switches on and off once per step, in every repetition whose jitter reaches this step.
        energy_j = -self.mean_w * at_s
        n_images = math.ceil(_TAIL * self.jitter_s / self.step_s) + 1
        for phase, begin_s, end_s in zip(self.phases, ends[:-1], ends[1:], strict=True):
            for image in range(-n_images, n_images + 1):
                shift = image * self.step_s
                on = self._ramp(at_s - begin_s - shift) - self._ramp(-begin_s - shift)
                off = self._ramp(at_s - end_s - shift) - self._ramp(-end_s - shift)
                energy_j += phase.gpu_w * (on - off)
        energy_j -= energy_j[-1] * at_s / self.step_s  # remove rounding, so that the excess is periodic
        energy_j[0] = energy_j[-1] = 0.0
        return at_s, energy_j

    def _ramp(self, t_s: np.ndarray | float) -> np.ndarray:
        """Integral of a unit step at 0 smoothed by the jitter, sigma (z Phi(z) + phi(z))."""
        if self.jitter_s == 0:
            return np.maximum(t_s, 0.0)
        from scipy.special import ndtr

        z = np.asarray(t_s, dtype=float) / self.jitter_s
        return np.asarray(self.jitter_s * (z * ndtr(z) + np.exp(-z * z / 2) / math.sqrt(2 * math.pi)))
