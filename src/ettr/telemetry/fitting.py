"""Fit of power levels, thermal figures and leakage to a recording."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.probability import chi2_quantile
from ettr.scenario.gpu import Gpu
from ettr.telemetry import leakage, plateaus, thermal_fit
from ettr.telemetry.estimates import Estimate, if_significant, mean_of, together
from ettr.telemetry.fitted import OVER, Level, TelemetryFit
from ettr.telemetry.format import NOT_READ, Telemetry
from ettr.telemetry.phases import PHASES, START_UP, Pattern, phases_of, returns_of

LEAST_SAMPLES = 20
"""Fewest samples with power that can be fitted."""
_MOST_SPREAD = 0.5
"""Spread from which GPUs are not of the same kind."""
_UNIDENTIFIABLE = ("hang", "restart")
_MODEL = re.compile(r"(?<![A-Z0-9])(GB300|GB200|B200|H200|H100|A100)(?![0-9])")
"""Preset within the name of a GPU."""
_INSTANT = "a100"
"""The only GPU since Ampere whose power reading is instantaneous; the others report a mean."""
_NVML_FORMATS = ("nvidia-smi", "dcgm")
"""Formats with the power readings of NVML."""


def fit(
    telemetry: Telemetry,
    part: str | Gpu = "h100",
    medium: str = "air",
    *,
    gpu: str | None = None,
    power_window_s: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> TelemetryFit:
    """Fit power levels, thermal figures and leakage to a recording.

    Parameters
    ----------
    telemetry : Telemetry
        Recording, as from ``telemetry.read``.
    part : str or Gpu
        Base GPU: it supplies the power limit, the names of the phases, and every figure that is not identified.
    medium : str
        Cooling medium: ``air``, ``cold_plate`` or ``immersion``. It determines which figures of the base are replaced.
    gpu : str or None
        Name of a single GPU; by default all, each fitted separately and then averaged.
    power_window_s : float or None
        Averaging time of a power reading; by default that of the format. [s]
    progress : callable or None
        Called with the name of each step.

    Returns
    -------
    TelemetryFit
        Each figure with its 95% interval, or the reason why there is no estimate.

    Raises
    ------
    InputError
        If the GPU or the base is unknown, the base has no figures for the medium, or there are fewer than 20 samples
        with power.

    Notes
    -----
    :math:`C\\,dT/dt = P - (T - T_{in})/R` with :math:`\\tau = RC`, driven by the measured power;
    :math:`P = P_0 + L e^{(T - T_0)/T_s}` at a constant clock and load. The methods page explains the fit and its
    assumptions.

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
    models = {index: model for index, model in telemetry.models.items() if gpu in (None, index)}
    model = _one_model(models, telemetry.source)
    preset = _preset(model) or _preset(base.name) or _preset(base.title)
    window_s = power_window_s
    if window_s is None:
        window_s = 0.0 if telemetry.format in _NVML_FORMATS and preset == _INSTANT else telemetry.power_window_s
    if not 0 <= window_s < 3600:
        raise InputError(f"power_window_s must be from 0 to 3600 s, got {window_s:g}")
    n = int(samples["power_w"].notna().sum())
    if n < LEAST_SAMPLES:
        raise InputError(f"{telemetry.source} must have >= {LEAST_SAMPLES} samples with power, got {n}")
    report = progress or (lambda _: None)
    report("thermal figures")
    stages = plateaus.find(samples, window_s, telemetry.step_s)
    gpus = _gpus(samples, stages.label, window_s)
    report("leakage")
    leak = if_significant(together([device.leakage(base, window_s) for device in gpus]))
    names = ("resistance", "tau", "inlet")
    thermal = {name: together([getattr(device.thermal, name) for device in gpus]) for name in names}
    # An inlet of 0 °C is a valid temperature, so only the other two must differ from 0.
    thermal |= {name: if_significant(thermal[name]) for name in ("resistance", "tau")}
    tau_s = thermal["tau"].value
    levels = _levels(gpus, stages, window_s, tau_s)
    averaging = f"means over the last {window_s:g} s" if window_s else "instantaneous"
    return TelemetryFit(
        source=telemetry.source,
        format=telemetry.format,
        base=base,
        medium=medium,
        gpus=tuple(device.name for device in gpus),
        n_samples=n,
        levels=levels,
        resistance=thermal["resistance"],
        tau=thermal["tau"],
        inlet=thermal["inlet"],
        memory_resistance=if_significant(together([device.memory for device in gpus])),
        spread=_spread([device.thermal.resistance for device in gpus]),
        leakage=leak,
        residual_k=float(pd.Series([device.thermal.residual_k for device in gpus]).max()),
        notes=(
            *_other_model(model, base),
            *_over_limit(levels, base),
            f"power readings are assumed to be {averaging}",
            *_notes(telemetry, gpus, stages, levels),
        ),
    )


@dataclass(frozen=True)
class _Gpu:
    """Samples of a GPU with their plateaus, and the thermal fits of its die and memory."""

    name: str
    samples: pd.DataFrame
    label: np.ndarray
    thermal: thermal_fit.ThermalFit
    memory: Estimate

    @classmethod
    def of(cls, name: str, samples: pd.DataFrame, label: np.ndarray, window_s: float) -> _Gpu:
        """Fit the thermal model to the die and to the memory of a GPU."""
        t_s, power_w, die_c, memory_c = samples[["t_s", "power_w", "temperature_c", "memory_c"]].to_numpy().T
        thermal = thermal_fit.fit(t_s, power_w, die_c, window_s)
        if np.isfinite(memory_c).any():
            memory = thermal_fit.fit(t_s, power_w, memory_c, window_s).resistance
        else:
            memory = Estimate("resistance", "K/W", why_not="the memory temperature is not recorded")
        return cls(name, samples, label, thermal, memory)

    def settled(self, window_s: float, tau_s: float | None = None) -> np.ndarray:
        """Which samples have settled on their plateau."""
        return plateaus.settled(self.samples["t_s"].to_numpy(), self.label, window_s=window_s, tau_s=tau_s)

    def leakage(self, base: Gpu, window_s: float) -> Estimate:
        """Leakage, fitted to the settled samples."""
        return leakage.fit(self.samples, np.where(self.settled(window_s), self.label, -1), base)


def _preset(name: str) -> str:
    """Preset of a GPU name; empty if there is none."""
    match = _MODEL.search(name.upper())
    return match[1].lower() if match else ""


def _one_model(models: Mapping[str, str], source: str) -> str:
    """Model of all GPUs, empty if the file has none; raises if there are several, whose mean has no meaning."""
    names = list(dict.fromkeys(models.values()))
    if len(names) > 1:
        listed = "; ".join(f"{next(gpu for gpu in models if models[gpu] == name)} ({name})" for name in names)
        raise InputError(f"{source} has {len(names)} models of GPU: fit a single gpu at a time, e.g. {listed}")
    return names[0] if names else ""


def _other_model(model: str, base: Gpu) -> list[str]:
    """Note on the recorded model, with a warning if the base GPU is another model."""
    if not model:
        return []
    base_preset, preset = _preset(base.name) or _preset(base.title), _preset(model)
    if preset and base_preset and preset != base_preset:
        return [f"the recorded GPU is {model}, but the base GPU is {base.title}: use part {preset}"]
    return [f"the recorded GPU is {model}{'' if preset else ', which has no preset'}"]


def _gpus(samples: pd.DataFrame, label: np.ndarray, window_s: float) -> list[_Gpu]:
    """Samples by GPU, each with its plateaus and thermal fits."""
    positions = samples.reset_index(drop=True).groupby("gpu", sort=False).indices
    return [
        _Gpu.of(str(gpu), samples.iloc[positions[gpu]].reset_index(drop=True), label[positions[gpu]], window_s)
        for gpu in samples["gpu"].unique()
    ]


def _levels(gpus: list[_Gpu], stages: plateaus.Plateaus, window_s: float, tau_s: float | None) -> tuple[Level, ...]:
    """Plateaus with their means and phases, highest first."""
    total = sum(int((device.label >= 0).sum()) for device in gpus)
    visits = [plateaus.visits(device.samples["t_s"].to_numpy(), device.label) for device in gpus]
    levels, patterns = [], []
    for number, step in enumerate(stages.names):
        means = [_mean(device, number, window_s, tau_s) for device in gpus]
        mean = together(means) if any(mean.identified for mean in means) else means[0]
        n_visits = sum(int((table["level"] == number).sum()) for table in visits)
        rows = pd.concat([device.samples[device.label == number] for device in gpus])
        load, clock_mhz, die_c = (float(rows[name].mean()) for name in ("utilisation", "clock_mhz", "temperature_c"))
        levels.append(Level("", step, mean, len(rows) / total, n_visits, load, clock_mhz, die_c))
        patterns.append(Pattern(step, float(rows["power_w"].mean()), load, *returns_of(visits, number)))
    phases = phases_of(patterns)
    return tuple(replace(level, phase=phase) for level, phase in reversed(list(zip(levels, phases, strict=True))))


def _mean(device: _Gpu, number: int, window_s: float, tau_s: float | None) -> Estimate:
    """Mean power of a GPU on a plateau, over the settled samples if there are enough."""
    on_level = device.label == number
    used = on_level & device.settled(window_s, tau_s)
    note = ""
    if used.sum() < min(LEAST_SAMPLES, max(on_level.sum() // 4, 1)):
        used, note = on_level, "samples next to changes are included, because power changes faster than it is sampled"
    if not used.any():
        return Estimate("level", "W", why_not="the GPU has no samples on it")
    mean, low, high = mean_of(device.samples["power_w"].to_numpy()[used])
    n = int(used.sum())
    if not np.isfinite(low):
        return Estimate("level", "W", why_not=f"{n} samples are too few for an interval", n=n)
    return Estimate("level", "W", mean, low, high, n, note=note)


def _spread(resistances: list[Estimate]) -> Estimate:
    """Coefficient of variation of the resistance between GPUs, with its chi-squared interval."""
    values = np.array([resistance.value for resistance in resistances if resistance.value is not None])
    if values.size < 3:
        why = f"it needs three GPUs with a known resistance, got {values.size}"
        return Estimate("spread", "", n=int(values.size), why_not=why)
    cv, freedom = float(np.std(values, ddof=1) / values.mean()), values.size - 1
    low, high = (cv * float(np.sqrt(freedom / chi2_quantile(p, freedom))) for p in (0.975, 0.025))
    if cv >= _MOST_SPREAD:
        why = f"{cv:.2g} is too large for GPUs of one kind: their positions and inlet temperatures differ"
        return Estimate("spread", "", n=int(values.size), why_not=why)
    return Estimate("spread", "", cv, low, high, int(values.size))


def _over_limit(levels: tuple[Level, ...], base: Gpu) -> list[str]:
    """Warning that a level is above the power limit of the base GPU."""
    highest_w = max((level.mean.value or 0.0 for level in levels), default=0.0)
    if highest_w <= OVER * base.limits.power_w:
        return []
    return [
        f"a level of {highest_w:,.1f} W exceeds the power limit of {base.name}, {base.limits.power_w:g} W: set part to "
        "the GPU model that was recorded"
    ]


def _notes(
    telemetry: Telemetry, gpus: list[_Gpu], stages: plateaus.Plateaus, levels: tuple[Level, ...]
) -> tuple[str, ...]:
    """Notes on the thermal model, unnamed levels, and phases missing from the recording."""
    notes = [note for note in telemetry.notes if not note.startswith(NOT_READ)]  # which the recording reports
    if any(not device.thermal.fits_well for device in gpus):
        worst = float(pd.Series([device.thermal.residual_k for device in gpus]).max())
        notes.append(
            f"with one time constant the residual is {worst:.1f} K, more than rounding to whole degrees explains: the "
            "die follows power faster than its heat sink, or the inlet temperature changed. The interval of the time "
            "constant does not include this"
        )
    if len(stages.names) > plateaus.MOST and not any(stages.names):
        notes.append(f"power has {len(stages.names)} levels: it drifts instead of forming plateaus")
    phases = {level.phase for level in levels}
    n_unnamed = sum(not level.phase for level in levels)
    if n_unnamed:
        notes.append(
            f"unnamed levels: {n_unnamed}, not used for the GPU. A column of steps or of utilisation, or regular "
            "checkpoints, would identify them"
        )
    if START_UP in phases:
        notes.append("a level that occurs only at the beginning counts as start-up and is not used")
    missing = [phase for phase in PHASES if phase not in phases and phase not in _UNIDENTIFIABLE]
    if missing:
        notes.append(f"not in the recording: {', '.join(missing)}")
    if not phases & set(_UNIDENTIFIABLE):
        notes.append("hang and restart cannot be identified from power alone; the base GPU's levels are kept")
    return tuple(notes)
