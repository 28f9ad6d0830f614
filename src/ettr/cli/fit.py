"""``ettr fit``: failure rates from a failure log, or the ETTR of a run from its training log."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ettr.cli import completion, options, outputs, terminal
from ettr.cli.options import JsonOption, QuietOption
from ettr.core.errors import InputError, OutsideValidity
from ettr.core.report import Headline, Note

if TYPE_CHECKING:
    from ettr.scenario import Scenario

_watched = partial(typer.Option, rich_help_panel="Nodes and time")
_reading = partial(typer.Option, rich_help_panel="Reading the file")
_counting = partial(typer.Option, rich_help_panel="Failures to count")
_planning = partial(typer.Option, rich_help_panel="The plan")
_training = partial(typer.Option, rich_help_panel="Training logs")


def fit(
    log: Annotated[
        Path,
        typer.Argument(metavar="LOG", help="A failure or training log, also packed; - is standard input."),
    ],
    nodes: Annotated[
        int | None, _watched("--nodes", metavar="N", help="Observed nodes, including those that never failed.")
    ] = None,
    inventory: Annotated[
        Path | None,
        _watched(
            "--inventory",
            metavar="FILE",
            help="Instead of --nodes: a table with the time each node was added and removed (node, in, out).",
        ),
    ] = None,
    window: Annotated[
        str | None,
        _watched(
            "--window",
            metavar="FROM/TO",
            help="Observation time, e.g. 2026-01-01/2026-06-30; a date without a time includes the whole day.",
        ),
    ] = None,
    format_: Annotated[
        str | None,
        _reading(
            "--format",
            metavar="NAME",
            help="Format of the log (see `ettr formats`).  [default: detected]",
            autocompletion=completion.formats,
        ),
    ] = None,
    zone: Annotated[
        str | None,
        _reading("--zone", metavar="ZONE", help="Time zone of times without one, e.g. Europe/Berlin or +08:00."),
    ] = None,
    year: Annotated[
        int | None, _reading("--year", metavar="YEAR", help="Year of the first time, for times without a year.")
    ] = None,
    time_unit: Annotated[
        str | None,
        _reading(
            "--time-unit",
            metavar="UNIT",
            help="Unit of times that are numbers: s, ms, us, ns, min, h or d.",
            autocompletion=lambda: ["s", "ms", "us", "ns", "min", "h", "d"],
        ),
    ] = None,
    map_: Annotated[
        list[str] | None,
        _reading(
            "--map",
            metavar="OURS=THEIRS ...",
            help="Columns of the log: start, end, duration, node (also node=rack+slot), component, cause, planned, "
            "state, or any other name to split by; of a table of training steps: time, step, step_s.",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        _reading("--columns", metavar="NAME,...", help="Names of the columns, in order, of a table without a header."),
    ] = None,
    where: Annotated[
        list[str] | None,
        _counting("--where", metavar="COLUMN=REGEX ...", help="Use only records whose column matches."),
    ] = None,
    down: Annotated[
        str | None,
        _counting("--down", metavar="WORD,...", help="Words for a node that goes down.  [default: detected]"),
    ] = None,
    up: Annotated[str | None, _counting("--up", metavar="WORD,...", help="Words for a node that is up again.")] = None,
    failure_severity: Annotated[
        str | None,
        _counting(
            "--failure-severity",
            metavar="LEVEL",
            help="Lowest severity of a failure: debug, info, warning, error or critical.  [default: error]",
            autocompletion=lambda: ["debug", "info", "warning", "error", "critical"],
        ),
    ] = None,
    planned: Annotated[
        str | None,
        _counting("--planned", metavar="REGEX", help="Matching causes are planned work, not failures."),
    ] = None,
    split: Annotated[
        str | None,
        _counting(
            "--split", metavar="COLUMN[=A:N,B:N]", help="Compare the values of a column, with the nodes of each value."
        ),
    ] = None,
    gpus: Annotated[
        int | None, _planning("--gpus", metavar="N", help="GPUs of the job to plan.  [default: all observed]")
    ] = None,
    gpus_per_node: Annotated[int, _planning("--gpus-per-node", metavar="N", help="GPUs per node.")] = 8,
    like: Annotated[
        str | None,
        _planning(
            "--like",
            metavar="SCENARIO",
            help="Preset or file for checkpoint and recovery times.  [default: as in `ettr plan`]",
            autocompletion=completion.scenarios,
        ),
    ] = None,
    scenario_out: Annotated[
        Path | None, _planning("--scenario-out", metavar="FILE", help="Write the fitted scenario to this YAML file.")
    ] = None,
    lifetimes: Annotated[
        bool,
        _reading("--lifetimes", help="The file has lifetimes of units: age and failed or not, or dates in and out."),
    ] = False,
    step_s: Annotated[
        float | None,
        _training("--step-s", metavar="S", help="Duration of a training step, if the log does not have it."),
    ] = None,
    by: Annotated[
        str | None,
        _training(
            "--by",
            metavar="PERIOD",
            help="Also show the ETTR of each hour, day or week.",
            autocompletion=completion.periods,
        ),
    ] = None,
    fail_below: Annotated[
        float | None,
        _training(
            "--fail-below",
            metavar="ETTR",
            help="Exit with status 3 if the ETTR of the run is lower.",
        ),
    ] = None,
    encoding: Annotated[
        str | None, _reading("--encoding", metavar="NAME", help="Text encoding of the log.  [default: UTF-8]")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Estimate failure rates from a failure log, or the ETTR of a run from its training log.

    A failure log gives rates with 95% CI, changes over time, repeated failures, lemon nodes, and a plan for a job on
    these nodes. A log has no record of healthy nodes, so the number of observed nodes is needed: --nodes or
    --inventory. Merged, dropped and unreadable records are counted by reason.

    A training log gives the ETTR of the run, its stops and its lost work, next to the prediction of the model, and
    to that of the scenario in --like.

    With --json, the schema is ettr/fit, ettr/fit-training for a training log, or ettr/fit-lifetimes.

    Exit status: 0 answer; 1 a file cannot be written; 2 input refused; 3 the ETTR of the run is below --fail-below.

    Example: ettr fit faults.csv --nodes 400 --map start=opened_at node=host --scenario-out mine.yml

    Example: ettr fit kern.log --nodes 64 --window 2026-01-01/2026-06-30

    Example: ettr fit train.log --like mine.yml --by day

    Example: ettr fit wandb.csv --map time=_timestamp step=_step
    """
    # a long log takes minutes to read, so options are checked first
    column, sizes = options.cohorts(split)
    header = None if columns is None else columns.split(",")
    counting: dict[str, object] = {"--nodes": nodes, "--inventory": inventory, "--where": where, "--planned": planned}
    counting |= {"--down": down, "--up": up, "--failure-severity": failure_severity}
    training: dict[str, object] = {"--step-s": step_s, "--by": by, "--fail-below": fail_below}
    if lifetimes:
        others = {"--format": format_, "--year": year, "--gpus": gpus, "--like": like, "--scenario-out": scenario_out}
        for option, value in (counting | others | training).items():
            if value is not None:
                raise InputError(f"{option} is not for lifetimes of units: drop it, or --lifetimes")
    if gpus is not None and gpus < 1:
        raise InputError(f"--gpus must be >= 1 GPU, got {gpus}")
    if scenario_out is not None:
        outputs.check_yaml("--scenario-out", scenario_out, "scenario")
    options.check_scenario_name(like)
    from ettr import Scenario, failures, logs, plan

    if lifetimes:
        with terminal.progress(quiet or as_json) as report:
            lives = logs.read_lifetimes(
                log,
                options.columns(map_ or []),
                column,
                until=window and window.replace("..", "/").rpartition("/")[2],
                zone=zone,
                time_unit=time_unit,
                header=header,
                encoding=encoding,
                progress=report.bytes,
            )
        terminal.show("fit-lifetimes", failures.unit_lifetimes(lives), as_json, {})
        return
    if like is not None:
        Scenario.load(like)
    patterns = options.where(where or [])
    mapping = options.columns(map_ or [])
    if logs.is_training_log(log, format_, mapping, header, encoding):
        _refuse(counting | {"--window": window, "--split": split}, log)
        options.check_shares({"--fail-below": fail_below})
        name = options.short_name(scenario_out or log)
        with terminal.progress(quiet or as_json) as report:
            run = logs.read_training(
                log,
                format_,
                step_s=step_s,
                columns=mapping,
                header=header,
                zone=zone,
                year=year,
                time_unit=time_unit,
                encoding=encoding,
                progress=report.bytes,
            )
            realised = plan.from_training(run, like, gpus, gpus_per_node, name, by=by)
        with _kept(realised.scenario, scenario_out, as_json):
            terminal.show("fit-training", realised, as_json, {})
        options.fail_unmet("the ETTR of the run", run.ettr, {"--fail-below": fail_below})
        return
    for option, value in training.items():
        if value is not None:
            raise InputError(f"{option} is for training logs, and {log} has none of their formats (see `ettr formats`)")
    with terminal.progress(quiet or as_json) as report:
        failure_log = logs.read(
            log,
            format_,
            nodes,
            window,
            zone=zone,
            year=year,
            time_unit=time_unit,
            columns=mapping,
            header=header,
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
        fitted = failures.fit(failure_log, split=column, progress=report.step)
        report.step("plan")
        name = options.short_name(scenario_out or log)
        try:
            answer = plan.from_fit(fitted, gpus, gpus_per_node, like, name)
        except OutsideValidity as error:  # the log has an answer even if no job can run at its rate
            scenario, planned_run = plan.scenario_of(fitted, gpus, gpus_per_node, like, name), None
            words = [*fitted.report(), Headline("Plan", apart=True), Note(str(error))]
        else:
            scenario, planned_run, words = answer.scenario, answer.to_dict() if as_json else None, answer.report()
    with _kept(scenario, scenario_out, as_json):
        terminal.show("fit", fitted, as_json, {"plan": planned_run}, words)


def _refuse(unused: Mapping[str, object], log: Path) -> None:
    """Refuse options that do not apply to a training log."""
    for option, value in unused.items():
        if value:
            size = ", give the size of the job with --gpus" if option == "--nodes" else ""
            raise InputError(
                f"{option} is for failure logs, and {log} looks like a training log: drop it{size}, or add --format"
            )


def _kept(scenario: Scenario, out: Path | None, as_json: bool) -> AbstractContextManager[None]:
    """Write the fitted scenario to a file, if one is named, and note it below the answer."""
    note = Note(f"The scenario is at {out}: ettr plan {shlex.quote(str(out))}", apart=True)
    return outputs.written(out, scenario.to_yaml, note, as_json)
