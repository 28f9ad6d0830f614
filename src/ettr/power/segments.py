"""Segments of a run's timeline with their energy: the basis of every power series and every energy sum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.core.units import S_PER_H
from ettr.power.profiles import COOLANT_S, TRAINING, Profile

_GAP_S = 1e-3
"""Tolerance between the end of a segment and the start of the next. [s]"""


@dataclass(frozen=True)
class Segments:
    """Timeline of a run as consecutive segments, in seconds since submission, with power per GPU.

    The energy up to any time has an exact formula: mean power times time, plus the deviation of the current training
    step from its mean, and for the cooling an exponential approach to the mean power of the segment.
    """

    profile: Profile
    state: np.ndarray
    edge_s: np.ndarray
    """Start of each segment, and the end of the last. [s]"""
    mean_w: np.ndarray
    """Mean power of a GPU in each segment, by state. [W]"""
    steps: np.ndarray
    """True in segments with training steps."""
    before_j: np.ndarray
    """Energy of a GPU before each segment, and of the complete run. [J]"""
    cooled_w: np.ndarray
    """Heat load that the cooling has reached at each start and at the end, per GPU with other IT equipment. [W]"""
    cooled_before_j: np.ndarray
    """Integral of that heat load before each segment, and of the complete run. [J]"""

    def index(self, at_s: np.ndarray) -> np.ndarray:
        """Return the segment at each time."""
        index = np.searchsorted(self.edge_s, at_s, side="right") - 1
        return np.clip(index, 0, self.state.size - 1)

    def gpu_j(self, at_s: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Return the energy of a GPU since the start of its segment. [J]"""
        since_s = at_s - self.edge_s[i]
        energy_j = self.mean_w[i] * since_s
        steps = self.steps[i]
        if steps.all():
            return np.asarray(energy_j + self.profile.waveform.excess_j(since_s))
        energy_j[steps] += self.profile.waveform.excess_j(since_s[steps])
        return np.asarray(energy_j)

    def cooled_j(self, at_s: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Return the integral of the heat load of the cooling since the start of the segment. [J]"""
        # First-order lag: C(t) = P + (C0 - P) exp(-t/tau), whose integral is P t - (C0 - P) tau (exp(-t/tau) - 1).
        since_s = at_s - self.edge_s[i]
        level_w = self.mean_w[i] + self.profile.other_w
        lag_j = (self.cooled_w[i] - level_w) * COOLANT_S * np.expm1(-since_s / COOLANT_S)
        return np.asarray(level_w * since_s - lag_j)


def segments_of(timeline: pd.DataFrame, profile: Profile) -> Segments:
    """Check a timeline and apply a power profile to it.

    Raises
    ------
    InputError
        If columns are missing, there are several runs, or segments overlap or leave gaps.
    UnknownName
        If the profile has no level for a state.
    """
    segments = _one_run(timeline)
    start_s, end_s = (segments[name].to_numpy(float) * S_PER_H for name in ("start_h", "end_h"))
    _refuse_gaps(start_s, end_s)
    state = segments["state"].astype(str).to_numpy()
    for name in pd.unique(state):
        if name not in profile.states:
            raise UnknownName("state", name, profile.states, "timeline")
    mean_w = pd.Series(state).map({name: profile.gpu_w(name) for name in profile.states}).to_numpy(float)
    steps = np.isin(state, TRAINING)
    edge_s = np.append(start_s, end_s[-1])
    energy_j = mean_w * np.diff(edge_s)
    energy_j[steps] += profile.waveform.excess_j(np.diff(edge_s)[steps])
    cooled_w = _lagged(mean_w + profile.other_w, np.diff(edge_s))
    stored_j = COOLANT_S * np.diff(cooled_w)  # heat that the coolant gains over a segment, tau (C1 - C0)
    return Segments(
        profile=profile,
        state=state,
        edge_s=edge_s,
        mean_w=mean_w,
        steps=steps,
        before_j=np.append(0.0, np.cumsum(energy_j)),
        cooled_w=cooled_w,
        cooled_before_j=np.append(0.0, np.cumsum((mean_w + profile.other_w) * np.diff(edge_s) - stored_j)),
    )


def _one_run(timeline: pd.DataFrame) -> pd.DataFrame:
    """Segments of a timeline that has the columns and a single run, without those of no length."""
    missing = [name for name in ("start_h", "end_h", "state") if name not in timeline.columns]
    if missing:
        raise InputError(f"a timeline needs columns start_h, end_h and state, and has no {', '.join(missing)}")
    n_runs = len(pd.unique(timeline["run"])) if "run" in timeline.columns else 1
    if n_runs > 1:
        raise InputError(f"a timeline must have one run, got {n_runs}: use timeline[timeline['run'] == 0]")
    segments = timeline[timeline["end_h"] > timeline["start_h"]]
    if segments.empty:
        raise InputError("the timeline has no segment longer than 0 h: use simulate(..., timeline=[0])")
    return segments


def _refuse_gaps(start_s: np.ndarray, end_s: np.ndarray) -> None:
    """Raise if segments overlap or leave gaps."""
    if not (np.isfinite(start_s).all() and np.isfinite(end_s).all()):
        raise InputError("a timeline's start_h and end_h must be finite")
    gap = np.abs(start_s[1:] - end_s[:-1])
    if (gap > _GAP_S).any():
        at = int(np.argmax(gap > _GAP_S))
        raise InputError(
            f"segments of a timeline must follow each other without gap or overlap, got one that ends at "
            f"{end_s[at] / S_PER_H:.6g} h and the next that starts at {start_s[at + 1] / S_PER_H:.6g} h"
        )


def _lagged(level_w: np.ndarray, duration_s: np.ndarray) -> np.ndarray:
    """Levels behind a first-order lag with the coolant's time constant, at each start and at the end. [W]

    It starts in steady state: C1 = P + (C0 - P) exp(-t/tau) over each segment.
    """
    lagged_w = np.empty(level_w.size + 1)
    lagged_w[0] = current = float(level_w[0])
    for i, (level, decay) in enumerate(zip(level_w.tolist(), np.exp(-duration_s / COOLANT_S).tolist(), strict=True)):
        current = level + (current - level) * decay
        lagged_w[i + 1] = current
    return lagged_w
