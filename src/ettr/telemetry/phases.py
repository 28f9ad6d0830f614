"""Which phase of a job a plateau of power is, as well as it can be said."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ettr.scenario.gpu import Gpu

PHASES = ("compute", "communication", "checkpoint", "hang", "restart", "idle")
"""As in ``Gpu.levels``, without the unit."""

_STEPS = {"compute": "compute", "context": "checkpoint", "stall": "checkpoint", "idle": "idle"}
_STEPS |= {phase: phase for phase in PHASES} | {"training": "compute", "rework": "compute"}
_BUSY, _QUIET = 0.5, 0.05
_WAITS_BELOW = 0.85
"""Power below which a level may be communication, as a share of the highest level."""
_COMPUTES_FROM = 0.5
"""Power from which the highest plateau may be computing, as a share of the GPU's limit."""


@dataclass(frozen=True)
class Plateau:
    """What is known of a plateau before it has a name.

    Attributes
    ----------
    step : str
        The recorded step; empty if none.
    mean_w : float
        Mean power. [W]
    utilisation : float
        Mean utilisation, a fraction; NaN where unknown.
    """

    step: str
    mean_w: float
    utilisation: float


def phases_of(plateaus: list[Plateau], base: Gpu) -> list[str]:
    """A phase for each plateau; empty where none can be said.

    A recorded step's name decides. Else the highest plateau computes if it is over half of the power limit and the
    GPU is not idle in it. Of the rest each takes the phase whose level in the base GPU is nearest by ratio: idle or
    a checkpoint where utilisation is near nothing, communication where it is not and power is below 0.85 of the
    highest. What is as near to a phase that another plateau is nearer to has no name. Hangs and restarts cannot be
    told from power.
    """
    if any(plateau.step for plateau in plateaus):
        return [_STEPS.get(plateau.step.lower(), "") for plateau in plateaus]
    names = [""] * len(plateaus)
    top = max(range(len(plateaus)), key=lambda i: plateaus[i].mean_w)
    if plateaus[top].mean_w >= _COMPUTES_FROM * base.limits.power_w and not plateaus[top].utilisation < _BUSY:
        names[top] = "compute"
    for phase, i in _nearest(plateaus, base, names):
        names[i] = phase
    return names


def _nearest(plateaus: list[Plateau], base: Gpu, names: list[str]) -> list[tuple[str, int]]:
    pairs = []
    top_w = max(plateau.mean_w for plateau in plateaus)
    for i, plateau in enumerate(plateaus):
        for phase in ("communication", "checkpoint", "idle"):
            load = plateau.utilisation
            if names[i] or (load > _QUIET and phase == "idle") or (load > _BUSY and phase == "checkpoint"):
                continue
            if phase == "communication" and (load <= _QUIET or plateau.mean_w > _WAITS_BELOW * top_w):
                continue
            off = abs(math.log(plateau.mean_w / getattr(base.levels, f"{phase}_w")))
            if off < math.log(2):
                pairs.append((off, phase, i))
    given: list[tuple[str, int]] = []
    for _, phase, i in sorted(pairs):
        if phase not in [each for each, _ in given] and i not in [each for _, each in given]:
            given.append((phase, i))
    return given
