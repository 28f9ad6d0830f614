"""What a recording holds, and what a fit to it found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ettr.core.report import Headline, Note, Report, Table

if TYPE_CHECKING:
    from ettr.telemetry.fitted import Level, TelemetryFit
    from ettr.telemetry.format import Telemetry

_MOST_REASONS = 8
_LEVELS = ("level", "mean", "95%", "share", "visits", "load", "clock", "die", "base", "into the GPU")


def recording_report(recording: Telemetry) -> Report:
    """What was read, and what was set aside."""
    return [Headline(f"{recording.source} ({recording.format})"), *map(Note, _reading(recording))]


def _reading(recording: Telemetry) -> Iterator[str]:
    gpus = f"{recording.n_gpus:,} GPU{'' if recording.n_gpus == 1 else 's'}"
    every = f", one every {short(recording.step_s)} s" if math.isfinite(recording.step_s) else ""
    since = f", from {recording.start:%Y-%m-%d %H:%M:%S} UTC" if recording.start is not None else ""
    yield f"{len(recording.samples):,} samples of {gpus} over {_seconds(recording.length_s)}{every}{since}."
    gaps = recording.gaps
    if gaps.n:
        each = "1 gap" if gaps.n == 1 else f"{gaps.n:,} gaps"
        yield f"{each}, {_seconds(gaps.lost_s)} in all, the longest {_seconds(gaps.longest_s)}."
    rows = recording.ledger.to_dict("records")
    for row in rows[:_MOST_REASONS]:
        place = f" (first: {row['example']})" if row["example"] else ""
        yield f"{row['n']:,} {row['action']}: {row['reason']}{place}"
    if len(rows) > _MOST_REASONS:
        rest = sum(row["n"] for row in rows[_MOST_REASONS:])
        yield f"{rest:,} more for {len(rows) - _MOST_REASONS} other reasons"


def fit_report(fitted: TelemetryFit) -> Report:
    """Plateaus of power, figures with their intervals, and what was assumed."""
    cooled = {"cold_plate": "a cold plate"}.get(fitted.medium, fitted.medium)
    figures = _figures(fitted)
    return [
        Headline("Levels of power", apart=True),
        Table(_LEVELS, [_level(fitted, level) for level in fitted.levels]),
        Headline(f"Figures, with {fitted.base.title} cooled by {cooled} as the base", apart=True),
        *([figures] if figures.rows else []),
        *map(Note, _unknown(fitted)),
        Headline("Assumed, and not seen", apart=True),
        *(Note(f"- {note}", dim=True) for note in fitted.notes),
    ]


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
    table = fitted.to_frame().iloc[len(fitted.levels) :]
    rows = []
    for row in table[table["identified"]].to_dict("records"):
        unit = f" {row['unit']}" if row["unit"] else ""
        base = "" if math.isnan(row["base"]) else f"{row['base']:g}{unit}"
        span = f"{short(row['low'])} to {short(row['high'])}"
        rows.append([row["figure"], f"{short(row['value'])}{unit}", span, base, f"{row['n']:,}"])
    return Table(("figure", "value", "95%", "base", "samples"), rows)


def _unknown(fitted: TelemetryFit) -> Iterator[str]:
    rows = fitted.to_frame().iloc[len(fitted.levels) :].to_dict("records")
    alike = f"mean of {len(fitted.gpus)} GPUs"
    if len(fitted.gpus) > 1:
        yield f"Levels and figures are means of {len(fitted.gpus)} GPUs; how they differ is in the intervals."
    for row in rows:
        if row["identified"] and row["note"] and row["note"] != alike:
            yield f"{row['figure']}: {row['note']}"
    if math.isfinite(fitted.leakage_at_c):
        yield f"leakage slope: at {fitted.leakage_at_c:.0f} °C"
    for row in rows:
        if not row["identified"]:
            yield f"{row['figure']} is not identified: {row['note']}"


def short(value: float) -> str:
    """Four digits, or whole."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _seconds(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.3g} s"
