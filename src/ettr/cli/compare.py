"""``ettr compare``: the saving of each mitigation on a scenario, and a recommended set."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from ettr.cli import completion, options, terminal
from ettr.cli.options import CatalogueOption, JsonOption, QuietOption, ScenarioArgument, SetOption
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.report import Note, plain_values

if TYPE_CHECKING:
    from ettr.mitigation import Catalogue
    from ettr.recommendation import Recommendation
    from ettr.scenario import Scenario


@terminal.stopped_with("stopped before the end; nothing is kept")
def compare(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="ID,ID,...",
            help="Compare only these (see `ettr mitigations`). May be repeated.",
            autocompletion=completion.mitigations,
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option("--budget", metavar="USD", help="Most that the recommended mitigations may cost together."),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="MEASURE",
            help="Rank by usd (net of the price), days, ettr, gpu_h or mwh.",
            autocompletion=lambda: ["usd", "days", "ettr", "gpu_h", "mwh"],
        ),
    ] = "usd",
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Simulated runs per mitigation.")] = 500,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the failures.")] = 0,
    interval: Annotated[
        str,
        typer.Option(
            "--interval",
            metavar="WHICH",
            help="Checkpoint at the best interval with each mitigation, or always at the given one.",
            autocompletion=lambda: ["best", "given"],
        ),
    ] = "best",
    as_given: Annotated[
        bool, typer.Option("--as-given", help="Leave out mitigations of problems that the scenario does not describe.")
    ] = False,
    catalogue: CatalogueOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Rank mitigations by the money or time they save, and recommend a set.

    Each mitigation is simulated on the same failures as the scenario without it, so that a few hundred runs resolve
    the difference. Where a mitigation acts on something that the scenario leaves out, such as lemon nodes, spare nodes
    or slow nodes, a typical value is assumed and listed; --as-given leaves these mitigations out.

    Mitigations whose effect was published come first, ranked by saving net of price. Those with an assumed effect
    follow. Those without any published effect, and those that a scenario cannot express, are only counted. One that
    is already in place is measured by removing it.

    The recommended set is that of `ettr plan`: the largest net saving by the analytical model over the run (12 months
    for a job without an end) within --budget. Mitigations that only simulation can follow are added if their saving
    exceeds two standard errors.

    With --json, <measure>_gain is positive where a mitigation helps, and <measure>_low to <measure>_high is the 95% CI
    of the mean: days, GPU-hours, USD and MWh saved, and ETTR gained. "ranges" has the 90% ranges of the mitigations in
    the table.

    Exit status: 0 answer; 1 an extra is not installed; 2 input refused; 130 stopped with Ctrl-C.

    Example: ettr compare llama3-405b-tokens --budget 2M

    Example: ettr compare mine.yml --only lemon-removal,peer-checkpoint --set cluster.n_gpus=32768
    """
    run, changes = options.changed(scenario, set_)
    options.check_seed(seed)
    if budget is not None and not 0 <= budget < math.inf:
        raise InputError(f"--budget must be >= 0 USD and finite, got {budget:g}")
    from ettr import mitigation, recommendation
    from ettr.scenario.fields import implausible
    from ettr.simulation import MOST_RUNS

    options.check_runs(runs, MOST_RUNS, least=2)
    mitigations = mitigation.catalogue(catalogue)
    ids = _ids(only, mitigations)
    with terminal.simulating("preparing", "scenarios", quiet, as_json) as on_progress:
        answer = recommendation.mitigations(
            run,
            ids,
            seed,
            runs,
            by,
            interval,  # type: ignore[arg-type]
            mitigations,
            as_given,
            on_progress=on_progress,
        )
        budget_usd = math.inf if budget is None else budget
        recommended, reason = _recommended(run, budget_usd, mitigations, ids)
        added = answer.additions_to(recommended, on_progress) if recommended else ()
    extra = {
        "recommendation": recommended.to_dict() if recommended else None,
        "added_by_simulation": plain_values(added),
        "changes": changes,
        "warnings": (*implausible(run), *run.cautions),
    }
    report = [] if as_json else answer.report(recommended, added)
    if report and reason:
        report.append(Note(reason))
    terminal.show("compare", answer, as_json, extra, report)


def _recommended(
    run: Scenario, budget_usd: float, catalogue: Catalogue, ids: list[str] | None
) -> tuple[Recommendation | None, str]:
    """Return the set that a plan recommends, or the reason for none."""
    from ettr import plan

    try:
        recommended = plan.make(run, simulate=False).recommend(budget_usd, catalogue, ids)
    except (NotModelled, OutsideValidity) as error:
        return None, f"No set is recommended, because the analytical model does not cover this run: {error}"
    return (
        recommended,
        "" if recommended else "No set is recommended: the run has no failures, or practically never ends",
    )


def _ids(only: list[str] | None, catalogue: Catalogue) -> list[str] | None:
    """Return the identifiers in ``--only``, checked; None for all."""
    if only is None:
        return None
    names = [name.strip() for name in ",".join(only).split(",") if name.strip()]
    if not names:
        raise InputError("--only needs at least one mitigation, e.g. --only lemon-removal")
    return [catalogue[name].id for name in names]
