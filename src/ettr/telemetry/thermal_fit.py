"""How warm power makes a die: resistance, time constant and inlet, from the course of power and temperature."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from ettr.telemetry.estimates import Estimate, Solution, if_sure, with_errors
from ettr.telemetry.format import GAP_STEPS

LEAST_SWING_K = 3.0
"""Power must warm the die by at least so much more at one time than at another; whole degrees hide less."""
LEAST_STRETCH = 10
"""Samples that a stretch between gaps must have."""
_ROUNDED_K = 0.29
"""Standard deviation of what rounding to whole degrees hides."""
_RESISTANCE, _TAU, _INLET = ("resistance", "K/W"), ("tau", "s"), ("inlet", "°C")
_NOTHING = 1e-18
"""Of what is left of a state when it counts no more."""


@dataclass(frozen=True)
class Stretch:
    """Samples between two gaps.

    Attributes
    ----------
    t_s, mean_w, temperature_c : ndarray
        Times, mean power from one sample to the next (one fewer), and temperatures.
    """

    t_s: np.ndarray
    mean_w: np.ndarray
    temperature_c: np.ndarray


@dataclass(frozen=True)
class Warming:
    """The model of first order, fitted to one GPU.

    Attributes
    ----------
    resistance, tau, inlet : Estimate
        K/W, s, and °C.
    residual_k : float
        Root mean square of what the model leaves; NaN where there is none. [K]
    """

    resistance: Estimate
    tau: Estimate
    inlet: Estimate
    residual_k: float = float("nan")

    @property
    def one_constant_is_enough(self) -> bool:
        """Whether little more is left than whole degrees hide."""
        return not self.residual_k > 3 * _ROUNDED_K


def stretches(t_s: np.ndarray, power_w: np.ndarray, temperature_c: np.ndarray, delay_s: float) -> list[Stretch]:
    """Cut at gaps and silences, with the mean power from each sample to the next.

    Power between two samples is read off ``delay_s`` later: half a window, where readings are means of the window
    before them. Beyond the last reading it is that reading.
    """
    known = np.isfinite(power_w)
    both = known & np.isfinite(temperature_c)
    t, warm = t_s[both], temperature_c[both]
    step = float(np.median(np.diff(t)))
    cuts = np.flatnonzero(np.diff(t) > GAP_STEPS * step) + 1
    whole = []
    for t_part, warm_part in zip(np.split(t, cuts), np.split(warm, cuts), strict=True):
        if t_part.size >= LEAST_STRETCH:
            inside = known & (t_s >= t_part[0]) & (t_s <= t_part[-1])
            middle = (t_part[1:] + t_part[:-1]) / 2 + delay_s
            whole.append(Stretch(t_part, np.interp(middle, t_s[inside], power_w[inside]), warm_part))
    return whole


def filtered(t_s: np.ndarray, mean_w: np.ndarray, tau_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Response of the die to power, as power; and how much of its first state is left.

    Exact for power that is constant from one sample to the next: y' = y e^{-dt/tau} + P (1 - e^{-dt/tau}).

    Parameters
    ----------
    t_s : ndarray
        Times, growing. [s]
    mean_w : ndarray
        Power from each to the next, one fewer. [W]
    tau_s : float
        Time constant. [s]

    Returns
    -------
    tuple of ndarray and ndarray
        Power that the die has taken note of [W], 0 at first; and e^{-(t - t0)/tau}.
    """
    decay = np.exp(-np.diff(t_s) / tau_s)
    left_over = np.exp(-np.minimum((t_s - t_s[0]) / tau_s, 700.0))
    return np.concatenate([[0.0], _recurrence(decay, mean_w * (1 - decay))]), left_over


def _recurrence(decay: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """y' = y decay + gain for all samples at once: sums over 1, 2, 4, ... of them, until nothing older is left."""
    kept, y, reach = decay.copy(), gain.copy(), 1
    while reach < y.size and kept[reach - 1 :].max() > _NOTHING:
        y[reach:] += kept[reach:] * y[:-reach]
        kept[reach:] = kept[reach:] * kept[:-reach]
        reach *= 2
    return y


def fit(t_s: np.ndarray, power_w: np.ndarray, temperature_c: np.ndarray, window_s: float) -> Warming:
    """The model, fitted to one GPU, with what the time of a power reading is uncertain by in the intervals.

    When within a sampling step the power changed is not known, nor when a reading was taken. The model is fitted
    three times, with power half a sampling step earlier, as read, and half a step later; figures are those of the
    second, and their intervals reach over those of all three.
    """
    both = np.isfinite(power_w) & np.isfinite(temperature_c)
    if both.sum() < LEAST_STRETCH:
        return _none("too few samples with both power and temperature", int(both.sum()))
    half_s = float(np.median(np.diff(t_s[both]))) / 2
    plain = fit_to(stretches(t_s, power_w, temperature_c, window_s / 2))
    early, late = (
        fit_to(stretches(t_s, power_w, temperature_c, window_s / 2 + shift), near_s=plain.tau.value)
        for shift in (-half_s, half_s)
    )
    whole = [
        _over(getattr(plain, name), getattr(early, name), getattr(late, name))
        for name in ("resistance", "tau", "inlet")
    ]
    return Warming(if_sure(whole[0]), if_sure(whole[1]), whole[2], plain.residual_k)


def _over(each: Estimate, *others: Estimate) -> Estimate:
    """The estimate with an interval over those of the others."""
    lows = [other.low for other in (each, *others) if other.low is not None]
    highs = [other.high for other in (each, *others) if other.high is not None]
    return replace(each, low=min(lows), high=max(highs)) if each.identified else each


def fit_to(parts: list[Stretch], near_s: float | None = None) -> Warming:
    """Resistance, time constant and inlet of C dT/dt = P - (T - T_in)/R, tau = R C.

    For a given time constant the model is linear in the rest, so that the best of each is found in one step and only
    the time constant is searched for. Each stretch begins at a temperature of its own. The whole course is compared,
    not one step ahead: noise in the readings then does not shorten the time constant. ``near_s`` is where the time
    constant is looked for first.
    """
    if not parts:
        return _none("no stretch with both power and temperature")
    n = sum(part.t_s.size for part in parts)
    step = float(np.median(np.concatenate([np.diff(part.t_s) for part in parts])))
    longest = max(float(part.t_s[-1] - part.t_s[0]) for part in parts)
    temperature = np.concatenate([part.temperature_c for part in parts])
    if temperature.max() - temperature.min() < LEAST_SWING_K:
        return _none(f"the temperature moves by less than {LEAST_SWING_K:g} K")
    tau = _best_tau_s(parts, step / 4, longest, near_s)
    linear, loss = _solved(parts, tau)
    solution, swing_k = _errors(parts, linear, tau)
    if linear[1] <= 0:
        return _none("the temperature falls as power rises: the load, the cooling or the columns are others", n)
    if not swing_k > LEAST_SWING_K:
        return _none(f"power accounts for {swing_k:.1f} K of the temperature; it takes {LEAST_SWING_K:g} K", n)
    return _warming(solution, tau, step, longest, float(np.sqrt(loss / n)))


def _best_tau_s(parts: list[Stretch], low_s: float, high_s: float, near_s: float | None) -> float:
    """The time constant that leaves least: on a grid first, as there may be several hollows."""
    if near_s is not None:
        low_s, high_s = max(low_s, near_s / 2), min(high_s, near_s * 2)
    grid = np.geomspace(low_s, high_s, 40 if near_s is None else 5)
    best = int(np.argmin([_solved(parts, tau)[1] for tau in grid]))
    around = np.log(grid[max(best - 1, 0)]), np.log(grid[min(best + 1, grid.size - 1)])
    optimum = scipy.optimize.minimize_scalar(
        lambda log: _solved(parts, np.exp(log))[1], bounds=around, method="bounded", options={"xatol": 1e-5}
    )
    return float(np.exp(optimum.x))


def _model(part: Stretch, tau_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Columns of inlet and resistance, and of the first temperature, of one stretch."""
    y, left = filtered(part.t_s, part.mean_w, tau_s)
    return np.column_stack([1 - left, y]), left


def _freed(values: np.ndarray, left: np.ndarray) -> np.ndarray:
    """What no first temperature of the stretch accounts for; many gaps then cost no columns."""
    weight = left @ values / (left @ left)
    freed: np.ndarray = values - (np.outer(left, weight) if values.ndim > 1 else left * weight)
    return freed


def _solved(parts: list[Stretch], tau_s: float) -> tuple[np.ndarray, float]:
    """The best inlet and resistance, and the sum of squares they leave."""
    columns, temperatures = [], []
    for part in parts:
        design, left = _model(part, float(tau_s))
        columns.append(_freed(design, left))
        temperatures.append(_freed(part.temperature_c, left))
    design, temperature = np.vstack(columns), np.concatenate(temperatures)
    values = np.linalg.lstsq(design, temperature, rcond=None)[0]
    residuals = temperature - design @ values
    return values, float(residuals @ residuals)


def _errors(parts: list[Stretch], linear: np.ndarray, tau: float) -> tuple[Solution, float]:
    """Inlet, resistance and time constant with their errors; and by how much power moves the die [K]."""
    small = 1e-4
    jacobian, residuals, course = [], [], []
    for part in parts:
        design, left = _model(part, tau)
        first = left @ (part.temperature_c - design @ linear) / (left @ left)
        (high, more), (low, less) = (_model(part, tau * (1 + shift)) for shift in (small, -small))
        slope = ((high - low) @ linear + (more - less) * first) / (2 * small * tau)
        jacobian.append(_freed(np.column_stack([design, slope]), left))
        residuals.append(part.temperature_c - design @ linear - left * first)
        course.append(design[:, 1] * linear[1] + left * (first - linear[0]))
    temperature = np.concatenate([part.temperature_c for part in parts])
    rounded = temperature if np.all(temperature == np.round(temperature)) else None
    values = np.append(linear, tau)
    solution = with_errors(values, np.vstack(jacobian), np.concatenate(residuals), rounded)
    return solution, float(np.ptp(np.concatenate(course)))


def _warming(solution: Solution, tau: float, step: float, longest: float, residual_k: float) -> Warming:
    n = solution.n
    inlet, resistance, constant = (solution.estimate(*named, i) for i, named in enumerate((_INLET, _RESISTANCE, _TAU)))
    if tau < step:
        constant = Estimate("tau", "s", n=n, why_not=f"shorter than the sampling of {step:g} s")
    elif tau > longest / 2:
        constant = Estimate("tau", "s", n=n, why_not=f"longer than half of the longest stretch, {longest:,.0f} s")
        why = "the die is never near its equilibrium"
        resistance, inlet = (Estimate(each.name, each.unit, n=n, why_not=why) for each in (resistance, inlet))
    return Warming(resistance, constant, inlet, residual_k)


def _none(why: str, n: int = 0) -> Warming:
    resistance, tau, inlet = (Estimate(*named, n=n, why_not=why) for named in (_RESISTANCE, _TAU, _INLET))
    return Warming(resistance, tau, inlet)
