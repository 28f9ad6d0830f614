"""Simulated recordings of a GPU, to plan a real recording and to test the fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ettr.core.errors import InputError
from ettr.core.seeds import Seed
from ettr.core.validity import above_zero, at_least_zero
from ettr.files.ledger import Ledger
from ettr.scenario.gpu import Cooling, Gpu
from ettr.telemetry.format import Telemetry
from ettr.telemetry.plans import Step, check_steps
from ettr.telemetry.samples import Samples

_IDLE_CLOCK = 0.175
"""Clock of a GPU without a process, relative to the highest; an H100 shows 345 of 1980 MHz."""
_CORRELATION_S = 2.0
"""Correlation time of power fluctuations (assumed). [s]"""
_INLET_C, _NOISE_K, _GAP_S = 25.0, 0.1, 30.0
"""Inlet temperature, noise of a reading before rounding, and length of a gap (assumed)."""
_INNER_S = 0.05
"""Longest integration step of the model. [s]"""


def simulate(
    part: Gpu,
    steps: Sequence[Step],
    *,
    medium: str = "air",
    step_s: float = 1.0,
    n_gpus: int = 1,
    power_window_s: float = 0.0,
    lost: float = 0.0,
    power_noise: float = 0.01,
    seed: Seed = 0,
) -> Telemetry:
    """Simulate a recording of a GPU that runs a plan.

    Parameters
    ----------
    part : Gpu
        GPU.
    steps : sequence of Step
        Plan, e.g. ``telemetry.schedule()``.
    medium : str
        Cooling medium: ``air``, ``cold_plate`` or ``immersion``.
    step_s : float
        Time between samples. [s]
    n_gpus : int
        Number of GPUs, whose thermal resistance varies by the ``spread`` of the GPU.
    power_window_s : float
        Averaging time of a power reading. [s]
    lost : float
        Fraction of the time lost to gaps of 30 s.
    power_noise : float
        Standard deviation of power, as a fraction, with a correlation time of 2 s (assumed).
    seed : int or numpy.random.Generator
        Seed of the random numbers; the same seed gives the same recording.

    Returns
    -------
    Telemetry
        Recording of format ``simulated``.

    Raises
    ------
    InputError
        If a value is out of range, or the GPU has no figures for the medium.

    Notes
    -----
    The die follows C dT/dt = P - (T - T_in)/R with an inlet of 25 °C. The power level of a step applies in thermal
    equilibrium; before that, leakage follows the die temperature: :math:`P = L(T) + P_l - L(T_l)`. At the power limit
    the clock falls, with the exponent of the GPU. The level of a duty cycle between 0 and 1 is interpolated between the
    checkpoint and the compute level. Temperatures are rounded to whole degrees, after a noise of 0.1 K (assumed).

    Examples
    --------
    >>> from ettr import Gpu
    >>> recording = simulate(Gpu.load("h100"), [Step("idle", None, 60), Step("compute", 1.0, 60)], seed=1)
    >>> recording.n_gpus, len(recording.samples), recording.format
    (1, 120, 'simulated')
    """
    check_steps(steps)
    above_zero("step_s", step_s, unit="s")
    above_zero("n_gpus", n_gpus)
    at_least_zero("power_window_s", power_window_s, unit="s")
    if not 0 <= lost <= 0.5:
        raise InputError(f"lost must be between 0 and 0.5, got {lost:g}")
    cooling = part.cooled_by(medium)
    rng = np.random.default_rng(seed)
    ledger = Ledger()
    ledger.note("simulated: no machine was measured")
    samples = Samples(ledger)
    samples.absolute, samples.power_window_s = False, power_window_s
    # The model is integrated in finer steps than the samples.
    every = max(1, math.ceil(step_s / min(_INNER_S, cooling.tau_s / 20)))
    dt_s = step_s / every
    width = max(1, round(power_window_s / dt_s))
    for gpu in range(n_gpus):
        factor = max(1 + cooling.spread * rng.standard_normal(), 0.1) if n_gpus > 1 else 1.0
        power, die_c, clock, step = _course(part, steps, cooling, factor, dt_s, power_noise, rng)
        at = np.arange(0, power.size, every)
        # A power reading is the mean over the averaging window before it.
        first = np.maximum(at + 1 - width, 0)
        sums = np.concatenate([[0.0], np.cumsum(power)])
        read_w = (sums[at + 1] - sums[first]) / (at + 1 - first)
        read_c = np.round(die_c[at] + _NOISE_K * rng.standard_normal(at.size))
        for i in np.flatnonzero(_outside_gaps(at * dt_s, lost, rng)):
            current = steps[step[at[i]]]
            values = {
                "power_w": round(float(read_w[i]), 2),
                "temperature_c": float(read_c[i]),
                "clock_mhz": round(float(clock[at[i]])),
                "utilisation": current.duty or 0.0,
            }
            samples.add(round(at[i] * dt_s, 6), str(gpu), values, step=current.name)
    return samples.telemetry("simulated", f"simulated {part.name}", "the simulation")


def _course(
    gpu: Gpu,
    steps: Sequence[Step],
    cooling: Cooling,
    resistance_factor: float,
    dt_s: float,
    noise: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Power [W], die temperature [°C], clock [MHz] and number of the step, every ``dt_s``.

    ``resistance_factor`` is the thermal resistance of this GPU relative to the mean GPU.
    """
    resistance = resistance_factor * cooling.resistance_k_per_w
    counts = [max(1, round(step.seconds / dt_s)) for step in steps]
    n = sum(counts)
    # Power fluctuates as a first-order autoregression with the correlation time and the standard deviation.
    memory = math.exp(-dt_s / _CORRELATION_S)
    shocks = rng.standard_normal(n) * noise * math.sqrt(1 - memory**2)
    power, die_c, clock = np.empty(n), np.empty(n), np.empty(n)
    decay = 1 - math.exp(-dt_s / cooling.tau_s)
    t_c = _INLET_C + resistance * _level_w(gpu, steps[0])
    i, deviation, highest_mhz = 0, 0.0, gpu.clock.highest_mhz
    for step, count in zip(steps, counts, strict=True):
        level_w = _level_w(gpu, step)
        f_mhz = _IDLE_CLOCK * highest_mhz if step.duty is None else highest_mhz
        dynamic = level_w - _leakage_w(gpu, _INLET_C + cooling.resistance_k_per_w * level_w)
        for _ in range(count):
            deviation = memory * deviation + shocks[i]
            leakage = _leakage_w(gpu, t_c)
            demand = leakage + dynamic * (1 + deviation)
            power[i] = min(demand, gpu.limits.power_w)
            # At the power limit the clock falls so that a f^k equals the dynamic power that is left.
            share = max(power[i] - leakage, 1.0) / max(demand - leakage, 1.0)
            clock[i], die_c[i] = f_mhz * share ** (1 / gpu.clock.exponent), t_c
            t_c += decay * (_INLET_C + resistance * power[i] - t_c)  # C dT/dt = P - (T - T_in)/R, exact for constant P
            i += 1
    return power, die_c, clock, np.repeat(np.arange(len(steps)), counts)


def _level_w(gpu: Gpu, step: Step) -> float:
    """Power level of a step in thermal equilibrium. [W]"""
    levels = gpu.levels
    if step.duty is None:
        return levels.idle_w
    return levels.checkpoint_w + step.duty * (levels.compute_w - levels.checkpoint_w)


def _leakage_w(gpu: Gpu, temperature_c: float) -> float:
    """Leakage at a die temperature. [W]"""
    leakage = gpu.leakage
    return leakage.power_w * math.exp((temperature_c - leakage.at_c) / leakage.rise_k)


def _outside_gaps(t_s: np.ndarray, lost: float, rng: np.random.Generator) -> np.ndarray:
    """Which samples are outside gaps of 30 s at random times."""
    kept = np.ones(t_s.size, dtype=bool)
    for _ in range(round(lost * t_s[-1] / _GAP_S)):
        begin = rng.uniform(0, max(t_s[-1] - _GAP_S, 0))
        kept &= (t_s < begin) | (t_s >= begin + _GAP_S)
    return kept
