"""The power of one training step, summed over nodes that do not change phase at quite the same moment."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ettr.core.errors import InputError
from ettr.core.units import LAST_DIGITS, ROUNDING
from ettr.core.validity import above_zero, at_least_zero

_NODES_A_STEP, _NODES_A_CHANGE = 1024, 1501
"""Points of the table of one step: evenly over it, and about each change of phase."""
_TAIL = 8.0
"""Standard deviations after which a normal distribution is over."""


@dataclass(frozen=True)
class Phase:
    """A part of a training step.

    Attributes
    ----------
    name : str
        What the GPUs do.
    share : float
        Of the step, in (0, 1].
    gpu_w : float
        Mean power of a GPU in it. [W]
    """

    name: str
    share: float
    gpu_w: float


@dataclass(frozen=True)
class Waveform:
    """Mean power of a GPU over one training step, which repeats.

    Attributes
    ----------
    phases : tuple of Phase
        In the order of time; their shares sum to 1.
    step_s : float
        Duration of the step. [s]
    jitter_s : float
        Standard deviation of the moment at which a node changes phase, normal and independent between nodes. [s]

    Raises
    ------
    InputError
        Shares that do not sum to 1, or a duration that makes no sense.

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
        """Mean over the step. [W]"""
        return math.fsum(phase.share * phase.gpu_w for phase in self.phases)

    @property
    def swing_w(self) -> float:
        """Highest less lowest phase. [W]"""
        levels = [phase.gpu_w for phase in self.phases if phase.share > 0]
        return max(levels) - min(levels)

    @property
    def shortest_s(self) -> float:
        """Duration of the shortest phase. [s]"""
        return min(phase.share for phase in self.phases if phase.share > 0) * self.step_s

    def excess_j(self, since_s: np.ndarray) -> np.ndarray:
        r"""Energy of a GPU since the first step began, less the mean power over that time [J].

        Parameters
        ----------
        since_s : ndarray
            Time since the beginning of a stretch of steps, >= 0. [s]

        Returns
        -------
        ndarray
            Periodic, 0 after each whole step. [J]

        Notes
        -----
        The sum over many nodes is the step of one, convolved with the normal distribution of their moments. Its
        integral is that of a normal distribution function, :math:`\sigma (z \Phi(z) + \varphi(z))` with
        :math:`z = t/\sigma`, for each change of phase; a table of it is interpolated.
        """
        at_s, energy_j = self._table
        return np.asarray(np.interp(np.mod(since_s, self.step_s), at_s, energy_j))

    @functools.cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """Points of one step, and the excess energy there."""
        ends = np.cumsum([0.0, *(phase.share for phase in self.phases)]) * self.step_s
        ends[-1] = self.step_s
        about = self.jitter_s * np.linspace(-_TAIL, _TAIL, _NODES_A_CHANGE)
        near = np.mod(ends[:, None] + about, self.step_s).ravel() if self.jitter_s else ends
        at_s = np.union1d(np.linspace(0, self.step_s, _NODES_A_STEP), near)
        begins = np.append(True, np.diff(at_s) > LAST_DIGITS * self.step_s)
        at_s = at_s[begins]
        at_s[-1] = self.step_s
        energy_j = -self.mean_w * at_s
        n_images = math.ceil(_TAIL * self.jitter_s / self.step_s) + 1
        for phase, begin_s, end_s in zip(self.phases, ends[:-1], ends[1:], strict=True):
            for image in range(-n_images, n_images + 1):
                shift = image * self.step_s
                on = self._risen(at_s - begin_s - shift) - self._risen(-begin_s - shift)
                off = self._risen(at_s - end_s - shift) - self._risen(-end_s - shift)
                energy_j += phase.gpu_w * (on - off)
        energy_j -= energy_j[-1] * at_s / self.step_s  # rounding
        energy_j[0] = energy_j[-1] = 0.0
        return at_s, energy_j

    def _risen(self, t_s: np.ndarray | float) -> np.ndarray:
        """Integral of a step at 0 that the jitter has smoothed."""
        if self.jitter_s == 0:
            return np.maximum(t_s, 0.0)
        from scipy.special import ndtr

        z = np.asarray(t_s, dtype=float) / self.jitter_s
        return np.asarray(self.jitter_s * (z * ndtr(z) + np.exp(-z * z / 2) / math.sqrt(2 * math.pi)))
