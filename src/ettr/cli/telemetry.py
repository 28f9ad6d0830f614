"""``ettr telemetry FILE`` and ``ettr telemetry record``."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr.cli import completion, options, outputs, terminal
from ettr.cli.help import SETTINGS, Command, Group
from ettr.cli.options import JsonOption, QuietOption
from ettr.core.errors import InputError
from ettr.core.report import Note

if TYPE_CHECKING:
    from ettr.telemetry import TelemetryFit


class _FileOrCommand(Group):
    """A group whose first argument may be a file, which then goes to the command for files."""

    default = "fit"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the command for files, whose name need not be written."""
        command = self.commands[self.default]
        command.format_help(type(ctx)(command, parent=ctx.parent, info_name=ctx.info_name), formatter)


app = typer.Typer(
    cls=_FileOrCommand,
    no_args_is_help=True,
    add_completion=False,
    subcommand_metavar="FILE | record",
    context_settings=SETTINGS,
)


@app.callback()
def telemetry() -> None:
    """Fit a GPU's power and thermal figures to a recording, or make a recording."""


@app.command("fit", cls=Command)
def fit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A recording, also packed as .gz or .xz.")],
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="dcgm, nvidia-smi or csv.  [default: detected]"),
    ] = None,
    part: Annotated[
        str,
        typer.Option(
            "--part",
            metavar="GPU",
            help="Preset or file of the base GPU, for the figures that the recording cannot resolve.",
            autocompletion=completion.gpus,
        ),
    ] = "h100",
    medium: Annotated[
        str,
        typer.Option(
            "--medium",
            metavar="NAME",
            help="Cooling: air, cold_plate or immersion.",
            autocompletion=lambda: ["air", "cold_plate", "immersion"],
        ),
    ] = "air",
    gpu: Annotated[
        str | None, typer.Option("--gpu", metavar="N", help="One GPU, by its name in the file.  [default: all]")
    ] = None,
    zone: Annotated[
        str | None,
        typer.Option("--zone", metavar="ZONE", help="Time zone of times without one, e.g. Europe/Berlin or +08:00."),
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
            metavar="MS",
            help="Time over which the driver averages power; 0 for instantaneous values, as on an A100.  [default: by "
            "format]",
        ),
    ] = None,
    part_out: Annotated[
        Path | None, typer.Option("--part-out", metavar="FILE", help="Write the fitted GPU to this YAML file.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fit a GPU's power and thermal figures to a recording, or make a recording.

    `ettr telemetry FILE` reads the CSV of nvidia-smi or amd-smi, the text of nvidia-smi dmon -o DT, Prometheus data of
    the DCGM exporter, or a table with t_s and power_w. Each fitted figure (power levels, thermal resistance, time
    constant, leakage) comes with its 95% CI and the value of the base GPU, or with the reason why the recording cannot
    resolve it. Discarded samples are counted by reason. The GPU file of --part-out is the base GPU with the fitted
    figures.

    `ettr telemetry record` makes a recording on this machine; `ettr telemetry record --help` describes it. Write
    ./record for a file of that name.

    Exit status: 0 answer; 1 a file cannot be written or an extra is not installed; 2 input refused; 130 recording
    stopped with Ctrl-C.

    Example: ettr telemetry record --out h100.csv --minutes 30

    Example: ettr telemetry h100.csv --part h100 --medium air --part-out mine.yml
    """
    # a long file takes minutes to read, so options are checked first
    from ettr import telemetry as recordings
    from ettr.scenario import Gpu

    Gpu.load(part).cooled_by(options.medium(medium))
    window_s = None
    if power_window_ms is not None:
        if not 0 <= power_window_ms <= 60_000:
            raise InputError(f"--power-window-ms must be from 0 to 60,000 ms, got {power_window_ms:,g}")
        window_s = power_window_ms / 1000
    if part_out is not None:
        outputs.check_yaml("--part-out", part_out, "GPU")
    with terminal.progress(quiet or as_json) as report:
        columns = options.columns(map_ or [])
        recording = recordings.read(file, format_, zone=zone, columns=columns, progress=report.bytes)
        fitted = recordings.fit(recording, part, medium, gpu=gpu, power_window_s=window_s, progress=report.step)
    with _kept(fitted, part_out, as_json):
        if as_json:
            terminal.write_json("telemetry", {"recording": recording.to_dict(), "fit": fitted.to_dict()})
        else:
            terminal.render([*recording.report(), *fitted.report()])


def _kept(fitted: TelemetryFit, out: Path | None, as_json: bool) -> AbstractContextManager[None]:
    """Write the GPU with the fitted figures to a file, if one is named, and note it below the answer."""
    n = len(fitted.figures())
    figures = "1 figure is" if n == 1 else f"{n} figures are"
    path = shlex.quote(str(out))
    note = Note(f"The GPU is at {path}: {figures} fitted, the rest as in {fitted.base.name}", apart=True)
    return outputs.written(out, lambda: fitted.to_part(options.short_name(out or Path())).to_yaml(), note, as_json)


@app.command("record", cls=Command)
def record(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="New file of the recording.")],
    load: Annotated[
        str,
        typer.Option(
            "--load",
            metavar="NAME",
            help="torch multiplies matrices; none records other work on the GPU.",
            autocompletion=lambda: ["torch", "none"],
        ),
    ] = "torch",
    minutes: Annotated[float, typer.Option("--minutes", metavar="MIN", help="Duration of the whole sequence.")] = 20,
    gpu: Annotated[
        int | None,
        typer.Option("--gpu", metavar="N", help="Index as in nvidia-smi.  [default: the first; all with --load none]"),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Record power, temperature and clock of a GPU of this machine during a sequence of loads.

    The sequence is idle, a process that holds the GPU, full load, a stall as for a checkpoint, loads of 75%, 25% and
    50% of the time, full load, and idle. Clocks and limits of the GPU are not changed. Recording needs an NVIDIA
    driver, the package nvidia-ml-py (`pip install nvidia-ml-py`), and PyTorch for --load torch.

    Run nothing else on the GPU, or record other work with --load none. Ctrl-C ends the recording and keeps it.

    Exit status: 0 recorded; 1 a file cannot be written or an extra is not installed; 2 input refused; 130 stopped with
    Ctrl-C.

    Example: ettr telemetry record --out h100.csv --minutes 30
    """
    outputs.check_recording(out)
    from ettr import telemetry as recordings

    steps: Any = recordings.schedule(minutes)
    if load == "none":
        steps = (recordings.Step("watched", None, minutes * 60),)
    with terminal.progress(quiet, "recording") as report:

        def report_progress(step: str, done_s: float, total_s: float) -> None:
            report.step(step)
            report.bytes(round(done_s), round(total_s))

        recorded = recordings.record(out, steps, load=load, gpu=gpu, progress=report_progress)
    path, gpus = shlex.quote(str(recorded.path)), "; ".join(recorded.gpus)
    ended = "" if recorded.completed else ", stopped before the end of the sequence"
    written = f"{recorded.n_samples:,} samples over {recorded.length_s:,.0f} s of GPU {gpus}{ended}"
    terminal.render([Note(written), Note(f"The recording is at {path}: ettr telemetry {path}")])
    if not recorded.completed:
        raise typer.Exit(130)
