"""Result of a fit to a recording: levels and figures with intervals, and a GPU with them."""

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
"""A level this far above the power limit of the base GPU means another GPU model."""
_NOTE = 380
_LEVELS = ("level", "mean", "95% CI", "share", "visits", "load", "clock", "die", "base", "used")
"""Columns of the table of levels."""
_FIGURES = (
    ("resistance", "resistance", "cooling.{medium}.resistance_k_per_w"),
    ("time constant", "tau", "cooling.{medium}.tau_s"),
    ("inlet", "inlet", ""),
    ("memory resistance", "memory_resistance", "cooling.{medium}.memory_resistance_k_per_w"),
    ("spread of the resistance", "spread", "cooling.{medium}.spread"),
    ("leakage", "leakage", "leakage.power_w"),
)
"""Title of each figure, its name in a fit, and its path in a GPU file; empty if it has none."""


@dataclass(frozen=True)
class Level:
    """Plateau of power in a recording.

    Attributes
    ----------
    phase : str
        ``compute``, ``communication``, ``checkpoint``, ``idle`` and so on, as in the levels of a GPU; ``start-up`` for
        a level that occurs only at the beginning; empty if unknown.
    step : str
        Name of the recorded step; empty if none is recorded.
    mean : Estimate
        Mean power. [W]
    share : float
        Share of the samples.
    n_visits : int
        Number of visits.
    utilisation, clock_mhz, temperature_c : float
        Means over the plateau; NaN if not recorded.
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
        """Phase, followed by the recorded step if its name differs."""
        if self.phase and self.step and self.step != self.phase:
            return f"{self.phase} ({self.step})"
        return self.phase or self.step or "unnamed"


@dataclass(frozen=True, repr=False)
class TelemetryFit(Answer):
    """Power levels and thermal figures of a GPU, fitted to a recording.

    Attributes
    ----------
    source, format : str
        File and format.
    base : Gpu
        GPU that supplies all other figures.
    medium : str
        Cooling medium.
    gpus : tuple of str
        Names of the GPUs.
    n_samples : int
        Number of samples with power.
    levels : tuple of Level
        Plateaus of power, highest first.
    resistance, tau, inlet : Estimate
        Thermal resistance from die to inlet [K/W], its time constant [s], and the inlet temperature [°C].
    memory_resistance : Estimate
        Thermal resistance of the memory, per watt of the whole GPU. [K/W]
    spread : Estimate
        Coefficient of variation of the resistance between GPUs.
    leakage : Estimate
        Leakage at ``leakage.at_c`` of the base GPU, assuming the temperature dependence of the base GPU. [W]
    residual_k : float
        Root mean square residual of the thermal model; NaN if there is none. [K]
    notes : tuple of str
        Assumptions, and phases missing from the recording.
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
        """Return the plateau that supplies the level of a phase; None if the recording has none.

        The longest plateau counts, except that an idle context stands for a checkpoint only if there is no stall.
        """
        levels = [level for level in self.levels if level.phase == phase in PHASES and level.mean.identified]
        return max(levels, key=lambda level: (level.step.lower() != "context", level.share)) if levels else None

    def figures(self) -> dict[str, Estimate]:
        """Return the identified figures, which replace those of the base GPU, by dotted path."""
        return {path: figure for _, path, figure in self.all_figures() if path and figure.identified}

    def all_figures(self) -> list[tuple[str, str, Estimate]]:
        """Return title, path in the GPU file (empty if it has none) and estimate of each figure."""
        levels = [
            (level.title, f"levels.{level.phase}_w" if level is self.level(level.phase) else "", level.mean)
            for level in self.levels
        ]
        return levels + [
            (title, path.format(medium=self.medium), getattr(self, name)) for title, name, path in _FIGURES
        ]

    def to_part(self, name: str) -> Gpu:
        """Return the base GPU with the fitted figures.

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
            If a level is more than 2% above the power limit of the base GPU, which means another GPU model, or the
            figures together break a rule of GPU files.

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
        for path, figure in self.figures().items():
            *parents, last = path.split(".")
            section = raw
            for parent in parents:
                section = section[parent]
            value, note = self._entry(path, figure)
            section[last] = value
            raw["evidence"][path] = {"status": "derived", "note": note}
        return Gpu.of(raw, f"the fit to {self.source}")

    def _entry(self, path: str, figure: Estimate) -> tuple[float, str]:
        """Value and note of a figure for the GPU file."""
        assert figure.with_ends is not None
        value, low, high = figure.with_ends
        interval, limit = f"fitted to {Path(self.source).name}, 95%: {low:.4g} to {high:.4g}", self.base.limits.power_w
        if path == "levels.compute_w" and value > limit:
            if value > OVER * limit:
                raise InputError(
                    f"levels.compute_w must be <= {limit:g} W, the power limit of {self.base.name}, got {value:.1f} W "
                    f"in {self.source}: set part to the GPU model that was recorded"
                )
            interval += f"; {value:.1f} W exceeds the power limit, which is used instead"
            value = limit
        note = f"{interval}; {figure.note}" if figure.note else interval
        return float(f"{value:.6g}"), cut(note, _NOTE)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per figure: ``figure``, ``path`` (in the GPU file; empty for none), ``value``, ``low``,
        ``high``, ``unit``, ``n``, ``base`` (value of the base GPU; NaN for none), ``identified``, ``note`` (or the
        reason why there is no estimate)."""
        flat = self.base.flat()
        return pd.DataFrame(
            [
                {
                    "figure": title,
                    "path": path if figure.identified else "",
                    **{name: np.nan if getattr(figure, name) is None else getattr(figure, name) for name in _ENDS},
                    "unit": figure.unit,
                    "n": figure.n,
                    "base": flat.get(path, np.nan) if figure.identified else np.nan,
                    "identified": figure.identified,
                    "note": figure.why_not or figure.note,
                }
                for title, path, figure in self.all_figures()
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON; None for estimates that are not identified."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {"base": self.base.name, "levels": [_record_of(level) for level in self.levels]}
        return dict(plain_values(values))

    @property
    def headline(self) -> str:
        """File and number of fitted figures, in a sentence."""
        return f"{self.source}: {len(self.figures())} figures fitted, the others as in {self.base.name}"

    def report(self) -> Report:
        """Return the report: power levels, figures with intervals, and assumptions."""
        cooling = {"cold_plate": "cold-plate"}.get(self.medium, self.medium)
        figures = _figures(self)
        return [
            Headline("Power levels", apart=True),
            Table(_LEVELS, [_level(self, level) for level in self.levels]),
            Headline(f"Figures (base GPU: {self.base.title}, {cooling} cooling)", apart=True),
            *([figures] if figures.rows else []),
            *map(Note, _unknown(self)),
            Headline("Assumptions and missing data", apart=True),
            *(Note(f"- {note}", dim=True) for note in self.notes),
        ]


def _record_of(level: Level) -> dict[str, Any]:
    """Plateau as plain values for JSON."""
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
    """Row of the table of levels."""
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
    """Table of the identified figures, next to those of the base GPU."""
    flat, rows = fitted.base.flat(), []
    for title, path, figure in fitted.all_figures()[len(fitted.levels) :]:
        if figure.with_ends:
            unit = f" {figure.unit}" if figure.unit else ""
            value, low, high = map(short, figure.with_ends)
            base = f"{flat[path]:g}{unit}" if path in flat else ""
            rows.append([title, f"{value}{unit}", f"{low} to {high}", base, f"{figure.n:,}"])
    return Table(("figure", "value", "95% CI", "base", "samples"), rows)


def _unknown(fitted: TelemetryFit) -> Iterator[str]:
    """Notes on the figures, and reasons for those without an estimate."""
    figures = fitted.all_figures()[len(fitted.levels) :]
    usual_note = f"mean of {len(fitted.gpus)} GPUs"
    if len(fitted.gpus) > 1:
        yield f"Levels and figures are means of {len(fitted.gpus)} GPUs; the intervals include their differences."
    for title, _, figure in figures:
        if figure.identified and figure.note and figure.note != usual_note:
            yield f"{title}: {figure.note}"
    for title, _, figure in figures:
        if not figure.identified:
            yield f"{title}: no estimate, because {figure.why_not}"
