"""Leakage: the growth of power with temperature at a constant clock and load."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ettr.scenario.gpu import Gpu
from ettr.telemetry.estimates import Estimate, with_errors

LEAST_RANGE_K = 5.0
"""Smallest temperature range at a constant load and clock from which leakage is fitted."""
LEAST_SAMPLES = 50
_AT_LIMIT = 0.985
_SAME_CLOCK = 0.01
_WORKING = 0.6
"""Clock relative to the highest below which a GPU is idle."""
_STEADY = 0.8
"""Smallest share of a plateau's samples at its median clock."""
_IDLE_LOAD = 0.05
"""Utilisation up to which a level may be idle, depending on its power."""


@dataclass(frozen=True)
class _Steady:
    """Samples of plateaus at the same clock, in order of time, with the plateau and the weight of each."""

    power_w: np.ndarray
    temperature_c: np.ndarray
    group: np.ndarray
    weight: np.ndarray

    @classmethod
    def weighed(cls, power_w: np.ndarray, temperature_c: np.ndarray, group: np.ndarray) -> _Steady:
        """Weight each plateau by the inverse of its noise around a common straight line of power over temperature."""
        unweighted = cls(power_w, temperature_c, group, np.ones(power_w.size))
        x, y = unweighted.centred(temperature_c), unweighted.centred(power_w)
        residual = y - x * (x @ y) / max(float(x @ x), 1e-12)
        noise = np.sqrt(np.bincount(group, weights=residual**2) / np.bincount(group))
        median = float(np.median(noise[noise > 0])) if (noise > 0).any() else 1.0
        return cls(power_w, temperature_c, group, (median / np.maximum(noise, 0.05 * median))[group])

    def centred(self, values: np.ndarray) -> np.ndarray:
        """Values minus the mean of their plateau, times their weight; this removes P0 of each plateau."""
        means: np.ndarray = np.bincount(self.group, weights=values) / np.bincount(self.group)
        centred: np.ndarray = (values - means[self.group]) * self.weight
        return centred


def _steady(samples: pd.DataFrame, label: np.ndarray, base: Gpu) -> _Steady | str:
    """Samples to fit leakage to, or the reason why there are none.

    Plateaus at the power limit are left out, because the clock changes there instead of power; so are plateaus with a
    varying clock and idle ones. Voltage and leakage depend on the clock, so only plateaus with the same clock are
    used: that of the highest power at which temperature varies enough, or of the highest power if it never does.
    """
    names = ("power_w", "temperature_c", "clock_mhz", "utilisation")
    power_w, temperature_c, clock_mhz, load = (samples[name].to_numpy() for name in names)
    measured = np.isfinite(power_w) & np.isfinite(temperature_c) & (label >= 0)
    if not measured.any():
        return "power and temperature are not recorded together"
    if not np.isfinite(clock_mhz[measured]).any():
        return "the clock is not recorded, and power may have changed with it"
    highest_mhz = float(np.nanquantile(clock_mhz[measured], 0.99))
    at_limit = varying = False
    same_clock, levels = [], []
    for plateau in np.unique(label[measured]):
        on_level = measured & (label == plateau) & np.isfinite(clock_mhz)
        n = on_level.sum()
        if n < LEAST_SAMPLES or _is_idle(power_w[on_level], clock_mhz[on_level], load[on_level], highest_mhz, base):
            continue
        median_mhz = float(np.median(clock_mhz[on_level]))
        same = on_level & (np.abs(clock_mhz - median_mhz) <= _SAME_CLOCK * median_mhz)
        at_limit |= (limited := bool(np.quantile(power_w[on_level], 0.9) > _AT_LIMIT * base.limits.power_w))
        varying |= (unsteady := same.sum() < _STEADY * n)
        if not limited and not unsteady:
            same_clock.append(same)
            levels.append((_range_k(temperature_c[same]) >= LEAST_RANGE_K, float(power_w[same].mean()), median_mhz))
    if not levels:
        if at_limit:
            return "power is at its limit, where the clock changes instead of power"
        if varying:
            return "the clock varies within each plateau"
        return f"no plateau except idle has {LEAST_SAMPLES} settled samples"
    best_mhz = max(levels)[2]
    at_best = [abs(clock - best_mhz) <= 2 * _SAME_CLOCK * best_mhz for *_, clock in levels]
    use = np.any([same for same, matches in zip(same_clock, at_best, strict=True) if matches], axis=0)
    return _Steady.weighed(power_w[use], temperature_c[use], np.unique(label[use], return_inverse=True)[1])


def _is_idle(power_w: np.ndarray, clock_mhz: np.ndarray, load: np.ndarray, highest_mhz: float, base: Gpu) -> bool:
    """True if a plateau is idle by its clock, or by utilisation and power.

    Without utilisation, a level is idle if the ratio of its power to the base GPU's idle level is smaller than that to
    the level of a process that occupies the GPU.
    """
    if float(np.median(clock_mhz)) < _WORKING * highest_mhz:
        return True
    idle_w = float(np.sqrt(base.levels.idle_w * base.levels.checkpoint_w))
    load = load[np.isfinite(load)]
    return bool(power_w.mean() <= idle_w and not (load.size and load.mean() > _IDLE_LOAD))


def _range_k(temperature_c: np.ndarray) -> float:
    """Range of temperature from the 5% to the 95% quantile. [K]"""
    return float(np.ptp(np.quantile(temperature_c, [0.05, 0.95])))


def fit(samples: pd.DataFrame, label: np.ndarray, base: Gpu) -> Estimate:
    """Fit the leakage L of P = P0 + L exp((T - T0) / T_s), with a P0 for each plateau and T_s of the base GPU. [W]

    T0 is ``leakage.at_c`` of the base GPU. Plateaus are weighted by the inverse of their noise, which grows with power.

    Parameters
    ----------
    samples : DataFrame
        Samples of a GPU, as in ``Telemetry.samples``.
    label : ndarray
        Plateau of each sample; -1 if it is on none or has not settled.
    base : Gpu
        Base GPU, for its power limit, levels and temperature dependence of leakage.
    """
    data = _steady(samples, label, base)
    if isinstance(data, str):
        return _none(data)
    n = data.power_w.size
    ranges = [_range_k(data.temperature_c[data.group == g]) for g in np.unique(data.group)]
    if n < LEAST_SAMPLES or max(ranges) < LEAST_RANGE_K:
        return _none(
            f"the temperature range at a constant load and clock is {max(ranges):.1f} K, below {LEAST_RANGE_K:g} K", n
        )
    # Least squares within plateaus, which removes each P0: L is the slope of power over exp((T - T0)/T_s).
    leak = base.leakage
    x = data.centred(np.exp((data.temperature_c - leak.at_c) / leak.rise_k))
    y = data.centred(data.power_w)
    value = float(x @ y / (x @ x))
    power = with_errors(np.array([value]), x[:, None], y - value * x).estimate("leakage", "W")
    assert power.with_ends is not None
    value, low, high = power.with_ends
    if low <= 0 <= high:
        return _none(f"power does not rise with temperature: {value:.2g} W ({low:.2g} to {high:.2g})", n)
    if value <= 0:
        return _none("power falls as the die warms, so the load was not constant", n)
    return replace(power, note=f"assumes the base GPU's rise_k of {leak.rise_k:g} K")


def _none(why: str, n: int = 0) -> Estimate:
    """Leakage without an estimate."""
    return Estimate("leakage", "W", n=n, why_not=why)
