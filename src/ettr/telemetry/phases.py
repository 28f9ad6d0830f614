"""Which phase of a job a plateau of power is, as well as it can be said."""

from __future__ import annotations

import math
from collections.abc import Sequence

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


def phases_of(steps: Sequence[str], powers_w: list[float], loads: list[float], base: Gpu) -> list[str]:
    """A phase for each plateau; empty where none can be said.

    A recorded step's name decides. Else the highest plateau computes if it is over half of the power limit and the
    GPU is not idle in it. Of the rest each takes the phase whose level in the base GPU is nearest by ratio: idle or
    a checkpoint where utilisation is near nothing, communication where it is not and power is below 0.85 of the
    highest. What is as near to a phase that another plateau is nearer to has no name. Hangs and restarts cannot be
    told from power.

    Parameters
    ----------
    steps : sequence of str
        The recorded step of each plateau; empty if none.
    powers_w, loads : list of float
        Mean power of each [W], and mean utilisation, NaN where unknown.
    base : Gpu
        The GPU whose levels are known.
    """
    if any(steps):
        return [_STEPS.get(step.lower(), "") for step in steps]
    top_w = max(powers_w)
    top = powers_w.index(top_w)
    names = [""] * len(powers_w)
    if top_w >= _COMPUTES_FROM * base.limits.power_w and not loads[top] < _BUSY:
        names[top] = "compute"
    pairs = []
    for i, (power_w, load) in enumerate(zip(powers_w, loads, strict=True)):
        for phase in ("communication", "checkpoint", "idle"):
            if names[i] or (load > _QUIET and phase == "idle") or (load > _BUSY and phase == "checkpoint"):
                continue
            if phase == "communication" and (load <= _QUIET or power_w > _WAITS_BELOW * top_w):
                continue
            off = abs(math.log(power_w / getattr(base.levels, f"{phase}_w")))
            if off < math.log(2):
                pairs.append((off, phase, i))
    for _, phase, i in sorted(pairs):
        if phase not in names and not names[i]:
            names[i] = phase
    return names
