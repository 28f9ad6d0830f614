"""What `ettr telemetry` shows: what was read, figures beside those of the base part, and what is not known."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ettr.terminal import console, printable

_MOST_REASONS = 8


def told(read: Any, found: Any) -> dict[str, Any]:
    """A fit with what was read, for JSON."""
    return {
        "recording": {
            "source": read.source,
            "format": read.format,
            "start": None if read.start is None else read.start.isoformat(),
            "n_gpus": read.n_gpus,
            "n_samples": len(read.samples),
            "length_s": read.length_s,
            "step_s": read.step_s if math.isfinite(read.step_s) else None,
            "power_window_s": read.power_window_s,
            "gaps": {"n": read.gaps.n, "lost_s": read.gaps.lost_s, "longest_s": read.gaps.longest_s},
            "ledger": read.ledger.to_dict("records"),
        },
        "fit": found.to_dict(),
    }


def print_fit(read: Any, found: Any, written: Path | None) -> None:
    """Show what was read, plateaus of power, figures with their intervals, and what was assumed."""
    from rich.text import Text

    out = console()

    def say(text: str, style: str = "") -> None:
        out.print(Text(printable(text), style=style), soft_wrap=True)

    say(f"{read.source} ({read.format})", "bold")
    for line in _reading(read):
        say(line)
    say("\nLevels of power", "bold")
    out.print(_levels(found))
    figures = _figures(found)
    say(f"\nFigures, with {found.base.title} cooled by {_cooled(found.medium)} as the base", "bold")
    if figures.row_count:
        out.print(figures)
    for line in _unknown(found):
        say(line)
    say("\nAssumed, and not seen", "bold")
    for note in found.notes:
        say(f"- {note}", "dim")
    if written is not None:
        say(
            f"\nThe part is at {shlex.quote(str(written))}: {_counted(len(found.figures()))} fitted, the rest as in "
            f"{found.base.name}"
        )


def print_recording(done: Any) -> None:
    """Say what was recorded, and what to do with it."""
    from rich.text import Text

    out, path = console(), shlex.quote(str(done.path))
    gpus = "; ".join(done.gpus)
    ended = "" if done.whole else ", stopped before the end of the plan"
    out.print(
        Text(printable(f"{done.n_samples:,} samples over {done.length_s:,.0f} s of GPU {gpus}{ended}")), soft_wrap=True
    )
    out.print(Text(printable(f"The recording is at {path}: ettr telemetry {path}")), soft_wrap=True)


def _counted(n: int) -> str:
    return "1 figure is" if n == 1 else f"{n} figures are"


def _cooled(medium: str) -> str:
    return {"cold_plate": "a cold plate"}.get(medium, medium)


def _reading(read: Any) -> Iterator[str]:
    gpus = f"{read.n_gpus:,} GPU{'' if read.n_gpus == 1 else 's'}"
    every = f", one every {_short(read.step_s)} s" if math.isfinite(read.step_s) else ""
    since = f", from {read.start:%Y-%m-%d %H:%M:%S} UTC" if read.start is not None else ""
    yield f"{len(read.samples):,} samples of {gpus} over {_duration(read.length_s)}{every}{since}."
    gaps = read.gaps
    if gaps.n:
        each = "1 gap" if gaps.n == 1 else f"{gaps.n:,} gaps"
        yield f"{each}, {_duration(gaps.lost_s)} in all, the longest {_duration(gaps.longest_s)}."
    rows = read.ledger.to_dict("records")
    for row in rows[:_MOST_REASONS]:
        place = f" (first: {row['example']})" if row["example"] else ""
        yield f"{row['n']:,} {row['action']}: {row['reason']}{place}"
    if len(rows) > _MOST_REASONS:
        rest = sum(row["n"] for row in rows[_MOST_REASONS:])
        yield f"{rest:,} more for {len(rows) - _MOST_REASONS} other reasons"


def _levels(found: Any) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    table.add_column("level")
    for name in ("mean", "95%", "share", "visits", "load", "clock", "die", "base", "into the part"):
        table.add_column(name, justify="right")
    for level in found.levels:
        mean = level.mean
        base = getattr(found.base.levels, f"{level.phase}_w", None) if level.phase else None
        cells = (
            level.title,
            f"{mean.value:,.1f} W" if mean.identified else "unknown",
            f"{mean.low:,.1f} to {mean.high:,.1f}" if mean.identified else "",
            f"{level.share:.1%}",
            f"{level.n_visits:,}",
            "" if math.isnan(level.utilisation) else f"{level.utilisation:.0%}",
            "" if math.isnan(level.clock_mhz) else f"{level.clock_mhz:,.0f} MHz",
            "" if math.isnan(level.temperature_c) else f"{level.temperature_c:.1f} °C",
            "" if base is None else f"{base:g} W",
            "yes" if level.phase and found.level(level.phase) is level else "",
        )
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _figures(found: Any) -> Any:
    """What is identified, beside the base part."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    for name in ("value", "95%", "base", "samples"):
        table.add_column(name, justify="right")
    rows = found.to_frame().iloc[len(found.levels) :]
    for row in rows[rows["identified"]].to_dict("records"):
        unit = f" {row['unit']}" if row["unit"] else ""
        base = "" if math.isnan(row["base"]) else f"{row['base']:g}{unit}"
        span = f"{_short(row['low'])} to {_short(row['high'])}"
        table.add_row(
            *(Text(cell) for cell in (row["figure"], f"{_short(row['value'])}{unit}", span, base, f"{row['n']:,}"))
        )
    return table


def _unknown(found: Any) -> Iterator[str]:
    rows = found.to_frame().iloc[len(found.levels) :].to_dict("records")
    alike = f"mean of {len(found.gpus)} GPUs"
    if len(found.gpus) > 1:
        yield f"Levels and figures are means of {len(found.gpus)} GPUs; how they differ is in the intervals."
    for row in rows:
        if row["identified"] and row["note"] and row["note"] != alike:
            yield f"{row['figure']}: {row['note']}"
    if math.isfinite(found.leakage_at_c):
        yield f"leakage slope: at {found.leakage_at_c:.0f} °C"
    for row in rows:
        if not row["identified"]:
            yield f"{row['figure']} is not identified: {row['note']}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _duration(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.3g} s"
