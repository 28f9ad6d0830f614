"""Thermal fit: resistance, time constant and inlet temperature from power and temperature over time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from ettr.telemetry.estimates import Estimate, Solution, if_significant, with_errors
from ettr.telemetry.format import GAP_STEPS

LEAST_SWING_K = 3.0
"""Smallest temperature swing caused by power that can be fitted to readings in whole degrees."""
LEAST_SAMPLES = 10
"""Fewest samples of a segment between gaps."""
_ROUNDED_K = 0.29
"""Standard deviation of the error of rounding to whole degrees, 1/sqrt(12). [K]"""
_RESISTANCE, _TAU, _INLET = ("resistance", "K/W"), ("tau", "s"), ("inlet", "°C")
_NEGLIGIBLE = 1e-18
"""Share of a state that counts as decayed."""


@dataclass(frozen=True)
class Segment:
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
class ThermalFit:
    """First-order thermal model, fitted to a GPU.

    Attributes
    ----------
    resistance, tau, inlet : Estimate
        Thermal resistance [K/W], time constant [s] and inlet temperature [°C].
    residual_k : float
        Root mean square residual; NaN without a fit. [K]
    """

    resistance: Estimate
    tau: Estimate
    inlet: Estimate
    residual_k: float = float("nan")

    @property
    def fits_well(self) -> bool:
        """True if the residual is not much larger than the rounding of readings."""
        return not self.residual_k > 3 * _ROUNDED_K


def segments(t_s: np.ndarray, power_w: np.ndarray, temperature_c: np.ndarray, delay_s: float) -> list[Segment]:
    """Split samples at gaps, with the mean power from each sample to the next.

    Power between two samples is the reading ``delay_s`` later: half an averaging window. After the last reading it is
    that reading.
    """
    has_power = np.isfinite(power_w)
    both = has_power & np.isfinite(temperature_c)
    t, die_c = t_s[both], temperature_c[both]
    step = float(np.median(np.diff(t)))
    cuts = np.flatnonzero(np.diff(t) > GAP_STEPS * step) + 1
    parts = []
    for t_part, die_part in zip(np.split(t, cuts), np.split(die_c, cuts), strict=True):
        if t_part.size >= LEAST_SAMPLES:
            inside = has_power & (t_s >= t_part[0]) & (t_s <= t_part[-1])
            middle = (t_part[1:] + t_part[:-1]) / 2 + delay_s
            parts.append(Segment(t_part, np.interp(middle, t_s[inside], power_w[inside]), die_part))
    return parts


def filtered(t_s: np.ndarray, mean_w: np.ndarray, tau_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Return power behind a first-order filter, and the remaining share of the initial state.

    Exact for power that is constant from one sample to the next: y' = y e^{-dt/tau} + P (1 - e^{-dt/tau}).

    Parameters
    ----------
    t_s : ndarray
        Increasing times. [s]
    mean_w : ndarray
        Power from each sample to the next, one fewer. [W]
    tau_s : float
        Time constant. [s]

    Returns
    -------
    tuple of ndarray and ndarray
        Filtered power [W], 0 at first; and e^{-(t - t0)/tau}.
    """
    decay = np.exp(-np.diff(t_s) / tau_s)
    initial_share = np.exp(-np.minimum((t_s - t_s[0]) / tau_s, 700.0))
    return np.concatenate([[0.0], _recurrence(decay, mean_w * (1 - decay))]), initial_share


def _recurrence(decay: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Solve y' = y decay + gain for all samples, by sums over 1, 2, 4, ... samples until the rest has decayed."""
    share, y, reach = decay.copy(), gain.copy(), 1
    while reach < y.size and share[reach - 1 :].max() > _NEGLIGIBLE:
        y[reach:] += share[reach:] * y[:-reach]
        share[reach:] = share[reach:] * share[:-reach]
        reach *= 2
    return y


def fit(t_s: np.ndarray, power_w: np.ndarray, temperature_c: np.ndarray, window_s: float) -> ThermalFit:
    """Fit the thermal model to a GPU, with intervals that include the uncertain time of power readings.

    Neither the time of a power change within a sampling step nor the time of a reading is known. The model is fitted
    three times, with power half a sampling step earlier, unshifted, and half a step later. The estimates are those of
    the unshifted fit, and their intervals span those of all three.
    """
    both = np.isfinite(power_w) & np.isfinite(temperature_c)
    if both.sum() < LEAST_SAMPLES:
        return _none("too few samples with both power and temperature", int(both.sum()))
    half_s = float(np.median(np.diff(t_s[both]))) / 2
    unshifted = fit_to(segments(t_s, power_w, temperature_c, window_s / 2))
    early, late = (
        fit_to(segments(t_s, power_w, temperature_c, window_s / 2 + shift), near_s=unshifted.tau.value)
        for shift in (-half_s, half_s)
    )
    resistance, tau, inlet = (
        _spanning(getattr(unshifted, name), getattr(early, name), getattr(late, name))
        for name in ("resistance", "tau", "inlet")
    )
    return ThermalFit(if_significant(resistance), if_significant(tau), inlet, unshifted.residual_k)


def _spanning(estimate: Estimate, *others: Estimate) -> Estimate:
    """The estimate with an interval that spans those of the others."""
    lows = [other.low for other in (estimate, *others) if other.low is not None]
    highs = [other.high for other in (estimate, *others) if other.high is not None]
    return replace(estimate, low=min(lows), high=max(highs)) if estimate.identified else estimate


def fit_to(parts: list[Segment], near_s: float | None = None) -> ThermalFit:
    """Fit resistance, time constant and inlet of C dT/dt = P - (T - T_in)/R, tau = R C.

    For a fixed time constant the model is linear in the other parameters, so only the time constant needs a search.
    Each segment has its own initial temperature. The fit compares the simulated course over the full segment instead of
    predictions one step ahead, so that noise in the readings does not bias the time constant. ``near_s`` is a first
    guess of the time constant.
    """
    if not parts:
        return _none("no segment with both power and temperature")
    n = sum(part.t_s.size for part in parts)
    step = float(np.median(np.concatenate([np.diff(part.t_s) for part in parts])))
    longest = max(float(part.t_s[-1] - part.t_s[0]) for part in parts)
    temperature = np.concatenate([part.temperature_c for part in parts])
    if temperature.max() - temperature.min() < LEAST_SWING_K:
        return _none(f"the temperature range is below {LEAST_SWING_K:g} K")
    tau = _best_tau_s(parts, step / 4, longest, near_s)
    linear, loss = _solved(parts, tau)
    solution, swing_k = _errors(parts, linear, tau)
    if linear[1] <= 0:
        return _none("the temperature falls as power rises: the cooling changed, or the columns are wrong", n)
    if not swing_k > LEAST_SWING_K:
        return _none(f"power changes the temperature by {swing_k:.1f} K, below {LEAST_SWING_K:g} K", n)
    return _thermal_fit(solution, tau, step, longest, float(np.sqrt(loss / n)))


def _best_tau_s(parts: list[Segment], low_s: float, high_s: float, near_s: float | None) -> float:
    """Time constant with the smallest residual, on a grid first because there may be several minima. [s]"""
    if near_s is not None:
        low_s, high_s = max(low_s, near_s / 2), min(high_s, near_s * 2)
    grid = np.geomspace(low_s, high_s, 40 if near_s is None else 5)
    best = int(np.argmin([_solved(parts, tau)[1] for tau in grid]))
    around = np.log(grid[max(best - 1, 0)]), np.log(grid[min(best + 1, grid.size - 1)])
    optimum = scipy.optimize.minimize_scalar(
        lambda log: _solved(parts, np.exp(log))[1], bounds=around, method="bounded", options={"xatol": 1e-5}
    )
    return float(np.exp(optimum.x))


def _model(part: Segment, tau_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Design columns of inlet and resistance, and of the initial temperature, of a segment.

    T(t) = T_in (1 - e) + R y + T(t0) e, where e = exp(-(t - t0)/tau) and y is the filtered power.
    """
    y, initial = filtered(part.t_s, part.mean_w, tau_s)
    return np.column_stack([1 - initial, y]), initial


def _projected(values: np.ndarray, initial: np.ndarray) -> np.ndarray:
    """Values orthogonal to the column of the initial temperature, so that segments add no columns to the fit."""
    weight = initial @ values / (initial @ initial)
    projected: np.ndarray = values - (np.outer(initial, weight) if values.ndim > 1 else initial * weight)
    return projected


def _solved(parts: list[Segment], tau_s: float) -> tuple[np.ndarray, float]:
    """Least-squares inlet and resistance for a time constant, and the residual sum of squares."""
    columns, temperatures = [], []
    for part in parts:
        design, initial = _model(part, float(tau_s))
        columns.append(_projected(design, initial))
        temperatures.append(_projected(part.temperature_c, initial))
    design, temperature = np.vstack(columns), np.concatenate(temperatures)
    values = np.linalg.lstsq(design, temperature, rcond=None)[0]
    residuals = temperature - design @ values
    return values, float(residuals @ residuals)


def _errors(parts: list[Segment], linear: np.ndarray, tau: float) -> tuple[Solution, float]:
    """Inlet, resistance and time constant with their errors; and the temperature swing caused by power. [K]"""
    small = 1e-4
    jacobian, residuals, course = [], [], []
    for part in parts:
        design, initial = _model(part, tau)
        first_c = initial @ (part.temperature_c - design @ linear) / (initial @ initial)
        # Derivative with respect to tau by central differences.
        (high, high_initial), (low, low_initial) = (_model(part, tau * (1 + shift)) for shift in (small, -small))
        slope = ((high - low) @ linear + (high_initial - low_initial) * first_c) / (2 * small * tau)
        jacobian.append(_projected(np.column_stack([design, slope]), initial))
        residuals.append(part.temperature_c - design @ linear - initial * first_c)
        course.append(design[:, 1] * linear[1] + initial * (first_c - linear[0]))
    temperature = np.concatenate([part.temperature_c for part in parts])
    rounded = temperature if np.all(temperature == np.round(temperature)) else None
    values = np.append(linear, tau)
    solution = with_errors(values, np.vstack(jacobian), np.concatenate(residuals), rounded)
    return solution, float(np.ptp(np.concatenate(course)))


def _thermal_fit(solution: Solution, tau: float, step: float, longest: float, residual_k: float) -> ThermalFit:
    """Estimates of a solution, unless the time constant is too short or too long for the recording."""
    n = solution.n
    inlet, resistance, constant = (
        solution.estimate(*quantity, i) for i, quantity in enumerate((_INLET, _RESISTANCE, _TAU))
    )
    if tau < step:
        constant = Estimate("tau", "s", n=n, why_not=f"it is shorter than the sampling step of {step:g} s")
    elif tau > longest / 2:
        why = f"it is longer than half of the longest segment, {longest:,.0f} s"
        constant = Estimate("tau", "s", n=n, why_not=why)
        why = "the die never comes near thermal equilibrium"
        resistance, inlet = (Estimate(figure.name, figure.unit, n=n, why_not=why) for figure in (resistance, inlet))
    return ThermalFit(resistance, constant, inlet, residual_k)


def _none(why: str, n: int = 0) -> ThermalFit:
    """Thermal fit without estimates, for a reason."""
    resistance, tau, inlet = (Estimate(*quantity, n=n, why_not=why) for quantity in (_RESISTANCE, _TAU, _INLET))
    return ThermalFit(resistance, tau, inlet)
