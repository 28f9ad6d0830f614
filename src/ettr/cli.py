"""The ``ettr`` command: a thin face on the package."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ettr import __version__, cli_compare, cli_telemetry, options, terminal
from ettr.errors import EttrError, InputError
from ettr.options import JsonOption, ScenarioArgument, SetOption

app = typer.Typer(
    name="ettr",
    help="Failures, checkpoints and the Effective Training Time Ratio of large training runs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(cli_telemetry.app, name="telemetry")
app.command()(cli_compare.compare)
app.command()(cli_compare.mitigations)


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
def plan(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    target: Annotated[
        float | None,
        typer.Option("--target", metavar="ETTR", help="Say what each field alone would have to be for it, e.g. 0.9."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="FIELD", help="Ask --target of this field only. May be repeated."),
    ] = None,
    power_mw: Annotated[
        float | None, typer.Option("--power-mw", metavar="MW", help="Take no more GPUs than the facility can feed.")
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option("--budget-usd", metavar="USD", help="Spend no more on the whole job.")
    ] = None,
    deadline_days: Annotated[
        float | None, typer.Option("--deadline-days", metavar="DAYS", help="Be done within so many days.")
    ] = None,
    most_gpus: Annotated[
        float | None, typer.Option("--most-gpus", metavar="N", help="Take no more GPUs than there are.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out what has to be simulated: the advice on mitigations and spares.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say how often to checkpoint, where the hours go, how sure that is, and what to do next.

    Answers with the job's time to failure, the best checkpoint interval and the range that is within half a point of
    it, the ETTR, and the time budget, beside those of the scenario's own interval. What is known of the failure rate
    gives bands of 50% and 95%. A scenario with tiers is answered with their best intervals together, one with silent
    failures with the number of old checkpoints to keep.

    With --target, each field is solved for alone, with the best interval of the store at each value: the largest value
    of a cost, the smallest of a benefit, the range of an interval. If no value reaches the target, the answer is what
    would be possible, and which second field stands in the way.

    A job given by its tokens and its model is also told how many GPUs it should have: the sizes that are the fastest,
    the cheapest and the greenest, within the limits that are given, and what the next GPU adds.

    Without a target it also says what to do next: the three mitigations that add most, one after the other, with what
    each adds, costs, and how well its effect is known, and how many spares are cheapest. They are simulated on the same
    failures, with what the scenario says nothing of lent to it; --quick leaves that out. `ettr compare` has all of
    them.

    Example: ettr plan llama3-405b --set cluster.n_gpus=100000 --target 0.9

    Example: ettr plan llama3-405b --set job.tokens=2e12 --set model.n_parameters=70e9 --power-mw 10
    """
    from ettr import sizing, terminal_compare, terminal_sizing
    from ettr.budget import changes as changes_in_time
    from ettr.plan import make
    from ettr.scenario import Scenario
    from ettr.sizing import Limits

    changes = options.changes(set_ or [])
    run = Scenario.load(scenario).override(changes) if changes else Scenario.load(scenario)
    _check_target(target, field or [])
    limits = Limits(power_mw, budget_usd, deadline_days, most_gpus)
    if limits.given and run.job.tokens is None:
        raise InputError(
            f"--{next(iter(limits.given)).replace('_', '-')} needs the job as tokens and parameters, e.g. --set "
            "job.tokens=15.6e12 --set model.n_parameters=405e9"
        )
    answer = make(run)
    if target is not None and changes_in_time(run):
        raise InputError(
            "--target has no answer for a failure rate that changes: leave failures.burn_in and failures.lifetime out, "
            "e.g. at the mean rate with --set failures.burn_in=null --set "
            f"failures.rate_per_1000_node_days={answer.scenario.failures.rate:.3g}"
        )
    asked, run = run, answer.scenario
    needs = _needs(run, asked, target, field or []) if target is not None else []
    size = sizing.make(run, limits) if run.job.tokens is not None else None
    if not as_json:
        terminal.print_plan(answer, changes)
        if size:
            terminal_sizing.print_sizing(size)
        if needs:
            terminal.print_needs(needs)
    advice = None if quick or target is not None else cli_compare.advised(asked, quiet=as_json)
    if not as_json:
        if advice:
            terminal_compare.print_advice(advice)
        return
    told = {
        **answer.to_dict(),
        "target_ettr": target,
        "requirements": [need.to_dict() for need in needs],
        "sizing": size.to_dict() if size else None,
        "advice": advice.to_dict() if advice else None,
        "changes": changes,
    }
    typer.echo(json.dumps(told, indent=2, allow_nan=False))


def _check_target(target: float | None, fields: list[str]) -> None:
    if target is None and fields:
        raise InputError(f"--field {fields[0]} needs --target, the ETTR to reach, e.g. --target 0.9")
    if target is not None and not 0 < target < 1:
        raise InputError(f"--target must be between 0 and 1, e.g. 0.9, got {target:g}")


def _needs(run: Any, asked: Any, target: float, fields: list[str]) -> list[Any]:
    """What each field would have to be; those that can reach the target first.

    Spares are simulated, in the run as it was asked about; all else is solved for by the closed forms.
    """
    from ettr.plan import SPARES, required, solvable

    named = list(dict.fromkeys(fields)) or [*solvable(run), *([SPARES] if asked.spares else [])]
    found = [required(asked if field == SPARES else run, field, target) for field in named]
    return sorted(found, key=lambda need: need.value is None)


@app.command()
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
        typer.Option("--like", metavar="SCENARIO", help="Preset or file that lends checkpoint and recovery times."),
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
    from ettr import failures, logs
    from ettr.plan import LIKE, from_fit
    from ettr.scenario import Scenario

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
        terminal.print_fit(fitted, answer, scenario_out)


@app.command()
def formats(as_json: JsonOption = False) -> None:
    """List the formats of failure logs that `ettr fit` reads."""
    from ettr import logs

    table = logs.formats()
    if as_json:
        typer.echo(json.dumps(table.to_dict("records"), indent=2))
        return
    for row in table.itertuples():
        typer.echo(f"{row.name:10} {row.title}")


@app.command()
def simulate(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    runs: Annotated[
        float, typer.Option("--runs", metavar="N", help="How many times to simulate; with --until-error at least.")
    ] = 1000,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="S", help="The same seed gives the same runs, and two scenarios the same luck."),
    ] = 0,
    until_error: Annotated[
        float | None,
        typer.Option(
            "--until-error",
            metavar="SHARE",
            help="Add runs until the standard error of the mean total is this share of it, e.g. 0.001 for 0.1%.",
        ),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option("--timeline", metavar="FILE", help="Write what happened when in run 0 here, as CSV."),
    ] = None,
    timeline_runs: Annotated[
        str | None, typer.Option("--timeline-runs", metavar="N,N,...", help="The runs to write instead of run 0.")
    ] = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Simulate a run many times: finishing dates, where the hours go, and the closed form beside it.

    What a scenario can describe is simulated, from failure to failure. Answers with the ETTR and its 95%
    interval, the dates by which 5% to 95% of the runs are done, and the mean time budget beside that of the closed
    form, which names what it leaves out. The intervals tell how well so many runs know the mean, not how well the
    scenario's figures are known.

    With --json, hours end in _h; errors are the standard errors of the means in budget, ettr_low and ettr_high the ends
    of the 95% interval, finish_h the hours by which so many in 100 runs are done, waiting_h the part of the queue spent
    waiting for nodes in n_waits waits, and variance_ratio how many times more runs plain means would need.

    The timeline has the columns run, start_h, end_h (hours since the run began) and state: training, checkpoint,
    rework (training that is lost later), detection, queue, restart or maintenance. A steady run is in whole intervals
    of the store, not scaled back to the work. A file that is there is written over.

    Example: ettr simulate llama3-405b --set "spares={n_nodes: 8}" --set "repair={manual_h: 24}" --runs 5000
    """
    with terminal.stopped_with("stopped before the end; no run is kept"):
        _simulate(scenario, set_ or [], runs, seed, until_error, timeline, timeline_runs, as_json, quiet)


@app.command()
def power(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    part: Annotated[
        str | None, typer.Option("--part", metavar="PART", help="Another GPU: a preset of parts, or a file in .yml.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Of the simulated run.")] = 0,
    limits: Annotated[
        str | None,
        typer.Option("--limits", metavar="SPEC", help="Check against a specification: a name, or a file in .csv."),
    ] = None,
    series: Annotated[
        Path | None, typer.Option("--series", metavar="FILE", help="Write the power at the grid here, as CSV.")
    ] = None,
    resolution: Annotated[
        float, typer.Option("--resolution", metavar="S", help="Length of a bin of the series in seconds.")
    ] = 60.0,
    start: Annotated[float | None, typer.Option("--from", metavar="H", help="Hour in which the series begins.")] = None,
    end: Annotated[float | None, typer.Option("--to", metavar="H", help="Hour in which the series ends.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a run draws from the grid, how much that swings, and what it costs.

    One run is simulated, and each of its states draws what the GPU does in it. Answers with the mean and the extremes
    of the power at the grid in seconds, swings and ramps, and energy, money and carbon by part of the wall clock. The
    sections power and cost of a scenario say what is drawn and what it costs; what they do not say is assumed.

    The series has the columns time_h (middle of a bin, since submission) and power_mw (its mean). With --json, units
    are the ends of names, and null stands for what seconds cannot show.

    Example: ettr power llama3-405b --set power.step_s=3 --limits utility-example
    """
    changes = options.changes(set_ or [])
    options.check_seed(seed)
    if series is not None:
        options.check_file_out(series)
    from ettr import terminal_power as shown
    from ettr.scenario import Scenario

    run = Scenario.load(scenario).override(changes) if changes else Scenario.load(scenario)
    with terminal.said_if_late(terminal.COMPILES, as_json):
        found = shown.drawn(run, part, seed, limits)
    if series is not None:
        options.write(series, shown.written(found, resolution, start, end))
    if as_json:
        typer.echo(json.dumps(shown.told(found, seed, changes), indent=2, allow_nan=False))
    else:
        shown.print_power(found, seed, changes)
        if series is not None:
            shown.print_written(series)


def _simulate(
    scenario: str,
    pairs: list[str],
    runs: float,
    seed: int,
    until_error: float | None,
    timeline: Path | None,
    timeline_runs: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    changes = options.changes(pairs)
    options.check_seed(seed)
    options.check_until_error(until_error)
    if timeline is not None:
        options.check_file_out(timeline)
    from ettr import terminal_simulation as shown
    from ettr.budget import closed_form
    from ettr.scenario import Scenario
    from ettr.simulation import MOST_RUNS
    from ettr.simulation import simulate as simulated

    n_runs = options.number_of_runs(runs, MOST_RUNS)
    chosen = options.timeline_runs(timeline_runs, timeline, n_runs)
    run = Scenario.load(scenario).override(changes) if changes else Scenario.load(scenario)
    with (
        terminal.progress(quiet or as_json, "preparing") as report,
        terminal.said_if_late(terminal.COMPILES, quiet) as begun,
    ):

        def heard(done: int, total: int) -> None:
            begun()
            report.runs(done, total)

        found = simulated(run, n_runs, seed, chosen, until=until_error, on_progress=heard)
    beside = closed_form(run)
    unwritten = None
    if timeline is not None:  # first, as whoever reads the answer may close the pipe
        try:
            options.write(timeline, found.timeline.to_csv(index=False))
        except EttrError as error:
            unwritten = error
    if as_json:
        typer.echo(json.dumps(shown.told(found, beside, changes), indent=2, allow_nan=False))
    else:
        shown.print_simulation(found, beside, changes)
    if unwritten:
        raise unwritten
    if timeline is not None and not as_json:
        shown.print_written(timeline, chosen)


@app.command()
def sweep(
    notebook: Annotated[
        Path | None, typer.Argument(metavar="NOTEBOOK", help="A notebook with a cell tagged 'parameters'.")
    ] = None,
    grid: Annotated[
        Path | None, typer.Option("--grid", metavar="FILE", help="The values to go through, as YAML.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder of the results; the same one to go on.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes on this machine; one a core if not given.")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="A running Dask scheduler instead, e.g. tcp://10.0.0.1:8786, or its file.",
        ),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option("--call", metavar="NAME", help="budget or simulate, called at each point instead of a notebook."),
    ] = None,
    scenario: Annotated[
        str | None, typer.Option("--scenario", metavar="SCENARIO", help="Of --call: a preset, or a scenario file.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", help="Longest time that one point may take.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run points again that failed before.")] = False,
    fresh_kernels: Annotated[
        bool, typer.Option("--fresh-kernels", help="Start a kernel for each point, instead of forking a prepared one.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the points, and how long they will take; one is run to know it.")
    ] = False,
    report: Annotated[bool, typer.Option("--report", help="Write report.html as well: table, charts, links.")] = False,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run a notebook, or a function of the package, at every point of a grid.

    The grid maps parameters to a list of values, or to a range such as {from: 1024, to: 65536, count: 7, scale: log,
    multiple_of: 8}, and spans their product; blocks 'zip:' and 'points:' hold values that belong together. With --call,
    parameters are a scenario's fields, e.g. cluster.n_gpus.

    Each executed notebook is kept in DIR/points as soon as it is whole, and DIR/results.parquet has a row for each
    point with what the notebook handed to ettr.record(...). What is finished is not run again: after a crash the same
    command goes on. A failed point leaves its executed part, the others go on, and the exit status is 1.

    Example: ettr sweep book/ettr/scale.ipynb --grid grid.yml --out scale-sweep --report
    """
    from ettr import terminal_sweep

    chosen = terminal_sweep.Chosen(
        notebook, call, scenario, grid, out, workers, scheduler, timeout, retry_failed, fresh_kernels
    )
    with terminal.stopped_with("stopped; finished points are kept, and the same command goes on from there"):
        done = (
            terminal_sweep.preview(chosen, as_json) if dry_run else terminal_sweep.run(chosen, report, as_json, quiet)
        )
    if not done:
        raise typer.Exit(1)


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
    terminal.console().print(shown)


@app.command()
def parts(as_json: JsonOption = False) -> None:
    """List the parts that heat and power know by name, and how many of their figures are assumed.

    A part of your own is a file such as `ettr telemetry` writes; name it where a scenario says part.
    """
    from ettr.scenario import Part

    table = Part.presets()
    if as_json:
        typer.echo(json.dumps(table.to_dict("records"), indent=2, allow_nan=False))
        return
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    for name in ("part", "GPU", "limit", "idle", "cooled by", "assumed"):
        shown.add_column(name, justify="right" if name in ("limit", "idle", "assumed") else "left")
    for row in table.to_dict("records"):
        power = (f"{row[name]:,.4g} W" for name in ("limit_w", "idle_w"))
        shown.add_row(row["name"], row["title"], *power, row["media"], f"{row['n_assumed']} of {row['n_figures']}")
    terminal.console().print(shown)


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

    with terminal.stopped_with("stopped; finished chapters are kept, and the same command goes on from there"):
        page = build(root, out, scenario, progress=not quiet)
    typer.echo(f"the book is at {page}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; errors raised on purpose become one message and an exit status."""
    given = _with_each_map(list(sys.argv[1:] if arguments is None else arguments))
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]  # holds before and after a command
    try:
        app(args=given, prog_name="ettr")
    except EttrError as error:
        if debug:
            traceback.print_exc()
        typer.echo(f"ettr: {error}", err=True)
        sys.exit(2 if isinstance(error, ValueError) else 1)
    except OSError as error:  # without a name it is standard output
        if debug:
            traceback.print_exc()
        where = error.filename or "cannot write the answer"
        typer.echo(f"ettr: {where}: {error.strerror or error}", err=True)
        sys.exit(1)


def _with_each_map(arguments: list[str]) -> list[str]:
    """Repeat ``--map`` before each of its pairs, so that it may be followed by several."""
    spread: list[str] = []
    in_map = False
    for argument in arguments:
        pair = "=" in argument and not argument.startswith("-")
        if in_map and pair and spread[-1] != "--map":
            spread.append("--map")
        in_map = argument == "--map" or argument.startswith("--map=") or (in_map and pair)
        spread.append(argument)
    return spread


if __name__ == "__main__":
    main()
