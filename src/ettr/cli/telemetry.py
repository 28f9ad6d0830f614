"""``ettr telemetry FILE`` and ``ettr telemetry record``."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from ettr import telemetry as recordings
from ettr.cli import options, terminal
from ettr.cli.terminal import console, printable
from ettr.scenario import Gpu


class _FileOrCommand(TyperGroup):
    """A group whose first argument may be a file: it then goes to the command for files."""

    default = "fit"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The group's help, and below it that of the command for files, whose name nobody needs to write."""
        super().format_help(ctx, formatter)
        command = self.commands[self.default]
        command.format_help(type(ctx)(command, parent=ctx.parent, info_name=ctx.info_name), formatter)


app = typer.Typer(
    cls=_FileOrCommand,
    no_args_is_help=True,
    add_completion=False,
    subcommand_metavar="FILE | record",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def telemetry() -> None:
    """Find a GPU's figures in a recording of its power, temperature and clock, or make such a recording.

    `ettr telemetry FILE` reads and fits a recording. `ettr telemetry record` makes one on this machine. A file that is
    called record is given as ./record.

    Example: ettr telemetry record --out h100.csv --minutes 30 && ettr telemetry h100.csv --part-out mine.yml
    """


@app.command("fit")
def fit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording, plain or packed as .gz or .xz.")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="dcgm, nvidia-smi, zeus, codecarbon or csv; sniffed if not given."
        ),
    ] = None,
    part: Annotated[
        str,
        typer.Option(
            "--part", metavar="PART", help="Preset or file of the GPU, assumed for what the recording cannot say."
        ),
    ] = "h100",
    medium: Annotated[
        str, typer.Option("--medium", metavar="NAME", help="What cools it: air, cold_plate or immersion.")
    ] = "air",
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="N", help="One GPU by its name in the file; all if not given.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option("--zone", help="Zone of stamps that carry none, e.g. Europe/Berlin or +08:00.")
    ] = None,
    power_window_ms: Annotated[
        float | None,
        typer.Option(
            "--power-window-ms",
            metavar="N",
            help="Time over which the driver averages power; by the format if not given, 0 for instants as on an A100.",
        ),
    ] = None,
    part_out: Annotated[
        Path | None, typer.Option("--part-out", metavar="FILE", help="Write the GPU with the fitted figures here.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Read a recording and fit a GPU to it: levels, thermal resistance, time constant, leakage, clock.

    Reads the CSV of nvidia-smi, Prometheus data of the DCGM exporter, logs of Zeus, CodeCarbon's emissions.csv, and
    tables with t_s and power_w. Every figure comes with its 95% interval and the base GPU's value, or with the reason
    why the recording cannot say. What was set aside is counted by reason.

    The GPU that --part-out writes is the base GPU with the fitted figures, each with its interval.

    Example: ettr telemetry node7.csv --part h100 --medium air --part-out mine.yml
    """
    # a long file takes minutes to read: what can be refused is refused before
    Gpu.load(part).cooled_by(options.medium(medium))
    window_s = options.power_window_s(power_window_ms)
    if part_out is not None:
        options.check_part_out(part_out)
    with terminal.progress(quiet or as_json) as report:
        read = recordings.read(file, format_, zone=zone, progress=report.bytes)
        fitted = recordings.fit(read, part, medium, gpu=gpu, power_window_s=window_s, progress=report.step)
    if part_out is not None:
        options.write(part_out, fitted.to_part(options.short_name(part_out)).to_yaml())
    if as_json:
        typer.echo(json.dumps(for_json(read, fitted), indent=2, allow_nan=False))
    else:
        print_fit(read, fitted, part_out)


@app.command()
def record(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write; one that is not there yet.")],
    load: Annotated[
        str,
        typer.Option(
            "--load", metavar="NAME", help="torch or cupy multiply matrices; none watches what runs; auto: the first."
        ),
    ] = "auto",
    minutes: Annotated[float, typer.Option("--minutes", metavar="N", help="How long the whole plan takes.")] = 20,
    interval_ms: Annotated[
        float, typer.Option("--interval-ms", metavar="N", help="Milliseconds between samples, from 20 to 60000.")
    ] = 100,
    gpu: Annotated[
        int | None,
        typer.Option("--gpu", metavar="N", help="Index as in nvidia-smi; the first, or all with --load none."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Record power, temperature and clock of this machine's GPU while it runs through a plan of loads.

    The plan is idle, a process that holds the GPU, full load, a stall as for a checkpoint, loads of 75%, 25% and 50%
    of the time, full load, and idle again. Nothing on the GPU is set: clocks and limits stay as they are. It needs an
    NVIDIA driver, the package nvidia-ml-py (`pip install nvidia-ml-py`), and PyTorch or CuPy for a load.

    Let nothing else run on the GPU, or use --load none to watch what does. Ctrl-C ends it and keeps what was written.

    Example: ettr telemetry record --out h100.csv --minutes 30
    """
    options.check_recording_out(out)
    interval_s = options.interval_s(interval_ms)
    steps: Any = recordings.plan(minutes)
    if load == "none":
        steps = (recordings.Step("watched", None, minutes * 60),)
    with terminal.progress(quiet, "recording") as report:

        def report_progress(step: str, done_s: float, total_s: float) -> None:
            report.step(step)
            report.bytes(round(done_s), round(total_s))

        done = recordings.record(out, steps, load=load, gpu=gpu, interval_s=interval_s, progress=report_progress)
    print_recording(done)
    if not done.whole:
        raise typer.Exit(130)


_MOST_REASONS = 8


def for_json(read: Any, fitted: Any) -> dict[str, Any]:
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
        "fit": fitted.to_dict(),
    }


def print_fit(read: Any, fitted: Any, written: Path | None) -> None:
    """Show what was read, plateaus of power, figures with their intervals, and what was assumed."""
    out = console()

    def say(text: str, style: str = "") -> None:
        out.print(Text(printable(text), style=style), soft_wrap=True)

    say(f"{read.source} ({read.format})", "bold")
    for line in _reading(read):
        say(line)
    say("\nLevels of power", "bold")
    out.print(_levels(fitted))
    figures = _figures(fitted)
    say(f"\nFigures, with {fitted.base.title} cooled by {_cooled(fitted.medium)} as the base", "bold")
    if figures.row_count:
        out.print(figures)
    for line in _unknown(fitted):
        say(line)
    say("\nAssumed, and not seen", "bold")
    for note in fitted.notes:
        say(f"- {note}", "dim")
    if written is not None:
        say(
            f"\nThe GPU is at {shlex.quote(str(written))}: {_counted(len(fitted.figures()))} fitted, the rest as in "
            f"{fitted.base.name}"
        )


def print_recording(done: Any) -> None:
    """Say what was recorded, and what to do with it."""
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


def _levels(fitted: Any) -> Any:
    table = Table(box=None, pad_edge=False)
    table.add_column("level")
    for name in ("mean", "95%", "share", "visits", "load", "clock", "die", "base", "into the GPU"):
        table.add_column(name, justify="right")
    for level in fitted.levels:
        mean = level.mean
        base = getattr(fitted.base.levels, f"{level.phase}_w", None) if level.phase else None
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
            "yes" if level.phase and fitted.level(level.phase) is level else "",
        )
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _figures(fitted: Any) -> Any:
    """What is identified, beside the base GPU."""
    table = Table(box=None, pad_edge=False)
    table.add_column("figure")
    for name in ("value", "95%", "base", "samples"):
        table.add_column(name, justify="right")
    rows = fitted.to_frame().iloc[len(fitted.levels) :]
    for row in rows[rows["identified"]].to_dict("records"):
        unit = f" {row['unit']}" if row["unit"] else ""
        base = "" if math.isnan(row["base"]) else f"{row['base']:g}{unit}"
        span = f"{_short(row['low'])} to {_short(row['high'])}"
        table.add_row(
            *(Text(cell) for cell in (row["figure"], f"{_short(row['value'])}{unit}", span, base, f"{row['n']:,}"))
        )
    return table


def _unknown(fitted: Any) -> Iterator[str]:
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


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _duration(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.3g} s"
