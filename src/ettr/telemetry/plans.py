"""Plans of a recording: the sequence of loads that the GPU runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ettr.core.errors import InputError


@dataclass(frozen=True)
class Step:
    """Step of a recording plan.

    Attributes
    ----------
    name : str
        Name recorded with each sample. A fit recognises ``idle``, ``context``, ``stall`` and ``compute``.
    duty : float or None
        Share of the time in which matrix products run, from 0 (a process occupies the GPU and runs nothing) to 1; None
        without a process on the GPU.
    seconds : float
        Duration. [s]

    Examples
    --------
    >>> Step("duty 50%", duty=0.5, seconds=60.0).seconds
    60.0
    """

    name: str
    duty: float | None
    seconds: float


_SHARES: tuple[tuple[str, float | None, float], ...] = (
    ("idle", None, 0.12),
    ("context", 0.0, 0.10),
    ("compute", 1.0, 0.20),
    ("stall", 0.0, 0.08),
    ("duty 75%", 0.75, 0.10),
    ("duty 25%", 0.25, 0.10),
    ("duty 50%", 0.5, 0.10),
    ("compute", 1.0, 0.10),
    ("idle", None, 0.10),
)
"""Name, duty cycle and share of the time: large steps to fit the time constant, levels between to fit leakage."""


def schedule(minutes: float = 20.0) -> tuple[Step, ...]:
    """Return the default plan of a recording.

    Parameters
    ----------
    minutes : float
        Total length. Each step settles if it is at least about eight time constants of the cooling. [min]

    Returns
    -------
    tuple of Step
        Nine steps: idle, an idle context, full load, a checkpoint stall, partial loads, full load and idle.

    Raises
    ------
    InputError
        If it is shorter than 0.1 min or longer than 1440 min.

    Examples
    --------
    >>> [step.name for step in schedule(10)][:4], round(sum(step.seconds for step in schedule(10)))
    (['idle', 'context', 'compute', 'stall'], 600)
    """
    if not 0.1 <= minutes <= 1440:
        raise InputError(f"minutes must be from 0.1 to 1440 min, got {minutes:g}")
    return tuple(Step(name, duty, 60 * minutes * share) for name, duty, share in _SHARES)


def check_steps(steps: Sequence[Step]) -> None:
    """Raise if a plan cannot be run."""
    if not steps:
        raise InputError("steps must have at least one Step, got none")
    for i, step in enumerate(steps, 1):
        if not (math.isfinite(step.seconds) and 0 < step.seconds <= 86_400):
            raise InputError(f"seconds must be > 0 and <= 86400 s, got {step.seconds:g} (step {i}, {step.name!r})")
        if step.duty is not None and not 0 <= step.duty <= 1:
            raise InputError(f"duty must be between 0 and 1, or None, got {step.duty:g} (step {i}, {step.name!r})")
        if not step.name or any(mark in step.name for mark in ',;"\n\r\t|'):
            raise InputError(f"name must be a word without commas or quotes, got {step.name!r} (step {i})")
