"""``ettr cluster``: where the GPU-hours of a cluster of many jobs go, from its accounting."""

from __future__ import annotations

from typing import Annotated

import typer

from ettr.cli import completion, options, terminal
from ettr.cli.options import JsonOption, QuietOption, SetOption
from ettr.core.errors import InputError


def cluster(
    jobs: Annotated[
        str,
        typer.Argument(
            metavar="JOBS",
            help="Accounting of jobs (sacct, or CSV), a table of job classes, or a published mix such as rsc-1.",
        ),
    ],
    gpus: Annotated[
        int | None,
        typer.Option("--gpus", metavar="N", help="GPUs of the cluster.  [default: the most in use at a time]"),
    ] = None,
    gpus_per_node: Annotated[int, typer.Option("--gpus-per-node", metavar="N", help="GPUs per node.")] = 8,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="SCENARIO",
            help="Preset or file with what all jobs have in common: checkpoints, recovery, prices, and for job classes "
            "the failure rate.  [default: as in `ettr plan`, with a checkpoint every hour]",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    set_: SetOption = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="OURS=THEIRS ...",
            help="Columns: job, gpus, nodes, start, end, state; of classes: gpus, share, ...",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="NAME,...", help="Names of the columns, if the file has no header."),
    ] = None,
    zone: Annotated[
        str | None, typer.Option("--zone", metavar="ZONE", help="Time zone of times without one, e.g. Europe/Berlin.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show where the GPU-hours of a cluster of many jobs go, and what to do about failures.

    The answer has a checkpoint policy by job size, the productive share of the GPU-hours and each loss by size, the
    failure rate per node-day of each size and whether it is the same for all, MTTF by size with projections, and the
    mitigations that pay for the whole cluster, next to those for its largest job.

    Accounting does not show checkpoints. Their interval, stall, detection and restart time are assumed for all jobs;
    set yours, e.g. --set checkpoint.interval_min=30. Failures are runs that ended as NODE_FAIL or BOOT_FAIL; use sacct
    with --duplicates, which lists each run of a job that was queued again.

    A table of job classes has the columns gpus and share (of the GPU-hours), and optionally jobs, interval_min,
    stall_s, restart_min and priority. A failed job pre-empts jobs of lower priority when it starts again.

    With --json, by_size has a row per size: shares of its GPU-hours with _low and _high, the ends of 95% CIs.

    Exit status: 0 answer; 2 input refused.

    Example: ettr cluster jobs.txt --set checkpoint.interval_min=30 --zone Europe/Berlin

    Example: ettr cluster classes.csv --gpus 4096 --set failures.rate_per_1000_node_days=5

    Example: ettr cluster rsc-1
    """
    if gpus is not None and gpus < 1:
        raise InputError(f"--gpus must be >= 1 GPU, got {gpus}")
    changes = options.changes_of(set_)
    mapping = options.columns(map_ or [])
    header = [name.strip() for name in columns.split(",")] if columns else None
    from ettr.cluster import make, read
    from ettr.scenario import Scenario
    from ettr.scenario.fields import implausible

    for path in changes:
        if path.startswith("cluster."):
            raise InputError(f"--set {path} conflicts with the GPUs of the jobs: give --gpus or --gpus-per-node")
    with terminal.progress(quiet or as_json) as report:
        of_jobs = read(jobs, gpus_per_node, mapping, header=header, zone=zone, progress=report.bytes)
        report.step("classes of jobs")
        answer = make(of_jobs, Scenario.load(like) if like else None, gpus, jobs, changes)
        report.step("mitigations")
        words = [] if as_json else answer.report()
    terminal.warn(implausible(answer.common))
    terminal.show("cluster", answer, as_json, {"changes": changes}, words)
