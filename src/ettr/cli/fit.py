"""``ettr fit``: what a failure log says."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from ettr import failures, logs
from ettr.cli import options, outputs, terminal
from ettr.cli.options import JsonOption, QuietOption
from ettr.core.errors import InputError
from ettr.core.report import Note
from ettr.logs.lifetimes import read_lifetimes
from ettr.logs.training import runs as training_runs
from ettr.plan import from_fit, from_training
from ettr.scenario import Scenario


def fit(
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG", help="A failure or training log, plain or packed; - is standard input."),
    ],
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", help="Nodes that were watched, the healthy ones included.")
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option(
            "--inventory",
            metavar="FILE",
            help="Instead of --nodes: a table of nodes and when each came and went (node, in, out).",
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "--window",
            metavar="FROM/TO",
            help="When they were watched, e.g. 2026-01-01/2026-06-30; an end without a time takes in its whole day.",
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Format of the log (see `ettr formats`); sniffed if not given."),
    ] = None,
    zone: Annotated[
        str | None, typer.Option("--zone", help="Zone of times that carry none, e.g. Europe/Berlin or +08:00.")
    ] = None,
    year: Annotated[int | None, typer.Option("--year", help="Year of the first time, where times carry none.")] = None,
    time_unit: Annotated[
        str | None,
        typer.Option("--time-unit", metavar="UNIT", help="Unit of times that are numbers: s, ms, us, ns, min, h, d."),
    ] = None,
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="OURS=THEIRS ...",
            help="Columns of the log: start, end, duration, node (also node=rack+slot), component, cause, planned, "
            "state, or any other name to split by.",
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="COLUMN=REGEX ...", help="Only records whose column matches count."),
    ] = None,
    down: Annotated[
        str | None,
        typer.Option(
            "--down", metavar="WORD,...", help="Words for a node that is down; found, and said, if not given."
        ),
    ] = None,
    up: Annotated[
        str | None, typer.Option("--up", metavar="WORD,...", help="Words for a node that is up again.")
    ] = None,
    failure_severity: Annotated[
        str | None,
        typer.Option(
            "--failure-severity",
            metavar="LEVEL",
            help="Least severity that is a failure: debug, info, warning, error or critical; error if not given.",
        ),
    ] = None,
    planned: Annotated[
        str | None,
        typer.Option("--planned", metavar="REGEX", help="Causes that match are planned work, and no failures."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            "--split", metavar="COLUMN[=A:N,B:N]", help="Compare the values of a column, with the nodes of each value."
        ),
    ] = None,
    gpus: Annotated[
        int | None,
        typer.Option("--gpus", metavar="N", help="GPUs of the job to plan; all that were watched if not given."),
    ] = None,
    gpus_per_node: Annotated[int, typer.Option("--gpus-per-node", metavar="N", help="GPUs of a node.")] = 8,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="SCENARIO",
            help="Preset or file whose checkpoint and recovery times are assumed; as in `ettr plan` without.",
        ),
    ] = None,
    scenario_out: Annotated[
        Path | None,
        typer.Option("--scenario-out", metavar="FILE", help="Write the fitted scenario here, to go on with."),
    ] = None,
    lifetimes: Annotated[
        bool,
        typer.Option(
            "--lifetimes",
            help="The file holds lifetimes of units: an age and whether it failed, or dates in and out.",
        ),
    ] = False,
    step_s: Annotated[
        float | None,
        typer.Option("--step-s", metavar="S", help="Of a training log: seconds of one step, if the log does not say."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", metavar="NAME", help="Encoding of the text; UTF-8 if not given.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say what a failure log says: rates, shapes, verdicts, and a plan; or what a training log says of its run.

    Healthy nodes do not appear in a log, so say how many were watched. What was merged, dropped or not understood is
    counted by reason. The log of a training framework gives the ETTR that the run had, its stops, and what it computed
    again, beside what the model predicts for it, and beside --like, the scenario that it was planned with.

    Example: ettr fit faults.csv --nodes 400 --map start=opened_at node=host --scenario-out mine.yml
    """
    # a long log takes minutes to read: what can be refused is refused before
    column, sizes = options.cohorts(split)
    if lifetimes:
        with terminal.progress(quiet or as_json) as report:
            lives = read_lifetimes(
                log,
                options.columns(map_ or []),
                column,
                until=window and window.rpartition("/")[2],
                zone=zone,
                time_unit=time_unit,
                encoding=encoding,
                progress=report.bytes,
            )
        terminal.show(failures.unit_lifetimes(lives), as_json, {})
        return
    if gpus is not None and gpus < 1:
        raise InputError(f"--gpus must be >= 1, got {gpus}")
    if scenario_out is not None:
        outputs.check_yaml("--scenario-out", scenario_out, "scenario")
    if like is not None:
        Scenario.load(like)
    patterns = options.where(where or [])
    if format_ in training_runs.FORMATS or (format_ is None and not map_ and training_runs.knows(log, encoding)):
        unread = {"--nodes": nodes, "--inventory": inventory, "--window": window, "--split": split, "--where": where}
        unread |= {"--map": map_, "--planned": planned, "--down": down, "--up": up, "--year": year}
        _refuse(unread | {"--failure-severity": failure_severity, "--time-unit": time_unit}, log)
        name = options.short_name(scenario_out or log)
        with terminal.progress(quiet or as_json) as report:
            run = logs.read_training(log, format_, step_s=step_s, zone=zone, encoding=encoding, progress=report.bytes)
            realised = from_training(run, like, gpus, gpus_per_node, name)
        with _kept(realised.scenario, scenario_out, as_json):
            terminal.show(realised, as_json, {})
        return
    if step_s is not None:
        raise InputError(f"--step-s is for training logs; {log} is none that is known (`ettr formats`)")
    columns = options.columns(map_ or [])
    with terminal.progress(quiet or as_json) as report:
        read = logs.read(
            log,
            format_,
            nodes,
            window,
            zone=zone,
            year=year,
            time_unit=time_unit,
            columns=columns,
            planned=planned,
            cohort_nodes={column: sizes} if column and sizes else None,
            split=column,
            where=patterns,
            down=down,
            up=up,
            failure_severity=failure_severity,
            inventory=inventory,
            encoding=encoding,
            progress=report.bytes,
        )
        fitted = failures.fit(read, split=column, progress=report.step)
        report.step("plan")
        answer = from_fit(fitted, gpus, gpus_per_node, like, options.short_name(scenario_out or log))
    with _kept(answer.scenario, scenario_out, as_json):
        terminal.show(fitted, as_json, {"plan": answer.to_dict()}, answer.report())


def _refuse(given: Mapping[str, object], log: Path) -> None:
    """Refuse what a training log has no use for."""
    for option, value in given.items():
        if value:
            raise InputError(f"{option} is for failure logs; {log} is a training log, or name its format: --format csv")


def _kept(scenario: Scenario, out: Path | None, as_json: bool) -> AbstractContextManager[None]:
    """Write the scenario that a log gave, if asked to, and say where it is below the answer."""
    note = Note(f"The scenario is at {out}: ettr plan {shlex.quote(str(out))}", apart=True)
    return outputs.written(out, scenario.to_yaml, note, as_json)
