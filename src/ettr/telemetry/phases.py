"""Identification of the job phase of each plateau of power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

PHASES = ("compute", "communication", "checkpoint", "hang", "restart", "idle")
"""Names in ``Gpu.levels``, without the unit."""

START_UP = "start-up"
"""Level that occurs only at the beginning, which is no phase of a GPU."""

_STEPS = {"compute": "compute", "context": "checkpoint", "stall": "checkpoint", "idle": "idle"}
_STEPS |= {phase: phase for phase in PHASES} | {"training": "compute", "rework": "compute"}
_BUSY, _QUIET = 0.5, 0.05
_WAITS_BELOW = 0.85
"""Power below which a level may be communication, as a share of the highest level."""
_FEWEST_RETURNS, _NEAR, _MOSTLY = 4, 0.25, 0.8
"""A level returns regularly with at least 4 returns, most of whose intervals are within a quarter of their median."""
_CHECKPOINT_S = 60.0
"""Shortest time between checkpoints; a level that returns sooner belongs to a training step."""


@dataclass(frozen=True)
class Pattern:
    """Features of a plateau that identify its phase.

    Attributes
    ----------
    step : str
        Name of the recorded step; empty if none.
    power_w : float
        Mean power. [W]
    load : float
        Mean utilisation; NaN if unknown.
    every_s : float
        Median time from one visit to the next; NaN if it does not return regularly. [s]
    only_first : bool
        True if the recording starts on it and never returns.
    """

    step: str
    power_w: float
    load: float
    every_s: float
    only_first: bool


def returns_of(visits: Sequence[pd.DataFrame], level: int) -> tuple[float, bool]:
    """Return the regular time between visits to a level [s], and True if it is visited only at the beginning.

    Parameters
    ----------
    visits : sequence of DataFrame
        Visits of each GPU, see ``plateaus.visits``.
    level : int
        Number of the plateau.
    """
    gaps, first = [], []
    for table in visits:
        rows = np.flatnonzero(table["level"] == level)
        if rows.size:
            gaps.append(np.diff(table["from_s"].to_numpy()[rows]))
            first.append(rows.size == 1 and rows[0] == 0 and len(table) > 1)
    between = np.concatenate(gaps) if gaps else np.empty(0)
    every_s = float(np.median(between)) if between.size >= _FEWEST_RETURNS else np.nan
    regular = (np.abs(between - every_s) < _NEAR * every_s).mean() >= _MOSTLY if between.size else False
    return every_s if regular else np.nan, bool(first) and all(first)


def phases_of(levels: Sequence[Pattern]) -> list[str]:
    """Return the phase of each plateau, lowest first; empty if unknown.

    The name of a recorded step decides. Otherwise a level that occurs only at the beginning is start-up, and
    utilisation identifies the others. Near zero it is idle, or a checkpoint if the level returns regularly at least a
    minute apart. The highest level with a busy GPU is compute. A level below 0.85 of that, busy or returning within
    each training step, is communication. Without utilisation, a level that returns regularly is a checkpoint, and the
    highest level, which it interrupts, is compute. Power alone identifies nothing, so a level may have no name. Hangs
    and restarts cannot be identified.
    """
    if any(level.step for level in levels):
        return [_STEPS.get(level.step.lower(), "") for level in levels]
    top = max(range(len(levels)), key=lambda i: levels[i].power_w)
    has_load = [np.isfinite(level.load) for level in levels]
    returns = [level.every_s >= _CHECKPOINT_S for level in levels]
    phases = []
    for i, level in enumerate(levels):
        interrupts = returns[i] and i != top
        waits = level.power_w < _WAITS_BELOW * levels[top].power_w
        if level.only_first and i != top:
            phases.append(START_UP)
        elif not has_load[i]:
            computes = i == top and any(returns[:top])
            phases.append("checkpoint" if interrupts else "compute" if computes else "")
        elif level.load <= _QUIET:
            phases.append("checkpoint" if interrupts else "idle")
        elif interrupts and level.load < _BUSY:
            phases.append("checkpoint")
        elif i == top:
            phases.append("compute" if level.load >= _BUSY else "")
        else:
            phases.append("communication" if waits and (level.load >= _BUSY or level.every_s < _CHECKPOINT_S) else "")
    return _unique(phases, [level.power_w for level in levels])


def _unique(phases: list[str], powers_w: list[float]) -> list[str]:
    """Phases without duplicates, which are ambiguous: of several idle levels the lowest keeps its name, others none."""
    for phase in set(phases) - {"", START_UP}:
        same = [i for i, name in enumerate(phases) if name == phase]
        if len(same) > 1:
            lowest = min(same, key=lambda i: powers_w[i]) if phase == "idle" else None
            phases = [name if i not in same or i == lowest else "" for i, name in enumerate(phases)]
    return phases
