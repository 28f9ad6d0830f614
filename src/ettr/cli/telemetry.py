"""``ettr telemetry FILE`` and ``ettr telemetry record``."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ettr import telemetry as recordings
from ettr.cli import options, outputs, terminal
from ettr.cli.options import JsonOption, QuietOption
from ettr.core.errors import InputError
from ettr.core.report import Note
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
        typer.Option("--format", metavar="NAME", help="dcgm, nvidia-smi or csv; sniffed if not given."),
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
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="OURS=THEIRS ...",
            help="Columns of a table: time, power, temperature, memory, clock, utilisation, gpu, step.",
        ),
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
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Read a recording and fit a GPU to it: levels, thermal resistance, time constant, leakage.

    Reads the CSV of nvidia-smi, Prometheus data of the DCGM exporter, and tables with t_s and power_w. Every figure
    comes with its 95% interval and the base GPU's value, or with the reason why the recording cannot say. What was set
    aside is counted by reason.

    The GPU that --part-out writes is the base GPU with the fitted figures, each with its interval.

    Example: ettr telemetry node7.csv --part h100 --medium air --part-out mine.yml
    """
    # a long file takes minutes to read: what can be refused is refused before
    Gpu.load(part).cooled_by(options.medium(medium))
    window_s = None
    if power_window_ms is not None:
        if not 0 <= power_window_ms <= 60_000:
            raise InputError(f"--power-window-ms must be from 0 to 60000 ms, got {power_window_ms:g}")
        window_s = power_window_ms / 1000
    if part_out is not None:
        outputs.check_yaml("--part-out", part_out, "GPU")
    with terminal.progress(quiet or as_json) as report:
        columns = options.columns(map_ or [])
        read = recordings.read(file, format_, zone=zone, columns=columns, progress=report.bytes)
        fitted = recordings.fit(read, part, medium, gpu=gpu, power_window_s=window_s, progress=report.step)
    with _kept(fitted, part_out, as_json):
        if as_json:
            terminal.write_json({"recording": read.to_dict(), "fit": fitted.to_dict()})
        else:
            terminal.render([*read.report(), *fitted.report()])


def _kept(fitted: recordings.TelemetryFit, out: Path | None, as_json: bool) -> AbstractContextManager[None]:
    """Write the GPU with the fitted figures, if asked to, and say where it is below the answer."""
    n = len(fitted.figures())
    figures = "1 figure is" if n == 1 else f"{n} figures are"
    path = shlex.quote(str(out))
    note = Note(f"The GPU is at {path}: {figures} fitted, the rest as in {fitted.base.name}", apart=True)
    return outputs.written(out, lambda: fitted.to_part(options.short_name(out or Path())).to_yaml(), note, as_json)


@app.command()
def record(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The file to write; one that is not there yet.")],
    load: Annotated[
        str,
        typer.Option("--load", metavar="NAME", help="torch multiplies matrices; none watches what runs."),
    ] = "torch",
    minutes: Annotated[float, typer.Option("--minutes", metavar="N", help="How long the whole plan takes.")] = 20,
    gpu: Annotated[
        int | None,
        typer.Option("--gpu", metavar="N", help="Index as in nvidia-smi; the first, or all with --load none."),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Record power, temperature and clock of this machine's GPU while it runs through a plan of loads.

    The plan is idle, a process that holds the GPU, full load, a stall as for a checkpoint, loads of 75%, 25% and 50%
    of the time, full load, and idle again. Nothing on the GPU is set: clocks and limits stay as they are. It needs an
    NVIDIA driver, the package nvidia-ml-py (`pip install nvidia-ml-py`), and PyTorch for a load.

    Let nothing else run on the GPU, or use --load none to watch what does. Ctrl-C ends it and keeps what was written.

    Example: ettr telemetry record --out h100.csv --minutes 30
    """
    outputs.check_recording(out)
    steps: Any = recordings.schedule(minutes)
    if load == "none":
        steps = (recordings.Step("watched", None, minutes * 60),)
    with terminal.progress(quiet, "recording") as report:

        def report_progress(step: str, done_s: float, total_s: float) -> None:
            report.step(step)
            report.bytes(round(done_s), round(total_s))

        done = recordings.record(out, steps, load=load, gpu=gpu, progress=report_progress)
    path, gpus = shlex.quote(str(done.path)), "; ".join(done.gpus)
    ended = "" if done.completed else ", stopped before the end of the plan"
    written = f"{done.n_samples:,} samples over {done.length_s:,.0f} s of GPU {gpus}{ended}"
    terminal.render([Note(written), Note(f"The recording is at {path}: ettr telemetry {path}")])
    if not done.completed:
        raise typer.Exit(130)
