"""The stretches of one run with the energy that each takes: what every series and every sum is cut from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.core.units import S_PER_H
from ettr.power.profiles import COOLANT_S, TRAINING, Profile

_GAP_S = 1e-3
"""Rounding between the end of a stretch and the beginning of the next."""


@dataclass(frozen=True)
class Stretches:
    """One run as stretches in the order of time, in seconds since submission, and power per GPU.

    The energy up to any moment is exact: mean power times time, what a step has taken beyond its mean, and for the
    cooling an exponential approach to the stretch's mean.
    """

    profile: Profile
    state: np.ndarray
    edge_s: np.ndarray
    """Beginnings, and the end of the last."""
    mean_w: np.ndarray
    """Of a GPU in each stretch, by its state."""
    steps: np.ndarray
    """Whether steps are taken."""
    before_j: np.ndarray
    """Energy of a GPU before each stretch, and in all."""
    cooled_w: np.ndarray
    """Power that the cooling works at, at each beginning and at the end, as of a GPU and the rest."""
    cooled_before_j: np.ndarray

    def index(self, at_s: np.ndarray) -> np.ndarray:
        """Stretch of each moment."""
        place = np.searchsorted(self.edge_s, at_s, side="right") - 1
        return np.clip(place, 0, self.state.size - 1)

    def gpu_j(self, at_s: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Energy of a GPU since its stretch began. [J]"""
        since_s = at_s - self.edge_s[i]
        energy_j = self.mean_w[i] * since_s
        here = self.steps[i]
        if here.all():
            return np.asarray(energy_j + self.profile.waveform.excess_j(since_s))
        energy_j[here] += self.profile.waveform.excess_j(since_s[here])
        return np.asarray(energy_j)

    def cooled_j(self, at_s: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Integral of the power that the cooling works at, since the stretch began. [J]"""
        since_s = at_s - self.edge_s[i]
        level_w = self.mean_w[i] + self.profile.other_w
        held_j = (self.cooled_w[i] - level_w) * COOLANT_S * np.expm1(-since_s / COOLANT_S)
        return np.asarray(level_w * since_s - held_j)


def stretches_of(timeline: pd.DataFrame, profile: Profile) -> Stretches:
    """Check a timeline and lay the profile on it.

    Raises
    ------
    InputError
        Missing columns, several runs, stretches out of order, or a gap between them.
    UnknownName
        A state that the profile has no level for.
    """
    own = _one_run(timeline)
    start_s, end_s = (own[name].to_numpy(float) * S_PER_H for name in ("start_h", "end_h"))
    _refuse_gaps(start_s, end_s)
    state = own["state"].astype(str).to_numpy()
    for name in pd.unique(state):
        if name not in profile.states:
            raise UnknownName("state", name, profile.states, "timeline")
    mean_w = pd.Series(state).map({name: profile.gpu_w(name) for name in profile.states}).to_numpy(float)
    steps = np.isin(state, TRAINING)
    edge_s = np.append(start_s, end_s[-1])
    took_j = mean_w * np.diff(edge_s)
    took_j[steps] += profile.waveform.excess_j(np.diff(edge_s)[steps])
    cooled_w = _followed(mean_w + profile.other_w, np.diff(edge_s))
    stored_j = COOLANT_S * np.diff(cooled_w)
    return Stretches(
        profile=profile,
        state=state,
        edge_s=edge_s,
        mean_w=mean_w,
        steps=steps,
        before_j=np.append(0.0, np.cumsum(took_j)),
        cooled_w=cooled_w,
        cooled_before_j=np.append(0.0, np.cumsum((mean_w + profile.other_w) * np.diff(edge_s) - stored_j)),
    )


def _one_run(timeline: pd.DataFrame) -> pd.DataFrame:
    missing = [name for name in ("start_h", "end_h", "state") if name not in timeline.columns]
    if missing:
        raise InputError(f"a timeline needs columns start_h, end_h and state, got none named {', '.join(missing)}")
    n_runs = len(pd.unique(timeline["run"])) if "run" in timeline.columns else 1
    if n_runs > 1:
        raise InputError(f"a timeline must be of one run, got {n_runs}: take timeline[timeline['run'] == 0]")
    lasting = timeline[timeline["end_h"] > timeline["start_h"]]
    if lasting.empty:
        raise InputError("the timeline has no stretch of any length: simulate(..., timeline=[0])")
    return lasting


def _refuse_gaps(start_s: np.ndarray, end_s: np.ndarray) -> None:
    if not (np.isfinite(start_s).all() and np.isfinite(end_s).all()):
        raise InputError("a timeline's start_h and end_h must be finite")
    gap = np.abs(start_s[1:] - end_s[:-1])
    if (gap > _GAP_S).any():
        at = int(np.argmax(gap > _GAP_S))
        raise InputError(
            f"stretches of a timeline must follow each other without gap or overlap: one ends at "
            f"{end_s[at] / S_PER_H:.6g} h and the next begins at {start_s[at + 1] / S_PER_H:.6g} h"
        )


def _followed(level_w: np.ndarray, lasts_s: np.ndarray) -> np.ndarray:
    """What follows the levels with the coolant's time constant, at each beginning and at the end; it starts settled."""
    followed_w = np.empty(level_w.size + 1)
    followed_w[0] = now = float(level_w[0])
    for i, (level, kept) in enumerate(zip(level_w.tolist(), np.exp(-lasts_s / COOLANT_S).tolist(), strict=True)):
        now = level + (now - level) * kept
        followed_w[i + 1] = now
    return followed_w
