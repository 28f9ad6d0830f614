"""Simulated recordings of a GPU: to plan a real one, and to test what a fit can find."""

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
"""Clock of a GPU that nothing holds, as a share of its highest; an H100 shows 345 of 1980 MHz."""
_KEPT_S = 2.0
"""How long a fluctuation of power lasts (assumed)."""
_INLET_C, _NOISE_K, _GAP_S = 25.0, 0.1, 30.0
"""Of what cools the GPU, the noise of a reading before it is rounded, and the length of a gap (assumed)."""
_INNER_S = 0.05
"""Longest step of the model's own clock."""


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
    """Simulate a recording of a GPU that runs through a plan; nothing of it is measured.

    Parameters
    ----------
    part : Gpu
        What is recorded.
    steps : sequence of Step
        The plan, e.g. ``telemetry.schedule()``.
    medium : str
        How it is cooled: ``air``, ``cold_plate`` or ``immersion``.
    step_s : float
        Time between samples. [s]
    n_gpus : int
        GPUs side by side, whose resistance varies by its ``spread``.
    power_window_s : float
        What a reading of power is the mean of. [s]
    lost : float
        Fraction of the time that is lost to gaps of 30 s.
    power_noise : float
        Standard deviation of power, as a fraction of it; fluctuations last 2 s (assumed).
    seed : int or numpy.random.Generator
        The same seed gives the same recording.

    Returns
    -------
    Telemetry
        With format ``simulated``.

    Raises
    ------
    InputError
        A value that breaks a rule, or a medium that the GPU has no figures for.

    Notes
    -----
    The die follows C dT/dt = P - (T - T_in)/R over an inlet of 25 °C. Power is the level of the step, which holds in
    thermal equilibrium there, with leakage following the die: :math:`P = L(T) + P_l - L(T_l)`. At the power limit the
    clock gives way, to the GPU's exponent. A duty between 0 and 1 lies on the line between the GPU's levels at a
    checkpoint and at computing. Temperatures are read as whole degrees, with a noise of 0.1 K before that (assumed).

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
    # the model's own clock is finer than that of the samples
    every = max(1, math.ceil(step_s / min(_INNER_S, cooling.tau_s / 20)))
    dt_s = step_s / every
    width = max(1, round(power_window_s / dt_s))
    for gpu in range(n_gpus):
        own = max(1 + cooling.spread * rng.standard_normal(), 0.1) if n_gpus > 1 else 1.0
        power, warm, clock, step = _course(part, steps, cooling, own, dt_s, power_noise, rng)
        at = np.arange(0, power.size, every)
        first = np.maximum(at + 1 - width, 0)
        sums = np.concatenate([[0.0], np.cumsum(power)])
        read_w = (sums[at + 1] - sums[first]) / (at + 1 - first)
        read_c = np.round(warm[at] + _NOISE_K * rng.standard_normal(at.size))
        for i in np.flatnonzero(_kept(at * dt_s, lost, rng)):
            now = steps[step[at[i]]]
            values = {
                "power_w": round(float(read_w[i]), 2),
                "temperature_c": float(read_c[i]),
                "clock_mhz": round(float(clock[at[i]])),
                "utilisation": now.duty or 0.0,
            }
            samples.add(round(at[i] * dt_s, 6), str(gpu), values, step=now.name)
    return samples.telemetry("simulated", f"simulated {part.name}", "the simulation")


def _course(
    gpu: Gpu,
    steps: Sequence[Step],
    cooling: Cooling,
    own: float,
    dt_s: float,
    noise: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Power [W], temperature [°C], clock [MHz] and number of the step, every ``dt_s``.

    ``own`` is the resistance of this one GPU, over that of its kind.
    """
    resistance = own * cooling.resistance_k_per_w
    counts = [max(1, round(step.seconds / dt_s)) for step in steps]
    n = sum(counts)
    kept = math.exp(-dt_s / _KEPT_S)
    shocks = rng.standard_normal(n) * noise * math.sqrt(1 - kept**2)
    power, warm, clock = np.empty(n), np.empty(n), np.empty(n)
    decay = 1 - math.exp(-dt_s / cooling.tau_s)
    t_c = _INLET_C + resistance * _level_w(gpu, steps[0])
    i, wobble, highest_mhz = 0, 0.0, gpu.clock.highest_mhz
    for step, count in zip(steps, counts, strict=True):
        level_w = _level_w(gpu, step)
        f_mhz = _IDLE_CLOCK * highest_mhz if step.duty is None else highest_mhz
        dynamic = level_w - _leak_w(gpu, _INLET_C + cooling.resistance_k_per_w * level_w)
        for _ in range(count):
            wobble = kept * wobble + shocks[i]
            leak = _leak_w(gpu, t_c)
            wanted = leak + dynamic * (1 + wobble)
            power[i] = min(wanted, gpu.limits.power_w)
            held = max(power[i] - leak, 1.0) / max(wanted - leak, 1.0)
            clock[i], warm[i] = f_mhz * held ** (1 / gpu.clock.exponent), t_c
            t_c += decay * (_INLET_C + resistance * power[i] - t_c)
            i += 1
    return power, warm, clock, np.repeat(np.arange(len(steps)), counts)


def _level_w(gpu: Gpu, step: Step) -> float:
    """The level of a step in thermal equilibrium [W]."""
    levels = gpu.levels
    if step.duty is None:
        return levels.idle_w
    return levels.checkpoint_w + step.duty * (levels.compute_w - levels.checkpoint_w)


def _leak_w(gpu: Gpu, temperature_c: float) -> float:
    leak = gpu.leakage
    return leak.power_w * math.exp((temperature_c - leak.at_c) / leak.rise_k)


def _kept(t_s: np.ndarray, lost: float, rng: np.random.Generator) -> np.ndarray:
    kept = np.ones(t_s.size, dtype=bool)
    for _ in range(round(lost * t_s[-1] / _GAP_S)):
        begin = rng.uniform(0, max(t_s[-1] - _GAP_S, 0))
        kept &= (t_s < begin) | (t_s >= begin + _GAP_S)
    return kept
