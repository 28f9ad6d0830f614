"""The figures that follow from a recording, and the GPU with them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values
from ettr.core.sentences import cut
from ettr.scenario.gpu import Gpu
from ettr.telemetry.estimates import Estimate
from ettr.telemetry.format import short
from ettr.telemetry.phases import PHASES

OVER = 1.02
"""A level so far over the base GPU's power limit is of another GPU."""
_NOTE = 380
_LEVELS = ("level", "mean", "95%", "share", "visits", "load", "clock", "die", "base", "into the GPU")
"""Columns of the table of levels."""
_FIGURES = (
    ("resistance", "resistance", "cooling.{medium}.resistance_k_per_w"),
    ("time constant", "tau", "cooling.{medium}.tau_s"),
    ("inlet", "inlet", ""),
    ("memory resistance", "memory_resistance", "cooling.{medium}.memory_resistance_k_per_w"),
    ("spread of the resistance", "spread", "cooling.{medium}.spread"),
    ("leakage", "leakage", "leakage.power_w"),
)
"""What a figure is called, its name in a fit, and its path in a GPU; empty where a GPU has none."""


@dataclass(frozen=True)
class Level:
    """One plateau of power.

    Attributes
    ----------
    phase : str
        ``compute``, ``communication``, ``checkpoint``, ``idle`` and so on, as in a GPU's levels; ``start-up`` for what
        occurs only at the beginning; empty where the recording does not say.
    step : str
        The recorded step's name; empty where none is recorded.
    mean : Estimate
        Its mean power. [W]
    share : float
        Share of the samples.
    n_visits : int
        How often it was come to.
    utilisation, clock_mhz, temperature_c : float
        Means on it; NaN where not recorded.
    """

    phase: str
    step: str
    mean: Estimate
    share: float
    n_visits: int
    utilisation: float
    clock_mhz: float
    temperature_c: float

    @property
    def title(self) -> str:
        """The phase, and the recorded step where it is called otherwise."""
        if self.phase and self.step and self.step != self.phase:
            return f"{self.phase} ({self.step})"
        return self.phase or self.step or "no name"


@dataclass(frozen=True, repr=False)
class TelemetryFit(Answer):
    """Figures of a GPU, found from a recording.

    Attributes
    ----------
    source, format : str
        The file, and its format.
    base : Gpu
        What the rest is taken from.
    medium : str
        What cooled it.
    gpus : tuple of str
        The GPUs.
    n_samples : int
        Samples with power.
    levels : tuple of Level
        Plateaus of power, from the highest down.
    resistance, tau, inlet : Estimate
        Warming of the die over its inlet per watt [K/W], its time constant [s], and the inlet [°C].
    memory_resistance : Estimate
        Warming of the memory per watt of the whole GPU. [K/W]
    spread : Estimate
        Coefficient of variation of the resistance from GPU to GPU.
    leakage : Estimate
        Leakage at the base GPU's ``leakage.at_c``, if it rises with temperature as the base GPU's. [W]
    residual_k : float
        Root mean square of what the model of warming leaves; NaN if there is none. [K]
    notes : tuple of str
        What was assumed, and what is not seen.
    """

    source: str
    format: str
    base: Gpu
    medium: str
    gpus: tuple[str, ...]
    n_samples: int
    levels: tuple[Level, ...]
    resistance: Estimate
    tau: Estimate
    inlet: Estimate
    memory_resistance: Estimate
    spread: Estimate
    leakage: Estimate
    residual_k: float
    notes: tuple[str, ...]

    def level(self, phase: str) -> Level | None:
        """The plateau of a phase that goes into the GPU; None if it is not seen.

        Of several the longest; but a context that nothing runs in stands for a checkpoint only where no stall is seen.
        """
        levels = [level for level in self.levels if level.phase == phase in PHASES and level.mean.identified]
        return max(levels, key=lambda level: (level.step.lower() != "context", level.share)) if levels else None

    def figures(self) -> dict[str, Estimate]:
        """Figures that replace those of the base GPU, by dotted path; only what is identified."""
        return {path: each for _, path, each in self.all_figures() if path and each.identified}

    def all_figures(self) -> list[tuple[str, str, Estimate]]:
        """Each figure with what it is called, and its path in the GPU; an empty path for what does not enter it."""
        levels = [
            (level.title, f"levels.{level.phase}_w" if level is self.level(level.phase) else "", level.mean)
            for level in self.levels
        ]
        return levels + [
            (title, path.format(medium=self.medium), getattr(self, name)) for title, name, path in _FIGURES
        ]

    def to_part(self, name: str) -> Gpu:
        """The base GPU with the figures that were found.

        Parameters
        ----------
        name : str
            Short name of the new GPU: a-z, 0-9, dot, dash.

        Returns
        -------
        Gpu
            Each replaced figure has the status ``derived`` and a note with the file and its 95% interval.

        Raises
        ------
        InputError
            A level more than 2% over the base GPU's power limit: it is another GPU. Or figures that break a rule of
            GPUs together.

        Examples
        --------
        >>> from ettr import Gpu, telemetry
        >>> recording = telemetry.simulate(Gpu.load("h100"), telemetry.schedule(minutes=20), power_window_s=1.0)
        >>> mine = telemetry.fit(recording).to_part("mine")
        >>> mine.evidence["cooling.air.tau_s"].status
        'derived'
        """
        raw = self.base.model_dump(exclude_none=True)
        raw |= {"name": name, "title": f"{self.base.title}, fitted"}
        for path, each in self.figures().items():
            *above, last = path.split(".")
            section = raw
            for name_above in above:
                section = section[name_above]
            value, note = self._taken(path, each)
            section[last] = value
            raw["evidence"][path] = {"status": "derived", "note": note}
        return Gpu.of(raw, f"the fit to {self.source}")

    def _taken(self, path: str, each: Estimate) -> tuple[float, str]:
        """The value that the GPU takes, and the note beside it."""
        assert each.with_ends is not None
        value, low, high = each.with_ends
        interval, limit = f"fitted to {Path(self.source).name}, 95%: {low:.4g} to {high:.4g}", self.base.limits.power_w
        if path == "levels.compute_w" and value > limit:
            if value > OVER * limit:
                raise InputError(
                    f"levels.compute_w must be <= {limit:g} W, the power limit of {self.base.name}, got {value:.1f} W "
                    f"in {self.source}: name the GPU model that was recorded"
                )
            interval += f"; {value:.1f} W is over the power limit, which is taken instead"
            value = limit
        note = f"{interval}; {each.note}" if each.note else interval
        return float(f"{value:.6g}"), cut(note, _NOTE)

    def to_frame(self) -> pd.DataFrame:
        """A row a figure: ``figure``, ``path`` (of the GPU; empty for none), ``value``, ``low``, ``high``, ``unit``,
        ``n``, ``base`` (the base GPU's value; NaN for none), ``identified``, ``note`` (also why not)."""
        flat = self.base.flat()
        return pd.DataFrame(
            [
                {
                    "figure": title,
                    "path": path if each.identified else "",
                    **{name: np.nan if getattr(each, name) is None else getattr(each, name) for name in _ENDS},
                    "unit": each.unit,
                    "n": each.n,
                    "base": flat.get(path, np.nan) if each.identified else np.nan,
                    "identified": each.identified,
                    "note": each.why_not or each.note,
                }
                for title, path, each in self.all_figures()
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything, for machines; None for what is not identified."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        own = {"base": self.base.name, "levels": [_record_of(level) for level in self.levels]}
        return dict(plain_values({**parts, **own}))

    @property
    def headline(self) -> str:
        """The file, and how many figures it gives."""
        return f"{self.source}: {len(self.figures())} figures of a GPU, the rest as in {self.base.name}"

    def report(self) -> Report:
        """Plateaus of power, figures with their intervals, and what was assumed."""
        cooled = {"cold_plate": "a cold plate"}.get(self.medium, self.medium)
        figures = _figures(self)
        return [
            Headline("Levels of power", apart=True),
            Table(_LEVELS, [_level(self, level) for level in self.levels]),
            Headline(f"Figures, with {self.base.title} cooled by {cooled} as the base", apart=True),
            *([figures] if figures.rows else []),
            *map(Note, _unknown(self)),
            Headline("Assumed, and not seen", apart=True),
            *(Note(f"- {note}", dim=True) for note in self.notes),
        ]


def _record_of(level: Level) -> dict[str, Any]:
    mean = level.mean
    return {
        "phase": level.phase or None,
        "step": level.step or None,
        "mean_w": mean.value,
        "low_w": mean.low,
        "high_w": mean.high,
        "n": mean.n,
        "share": level.share,
        "n_visits": level.n_visits,
        "utilisation": level.utilisation,
        "clock_mhz": level.clock_mhz,
        "temperature_c": level.temperature_c,
        "note": mean.why_not or mean.note,
    }


_ENDS = ("value", "low", "high")


def _level(fitted: TelemetryFit, level: Level) -> list[str]:
    mean = level.mean
    base = getattr(fitted.base.levels, f"{level.phase}_w", None) if level.phase else None
    return [
        level.title,
        f"{mean.value:,.1f} W" if mean.identified else "unknown",
        f"{mean.low:,.1f} to {mean.high:,.1f}" if mean.identified else "",
        f"{level.share:.1%}",
        f"{level.n_visits:,}",
        "" if math.isnan(level.utilisation) else f"{level.utilisation:.0%}",
        "" if math.isnan(level.clock_mhz) else f"{level.clock_mhz:,.0f} MHz",
        "" if math.isnan(level.temperature_c) else f"{level.temperature_c:.1f} °C",
        "" if base is None else f"{base:g} W",
        "yes" if fitted.level(level.phase) is level else "",
    ]


def _figures(fitted: TelemetryFit) -> Table:
    """What is identified, beside the base GPU."""
    flat, rows = fitted.base.flat(), []
    for title, path, each in fitted.all_figures()[len(fitted.levels) :]:
        if each.with_ends:
            unit = f" {each.unit}" if each.unit else ""
            value, low, high = map(short, each.with_ends)
            base = f"{flat[path]:g}{unit}" if path in flat else ""
            rows.append([title, f"{value}{unit}", f"{low} to {high}", base, f"{each.n:,}"])
    return Table(("figure", "value", "95%", "base", "samples"), rows)


def _unknown(fitted: TelemetryFit) -> Iterator[str]:
    figures = fitted.all_figures()[len(fitted.levels) :]
    alike = f"mean of {len(fitted.gpus)} GPUs"
    if len(fitted.gpus) > 1:
        yield f"Levels and figures are means of {len(fitted.gpus)} GPUs; how they differ is in the intervals."
    for title, _, each in figures:
        if each.identified and each.note and each.note != alike:
            yield f"{title}: {each.note}"
    for title, _, each in figures:
        if not each.identified:
            yield f"{title} is not identified: {each.why_not}"
