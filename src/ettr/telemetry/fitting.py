"""From a recording to the figures of a GPU."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy

from ettr.core.errors import InputError
from ettr.scenario.gpu import Gpu
from ettr.telemetry import leakage, plateaus, thermal_fit
from ettr.telemetry.estimates import Estimate, if_sure, mean_of, together
from ettr.telemetry.fitted import OVER, Level, TelemetryFit
from ettr.telemetry.format import Telemetry
from ettr.telemetry.phases import PHASES, START_UP, Seen, phases_of, seen_of

LEAST_SAMPLES = 20
"""Fewer samples of power are no recording."""
_MOST_SPREAD = 0.5
"""A GPU takes none of this or more."""
_UNTOLD = ("hang", "restart")
_MODEL = re.compile(r"(?<![A-Z0-9])(GB300|GB200|B200|H200|H100|A100)(?![0-9])")
"""The preset in a GPU's name."""
_INSTANT = "a100"
"""The GPU whose power is that of an instant, where others since Ampere give a mean."""
_OF_NVML = ("nvidia-smi", "dcgm")
"""Formats whose power is as NVML gives it."""


def fit(
    telemetry: Telemetry,
    part: str | Gpu = "h100",
    medium: str = "air",
    *,
    gpu: str | None = None,
    power_window_s: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> TelemetryFit:
    """Fit phase levels, warming and leakage to a recording.

    Parameters
    ----------
    telemetry : Telemetry
        What ``telemetry.read`` gives.
    part : str or Gpu
        The base: its power limit, names of its phases, and whatever the recording cannot say are taken from it.
    medium : str
        What cools the GPU: ``air``, ``cold_plate`` or ``immersion``. It decides which figures of the base are replaced.
    gpu : str or None
        One GPU by its name; all if not given, each fitted by itself and then taken together.
    power_window_s : float or None
        What one reading of power is the mean of; what the format says if not given. [s]
    progress : callable or None
        Called with the name of each step.

    Returns
    -------
    TelemetryFit
        Each figure with its 95% interval, or with why the recording cannot say.

    Raises
    ------
    InputError
        Unknown GPU or base, a medium that the base has no figures for, or fewer than 20 samples of power.

    Notes
    -----
    :math:`C\\,dT/dt = P - (T - T_{in})/R` with :math:`\\tau = RC`, driven by the measured power;
    :math:`P = P_0 + L e^{(T - T_0)/T_s}` at one clock and load. The page on methods says how, and what is assumed.

    Examples
    --------
    >>> from ettr import Gpu, telemetry
    >>> recording = telemetry.simulate(Gpu.load("h100"), telemetry.schedule(minutes=20), power_window_s=1.0, seed=3)
    >>> fitted = telemetry.fit(recording)
    >>> round(fitted.tau.value), fitted.tau.low < 60 < fitted.tau.high
    (60, True)
    >>> fitted.memory_resistance.why_not
    'the memory temperature is not recorded'
    """
    base = part if isinstance(part, Gpu) else Gpu.load(part)
    base.cooled_by(medium)
    samples = telemetry.samples if gpu is None else telemetry.of(gpu)
    model = _one_model({each: name for each, name in telemetry.models.items() if gpu in (None, each)}, telemetry.source)
    preset = _preset(model) or _preset(base.name) or _preset(base.title)
    window_s = power_window_s
    if window_s is None:
        window_s = 0.0 if telemetry.format in _OF_NVML and preset == _INSTANT else telemetry.power_window_s
    if not 0 <= window_s < 3600:
        raise InputError(f"power_window_s must be from 0 to 3600 s, got {window_s:g}")
    n = int(samples["power_w"].notna().sum())
    if n < LEAST_SAMPLES:
        raise InputError(f"{telemetry.source} must hold {LEAST_SAMPLES} samples of power or more, got {n}")
    report = progress or (lambda _: None)
    report("warming")
    standing = plateaus.find(samples, window_s, telemetry.step_s)
    each = _each(samples, standing.label, window_s)
    report("leakage")
    leak = if_sure(together([one.leak(base, window_s) for one in each]))
    thermal = {name: together([getattr(one.warm, name) for one in each]) for name in ("resistance", "tau", "inlet")}
    thermal |= {name: if_sure(thermal[name]) for name in ("resistance", "tau")}  # 0 °C is no nought
    tau_s = thermal["tau"].value
    levels = _levels(each, standing, window_s, tau_s)
    return TelemetryFit(
        source=telemetry.source,
        format=telemetry.format,
        base=base,
        medium=medium,
        gpus=tuple(one.name for one in each),
        n_samples=n,
        levels=levels,
        resistance=thermal["resistance"],
        tau=thermal["tau"],
        inlet=thermal["inlet"],
        memory_resistance=if_sure(together([one.memory for one in each])),
        spread=_spread([one.warm.resistance for one in each]),
        leakage=leak,
        residual_k=float(pd.Series([one.warm.residual_k for one in each]).max()),
        notes=(
            *_other_model(model, base),
            *_over_limit(levels, base),
            "power readings are taken as " + (f"means of the {window_s:g} s before them" if window_s else "instants"),
            *_notes(telemetry, each, standing, levels),
        ),
    )


@dataclass(frozen=True)
class _Gpu:
    """One GPU's samples with the number of each one's plateau, and how power warms its die and its memory."""

    name: str
    samples: pd.DataFrame
    label: np.ndarray
    warm: thermal_fit.Warming
    memory: Estimate

    @classmethod
    def of(cls, name: str, one: pd.DataFrame, label: np.ndarray, window_s: float) -> _Gpu:
        t_s, power_w, warm_c, memory_c = one[["t_s", "power_w", "temperature_c", "memory_c"]].to_numpy().T
        warm = thermal_fit.fit(t_s, power_w, warm_c, window_s)
        if np.isfinite(memory_c).any():
            memory = thermal_fit.fit(t_s, power_w, memory_c, window_s).resistance
        else:
            memory = Estimate("resistance", "K/W", why_not="the memory temperature is not recorded")
        return cls(name, one, label, warm, memory)

    def settled(self, window_s: float, tau_s: float | None = None) -> np.ndarray:
        return plateaus.settled(self.samples["t_s"].to_numpy(), self.label, window_s=window_s, tau_s=tau_s)

    def leak(self, base: Gpu, window_s: float) -> Estimate:
        return leakage.fit(self.samples, np.where(self.settled(window_s), self.label, -1), base)


def _preset(name: str) -> str:
    """The preset that a name of a GPU is of; empty if of none."""
    match = _MODEL.search(name.upper())
    return match[1].lower() if match else ""


def _one_model(models: Mapping[str, str], source: str) -> str:
    """The model of all GPUs, empty if the file names none; several are refused, as their mean is of none."""
    names = list(dict.fromkeys(models.values()))
    if len(names) > 1:
        listed = "; ".join(f"{name}: {next(gpu for gpu in models if models[gpu] == name)}" for name in names)
        raise InputError(
            f"{source} holds {len(names)} models of GPU, and a fit is of one: name one GPU with --gpu, e.g. of {listed}"
        )
    return names[0] if names else ""


def _other_model(model: str, base: Gpu) -> list[str]:
    """The recorded model, and that the base GPU is another."""
    if not model:
        return []
    own, theirs = _preset(base.name) or _preset(base.title), _preset(model)
    if theirs and own and theirs != own:
        return [f"the file says {model}, and the base GPU is {base.title}: give --part {theirs}"]
    return [f"the file says {model}{'' if theirs else ', which no preset describes'}"]


def _each(samples: pd.DataFrame, label: np.ndarray, window_s: float) -> list[_Gpu]:
    """Every GPU by itself, with the plateaus of its samples."""
    positions = samples.reset_index(drop=True).groupby("gpu", sort=False).indices
    return [
        _Gpu.of(str(gpu), samples.iloc[positions[gpu]].reset_index(drop=True), label[positions[gpu]], window_s)
        for gpu in samples["gpu"].unique()
    ]


def _levels(each: list[_Gpu], standing: plateaus.Plateaus, window_s: float, tau_s: float | None) -> tuple[Level, ...]:
    """Every plateau with its mean, from the highest down."""
    total = sum(int((one.label >= 0).sum()) for one in each)
    came = [plateaus.visits(one.samples["t_s"].to_numpy(), one.label) for one in each]
    levels, seen = [], []
    for number, step in enumerate(standing.names):
        means = [_mean(one, number, window_s, tau_s) for one in each]
        whole = together(means) if any(mean.identified for mean in means) else means[0]
        visits = sum(int((one["level"] == number).sum()) for one in came)
        here = pd.concat([one.samples[one.label == number] for one in each])
        load, clock_mhz, warm_c = (float(here[name].mean()) for name in ("utilisation", "clock_mhz", "temperature_c"))
        levels.append(Level("", step, whole, len(here) / total, visits, load, clock_mhz, warm_c))
        seen.append(Seen(step, float(here["power_w"].mean()), load, *seen_of(came, number)))
    phases = phases_of(seen)
    return tuple(replace(level, phase=phase) for level, phase in reversed(list(zip(levels, phases, strict=True))))


def _mean(one: _Gpu, number: int, window_s: float, tau_s: float | None) -> Estimate:
    here = one.label == number
    settled = here & one.settled(window_s, tau_s)
    note = ""
    if settled.sum() < min(LEAST_SAMPLES, max(here.sum() // 4, 1)):
        settled, note = here, "with the samples beside changes: it changes faster than it is sampled"
    if not settled.any():
        return Estimate("level", "W", why_not="the GPU is never there")
    mean, low, high = mean_of(one.samples["power_w"].to_numpy()[settled])
    n = int(settled.sum())
    if not np.isfinite(low):
        return Estimate("level", "W", why_not=f"{n} samples: too few for an interval", n=n)
    return Estimate("level", "W", mean, low, high, n, note=note)


def _spread(resistances: list[Estimate]) -> Estimate:
    """Coefficient of variation of the resistance from GPU to GPU."""
    values = np.array([each.value for each in resistances if each.value is not None])
    if values.size < 3:
        why = f"it takes three GPUs with a known resistance, got {values.size}"
        return Estimate("spread", "", n=int(values.size), why_not=why)
    cv, freedom = float(np.std(values, ddof=1) / values.mean()), values.size - 1
    low, high = (cv * float(np.sqrt(freedom / scipy.stats.chi2.ppf(p, freedom))) for p in (0.975, 0.025))
    if cv >= _MOST_SPREAD:
        why = f"{cv:.2g} is not how GPUs of one kind differ: each has a place and an inlet of its own"
        return Estimate("spread", "", n=int(values.size), why_not=why)
    return Estimate("spread", "", cv, low, high, int(values.size))


def _over_limit(levels: tuple[Level, ...], base: Gpu) -> list[str]:
    """That the recorded GPU is another than the base."""
    most_w = max((level.mean.value or 0.0 for level in levels), default=0.0)
    if most_w <= OVER * base.limits.power_w:
        return []
    return [
        f"a level of {most_w:,.1f} W is over the power limit of {base.name}, {base.limits.power_w:g} W: name the GPU "
        "model that was recorded"
    ]


def _notes(
    telemetry: Telemetry, each: list[_Gpu], standing: plateaus.Plateaus, levels: tuple[Level, ...]
) -> tuple[str, ...]:
    notes = list(telemetry.notes)
    if any(not one.warm.one_constant_is_enough for one in each):
        worst = float(pd.Series([one.warm.residual_k for one in each]).max())
        notes.append(
            f"one time constant leaves {worst:.1f} K, more than whole degrees hide: the die follows power faster than "
            "its sink, or the inlet moved; the interval of the time constant does not know of that"
        )
    if len(standing.names) > plateaus.MOST and not any(standing.names):
        notes.append(f"{len(standing.names)} levels of power: it wanders rather than standing on plateaus")
    seen = {level.phase for level in levels}
    nameless = sum(not level.phase for level in levels)
    if nameless:
        notes.append(
            f"levels that the recording gives no name: {nameless}; they do not enter the GPU. A column of steps or of "
            "utilisation, or a checkpoint that comes back regularly, would name them"
        )
    if START_UP in seen:
        notes.append("a level that occurs only at the beginning is start-up, and enters nothing")
    unseen = [phase for phase in PHASES if phase not in seen and phase not in _UNTOLD]
    if unseen:
        notes.append(f"not seen: {', '.join(unseen)}")
    if not seen & set(_UNTOLD):
        notes.append("hang and restart cannot be told from power alone, and stay as in the base GPU")
    return tuple(notes)
