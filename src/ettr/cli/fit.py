"""``ettr fit``: what a failure log says."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from ettr import failures, logs
from ettr.chapters.common import sentences
from ettr.cli import options, terminal
from ettr.cli.options import JsonOption
from ettr.cli.terminal import console, from_markdown, printable, table
from ettr.core.errors import InputError
from ettr.plan import LIKE, from_fit
from ettr.scenario import Scenario


def fit(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A failure log, plain or packed as .gz or .xz.")],
    nodes: Annotated[
        int | None, typer.Option("--nodes", metavar="N", help="Nodes that were watched, the healthy ones included.")
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
            help="Columns of the log: start, end, node, component, cause, planned, or any other name to split by.",
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
            "--like", metavar="SCENARIO", help="Preset or file whose checkpoint and recovery times are assumed."
        ),
    ] = None,
    scenario_out: Annotated[
        Path | None,
        typer.Option("--scenario-out", metavar="FILE", help="Write the fitted scenario here, to go on with."),
    ] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Say what a failure log says: rates, shapes, verdicts, and a plan.

    Healthy nodes do not appear in a log, so say how many were watched. What was merged, dropped or not understood is
    counted by reason.

    Example: ettr fit faults.csv --nodes 400 --map start=opened_at node=host --scenario-out mine.yml
    """
    # a long log takes minutes to read: what can be refused is refused before
    column, sizes = options.cohorts(split)
    columns = options.columns(map_ or [], column)
    if gpus is not None and gpus < 1:
        raise InputError(f"--gpus must be >= 1, got {gpus}")
    if scenario_out is not None:
        options.check_scenario_out(scenario_out)
    Scenario.load(like or LIKE)
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
            progress=report.bytes,
        )
        fitted = failures.fit(read, split=column, progress=report.step)
        report.step("plan")
        answer = from_fit(fitted, gpus, gpus_per_node, like or LIKE, options.short_name(scenario_out or log))
    if scenario_out is not None:
        options.write(scenario_out, answer.scenario.to_yaml())
    if as_json:
        typer.echo(json.dumps({**fitted.to_dict(), "plan": answer.to_dict()}, indent=2, allow_nan=False))
    else:
        print_fit(fitted, answer, scenario_out)


def print_fit(fitted: Any, answer: Any, written: Path | None) -> None:
    """Show what a log says: what was read, the rate, each verdict, and the plan."""
    from ettr.chapters import failure_log

    out, log, say = console(), fitted.log, failure_log.words

    def section(title: str, *texts: str) -> None:
        body = "".join(f"\n{from_markdown(text)}" for text in texts)
        out.print(Text.assemble("\n", (title, "bold"), body), soft_wrap=True)

    out.print(Text.assemble((printable(log.source), "bold"), f" ({log.format})"), soft_wrap=True)
    out.print(Text(from_markdown(say.answer(fitted, answer).text)), soft_wrap=True)
    section("What was read", say.reading(fitted).text)
    section("Failure rate", say.rate(fitted).text)
    columns = {"n_events": "failures", "share": "share", "rate": "per 1000 node-days", "interval": "95% if independent"}
    for name, rows in {"component": fitted.components, fitted.split: fitted.cohorts}.items():
        if rows is not None and len(rows) > 1:
            out.print(table(name, columns, say.rate_rows(rows)))
    rules = {
        "n_incidents": "incidents",
        "rate": "per 1000 node-days",
        "shape": "Weibull shape",
        "best": "best fit",
        "p": "memoryless",
    }
    section("Times between failures")
    out.print(table("merged", rules, say.rule_rows(fitted)))
    for verdict in say.verdicts(fitted):
        section(verdict.title, verdict.text)
    section("Repairs", say.repairs(fitted).text, failure_log.verdict_words.lives(fitted).text)
    section(f"Next {sentences.duration(24 * say.horizon_d(fitted))}", say.forecast(fitted).text)
    section("Plan", say.plan(answer).text, say.trust(answer).text)
    if written:
        path = printable(str(written))
        out.print(Text(f"\nThe scenario is at {path}: ettr plan {shlex.quote(path)}"), soft_wrap=True)
