"""The ``ettr`` command: a thin face on the package."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ettr import __version__
from ettr.errors import EttrError, InputError

app = typer.Typer(
    name="ettr",
    help="Failures, checkpoints and the Effective Training Time Ratio of large training runs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A preset (see `ettr scenarios`), or a scenario file ending in .yml.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="FIELD=VALUE", help="Another value for a field, e.g. cluster.n_gpus=100000. May be repeated."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ettr {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Failures, checkpoints and the Effective Training Time Ratio of large training runs."""


@app.command()
def plan(scenario: ScenarioArgument, set_: SetOption = None, as_json: JsonOption = False) -> None:
    """Say how often to checkpoint, and where the hours go.

    Answers with the job's time to failure, the best checkpoint interval and the range that is within half a point of
    it, the ETTR, and the time budget, beside those of the scenario's own interval.

    Example: ettr plan llama3-405b --set cluster.n_gpus=100000
    """
    from ettr.plan import make
    from ettr.scenario import Scenario

    changes = _changes(set_ or [])
    run = Scenario.load(scenario).override(changes) if changes else Scenario.load(scenario)
    answer = make(run)
    if as_json:
        typer.echo(json.dumps({**answer.to_dict(), "changes": changes}, indent=2, allow_nan=False))
    else:
        _print_plan(answer, changes)


@app.command()
def scenarios(as_json: JsonOption = False) -> None:
    """List the presets, with size, time to failure and ETTR of each."""
    from ettr.plan import presets

    table = presets()
    if as_json:
        typer.echo(json.dumps(table.to_dict("records"), indent=2, allow_nan=False))
        return
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    for name, justify in (("preset", "left"), ("run", "left"), ("GPUs", "right"), ("MTTF", "right"), ("ETTR", "right")):
        shown.add_column(name, justify=justify)  # type: ignore[arg-type]
    for row in table.to_dict("records"):
        cells = (row["name"], row["title"], f"{row['n_gpus']:,}", f"{row['job_mttf_h']:.2f} h", f"{row['ettr']:.1%}")
        shown.add_row(*cells)
    _console().print(shown)


@app.command()
def book(
    scenario: Annotated[
        str | None,
        typer.Option("--scenario", metavar="SCENARIO", help="Preset or scenario file that the whole book speaks of."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the site; _build/html if not given.")
    ] = None,
    root: Annotated[Path, typer.Option("--root", metavar="DIR", help="The repository with the chapters.")] = Path(),
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Run the chapters that changed and build the book.

    Chapters whose code, parameters and data are unchanged are not run again. The site is replaced in one step when it
    is whole; if a chapter fails, the last good site stays and the failed pages are built beside it.

    Example: ettr book --scenario rsc-2 --out my-book
    """
    from ettr.publish import build

    try:
        page = build(root, out, scenario, progress=not quiet)
    except KeyboardInterrupt:
        typer.echo("ettr: stopped; finished chapters are kept, and the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    typer.echo(f"the book is at {page}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; errors raised on purpose become one message and an exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]  # holds before and after a command
    try:
        app(args=given, prog_name="ettr")
    except EttrError as error:
        if debug:
            traceback.print_exc()
        typer.echo(f"ettr: {error}", err=True)
        sys.exit(2 if isinstance(error, ValueError) else 1)


def _changes(pairs: list[str]) -> dict[str, Any]:
    changes = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals or not path.strip():
            raise InputError(f"--set takes FIELD=VALUE, got {pair!r}")
        changes[path.strip()] = _value(text.strip())
    return changes


def _value(text: str) -> Any:
    """A value as it would be read from a scenario file."""
    import yaml

    from ettr.scenario import StrictLoader

    try:
        return yaml.load(text, Loader=StrictLoader)
    except (yaml.YAMLError, ValueError) as error:
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        raise InputError(f"--set cannot read the value {shown!r}") from error


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _print_plan(answer: Any, changes: dict[str, Any]) -> None:
    from rich.table import Table

    from ettr import findings

    console, run = _console(), answer.scenario
    console.print(f"[bold]{run.title}[/bold]", *(f"{path} = {value}" for path, value in changes.items()), sep="\n  ")
    for line in findings.effective_time.plan_lines(answer):
        console.print(line, soft_wrap=True)
    columns = {f"best interval, {findings.duration(answer.best.interval_h)}": answer.budget}
    if answer.budget_as_given:
        columns[f"as given, {findings.duration(run.interval_h)}"] = answer.budget_as_given
    table = Table(box=None, pad_edge=False, title="Time budget", title_justify="left", title_style="bold")
    table.add_column("part")
    for name in columns:
        table.add_column(name, justify="right")
        table.add_column("", justify="right")
    frames = [hours.to_frame() for hours in columns.values()]
    for rows in zip(*(frame.itertuples() for frame in frames), strict=True):
        if any(row.hours > 0 for row in rows):
            table.add_row(rows[0].part, *(cell for row in rows for cell in (f"{row.hours:,.1f} h", f"{row.share:.1%}")))
    totals = [cell for hours in columns.values() for cell in (f"{hours.total_h:,.1f} h", "")]
    table.add_row("total", *totals, style="bold")
    console.print(table)
    console.print(findings.effective_time.assumptions(run), style="dim", soft_wrap=True)


if __name__ == "__main__":
    main()
