"""``ettr drill``: a real training job on this machine, disturbed on purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ettr.cli import options, terminal
from ettr.cli.options import JsonOption, QuietOption


@terminal.stopped_with("stopped; every checkpoint is whole, and the same command goes on from the newest")
def drill(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the drill keeps its log and checkpoints; made if it is new.")
    ],
    workers: Annotated[int, typer.Option("--workers", metavar="N", help="Processes that train together.")] = 4,
    work: Annotated[float, typer.Option("--work", metavar="S", help="Training without any disturbance [s].")] = 20,
    interval: Annotated[float, typer.Option("--interval", metavar="S", help="Training between checkpoints [s].")] = 1,
    write: Annotated[float, typer.Option("--write", metavar="S", help="Least duration of a write [s].")] = 0.1,
    background: Annotated[
        bool, typer.Option("--background", help="Train on while a checkpoint is written, instead of waiting.")
    ] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="KIND=S",
            help="Mean time between two faults of a kind [s]; crash=5 by default. Kinds: crash, hang, supervisor, "
            "flip, corrupt, slow, disk. May be repeated.",
        ),
    ] = None,
    check_steps: Annotated[
        int,
        typer.Option("--check-steps", metavar="N", help="Workers compare their parameters each N steps; 0: never."),
    ] = 0,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="The same seed gives the same model, data and plan of faults.")
    ] = 0,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train for real on this machine, with faults on purpose, and compare what it took with what it should take.

    Worker processes train a small network together and exchange gradients at each step of 20 ms; rank 0 writes
    checkpoints, synced to disk, with a digest. A supervisor notices crashes, hangs and parameters that differ, and
    starts all workers again from the newest checkpoint that is whole and sound. A seeded plan sends the faults:

    crash, hang (SIGKILL, SIGSTOP to a worker), supervisor (SIGKILL to the supervisor), flip (a bit of a parameter, in
    silence; needs --check-steps), corrupt (the newest checkpoint), slow (a worker at half speed for 4 s), disk (full
    for 3 s; a separate disk in memory, which needs root on Linux). Time until the next fault passes while the job
    trains, stalls or starts. In a start, flip, corrupt and slow find nothing to spoil.

    A calibration before, about 20 s long (minutes where workers start slowly), measures steps, stalls, starts and
    detection. From these follow the parts of the time with the faults as they struck, and the band of the finishing
    time without knowing them. At the end the parameters are compared with those of an undisturbed run, bit by bit.

    A drill that was stopped, or killed, goes on with the same command. DIR then holds train.log (as Megatron prints
    it), events.jsonl, and scenario.yml where a scenario can say the same.

    With --json, took and given are measured hours and those by the rules; 95 of 100 runs end between low_s and high_s
    of band; strikes are the faults, by attempt and seconds into its start or its training.

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

        done = run(folder, settings, on_progress=on_progress)
    terminal.show(done, as_json, {})
