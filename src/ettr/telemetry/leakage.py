"""How much power grows with temperature alone, at one clock and one load."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ettr.scenario.gpu import Gpu
from ettr.telemetry.estimates import Estimate, with_errors

LEAST_RANGE_K = 5.0
"""Temperature must move by so much while load and clock stay."""
LEAST_SAMPLES = 50
_AT_LIMIT = 0.985
_SAME_CLOCK = 0.01
_WORKING = 0.6
"""Clocks below this share of the highest are those of an idle GPU."""
_STEADY = 0.8
"""Share of a plateau's samples that must have its usual clock."""
_IDLE_LOAD = 0.05
"""Up to this utilisation a level may be idle, of which its power then decides."""


@dataclass(frozen=True)
class _Steady:
    """Samples of plateaus with one clock, in order of time: as measured, the plateau of each, and its weight."""

    power_w: np.ndarray
    temperature_c: np.ndarray
    group: np.ndarray
    weight: np.ndarray

    @classmethod
    def weighed(cls, power_w: np.ndarray, temperature_c: np.ndarray, group: np.ndarray) -> _Steady:
        """With the weights that the noise about a straight line in each plateau gives."""
        even = cls(power_w, temperature_c, group, np.ones(power_w.size))
        x, y = even.inside(temperature_c), even.inside(power_w)
        left = y - x * (x @ y) / max(float(x @ x), 1e-12)
        noise = np.sqrt(np.bincount(group, weights=left**2) / np.bincount(group))
        usual = float(np.median(noise[noise > 0])) if (noise > 0).any() else 1.0
        return cls(power_w, temperature_c, group, (usual / np.maximum(noise, 0.05 * usual))[group])

    def inside(self, values: np.ndarray) -> np.ndarray:
        """Values less the mean of their plateau, by weight."""
        means: np.ndarray = np.bincount(self.group, weights=values) / np.bincount(self.group)
        centred: np.ndarray = (values - means[self.group]) * self.weight
        return centred


def _steady(samples: pd.DataFrame, label: np.ndarray, base: Gpu) -> _Steady | str:
    """Samples to look at, or why there are none.

    Plateaus at the power limit say nothing, as there clocks give way instead of power; nor do those whose clock moves,
    nor an idle GPU, whatever its clock. Only plateaus with one clock are compared, since voltage and leakage go with
    it: the clock of the highest power at which temperature moves enough, or of the highest power if it nowhere does.
    """
    names = ("power_w", "temperature_c", "clock_mhz", "utilisation")
    power_w, temperature_c, clock_mhz, load = (samples[name].to_numpy() for name in names)
    known = np.isfinite(power_w) & np.isfinite(temperature_c) & (label >= 0)
    if not known.any():
        return "power and temperature are not recorded together"
    if not np.isfinite(clock_mhz[known]).any():
        return "the clock is not recorded, so that power may have changed with it"
    highest_mhz = float(np.nanquantile(clock_mhz[known], 0.99))
    at_limit = moving = False
    same_clock, levels = [], []
    for plateau in np.unique(label[known]):
        here = known & (label == plateau) & np.isfinite(clock_mhz)
        if here.sum() < LEAST_SAMPLES or _is_idle(power_w[here], clock_mhz[here], load[here], highest_mhz, base):
            continue
        usual = float(np.median(clock_mhz[here]))
        same = here & (np.abs(clock_mhz - usual) <= _SAME_CLOCK * usual)
        at_limit |= (limited := bool(np.quantile(power_w[here], 0.9) > _AT_LIMIT * base.limits.power_w))
        moving |= (unsteady := same.sum() < _STEADY * here.sum())
        if not limited and not unsteady:
            same_clock.append(same)
            levels.append((_range_k(temperature_c[same]) >= LEAST_RANGE_K, float(power_w[same].mean()), usual))
    if not levels:
        if at_limit:
            return "power stands at its limit, where clocks give way instead of power"
        if moving:
            return "the clock moves within each plateau"
        return f"no plateau of power but idle has {LEAST_SAMPLES} settled samples"
    best_mhz = max(levels)[2]
    wanted = [abs(clock - best_mhz) <= 2 * _SAME_CLOCK * best_mhz for *_, clock in levels]
    use = np.any([same for same, is_wanted in zip(same_clock, wanted, strict=True) if is_wanted], axis=0)
    return _Steady.weighed(power_w[use], temperature_c[use], np.unique(label[use], return_inverse=True)[1])


def _is_idle(power_w: np.ndarray, clock_mhz: np.ndarray, load: np.ndarray, highest_mhz: float, base: Gpu) -> bool:
    """Whether a plateau is idle by its clock, or by load and power.

    Without load a level is idle if its power is nearer, by ratio, to the base GPU's idle level than to that of a
    process that holds the GPU.
    """
    if float(np.median(clock_mhz)) < _WORKING * highest_mhz:
        return True
    idle_w = float(np.sqrt(base.levels.idle_w * base.levels.checkpoint_w))
    load = load[np.isfinite(load)]
    return bool(power_w.mean() <= idle_w and not (load.size and load.mean() > _IDLE_LOAD))


def _range_k(temperature_c: np.ndarray) -> float:
    return float(np.ptp(np.quantile(temperature_c, [0.05, 0.95])))


def fit(samples: pd.DataFrame, label: np.ndarray, base: Gpu) -> Estimate:
    """P = P0 + L exp((T - T0) / T_s), with a P0 for each plateau, one leakage, and the base GPU's T_s.

    Returns L, the leakage at the GPU's ``leakage.at_c`` [W]. Plateaus count by the inverse of their own noise, which
    grows with power.

    Parameters
    ----------
    samples : DataFrame
        Of one GPU, as in ``Telemetry.samples``.
    label : ndarray
        The plateau of each; -1 where it is on none, or not settled.
    base : Gpu
        Its limit, levels and the rise of its leakage are taken for granted.
    """
    data = _steady(samples, label, base)
    if isinstance(data, str):
        return _none(data)
    n = data.power_w.size
    ranges = [_range_k(data.temperature_c[data.group == g]) for g in np.unique(data.group)]
    if n < LEAST_SAMPLES or max(ranges) < LEAST_RANGE_K:
        return _none(
            f"at one load and clock the temperature moves by {max(ranges):.1f} K; it takes {LEAST_RANGE_K:g} K", n
        )
    leak = base.leakage
    x = data.inside(np.exp((data.temperature_c - leak.at_c) / leak.rise_k))
    y = data.inside(data.power_w)
    value = float(x @ y / (x @ x))
    power = with_errors(np.array([value]), x[:, None], y - value * x).estimate("leakage", "W")
    assert power.with_ends is not None
    value, low, high = power.with_ends
    if low <= 0 <= high:
        return _none(f"power does not follow temperature: {value:.2g} W ({low:.2g} to {high:.2g})", n)
    if value <= 0:
        return _none("power falls as the die warms: the load was not the same", n)
    return replace(power, note=f"with the base GPU's rise of {leak.rise_k:g} K")


def _none(why: str, n: int = 0) -> Estimate:
    return Estimate("leakage", "W", n=n, why_not=why)
