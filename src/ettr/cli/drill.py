"""``ettr drill``: a real training job on this machine, with injected faults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ettr.cli import completion, options, terminal
from ettr.cli.options import JsonOption, QuietOption


@terminal.stopped_with("stopped; the same command resumes from the newest checkpoint")
def drill(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the log and the checkpoints.")],
    workers: Annotated[int, typer.Option("--workers", metavar="N", help="Processes that train together.")] = 4,
    work: Annotated[float, typer.Option("--work", metavar="S", help="Undisturbed training time.")] = 20,
    interval: Annotated[float, typer.Option("--interval", metavar="S", help="Training between two checkpoints.")] = 1,
    write: Annotated[float, typer.Option("--write", metavar="S", help="Shortest duration of a write.")] = 0.1,
    background: Annotated[
        bool, typer.Option("--background", help="Continue training while a checkpoint is written.")
    ] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="KIND=S",
            help="Mean time between faults of a kind: crash, hang, supervisor, flip, corrupt, slow or disk. May be "
            "repeated.  [default: crash=5]",
            autocompletion=completion.faults,
        ),
    ] = None,
    check_steps: Annotated[
        int,
        typer.Option("--check-steps", metavar="N", help="Compare the workers' parameters every N steps; 0: never."),
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the model, the data and the faults.")] = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train on this machine, inject faults, and compare the lost time with the model's prediction.

    Worker processes train a small network together and exchange gradients in each step of 20 ms. Rank 0 writes
    checkpoints, synced to disk, with a checksum. A supervisor detects crashes, hangs and diverging parameters, and
    restarts all workers from the newest intact checkpoint.

    A seeded schedule injects faults: crash, hang (SIGKILL or SIGSTOP to a worker), supervisor (SIGKILL to the
    supervisor), flip (a silent bit flip in a parameter; needs --check-steps), corrupt (the newest checkpoint is
    damaged), slow (a worker at half speed for 4 s), disk (full for 3 s; a separate disk in memory, which needs root on
    Linux). The time to the next fault runs during training, stalls and restarts. During a restart, flip, corrupt and
    slow have no effect.

    A calibration of about 20 s (minutes where workers start slowly) measures steps, stalls, restarts and detection.
    From these the model predicts the lost time for the faults that occurred, and the range of finishing times for
    faults not known in advance. At the end, the parameters are compared bit by bit with those of an undisturbed run.

    The same command resumes a drill that was stopped or killed. DIR then contains train.log (in the format of
    Megatron), events.jsonl, and scenario.yml where a scenario can express the drill.

    With --json, took and given are measured and predicted hours; 95% of runs end between low_s and high_s of band;
    strikes lists the faults, by attempt and seconds into its restart or its training.

    Exit status: 0 answer; 2 input refused; 130 stopped with Ctrl-C.

    Example: ettr drill /tmp/drill --fault crash=6 --fault hang=20 --interval 2
    """
    from ettr.drill import Settings, run

    options.check_seed(seed)
    settings = Settings(
        n_workers=workers,
        work_s=work,
        interval_s=interval,
        write_s=write,
        background=background,
        faults=options.faults(fault),
        heartbeat_s=max(0.5, 0.3 + (0.0 if background else 2 * write)),
        check_steps=check_steps,
        seed=seed,
    )
    with terminal.progress(quiet or as_json, "calibrating") as report:

        def on_progress(what: str, done: int, total: int) -> None:
            report.step(what)
            report.bytes(done, total)

        result = run(folder, settings, on_progress=on_progress)
    terminal.show("drill", result, as_json, {})
