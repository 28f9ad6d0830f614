"""What follows a failure, as a transform: detection, queue and restart, by kind of failure."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ettr.core.units import ROUNDING
from ettr.scenario import JobInHours


@dataclass(frozen=True)
class Kind:
    """Failures that are alike in all that follows them."""

    share: Any
    detection_h: Any
    restart_h: Any


@dataclass(frozen=True)
class Exposure:
    """Values of s at which a transform is asked for.

    Attributes
    ----------
    rate : float or ndarray
        Failures per exposed hour, λ. [1/h]
    s : ndarray
        Per hour. [1/h]
    """

    rate: Any
    s: Any

    @functools.cached_property
    def ends(self) -> Any:
        """λ + s. [1/h]"""
        return self.rate + self.s

    def later(self, more: Any) -> Exposure:
        """With as much more of s everywhere: where nothing of a process of this rate may happen."""
        return Exposure(self.rate, self.s + more)

    def of_whole_intervals(self, run: JobInHours) -> Exposure:
        """For whole intervals of the steady state, whose hours are scaled to those that the work holds."""
        scale = run.work / run.tau / whole_intervals(run)
        return Exposure(self.rate, self.s * scale)


def whole_intervals(run: JobInHours) -> Any:
    """Intervals of the steady state that are followed: those that the work holds, rounded up."""
    return np.ceil(run.work / run.tau - ROUNDING)


def widened(run: JobInHours) -> JobInHours:
    """A run with one axis more, for values of s; its modes stay as they are."""
    return run.map(_wide) if run.shape else run


def kinds_of(run: JobInHours) -> list[Kind]:
    """Kinds of failures of a run, with one axis more, for values of s."""
    modes = run.modes
    alike: dict[tuple[bytes, ...], tuple[Any, list[np.ndarray]]] = {}
    columns = (modes.detection, modes.restart)
    for i, weight in enumerate(modes.weight):
        if np.any(weight > 0):
            rows = [np.asarray(column[i]) for column in columns]
            key = tuple(row.tobytes() for row in rows)
            share = alike[key][0] + weight if key in alike else weight
            alike[key] = share, rows
    return [
        Kind(
            share=_wide(share),
            detection_h=_wide(rows[0]),
            restart_h=_wide(rows[1]),
        )
        for share, rows in alike.values()
    ]


def _wide(values: Any) -> Any:
    array = np.asarray(values, dtype=float)
    return array[..., None] if array.ndim else float(array)


def together(parts: Iterable[Any]) -> Any:
    """What several times, one after the other, leave of 1, from what each leaves."""
    result: Any = 0.0
    for part in parts:
        result = result + part - result * part
    return result


def missing_down(run: JobInHours, kind: Kind, s: Any) -> Any:
    """What detection and queue of a failure leave of 1, with the wait for a person."""
    person = run.person_share * s * run.person / (1 + s * run.person)
    return together((-np.expm1(-s * (kind.detection_h + run.first_queue)), person))


def missing_restart(restart_h: Any, load_h: Any, ends: Any) -> Any:
    """What a restart that nothing strikes leaves of 1, with its load."""
    return -np.expm1(-ends * (restart_h + load_h))


def loss(run: JobInHours, kinds: list[Kind], at: Exposure) -> Any:
    r"""What a failure adds to a stage, :math:`g = 1 - \lambda\rho/(\lambda+s)`, with ρ the recovery up to training.

    Kept as a difference from 1 that loses no digits where s is small: then :math:`g \approx s(1/\lambda +
    \text{mean recovery})`.
    """
    share_of_s = at.s / at.ends
    lacks: Any = 0.0
    unstruck: Any = 0.0
    for kind in kinds:
        down = missing_down(run, kind, at.s)
        restart = missing_restart(kind.restart_h, run.load, at.ends)
        survives = np.exp(-at.ends * (kind.restart_h + run.load))
        lacks = lacks + kind.share * (down + (1 - down) * share_of_s * restart)
        unstruck = unstruck + kind.share * (down + (1 - down) * survives)
    rest = (at.s + at.rate * unstruck) / at.ends
    return (at.s + at.rate * lacks / rest) / at.ends


def log_one_plus(z: Any) -> Any:
    """ln(1 + z) of complex numbers: NumPy's loses the digits of a small one, of which a run has one a checkpoint."""
    real, imaginary = np.real(z), np.imag(z)
    return np.log1p(real * (2 + real) + imaginary * imaginary) / 2 + 1j * np.arctan2(imaginary, 1 + real)
