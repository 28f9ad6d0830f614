"""``ettr plan``: how often to checkpoint, where the hours go, how sure that is, and what to do next."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from ettr import sizing
from ettr.budget import changes as changes_in_time
from ettr.chapters.common.assumptions import assumptions, no_answer
from ettr.chapters.common.sentences import duration, limit, listed, number, pct, points
from ettr.checkpoint import heed_threshold_h
from ettr.cli import compare, options
from ettr.cli import sizing as cli_sizing
from ettr.cli.options import JsonOption, ScenarioArgument, SetOption
from ettr.cli.terminal import console, table
from ettr.core.errors import InputError
from ettr.plan import SPARES, Plan, make, required, solvable
from ettr.scenario import Scenario
from ettr.sizing import Limits


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
    failures, with what the scenario says nothing of assumed here; --quick leaves that out. `ettr compare` has all of
    them.

    Example: ettr plan llama3-405b --set cluster.n_gpus=100000 --target 0.9

    Example: ettr plan llama3-405b --set job.tokens=2e12 --set model.n_parameters=70e9 --power-mw 10
    """
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
        print_plan(answer, changes)
        if size:
            cli_sizing.print_sizing(size)
        if needs:
            print_needs(needs)
    advice = None if quick or target is not None else compare.advised(asked, quiet=as_json)
    if not as_json:
        if advice:
            compare.print_advice(advice)
        return
    record = {
        **answer.to_dict(),
        "target_ettr": target,
        "requirements": [need.to_dict() for need in needs],
        "sizing": size.to_dict() if size else None,
        "advice": advice.to_dict() if advice else None,
        "changes": changes,
    }
    typer.echo(json.dumps(record, indent=2, allow_nan=False))


def _check_target(target: float | None, fields: list[str]) -> None:
    if target is None and fields:
        raise InputError(f"--field {fields[0]} needs --target, the ETTR to reach, e.g. --target 0.9")
    if target is not None and not 0 < target < 1:
        raise InputError(f"--target must be between 0 and 1, e.g. 0.9, got {target:g}")


def _needs(run: Any, asked: Any, target: float, fields: list[str]) -> list[Any]:
    """What each field would have to be; those that can reach the target first.

    Spares are simulated, in the run as it was asked about; all else is solved for by the closed forms.
    """
    named = list(dict.fromkeys(fields)) or [*solvable(run), *([SPARES] if asked.spares else [])]
    needs = [required(asked if field == SPARES else run, field, target) for field in named]
    return sorted(needs, key=lambda need: need.value is None)


_QUANTITIES = {
    "job_mttf_h": "time to failure",
    "best_interval_min": "best interval",
    "ettr_at_best": "ETTR at the best interval",
    "ettr_as_given": "ETTR as given",
    "failures_per_day": "failures a day",
}
"""Rows of the bands, as people call them."""

_HOURS = {"h": 1.0, "min": 1 / 60, "s": 1 / 3600}
"""Units of time that a number is shown as a duration for, in hours."""

_SHORT_UNITS = {"failures per 1000 node-days": "/1000 node-days", "1/day": "/day"}


def print_plan(answer: Any, changes: dict[str, Any]) -> None:
    """Show a plan: what to do, how sure that is, and where the hours go."""
    from ettr.chapters import checkpoint_interval

    out, run = console(), answer.scenario
    out.print(f"[bold]{run.title}[/bold]", *(f"{path} = {value}" for path, value in changes.items()), sep="\n  ")
    for line in plan_lines(answer):
        out.print(line, soft_wrap=True)
    if answer.changing:
        out.print(checkpoint_interval.changing_rate_words.planned_at_mean(answer), soft_wrap=True)
    if answer.checkpoints_to_keep:
        kept = f"{answer.checkpoints_to_keep:,}"
        out.print(f"Keep the newest {kept} checkpoints: silent failures spoil all that follow them", soft_wrap=True)
    _print_tiers(out, answer)
    _print_hours(out, answer)
    _print_bands(out, answer)
    out.print(assumptions(run), style="dim", soft_wrap=True)


def _print_hours(out: Any, answer: Any) -> None:
    columns = {f"best interval, {duration(answer.best.interval_h)}": answer.budget}
    if answer.budget_as_given:
        columns[f"as given, {duration(answer.scenario.interval_h)}"] = answer.budget_as_given
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
    out.print(table)


def _print_tiers(out: Any, answer: Any) -> None:
    if not answer.tiers:
        return
    rows = [
        {
            "name": tier.name,
            "survives": f"{tier.survives:.1%}",
            "own": duration(tier.interval_s / 3600),
            "best": duration(tier.best_interval_s / 3600),
        }
        for tier in answer.tiers
    ]
    out.print(Text("Tiers", style="bold"))
    columns = {"survives": "survives", "own": "interval", "best": "best of all together"}
    out.print(table("tier", columns, rows))
    out.print(Text(f"With the best of all together the ETTR is {answer.budget_of_tiers.ettr:.1%}."), soft_wrap=True)


def _print_bands(out: Any, answer: Any) -> None:
    if answer.bands.empty:
        out.print(Text(f"How sure: {answer.band_source}."), soft_wrap=True)
        return
    rows = [
        {
            "name": _QUANTITIES[row.quantity],
            "value": _amount(row.value, row.unit),
            "half": _between(row.low_50, row.high_50, row.unit),
            "most": _between(row.low_95, row.high_95, row.unit),
        }
        for row in answer.bands.itertuples()
    ]
    out.print(Text("How sure", style="bold"))
    out.print(table("", {"value": "value", "half": "50%", "most": "95%"}, rows))
    out.print(Text(f"The bands come {answer.band_source}."), style="dim", soft_wrap=True)


def _between(low: float, high: float, unit: str) -> str:
    ends = [_amount(low, unit), _amount(high, unit)]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _amount(value: float, unit: str) -> str:
    """A quantity as people read it: a duration, a percentage, or a number."""
    if unit in _HOURS:
        return duration(value * _HOURS[unit]) if math.isfinite(value) else "endless"
    return f"{value:.1%}" if unit == "" else number(value)


def print_needs(needs: list[Any]) -> None:
    """Show what each field alone would have to be for a target, and what stands in the way of those that fail."""
    out, target = console(), needs[0].target_ettr
    out.print(Text(f"\nFor an ETTR of {target:.6g}, each field alone, at the best interval", style="bold"))
    rows = [
        {
            "name": need.field,
            "needed": _needed(need),
            "own": "by mode" if need.given is None else limit(need.given),
            "unit": _SHORT_UNITS.get(need.unit, need.unit),
            "best": f"{need.best_ettr:.1%}",
        }
        for need in needs
    ]
    columns = {"needed": "needed", "own": "own", "unit": "unit", "best": "ETTR at its ideal"}
    out.print(table("field", columns, rows))
    for line in _in_the_way([need for need in needs if need.value is None and need.blocking]):
        out.print(Text(line), soft_wrap=True)


def _in_the_way(needs: list[Any]) -> Iterator[str]:
    """Fields that cannot do it, by the field that would have to be ideal as well."""
    groups: dict[tuple[str, bool], list[tuple[Any, float]]] = {}
    for need in needs:
        other = need.blocker or need.blocking[0]
        groups.setdefault((other.field, need.blocker is not None), []).append((need, other.ettr))
    for (other, enough), beside in groups.items():
        failed, ettrs = zip(*beside, strict=True)
        ends = min(ettrs), max(ettrs)
        leaves = _between(*ends, "")
        names = ", ".join(need.field for need in failed)
        if len(groups) == 1 and len(failed) > 1:
            names = "all that have none"
        if enough and other == "failures.rate_per_1000_node_days":
            yield f"Beside {names} only fewer failures would be enough: without any, {leaves}."
        elif enough:
            yield f"{other} stands in the way of {names}: ideal together they would leave {leaves}."
        else:
            yield f"No second field is enough for {names}: {other} comes closest and would leave {leaves}."


def _needed(need: Any) -> str:
    if need.value is None:
        return "none"
    if need.sense == "between" and need.low < 1e-6:  # as short as may be
        return f"<= {limit(need.high, 'at most')}"
    if need.sense == "between":
        return f"{limit(need.low, 'at least')} to {limit(need.high, 'at most')}"
    if math.isinf(need.value):
        return "any"
    return f"{'<=' if need.sense == 'at most' else '>='} {limit(need.value, need.sense)}"


def plan_lines(plan: Plan) -> list[str]:
    """The plan in a few plain lines, for the terminal."""
    band, known = plan.band, plan.job_mttf_95_h
    given = no_answer(plan)
    if plan.budget_as_given:
        given = f"{pct(plan.budget_as_given.ettr)} at the given {duration(plan.scenario.interval_h)}"
    interval = f", 95% interval {_range(known)}" if known else ""
    often = "The job does not fail: its failure rate is 0"
    if math.isfinite(plan.job_mttf_h):
        often = (
            f"Time to failure of the job: {duration(plan.job_mttf_h)}{interval}; {number(plan.failures_per_day)} "
            f"failures a day"
        )
    best = "A checkpoint gains nothing"
    if math.isfinite(plan.job_mttf_h):
        best = (
            f"Checkpoint {'to the store ' if plan.scenario.checkpoint.tiers else ''}every "
            f"{duration(band.interval_min / 60)}; between {duration(band.low_min / 60)} and "
            f"{duration(band.high_min / 60)} it costs at most {points(band.points)} of ETTR"
        )
    ettr = f"ETTR: {pct(plan.budget.ettr)} at the best interval, {given}"
    return [often, best, ettr, *_speed(plan), *_unused_prediction(plan.best), *_left_out(plan)]


def _left_out(plan: Plan) -> list[str]:
    if not plan.left_out:
        return []
    return [f"Planned without what only a simulation follows (`ettr simulate`): {listed(list(plan.left_out))}"]


def _speed(plan: Plan) -> list[str]:
    """Throughput, where the job does not run at full speed, and what heat has to do with it."""
    run, heat = plan.scenario, plan.scenario.heat_response
    if run.speed == 1 and heat is None:
        return []
    speed = (
        f"Effective throughput: {pct(plan.effective_throughput)} at the best interval, training at {pct(run.speed)} of "
        "full speed"
    )
    if heat is None:
        return [speed]
    table, on_rate = heat.hours, run.heat_rate_factor
    failing = f"failures at {on_rate:.2f} times the observed rate" if run.failures.modes else ""
    if failing and abs(on_rate - 1) < 5e-3:
        failing = "failures at about the observed rate"
    assert run.heat is not None
    warm = (
        f"Heat: inlet {table['inlet_c'].min():.1f} to {table['inlet_c'].max():.1f} °C "
        f"({run.heat.reference_inlet_c:.1f} °C at full speed)"
    )
    heat_line = "; ".join(filter(None, [f"{warm}, hottest die {table['hottest_c'].max():.1f} °C", failing]))
    return [speed, heat_line, *([f"Weather: {'; '.join(heat.notes)}"] if heat.notes else [])]


def _unused_prediction(run: Scenario) -> list[str]:
    """Why announcements gain nothing, where they do not."""
    ahead = run.prediction
    if ahead is None:
        return []
    if ahead.lead_s < ahead.action_s:
        return [
            f"Announcements are of no use: lead_s = {ahead.lead_s:g} s is shorter than action_s = {ahead.action_s:g} s"
        ]
    at_risk_h = heed_threshold_h(ahead.action_s / 3600, ahead.precision)
    if at_risk_h > run.interval_h:
        return [
            f"Announcements are of no use: an answer pays from {duration(at_risk_h)} of training at risk on, longer "
            f"than the interval"
        ]
    return []


def _range(ends_h: tuple[float, float]) -> str:
    return (
        f"{duration(ends_h[0])} to {duration(ends_h[1])}" if math.isfinite(ends_h[1]) else f"over {duration(ends_h[0])}"
    )
