"""``ettr plan``: how often to checkpoint, where the hours go, how sure that is, and what to do next."""

from __future__ import annotations

from typing import Annotated

import typer

from ettr import sizing
from ettr.budget import changes as changes_in_time
from ettr.cli import options, terminal
from ettr.cli.compare import advised
from ettr.cli.options import JsonOption, ScenarioArgument, SetOption
from ettr.core.errors import InputError
from ettr.plan import Requirement, make, required, solvable
from ettr.plan.report import needs_report
from ettr.scenario import Scenario
from ettr.scenario.paths import SPARES
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
    run, changes = options.changed(scenario, set_)
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
            f"failures.rate_per_1000_node_days={answer.scenario.failure_rate:.3g}"
        )
    asked, run = run, answer.scenario
    needs = _needs(run, asked, target, field or []) if target is not None else []
    size = sizing.make(run, limits) if run.job.tokens is not None else None
    if not as_json:  # before what takes long
        terminal.render(answer.report(), changes)
        terminal.render([*(size.report() if size else []), *(needs_report(needs) if needs else [])])
    advice = None if quick or target is not None else advised(asked, quiet=as_json)
    if as_json:
        record = {
            **answer.to_dict(),
            "target_ettr": target,
            "requirements": [need.to_dict() for need in needs],
            "sizing": size.to_dict() if size else None,
            "advice": advice.to_dict() if advice else None,
            "changes": changes,
        }
        terminal.write_json(record)
    elif advice:
        terminal.render(advice.report())


def _check_target(target: float | None, fields: list[str]) -> None:
    if target is None and fields:
        raise InputError(f"--field {fields[0]} needs --target, the ETTR to reach, e.g. --target 0.9")
    if target is not None and not 0 < target < 1:
        raise InputError(f"--target must be between 0 and 1, e.g. 0.9, got {target:g}")


def _needs(run: Scenario, asked: Scenario, target: float, fields: list[str]) -> list[Requirement]:
    """What each field would have to be; those that can reach the target first.

    Spares are simulated, in the run as it was asked about; all else is solved for by the closed forms.
    """
    named = list(dict.fromkeys(fields)) or [*solvable(run), *([SPARES] if asked.spares else [])]
    needs = [required(asked if field == SPARES else run, field, target) for field in named]
    return sorted(needs, key=lambda need: need.value is None)
