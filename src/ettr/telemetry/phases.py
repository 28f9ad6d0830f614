"""Which phase of a job a plateau of power is, as far as the recording itself says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

PHASES = ("compute", "communication", "checkpoint", "hang", "restart", "idle")
"""As in ``Gpu.levels``, without the unit."""

START_UP = "start-up"
"""What occurs only at the beginning: said, and no phase of a GPU."""

_STEPS = {"compute": "compute", "context": "checkpoint", "stall": "checkpoint", "idle": "idle"}
_STEPS |= {phase: phase for phase in PHASES} | {"training": "compute", "rework": "compute"}
_BUSY, _QUIET = 0.5, 0.05
_WAITS_BELOW = 0.85
"""Power below which a level may be communication, as a share of the highest level."""
_FEWEST_RETURNS, _NEAR, _MOSTLY = 4, 0.25, 0.8
"""A level comes back regularly if it does so often, and most times between are within a quarter of their median."""
_CHECKPOINT_S = 60.0
"""Checkpoints are at least so far apart; what comes back sooner belongs to a step of training."""


@dataclass(frozen=True)
class Seen:
    """What a recording says of one plateau.

    Attributes
    ----------
    step : str
        The recorded step's name; empty if none.
    power_w : float
        Its mean power. [W]
    load : float
        Its mean utilisation; NaN where unknown.
    every_s : float
        Median time from one visit to the next, where it comes back regularly; NaN where it does not. [s]
    only_first : bool
        Whether the recording begins on it, and never comes back.
    """

    step: str
    power_w: float
    load: float
    every_s: float
    only_first: bool


def seen_of(visits: Sequence[pd.DataFrame], level: int) -> tuple[float, bool]:
    """How regularly the GPUs come back to a level [s], and whether they are there only at the beginning.

    Parameters
    ----------
    visits : sequence of DataFrame
        Of each GPU, see ``plateaus.visits``.
    level : int
        Number of the plateau.
    """
    gaps, first = [], []
    for one in visits:
        own = np.flatnonzero(one["level"] == level)
        if own.size:
            gaps.append(np.diff(one["from_s"].to_numpy()[own]))
            first.append(own.size == 1 and own[0] == 0 and len(one) > 1)
    between = np.concatenate(gaps) if gaps else np.empty(0)
    every_s = float(np.median(between)) if between.size >= _FEWEST_RETURNS else np.nan
    regular = (np.abs(between - every_s) < _NEAR * every_s).mean() >= _MOSTLY if between.size else False
    return every_s if regular else np.nan, bool(first) and all(first)


def phases_of(levels: Sequence[Seen]) -> list[str]:
    """A phase for each plateau, from the lowest up; empty where the recording says none.

    A recorded step's name decides. Else what occurs only at the beginning is start-up; of the rest utilisation says:
    near nothing is idle, or a checkpoint if the level comes back regularly, a minute apart or more; the highest level
    on which the GPU is busy computes; below 0.85 of that, busy or coming back within each step of training, is
    communication. Without utilisation a level that comes back so regularly is a checkpoint, and the highest, which it
    interrupts, computes. Nothing is told from power alone, so a level may have no name. Hangs and restarts cannot be
    told.
    """
    if any(one.step for one in levels):
        return [_STEPS.get(one.step.lower(), "") for one in levels]
    top = max(range(len(levels)), key=lambda i: levels[i].power_w)
    known = [np.isfinite(one.load) for one in levels]
    returns = [one.every_s >= _CHECKPOINT_S for one in levels]
    phases = []
    for i, one in enumerate(levels):
        interrupts = returns[i] and i != top
        waits = one.power_w < _WAITS_BELOW * levels[top].power_w
        if one.only_first and i != top:
            phases.append(START_UP)
        elif not known[i]:
            computes = i == top and any(returns[:top])
            phases.append("checkpoint" if interrupts else "compute" if computes else "")
        elif one.load <= _QUIET:
            phases.append("checkpoint" if interrupts else "idle")
        elif interrupts and one.load < _BUSY:
            phases.append("checkpoint")
        elif i == top:
            phases.append("compute" if one.load >= _BUSY else "")
        else:
            phases.append("communication" if waits and (one.load >= _BUSY or one.every_s < _CHECKPOINT_S) else "")
    return _once(phases, [one.power_w for one in levels])


def _once(phases: list[str], powers_w: list[float]) -> list[str]:
    """Of several levels of one phase, which one is which cannot be said: the lowest idles, and others have no name."""
    for phase in set(phases) - {"", START_UP}:
        same = [i for i, each in enumerate(phases) if each == phase]
        if len(same) > 1:
            kept = min(same, key=lambda i: powers_w[i]) if phase == "idle" else None
            phases = [each if i not in same or i == kept else "" for i, each in enumerate(phases)]
    return phases
