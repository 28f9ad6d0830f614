"""Transforms of a recovery: detection, queue and restart, by kind of failure."""

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
    """Failures with the same recovery: their share of all failures, and the hours of detection and restart."""

    share: Any
    detection_h: Any
    restart_h: Any


@dataclass(frozen=True)
class Exposure:
    """Failure rate, and values of s at which a transform is evaluated.

    Attributes
    ----------
    rate : float or ndarray
        Failures per exposed hour, λ. [1/h]
    s : ndarray
        Argument of the transform. [1/h]
    """

    rate: Any
    s: Any

    @functools.cached_property
    def ends(self) -> Any:
        """λ + s. [1/h]"""
        return self.rate + self.s

    def without_events(self, rate: Any) -> Exposure:
        """Shift s by the rate of a Poisson process: the transform on the event that the process has no event."""
        return Exposure(self.rate, self.s + rate)

    def of_whole_intervals(self, run: JobInHours) -> Exposure:
        """Scale s, so that a whole number of intervals stands for the intervals in the work."""
        scale = run.work / run.tau / whole_intervals(run)
        return Exposure(self.rate, self.s * scale)


def whole_intervals(run: JobInHours) -> Any:
    """Number of intervals in the work, rounded up."""
    return np.ceil(run.work / run.tau - ROUNDING)


def widened(run: JobInHours) -> JobInHours:
    """Run with one more axis in its arrays, for values of s; its modes are unchanged."""
    return run.map(_wide) if run.shape else run


def kinds_of(run: JobInHours) -> list[Kind]:
    """Kinds of failures of a run: modes with the same recovery together; with one more axis, for values of s."""
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
    """1 - Π (1 - x) for several x: one minus the transform of a sum of times, from one minus that of each."""
    result: Any = 0.0
    for part in parts:
        result = result + part - result * part
    return result


def missing_down(run: JobInHours, kind: Kind, s: Any) -> Any:
    """One minus the transform of detection, queue, and an exponential wait for a person with a probability."""
    person = run.person_share * s * run.person / (1 + s * run.person)
    return together((-np.expm1(-s * (kind.detection_h + run.first_queue)), person))


def missing_restart(restart_h: Any, load_h: Any, ends: Any) -> Any:
    """One minus the transform of a restart and load, on the event that no failure strikes."""
    return -np.expm1(-ends * (restart_h + load_h))


def loss(run: JobInHours, kinds: list[Kind], at: Exposure) -> Any:
    r"""Return :math:`g = 1 - \lambda\rho/(\lambda+s)`, with ρ the transform of the recovery up to the next training.

    It is computed as a difference from 1 that loses no digits where s is small: then :math:`g \approx s(1/\lambda +
    \text{mean recovery})`.
    """
    # over kinds: lacks is one minus (transform of downtime and a restart without failure, given that none strikes);
    # unstruck is one minus the transform of downtime and a restart that a failure ends, which begins another recovery
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
    """ln(1 + z) of complex numbers; NumPy's loses digits where z is small, and a run adds one per checkpoint."""
    real, imaginary = np.real(z), np.imag(z)
    return np.log1p(real * (2 + real) + imaginary * imaginary) / 2 + 1j * np.arctan2(imaginary, 1 + real)
