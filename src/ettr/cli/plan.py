"""``ettr plan``: how often to checkpoint, what is lost, what to do first, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr.cli import options, outputs, terminal
from ettr.cli.options import JsonOption, SetOption
from ettr.core.errors import InputError
from ettr.core.report import Note
from ettr.scenario.paths import JOB_MTTF, N_GPUS, OBSERVED, PER_NODE

if TYPE_CHECKING:
    from ettr.plan import Calendar, Plan, Requirement
    from ettr.scenario import Scenario
    from ettr.sizing import Sizing

FLAGS = {
    "gpus": "cluster.n_gpus",
    "gpus_per_node": "cluster.gpus_per_node",
    "mtbf_h": "failures.job_mttf_h",
    "node_mtbf_h": "failures.node_mttf_h",
    "gpu_mtbf_h": "failures.gpu_mttf_h",
    "failures": "failures.n_events",
    "stall_s": "checkpoint.stall_s",
    "persist_s": "checkpoint.persist_s",
    "interval_min": "checkpoint.interval_min",
    "detection_min": "recovery.detection_min",
    "restart_min": "recovery.restart_min",
    "productive_h": "job.productive_h",
    "usd_per_gpu_h": "cost.usd_per_gpu_h",
    "measured_ettr": "measured.ettr",
}
"""Options that set a field, by the name of the parameter."""
_SIZE = (N_GPUS, PER_NODE)
_OBSERVED_ON = "--observed-on-gpus"


def _flag(name: str, metavar: str, help_: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help_, rich_help_panel="The run, in place of a file or over it")


def _date(name: str, metavar: str, help_: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help_, rich_help_panel="When it has to be done")


def plan(
    context: typer.Context,
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO",
            help="A preset (see `ettr scenarios`), or a scenario file ending in .yml.",
            show_default=False,
        ),
    ] = None,
    gpus: Annotated[int | None, _flag("--gpus", "N", "GPUs of the job.")] = None,
    mtbf_h: Annotated[float | None, _flag("--mtbf-h", "H", "Hours between two failures of the whole job.")] = None,
    stall_s: Annotated[float | None, _flag("--stall-s", "S", "Training stands still for each checkpoint.")] = None,
    restart_min: Annotated[
        float | None, _flag("--restart-min", "MIN", "From a free node until training goes on.")
    ] = None,
    usd_per_gpu_h: Annotated[float | None, _flag("--usd-per-gpu-h", "USD", "Price of a GPU-hour.")] = None,
    measured_ettr: Annotated[
        float | None, _flag("--measured-ettr", "ETTR", "What the run has by its own records, e.g. 0.78.")
    ] = None,
    interval_min: Annotated[
        str | None, _flag("--interval-min", "MIN", "Between two checkpoints now; or best, young or daly.")
    ] = None,
    persist_s: Annotated[
        float | None, _flag("--persist-s", "S", "Background write after the stall until it is durable.")
    ] = None,
    detection_min: Annotated[
        float | None, _flag("--detection-min", "MIN", "From a failure until it is noticed.")
    ] = None,
    productive_h: Annotated[
        float | None, _flag("--productive-h", "H", "Training that the job needs; without, it never ends.")
    ] = None,
    failures: Annotated[
        int | None, _flag("--failures", "N", "Failures that were counted, instead of --mtbf-h; with --in-days.")
    ] = None,
    in_days: Annotated[float | None, _flag("--in-days", "DAYS", "Days in which they were counted.")] = None,
    observed_on_gpus: Annotated[
        int | None,
        _flag("--observed-on-gpus", "N", "GPUs of the job that had this MTBF or these failures, if not --gpus."),
    ] = None,
    gpus_per_node: Annotated[int | None, _flag("--gpus-per-node", "N", "GPUs of one node.")] = None,
    node_mtbf_h: Annotated[float | None, _flag("--node-mtbf-h", "H", "Hours between two failures of one node.")] = None,
    gpu_mtbf_h: Annotated[float | None, _flag("--gpu-mtbf-h", "H", "Hours between two failures of one GPU.")] = None,
    set_: SetOption = None,
    target: Annotated[
        float | None,
        typer.Option("--target", metavar="ETTR", help="Say what each field alone would have to be for it, e.g. 0.9."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="FIELD", help="Ask --target of this field only. May be repeated."),
    ] = None,
    fail_below: Annotated[
        float | None,
        typer.Option(
            "--fail-below",
            metavar="ETTR",
            help="Exit with status 3 if the ETTR at the best interval is less, e.g. 0.9.",
        ),
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
        int | None, typer.Option("--most-gpus", metavar="N", help="Take no more GPUs than there are.")
    ] = None,
    start: Annotated[
        str | None, _date("--start", "DATE", "Day of submission, e.g. 2027-01-15, or with --done of that progress.")
    ] = None,
    deadline: Annotated[
        str | None, _date("--deadline", "DATE", "Day by whose end the job has to be done; needs --start.")
    ] = None,
    zone: Annotated[str | None, _date("--zone", "ZONE", "Of these dates, e.g. Europe/Berlin; else UTC.")] = None,
    done: Annotated[
        str | None,
        _date("--done", "SHARE", "Work that is done, e.g. 40%."),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Bands, budgets, ranges of what is assumed, and what is not ranked.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write the scenario here, with comments, as YAML.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the answer here as a page to print or send.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Do not simulate what no formula follows, e.g. spares that run out.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say how often to checkpoint, what failures cost, what to do first, and how sure that is.

    Takes a preset, a file, or the run on the command line: GPUs and a time between failures are enough, and all else
    is assumed and said to be. Answers with the best checkpoint interval, the ETTR with its range over what is assumed
    and by luck, what is lost a month in hours and dollars, and the three things to do first, by what they return for
    their price. --details has the rest.

    With --target, each field is solved for alone, with the best interval of the store at each value: the largest value
    of a cost, the smallest of a benefit, the range of an interval. If no value reaches the target, the answer is what
    would be possible, and which second field stands in the way.

    For use in CI: the exit status is 3 if the ETTR at the best interval, with which the answer begins, is below
    --target or --fail-below, also with --json. It is 0 with any other answer, and 2 if the question is refused.

    A job given by its tokens and its model is also told how many GPUs it should have, with --details or a limit such as
    --power-mw: the sizes that are the fastest, the cheapest and the greenest within it, and what the next GPU adds.

    A job that has an end is told when it is done, with nine and with ninety-nine in a hundred; with --start as dates.
    With --deadline the answer is the probability, the interval at which that is highest, what a day earlier costs, and
    what each field alone would have to be for nine in ten. --done counts from now, for a job under way.

    What no formula follows, such as spares that run out, is simulated for a moment, and so are the dates of runs with
    faster tiers, warnings of failures, silent failures or burn-in; --quick leaves that out.

    Example: ettr plan --gpus 4096 --mtbf-h 9 --stall-s 90 --restart-min 12 --usd-per-gpu-h 2.5 --save mine.yml

    Example: ettr plan --gpus 50000 --mtbf-h 22 --observed-on-gpus 2048

    Example: ettr plan llama3-405b --start 2027-01-15 --deadline 2027-03-08 --zone Europe/Berlin

    Example: ettr plan llama3-405b --set cluster.n_gpus=100000 --target 0.9

    Example: ettr plan mine.yml --fail-below 0.9 --json > plan.json

    Example: ettr plan llama3-405b --set job.tokens=2e12 --set model.n_parameters=70e9 --power-mw 10
    """
    _check_target(target, field or [], fail_below)
    options.check_there(scenario)
    if save is not None:
        outputs.check_yaml("--save", save, "scenario")
    if html is not None:
        outputs.check_file(html)
    given = {name: context.params[name] for name in FLAGS if context.params[name] is not None}
    if interval_min is not None:
        given["interval_min"] = options.interval(interval_min)
    if (failures is None) != (in_days is None):
        raise InputError("--failures and --in-days go together: so many failures of the job in so many days")
    run, changes = _asked(scenario, given, set_, in_days, observed_on_gpus)
    from ettr.scenario.fields import implausible

    terminal.warn(implausible(run))
    calendar = _calendar(start, deadline, zone, done)
    limits = {"power_mw": power_mw, "budget_usd": budget_usd, "deadline_days": deadline_days, "most_gpus": most_gpus}
    size = _size(run, limits, always=details or as_json)
    from ettr.plan import make

    answer = make(run, simulate=not quick, calendar=calendar)
    with terminal.compiling_said(as_json):
        _ = answer.simulation
    _check_changing(answer, target)
    needs = _needs(answer.scenario, answer.original, target, field or []) if target is not None else []
    with (
        terminal.compiling_said(as_json),  # for the dates
        outputs.written(html, lambda: _page(answer), Note(f"Written: {html}"), as_json),
        outputs.written(save, lambda: run.to_yaml(comments=True), Note(f"Written: {save}"), as_json),
    ):
        if as_json:
            record = {
                **answer.to_dict(),
                "target_ettr": target,
                "fail_below_ettr": fail_below,
                "requirements": [need.to_dict() for need in needs],
                "sizing": size.to_dict() if size else None,
                "changes": changes,
            }
            terminal.write_json(record)
        else:
            shown = {} if scenario is None else changes
            terminal.render(answer.report(short=target is not None), shown)
            if details:
                terminal.render(answer.details())
            terminal.render([*(size.report() if size else []), *_needs_report(needs)])
    _fail_unmet(float(answer.hours_at_best.ettr), {"--target": target, "--fail-below": fail_below})


def _asked(
    scenario: str | None,
    given: dict[str, Any],
    set_: list[str] | None,
    in_days: float | None,
    observed_on_gpus: float | None,
) -> tuple[Scenario, dict[str, Any]]:
    """The run of a file, a preset or flags, and what flags and ``--set`` change of it."""
    from ettr.scenario import Scenario

    values = {FLAGS[name]: value for name, value in given.items()}
    named = {path: f"--{name.replace('_', '-')}" for name, path in FLAGS.items() if name in given}
    rates = [named[path] for path in named if path.startswith("failures.")]
    if len(rates) > 1:
        raise InputError(f"{' and '.join(rates)} say the same in two ways: give one of them")
    changes = options.changes_of(set_)
    _check_conflicts(named, values, changes, observed_on_gpus)
    if scenario is not None:
        run = Scenario.load(scenario)
        sizes = {path: value for path, value in {**values, **changes}.items() if path in _SIZE}
        cluster = run.override(sizes).cluster if sizes else run.cluster
        observed_nodes = _nodes_observed(observed_on_gpus, cluster.gpus_per_node)
        values |= observed_nodes
        values |= _exposure_of_count(in_days, {**observed_nodes, **changes}.get(OBSERVED, cluster.n_nodes))
        if in_days is not None and run.failures.modes:  # which are shares of another count
            values["failures.modes"] = []
        changes = {**values, **changes}
        run = run.override(changes) if changes else run
    else:
        asked = {**values, **changes}
        _check_size(asked, observed_on_gpus)
        n_gpus, per_node = (asked.get(path, 8) for path in _SIZE)
        if not any(path.startswith("failures.") for path in asked):
            values |= _of_published_clusters(per_node)
        if isinstance(n_gpus, (int, float)) and isinstance(per_node, (int, float)):
            observed_nodes = _nodes_observed(observed_on_gpus, per_node)
            values |= observed_nodes
            values |= _exposure_of_count(in_days, {**observed_nodes, **changes}.get(OBSERVED, n_gpus / per_node))
        run = Scenario.of(options.nested({**values, **changes}), "the command line")
    _check_rate_of_a_job(run, observed_on_gpus)
    return run, changes


def _check_conflicts(
    named: dict[str, str], values: dict[str, Any], changes: dict[str, Any], observed_on_gpus: float | None
) -> None:
    """Refuse an option beside a ``--set`` of its field; ``named`` has the options by their fields."""
    options_given = named if observed_on_gpus is None else {**named, OBSERVED: _OBSERVED_ON}
    both = options_given.keys() & changes.keys()
    if not both:
        return
    path = min(both)
    way_out = ""
    if path == N_GPUS and named.keys() & {JOB_MTTF, "failures.n_events"}:
        way_out = (
            f", or give the size at which failures were observed with --gpus {changes[path]} {_OBSERVED_ON} "
            f"{values[path]}"
        )
    raise InputError(f"{options_given[path]} conflicts with --set {path}; use one of them{way_out}")


def _check_size(values: dict[str, Any], observed_on_gpus: float | None) -> None:
    """Refuse a run that has no size, or a size that nothing was observed on."""
    if N_GPUS not in values:
        raise InputError(
            "name a preset or a file, or say how large the job is and how often it fails, e.g. ettr plan --gpus 4096 "
            "--mtbf-h 9"
        )
    if observed_on_gpus is not None and not any(path.startswith("failures.") for path in values):
        raise InputError(f"{_OBSERVED_ON} needs the failures observed there: --mtbf-h, or --failures with --in-days")


def _nodes_observed(observed_on_gpus: float | None, gpus_per_node: float) -> dict[str, Any]:
    """The field of ``--observed-on-gpus``; empty where it is not given, or where nodes have no GPUs."""
    if observed_on_gpus is None or gpus_per_node <= 0:
        return {}
    if not 0 < observed_on_gpus < math.inf:
        raise InputError(f"{_OBSERVED_ON} must be > 0 GPUs, got {observed_on_gpus:g}")
    if observed_on_gpus % gpus_per_node:
        raise InputError(
            f"{_OBSERVED_ON} must be a multiple of {gpus_per_node:g}, the GPUs per node, got {observed_on_gpus:.12g}"
        )
    return {OBSERVED: int(observed_on_gpus // gpus_per_node)}


def _check_rate_of_a_job(run: Scenario, observed_on_gpus: float | None) -> None:
    """Refuse ``--observed-on-gpus`` for a failure rate that is not of a job."""
    if observed_on_gpus is not None and not run.failures.of_a_job:
        raise InputError(
            f"{_OBSERVED_ON} has no meaning with failures.{run.failures.ways[0]}, which is the same at every size: "
            "give it with the MTBF of a job or a count of its failures"
        )


def _of_published_clusters(gpus_per_node: Any) -> dict[str, Any]:
    """Return the failure rate of a run of which none is given: the median of published clusters."""
    from ettr.ranges import median_rate

    rate, n_clusters = median_rate(gpus_per_node if isinstance(gpus_per_node, (int, float)) else 8)
    origin = {"status": "assumed", "note": f"the median of {n_clusters} published clusters"}
    return {
        "failures.rate_per_1000_node_days": rate,
        "evidence": {"failures.rate_per_1000_node_days": origin},
    }


def _calendar(start: str | None, deadline: str | None, zone: str | None, done: str | None) -> Calendar | None:
    """Dates that were asked about; None if none were."""
    if zone is not None and start is None:
        raise InputError(f"--zone {zone} goes with --start, the date that it is of")
    if start is None and deadline is None and done is None:
        return None
    from ettr.plan import calendar_of

    return calendar_of(start, deadline, zone, done if done is not None else 0.0)


def _exposure_of_count(in_days: float | None, observed_nodes: Any) -> dict[str, Any]:
    """Return the fields that say on how many nodes, and for how long by the wall clock, failures were counted."""
    if in_days is None:
        return {}
    if in_days <= 0:
        raise InputError(f"--in-days must be > 0 days, got {in_days:g}")
    if not isinstance(observed_nodes, (int, float)) or not observed_nodes > 0:
        return {}  # the scenario refuses the number by its own rule
    return {
        OBSERVED: observed_nodes,
        "failures.node_days": in_days * observed_nodes,
        "failures.rate_clock": "wall",
    }


def _check_target(target: float | None, fields: list[str], fail_below: float | None) -> None:
    if target is None and fields:
        raise InputError(f"--field {fields[0]} needs --target, the ETTR to reach, e.g. --target 0.9")
    if target is not None and not 0 < target < 1:
        raise InputError(f"--target must be between 0 and 1, e.g. 0.9, got {target:g}")
    if fail_below is not None and not 0 < fail_below < 1:
        raise InputError(f"--fail-below must be between 0 and 1, e.g. 0.9, got {fail_below:g}")


UNMET = 3
"""Exit status where the run does not reach the ETTR that it should."""


def _fail_unmet(ettr: float, least: Mapping[str, float | None]) -> None:
    """End with status 3, and say why, where the ETTR at the best interval is less than an option asks for."""
    unmet = [f"{option} {value:g}" for option, value in least.items() if value is not None and ettr < value]
    if unmet:
        terminal.say(f"ettr: the ETTR at the best interval, {ettr:.4g}, is below {' and '.join(unmet)}", err=True)
        raise typer.Exit(UNMET)


def _check_changing(answer: Plan, target: float | None) -> None:
    """Refuse to solve for fields of a run whose rate changes."""
    if target is None or answer.changing is None:
        return
    from ettr.budget import changes as changes_in_time

    if changes_in_time(answer.changing):
        raise InputError(
            "--target has no answer for a failure rate that changes: leave failures.burn_in and failures.lifetime out, "
            "e.g. at the mean rate with --set failures.burn_in=null --set "
            f"failures.rate_per_1000_node_days={answer.scenario.failure_rate:.3g}"
        )


def _size(run: Scenario, given: dict[str, float | None], always: bool) -> Sizing | None:
    """How many GPUs a job of tokens should have, where that is asked; None of another."""
    named = [name for name, value in given.items() if value is not None]
    if run.job.tokens is None:
        if named:
            raise InputError(
                f"--{named[0].replace('_', '-')} needs the job as tokens and parameters, e.g. --set "
                "job.tokens=15.6e12 --set model.n_parameters=405e9"
            )
        return None
    if not (named or always):
        return None
    from ettr import sizing

    return sizing.make(run, sizing.SizingLimits(**given))


def _needs(run: Scenario, original: Scenario, target: float, fields: list[str]) -> list[Requirement]:
    """What each field would have to be; those that can reach the target first.

    Spares are simulated, in the run as it was asked about; all else is solved for by the closed forms.
    """
    from ettr.plan import required, solvable
    from ettr.scenario.paths import SPARES

    named = list(dict.fromkeys(fields)) or [*solvable(run), *([SPARES] if original.spares else [])]
    needs = [required(original if field == SPARES else run, field, target) for field in named]
    return sorted(needs, key=lambda need: need.value is None)


def _needs_report(needs: list[Requirement]) -> Any:
    if not needs:
        return []
    from ettr.plan.needs import needs_report

    return needs_report(needs)


def _page(answer: Plan) -> str:
    """The answer with its details as a page of its own."""
    from ettr.core.report import as_page

    return as_page([*answer.report(), *answer.details()], answer.original.title)
