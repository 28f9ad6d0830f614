"""How much power grows with temperature alone, at one clock and one load."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from ettr.scenario.gpu import Gpu
from ettr.telemetry.estimates import Estimate, Solution, with_errors

LEAST_RANGE_K = 5.0
"""Temperature must move by so much while load and clock stay."""
LEAST_SAMPLES = 50
_SURE = 0.3
"""Half width of the interval of 1/T_s, times the base GPU's T_s, up to which a curvature is taken.

Not relative to the T_s that was found: short ones look sure of themselves, and only they would be taken.
"""
_AT_LIMIT = 0.985
_SAME_CLOCK = 0.01
_WORKING = 0.6
"""Clocks below this share of the highest are those of an idle GPU."""
_STEADY = 0.8
"""Share of a plateau's samples that must have its usual clock."""
_IDLE_LOAD = 0.05
"""Up to this utilisation a level may be idle, of which its power then decides."""
_RISES_K = (5.0, 300.0)


@dataclass(frozen=True)
class Leak:
    """What power does with temperature.

    Attributes
    ----------
    slope : Estimate
        Power per kelvin, at ``at_c``. [W/K]
    power : Estimate
        Leakage at the GPU's ``leakage.at_c``. [W]
    rise : Estimate
        Warming that multiplies it by e. [K]
    at_c : float
        Mean temperature of what the slope was found from; NaN if nothing. [°C]
    """

    slope: Estimate
    power: Estimate
    rise: Estimate
    at_c: float = float("nan")


@dataclass(frozen=True)
class Steady:
    """Samples of plateaus with one clock, in order of time, with each plateau's means taken off.

    Attributes
    ----------
    power_w, temperature_c : ndarray
        As measured.
    group : ndarray
        Number of the plateau of each.
    weight : ndarray
        Weight of each, one for a plateau.
    """

    power_w: np.ndarray
    temperature_c: np.ndarray
    group: np.ndarray
    weight: np.ndarray

    @classmethod
    def weighed(cls, power_w: np.ndarray, temperature_c: np.ndarray, group: np.ndarray) -> Steady:
        """With the weights that the noise about a straight line in each plateau gives."""
        even = cls(power_w, temperature_c, group, np.ones(power_w.size))
        x, y = even.inside(temperature_c), even.inside(power_w)
        left = y - x * (x @ y) / max(float(x @ x), 1e-12)
        noise = np.sqrt(np.bincount(group, weights=left**2) / np.maximum(np.bincount(group), 1))
        usual = float(np.median(noise[noise > 0])) if (noise > 0).any() else 1.0
        return cls(power_w, temperature_c, group, (usual / np.maximum(noise, 0.05 * usual))[group])

    def inside(self, values: np.ndarray) -> np.ndarray:
        """Values less the mean of their plateau, by weight."""
        n = np.bincount(self.group)
        means: np.ndarray = np.bincount(self.group, weights=values) / np.where(n > 0, n, 1)
        centred: np.ndarray = (values - means[self.group]) * self.weight
        return centred


def steady(
    power_w: np.ndarray,
    temperature_c: np.ndarray,
    clock_mhz: np.ndarray,
    utilisation: np.ndarray,
    label: np.ndarray,
    base: Gpu,
) -> Steady | str:
    """Samples to look at, or why there are none.

    Plateaus at the power limit say nothing, as there clocks give way instead of power; nor do those whose clock moves,
    nor an idle GPU, whatever its clock. Only plateaus with one clock are compared, since voltage and leakage go with
    it: the clock of the highest power at which temperature moves enough, or of the highest power if it nowhere does.
    """
    known = np.isfinite(power_w) & np.isfinite(temperature_c) & (label >= 0)
    if not known.any():
        return "power and temperature are not recorded together"
    if not np.isfinite(clock_mhz[known]).any():
        return "the clock is not recorded, so that power may have changed with it"
    use, levels = np.zeros(label.size, dtype=bool), []
    at_limit = moving = False
    for plateau in _working(power_w, clock_mhz, utilisation, np.where(known, label, -1), base):
        here = known & (label == plateau) & np.isfinite(clock_mhz)
        usual = float(np.median(clock_mhz[here]))
        same = here & (np.abs(clock_mhz - usual) <= _SAME_CLOCK * usual)
        at_limit |= (limited := bool(np.quantile(power_w[here], 0.9) > _AT_LIMIT * base.limits.power_w))
        moving |= (unsteady := same.sum() < _STEADY * here.sum())
        if not limited and not unsteady:
            levels.append(_Level(plateau, usual, float(power_w[same].mean()), _range_k(temperature_c[same])))
            use |= same
    if not levels:
        return _why_not(at_limit, moving)
    best = max(levels, key=lambda level: (level.range_k >= LEAST_RANGE_K, level.mean_w))
    wanted = [
        level.number for level in levels if abs(level.clock_mhz - best.clock_mhz) <= 2 * _SAME_CLOCK * best.clock_mhz
    ]
    use &= np.isin(label, wanted)
    return Steady.weighed(power_w[use], temperature_c[use], np.unique(label[use], return_inverse=True)[1])


@dataclass(frozen=True)
class _Level:
    """A plateau below the limit, with one clock."""

    number: int
    clock_mhz: float
    mean_w: float
    range_k: float


def _working(
    power_w: np.ndarray, clock_mhz: np.ndarray, utilisation: np.ndarray, label: np.ndarray, base: Gpu
) -> list[int]:
    """Plateaus with enough samples that are not idle: neither by their clock, nor by load and power.

    Without load a level is idle if its power is nearer, by ratio, to the base GPU's idle level than to that of a
    process that holds the GPU.
    """
    highest_mhz = float(np.nanquantile(clock_mhz[label >= 0], 0.99))
    idle_w = float(np.sqrt(base.levels.idle_w * base.levels.checkpoint_w))
    numbers = []
    for number in (int(each) for each in np.unique(label[label >= 0])):
        here = (label == number) & np.isfinite(clock_mhz)
        if here.sum() < LEAST_SAMPLES or float(np.median(clock_mhz[here])) < _WORKING * highest_mhz:
            continue
        load = utilisation[here & np.isfinite(utilisation)]
        if power_w[here].mean() > idle_w or (load.size and load.mean() > _IDLE_LOAD):
            numbers.append(number)
    return numbers


def _range_k(temperature_c: np.ndarray) -> float:
    return float(np.ptp(np.quantile(temperature_c, [0.05, 0.95])))


def _why_not(at_limit: bool, moving: bool) -> str:
    if at_limit:
        return "power stands at its limit, where clocks give way instead of power"
    if moving:
        return "the clock moves within each plateau"
    return f"no plateau of power but idle has {LEAST_SAMPLES} settled samples"


def fit(data: Steady | str, base: Gpu) -> Leak:
    """P = P0 + L exp((T - T0) / T_s), with a P0 for each plateau and one leakage.

    Three answers, as far as the data go: the slope of power against temperature; the leakage L if the base GPU's
    T_s is taken for granted; and L and T_s both, where the curvature tells T_s to within about 0.3 of itself.
    Plateaus count by the inverse of their own noise, which grows with power.
    """
    if isinstance(data, str):
        return _none(data)
    n = data.power_w.size
    ranges = [_range_k(data.temperature_c[data.group == g]) for g in np.unique(data.group)]
    if n < LEAST_SAMPLES or max(ranges) < LEAST_RANGE_K:
        return _none(
            f"at one load and clock the temperature moves by {max(ranges):.1f} K; it takes {LEAST_RANGE_K:g} K", n
        )
    warm = data.inside(data.temperature_c)
    slope = _estimate("leakage slope", "W/K", _linear(data, warm), n)
    at_c = float(np.average(data.temperature_c, weights=warm**2))
    if slope.low is not None and slope.low <= 0 and slope.high is not None and slope.high >= 0:
        why = f"power does not follow temperature: {slope.value:.2g} W/K ({slope.low:.2g} to {slope.high:.2g})"
        return _none(why, n)
    if slope.value is None or slope.value <= 0:
        why = "power falls as the die warms: the load was not the same"
        return Leak(slope, _not("leakage", "W", why, n), _not("leakage rise", "K", why, n), at_c)
    return _curved(data, base, slope, at_c)


def _curved(data: Steady, base: Gpu, slope: Estimate, at_c: float) -> Leak:
    n, leak = data.power_w.size, base.leakage

    def shape(rise_k: float) -> np.ndarray:
        return data.inside(np.exp((data.temperature_c - leak.at_c) / rise_k))

    def loss(log_rise: float) -> float:
        x = shape(float(np.exp(log_rise)))
        y = data.inside(data.power_w)
        return float(((y - x * (x @ y) / (x @ x)) ** 2).sum())

    rise_k = float(
        np.exp(
            optimize.minimize_scalar(loss, bounds=tuple(np.log(_RISES_K)), method="bounded", options={"xatol": 1e-4}).x
        )
    )
    x = shape(rise_k)
    power_w = float(x @ data.inside(data.power_w) / (x @ x))
    small = 1e-3 * rise_k
    bend = power_w * (shape(rise_k + small) - shape(rise_k - small)) / (2 * small)
    residuals = data.inside(data.power_w) - power_w * x
    both = with_errors(np.array([power_w, rise_k]), np.column_stack([x, bend]), residuals)
    low, high = both.interval(1)
    if low > 0 and (high - low) / 2 <= _SURE * rise_k**2 / leak.rise_k and rise_k < 0.9 * _RISES_K[1]:
        rise = Estimate("leakage rise", "K", rise_k, low, high, n)
        return Leak(slope, _estimate("leakage", "W", both, n), rise, at_c)
    given = _estimate("leakage", "W", _linear(data, shape(leak.rise_k)), n)
    note = f"only the slope is identified; with the base GPU's rise of {leak.rise_k:g} K"
    power = Estimate("leakage", "W", given.value, given.low, given.high, n, note=note)
    why = "the temperatures show a slope and no sure curvature"
    return Leak(slope, power, _not("leakage rise", "K", why, n), at_c)


def _linear(data: Steady, x: np.ndarray) -> Solution:
    y = data.inside(data.power_w)
    value = float(x @ y / (x @ x))
    return with_errors(np.array([value]), x[:, None], y - value * x)


def _estimate(name: str, unit: str, solution: Solution, n: int) -> Estimate:
    low, high = solution.interval(0)
    return Estimate(name, unit, float(solution.values[0]), low, high, n)


def _not(name: str, unit: str, why: str, n: int = 0) -> Estimate:
    return Estimate(name, unit, n=n, why_not=why)


def _none(why: str, n: int = 0) -> Leak:
    return Leak(_not("leakage slope", "W/K", why, n), _not("leakage", "W", why, n), _not("leakage rise", "K", why, n))
