"""``ettr plan``: the best checkpoint interval, the cost of failures, and the mitigations to start with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr.cli import completion, options, outputs, terminal
from ettr.cli.options import JsonOption, SetOption
from ettr.core.errors import InputError
from ettr.core.report import Note

if TYPE_CHECKING:
    from ettr.plan import Calendar, Order, Plan, Requirement
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
    "parameters": "checkpoint.store.n_parameters",
    "detection_min": "recovery.detection_min",
    "restart_min": "recovery.restart_min",
    "productive_h": "job.productive_h",
    "usd_per_gpu_h": "cost.usd_per_gpu_h",
    "measured_ettr": "measured.ettr",
}
"""Options that set a field, by the name of the parameter."""
N_GPUS, PER_NODE, JOB_MTTF, OBSERVED = FLAGS["gpus"], FLAGS["gpus_per_node"], FLAGS["mtbf_h"], "failures.observed_nodes"
_SIZE = (N_GPUS, PER_NODE)
_OF_A_NODE = {"failures.node_mttf_h", "failures.gpu_mttf_h", "failures.rate_per_1000_node_days"}
"""Failure rates that are the same at every size."""
_OBSERVED_ON = "--observed-on-gpus"
_COMMAND_LINE = "the command line"


def _option(topic: str, name: str, metavar: str | None, help_: str, autocompletion: Any = None) -> Any:
    return typer.Option(name, metavar=metavar, help=help_, rich_help_panel=topic, autocompletion=autocompletion)


_run = partial(_option, "The run (instead of a file, or changing it)")
_goal = partial(_option, "Goals")
_limit = partial(_option, "Limits on the number of GPUs (of a job given by its tokens)")
_date = partial(_option, "Dates")
_output = partial(_option, "Output")


def plan(
    context: typer.Context,
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO",
            help="A preset (see `ettr scenarios`), or a scenario file ending in .yml.",
            show_default=False,
            autocompletion=completion.scenarios,
        ),
    ] = None,
    gpus: Annotated[int | None, _run("--gpus", "N", "GPUs of the job.")] = None,
    mtbf_h: Annotated[float | None, _run("--mtbf-h", "H", "MTBF of the whole job, by the wall clock.")] = None,
    stall_s: Annotated[float | None, _run("--stall-s", "S", "Training pauses this long for each checkpoint.")] = None,
    restart_min: Annotated[
        float | None, _run("--restart-min", "MIN", "From free nodes until training continues.")
    ] = None,
    usd_per_gpu_h: Annotated[float | None, _run("--usd-per-gpu-h", "USD", "Price per GPU-hour.")] = None,
    measured_ettr: Annotated[
        float | None,
        _run("--measured-ettr", "ETTR", "Measured ETTR of the run, e.g. 0.78, to find unexplained losses."),
    ] = None,
    interval_min: Annotated[
        str | None, _run("--interval-min", "MIN", "Current checkpoint interval; or best, young or daly.")
    ] = None,
    persist_s: Annotated[
        float | None, _run("--persist-s", "S", "Background write after the stall, until the checkpoint is durable.")
    ] = None,
    parameters: Annotated[
        float | None, _run("--parameters", "N", "Parameters of the model, for the size of a checkpoint.")
    ] = None,
    detection_min: Annotated[
        float | None, _run("--detection-min", "MIN", "From a failure until it is detected.")
    ] = None,
    productive_h: Annotated[
        float | None, _run("--productive-h", "H", "Training that the job needs; without it, the job has no end.")
    ] = None,
    failures: Annotated[
        int | None, _run("--failures", "N", "Failures counted in --in-days, instead of an MTBF.")
    ] = None,
    in_days: Annotated[float | None, _run("--in-days", "DAYS", "Days in which --failures were counted.")] = None,
    observed_on_gpus: Annotated[
        int | None,
        _run("--observed-on-gpus", "N", "GPUs of the job with this MTBF or these failures, if not --gpus."),
    ] = None,
    gpus_per_node: Annotated[int | None, _run("--gpus-per-node", "N", "GPUs per node.")] = None,
    node_mtbf_h: Annotated[float | None, _run("--node-mtbf-h", "H", "MTBF of one node.")] = None,
    gpu_mtbf_h: Annotated[float | None, _run("--gpu-mtbf-h", "H", "MTBF of one GPU.")] = None,
    set_: SetOption = None,
    target: Annotated[
        float | None,
        _goal("--target", "ETTR", "Find the value of each field, alone, that reaches this ETTR, e.g. 0.9."),
    ] = None,
    field: Annotated[
        list[str] | None,
        _goal("--field", "FIELD", "With --target: this field only. May be repeated.", completion.fields),
    ] = None,
    fail_below: Annotated[
        float | None,
        _goal("--fail-below", "ETTR", "Exit with status 3 if the ETTR at the best interval is lower."),
    ] = None,
    effective_gpus: Annotated[
        int | None,
        _goal("--effective-gpus", "N", "Find the GPUs to order that train like N GPUs that never fail."),
    ] = None,
    power_mw: Annotated[float | None, _limit("--power-mw", "MW", "No more than this power can feed.")] = None,
    budget_usd: Annotated[float | None, _limit("--budget-usd", "USD", "Cost of the whole job at most.")] = None,
    deadline_days: Annotated[float | None, _limit("--deadline-days", "DAYS", "Finish within this time.")] = None,
    most_gpus: Annotated[int | None, _limit("--most-gpus", "N", "No more than this number.")] = None,
    start: Annotated[
        str | None, _date("--start", "DATE", "Day of submission, e.g. 2027-01-15; with --done, of that progress.")
    ] = None,
    deadline: Annotated[
        str | None, _date("--deadline", "DATE", "Day by whose end the job must be finished; needs --start.")
    ] = None,
    zone: Annotated[
        str | None, _date("--zone", "ZONE", "Time zone of the dates, e.g. Europe/Berlin; else UTC.")
    ] = None,
    done: Annotated[str | None, _date("--done", "SHARE", "Work done so far, e.g. 40%.")] = None,
    details: Annotated[
        bool, _output("--details", None, "Add ranges, time budgets, plausible inputs and unranked mitigations.")
    ] = False,
    save: Annotated[Path | None, _output("--save", "FILE", "Write the scenario to this YAML file.")] = None,
    html: Annotated[Path | None, _output("--html", "FILE", "Write the answer to this page, to print or send.")] = None,
    quick: Annotated[
        bool, _output("--quick", None, "Skip the simulation of what the analytical model leaves out.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Find the best checkpoint interval, the cost of failures, and the mitigations to start with.

    The run is a preset, a scenario file, or described by options. GPUs and MTBF are enough: all other inputs are
    assumed, and listed as such. The answer has the best checkpoint interval, the ETTR with its plausible range and its
    run-to-run variation, the hours and dollars lost per month, and the recommended mitigations in order. --details
    adds the rest.

    --target solves for one field at a time, at the best checkpoint interval: the largest value of a cost, or the
    smallest of a benefit, that reaches the ETTR. Where no value does, the answer has the ETTR that the field can reach
    and the second field that limits it.

    --effective-gpus finds the size of the job and its spares, and the plan is for that size. The failure rate per node
    is kept, so there is a most that can be reached; --gpus is only needed as the size with an MTBF of a whole job.

    A job with an end gets the finish of 90% and 99% of runs, as dates with --start. With --deadline it gets the
    probability of meeting it, the interval with the highest probability, and the cost of each day earlier.

    A job given by its tokens and its model gets the number of GPUs to use, with --details or with a limit such as
    --power-mw: the fastest, the cheapest and the one with the least carbon.

    Spares that run out and the dates of runs with faster checkpoint tiers, predicted failures, silent failures or
    burn-in are simulated, which takes seconds; --quick skips that.

    Exit status: 0 answer; 1 a file cannot be written or an extra is not installed; 2 input refused; 3 the ETTR at the
    best interval is below --target or --fail-below.

    Example: ettr plan --gpus 4096 --mtbf-h 9 --stall-s 90 --restart-min 12 --usd-per-gpu-h 2.5 --save mine.yml

    Example: ettr plan --gpus 50000 --mtbf-h 22 --observed-on-gpus 2048

    Example: ettr plan --gpus 16384 --mtbf-h 3 --parameters 405B --interval-min 10

    Example: ettr plan llama3-405b --set cluster.n_gpus=100000 --target 0.9

    Example: ettr plan --effective-gpus 20000 --node-mtbf-h 20000

    Example: ettr plan mine.yml --start 2027-01-15 --deadline 2027-03-08 --set job.productive_h=1000

    Example: ettr plan llama3-405b --set job.tokens=2e12 --set model.n_parameters=70e9 --power-mw 10
    """
    _check_target(target, field or [])
    goals = {"--target": target, "--fail-below": fail_below}
    options.check_shares(goals)
    options.check_scenario_name(scenario)
    if save is not None:
        outputs.check_yaml("--save", save, "scenario")
    if html is not None:
        outputs.check_page("--html", html)
    if (failures is None) != (in_days is None):
        raise InputError("--failures and --in-days go together, e.g. --failures 195 --in-days 181")
    named = {name: context.params[name] for name in FLAGS if context.params[name] is not None}
    if interval_min is not None:
        named["interval_min"] = options.interval(interval_min)
    if effective_gpus is not None:
        from ettr.core.validity import above_zero

        above_zero("--effective-gpus", effective_gpus, unit="GPUs")
    run, changes = _run_of(scenario, named, set_, in_days, observed_on_gpus, effective_gpus)
    from ettr import plan as plans
    from ettr.scenario.fields import implausible

    terminal.warn(implausible(run))
    order = None
    if effective_gpus is not None:
        order = plans.order(run, effective_gpus, scenario is None and gpus is None and N_GPUS not in changes)
        run, changes = order.scenario, {**changes, N_GPUS: order.n_gpus}
    calendar = _calendar(start, deadline, zone, done)
    limits = {"power_mw": power_mw, "budget_usd": budget_usd, "deadline_days": deadline_days, "most_gpus": most_gpus}
    size = _size(run, limits, always=details or as_json)
    answer = plans.make(run, simulate=not quick, calendar=calendar)
    with terminal.compiling_said(as_json):
        _ = answer.simulation
    _check_changing(answer, target)
    needs = _needs(answer.scenario, answer.original, target, field or []) if target is not None else []
    with (
        terminal.compiling_said(as_json),  # for the dates
        outputs.written(html, lambda: _page(answer, order), Note(f"Written: {html}"), as_json),
        outputs.written(save, lambda: run.to_yaml(comments=True), Note(f"Written: {save}"), as_json),
    ):
        if as_json:
            record = {
                **answer.to_dict(),
                "target_ettr": target,
                "fail_below_ettr": fail_below,
                "requirements": [need.to_dict() for need in needs],
                "sizing": size.to_dict() if size else None,
                "order": order.to_dict() if order else None,
                "changes": changes,
            }
            terminal.write_json("plan", record)
        else:
            terminal.render(order.report() if order else [])
            terminal.render(answer.report(short=target is not None), {} if scenario is None else changes)
            if details:
                terminal.render(answer.details())
            terminal.render([*(size.report() if size else []), *_needs_report(needs)])
    options.fail_unmet("the ETTR at the best interval", float(answer.hours_at_best.ettr), goals)


def _run_of(
    scenario: str | None,
    named: dict[str, Any],
    set_: list[str] | None,
    in_days: float | None,
    observed_on_gpus: int | None,
    effective_gpus: int | None,
) -> tuple[Scenario, dict[str, Any]]:
    """Return the run of a file, a preset or options, and the fields that options and ``--set`` change.

    ``effective_gpus`` is the size of a run without one whose failure rate is per node or GPU.
    """
    from ettr.scenario import Scenario

    values = {FLAGS[name]: value for name, value in named.items()}
    flags = {path: f"--{name.replace('_', '-')}" for name, path in FLAGS.items() if name in named}
    rates = [flag for path, flag in flags.items() if path.startswith("failures.")]
    if len(rates) > 1:
        raise InputError(f"{rates[0]} conflicts with {rates[1]}: both set the failure rate; use one of them")
    changes = options.changes_of(set_)
    _check_conflicts(flags, values, changes, observed_on_gpus)
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
        if effective_gpus is not None and N_GPUS not in {**values, **changes} and _OF_A_NODE & {*values, *changes}:
            per_node = {**values, **changes}.get(PER_NODE, 8)
            per_node = per_node if isinstance(per_node, int) and per_node > 0 else 8  # the scenario refuses others
            values[N_GPUS] = -(-effective_gpus // per_node) * per_node
        fields = {**values, **changes}
        _check_size(fields, observed_on_gpus)
        n_gpus, per_node = (fields.get(path, 8) for path in _SIZE)
        if not any(path.startswith("failures.") for path in fields):
            values |= _of_published_clusters(per_node)
        if isinstance(n_gpus, (int, float)) and isinstance(per_node, (int, float)) and per_node > 0:
            observed_nodes = _nodes_observed(observed_on_gpus, per_node)
            values |= observed_nodes
            values |= _exposure_of_count(in_days, {**observed_nodes, **changes}.get(OBSERVED, n_gpus / per_node))
        with _naming_flags(flags):
            run = Scenario.of(options.nested({**values, **changes}), _COMMAND_LINE)
    _check_rate_of_a_job(run, observed_on_gpus)
    return run, changes


@contextmanager
def _naming_flags(flags: dict[str, str]) -> Iterator[None]:
    """Name in errors the option that gave a field."""
    try:
        yield
    except InputError as error:
        lines = []
        for line in map(str, error.args):
            flag = flags.get(line.split(" ", 1)[0], _COMMAND_LINE)
            lines.append(line.replace(f"({_COMMAND_LINE})", f"({flag})"))
        raise InputError(*lines) from None


def _check_conflicts(
    flags: dict[str, str], values: dict[str, Any], changes: dict[str, Any], observed_on_gpus: int | None
) -> None:
    """Refuse an option beside a ``--set`` of its field; ``flags`` has the options by their fields."""
    all_flags = flags if observed_on_gpus is None else {**flags, OBSERVED: _OBSERVED_ON}
    both = all_flags.keys() & changes.keys()
    if not both:
        return
    path = min(both)
    way_out = ""
    if path == N_GPUS and flags.keys() & {JOB_MTTF, "failures.n_events"}:
        way_out = (
            f". For a failure rate observed on another number of GPUs: --gpus {changes[path]} {_OBSERVED_ON} "
            f"{values[path]}"
        )
    raise InputError(f"{all_flags[path]} conflicts with --set {path}; use one of them{way_out}")


def _check_size(fields: dict[str, Any], observed_on_gpus: int | None) -> None:
    """Refuse a run without a size, or with a size that no failures were observed on."""
    if N_GPUS not in fields:
        raise InputError(
            "plan needs a preset or a scenario file, or the size and MTBF of the job, e.g. ettr plan --gpus 4096 "
            "--mtbf-h 9"
        )
    if observed_on_gpus is not None and not any(path.startswith("failures.") for path in fields):
        raise InputError(f"{_OBSERVED_ON} needs the failures observed there: --mtbf-h, or --failures with --in-days")


def _nodes_observed(observed_on_gpus: int | None, gpus_per_node: float) -> dict[str, Any]:
    """Return the field that ``--observed-on-gpus`` sets; empty without it, or if nodes have no GPUs."""
    if observed_on_gpus is None or gpus_per_node <= 0:
        return {}
    if observed_on_gpus <= 0:
        raise InputError(f"{_OBSERVED_ON} must be > 0 GPUs, got {observed_on_gpus}")
    if observed_on_gpus % gpus_per_node:
        raise InputError(
            f"{_OBSERVED_ON} must be a multiple of the {gpus_per_node:g} GPUs per node, got {observed_on_gpus}"
        )
    return {OBSERVED: int(observed_on_gpus // gpus_per_node)}


def _check_rate_of_a_job(run: Scenario, observed_on_gpus: int | None) -> None:
    """Refuse ``--observed-on-gpus`` with a failure rate per node or GPU."""
    if observed_on_gpus is not None and not run.failures.of_a_job:
        raise InputError(
            f"{_OBSERVED_ON} needs the MTBF of a job or a count of its failures; failures.{run.failures.ways[0]} is "
            "the same at every size"
        )


def _of_published_clusters(gpus_per_node: Any) -> dict[str, Any]:
    """Return the median failure rate of published clusters, for a run without a failure rate."""
    from ettr.ranges import median_rate

    is_valid = isinstance(gpus_per_node, (int, float)) and gpus_per_node > 0
    rate, n_clusters = median_rate(gpus_per_node if is_valid else 8)  # the scenario refuses other numbers
    origin = {"status": "assumed", "note": f"the median of {n_clusters} published clusters"}
    return {
        "failures.rate_per_1000_node_days": rate,
        "evidence": {"failures.rate_per_1000_node_days": origin},
    }


def _calendar(start: str | None, deadline: str | None, zone: str | None, done: str | None) -> Calendar | None:
    """Return the dates of the options; None without any."""
    if zone is not None and start is None:
        raise InputError(f"--zone {zone} needs --start, the date in that zone")
    if start is None and deadline is None and done is None:
        return None
    from ettr.plan import calendar_of

    return calendar_of(start, deadline, zone, done if done is not None else 0.0)


def _exposure_of_count(in_days: float | None, observed_nodes: Any) -> dict[str, Any]:
    """Return the fields for the nodes and days, by the wall clock, in which failures were counted."""
    if in_days is None:
        return {}
    if in_days <= 0:
        raise InputError(f"--in-days must be > 0 days, got {in_days:g}")
    if not isinstance(observed_nodes, (int, float)) or not observed_nodes > 0:
        return {}  # refused by the rule of the field
    return {
        OBSERVED: observed_nodes,
        "failures.node_days": in_days * observed_nodes,
        "failures.rate_clock": "wall",
    }


def _check_target(target: float | None, fields: list[str]) -> None:
    if target is None and fields:
        raise InputError(f"--field {fields[0]} needs --target, the ETTR to reach, e.g. --target 0.9")


def _check_changing(answer: Plan, target: float | None) -> None:
    """Refuse to solve for fields of a run whose failure rate changes over time."""
    if target is None or answer.changing is None:
        return
    from ettr.budget import changes as changes_in_time

    if changes_in_time(answer.changing):
        raise InputError(
            "--target needs a constant failure rate: unset failures.burn_in and failures.lifetime, e.g. with the "
            "mean rate: --set failures.burn_in=null --set "
            f"failures.rate_per_1000_node_days={answer.scenario.failure_rate:.3g}"
        )


def _size(run: Scenario, limits: dict[str, float | None], always: bool) -> Sizing | None:
    """Return the number of GPUs to use, for a job given by its tokens with limits or details; None otherwise."""
    limited = [name for name, value in limits.items() if value is not None]
    if run.job.tokens is None:
        if limited:
            raise InputError(
                f"--{limited[0].replace('_', '-')} needs the job as tokens and parameters, e.g. --set "
                "job.tokens=15.6e12 --set model.n_parameters=405e9"
            )
        return None
    if not (limited or always):
        return None
    from ettr import sizing

    return sizing.make(run, sizing.SizingLimits(**limits))


def _needs(run: Scenario, original: Scenario, target: float, fields: list[str]) -> list[Requirement]:
    """Return the value of each field that reaches the target, unreachable fields last.

    Spare nodes are simulated in the original run; the analytical model solves for all other fields.
    """
    from ettr.plan import required, solvable
    from ettr.scenario.paths import SPARES

    chosen = list(dict.fromkeys(fields)) or [*solvable(run), *([SPARES] if original.spares else [])]
    needs = [required(original if field == SPARES else run, field, target) for field in chosen]
    return sorted(needs, key=lambda need: need.value is None)


def _needs_report(needs: list[Requirement]) -> Any:
    if not needs:
        return []
    from ettr.plan.needs import needs_report

    return needs_report(needs)


def _page(answer: Plan, order: Order | None) -> str:
    """Return the answer with its details as an HTML page."""
    from ettr.core.report import as_page

    return terminal.with_options(
        as_page([*(order.report() if order else []), *answer.report(), *answer.details()], answer.original.title)
    )
