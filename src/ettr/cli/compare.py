"""``ettr compare``: what each mitigation is worth on a scenario, and which to have together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from ettr import mitigation
from ettr.cli import options, terminal
from ettr.cli.options import CatalogueOption, JsonOption, QuietOption, ScenarioArgument, SetOption
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.report import Note, plain_values
from ettr.mitigation import Catalogue
from ettr.scenario.fields import implausible

if TYPE_CHECKING:
    from ettr.recommendation import Recommendation
    from ettr.scenario import Scenario


@terminal.stopped_with("stopped before the end; nothing is kept")
def compare(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="ID,ID,...", help="Compare these only (see `ettr mitigations`). May be repeated."
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option("--budget", metavar="USD", help="Recommend mitigations for no more money than this."),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="MEASURE", help="Rank by usd (all costs counted), days, ettr, gpu_h or mwh. [default: usd]"
        ),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Runs of each scenario.")] = 500,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="All scenarios share the failures of a seed.")] = 0,
    interval: Annotated[
        str,
        typer.Option(
            "--interval", metavar="WHICH", help="Checkpoint at the best interval of each scenario, or at the given one."
        ),
    ] = "best",
    as_given: Annotated[
        bool, typer.Option("--as-given", help="Assume nothing that the scenario does not say.")
    ] = False,
    catalogue: CatalogueOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say what each mitigation is worth on a scenario, and which together.

    All scenarios meet the same failures, so that the difference between them is known from few runs. What a scenario
    says nothing of, such as lemons, spares or slow nodes, is assumed for the mitigations that act on it, and listed
    together: their gain is over the run that has it. With --as-given nothing is, and they are left out.

    Mitigations are ranked by the money that they save, their price counted, and by what was published about them:
    effects whose size is assumed come after, and what nobody has published anything about, or what no scenario can
    express, is counted. One that the scenario has in place already is measured by taking it away.

    The set that is recommended is the one of `ettr plan`: the largest net saving by the analytical model over the run,
    or over 12 months of a job without an end, for no more than --budget. Then mitigations that only simulation follows
    are added to it, each only if its saving on the same failures exceeds two standard errors.

    With --json, <measure>_gain is positive where a mitigation is better, between <measure>_low and <measure>_high
    (95%, of the mean over runs); days, GPU-hours, USD and MWh are saved, ETTR is gained. "ranges" holds the 90% ranges
    of those that the screen shows.

    Example: ettr compare llama3-405b-tokens --budget 2000000

    Example: ettr compare mine.yml --only lemon-removal,peer-checkpoint --set cluster.n_gpus=32768
    """
    run, changes = options.changed(scenario, set_)
    options.check_seed(seed)
    if budget is not None and not 0 <= budget < math.inf:
        raise InputError(f"--budget must be >= 0 USD and finite, got {budget:g}")
    from ettr import recommendation
    from ettr.simulation import MOST_RUNS

    options.check_runs(runs, MOST_RUNS, least=2)
    known = mitigation.catalogue(catalogue)
    ids = _named(only, known)
    with terminal.simulating("preparing", "scenarios", quiet, as_json) as on_progress:
        answer = recommendation.mitigations(
            run,
            ids,
            seed,
            runs,
            by or "usd",
            interval,  # type: ignore[arg-type]
            known,
            as_given,
            on_progress=on_progress,
        )
        found, why_not = _recommended(run, math.inf if budget is None else budget, known, ids)
        added = answer.additions_to(found, on_progress) if found else ()
    extra = {
        "recommendation": found.to_dict() if found else None,
        "added_by_simulation": plain_values(added),
        "changes": changes,
        "warnings": implausible(run),
    }
    report = [] if as_json else answer.report(found, added)
    if report and why_not:
        report.append(Note(why_not))
    terminal.show(answer, as_json, extra, report)


def _recommended(
    run: Scenario, budget_usd: float, catalogue: Catalogue, ids: list[str] | None
) -> tuple[Recommendation | None, str]:
    """The set that a plan recommends, or why there is none."""
    from ettr import plan

    try:
        found = plan.make(run, simulate=False).recommend(budget_usd, catalogue, ids)
    except (NotModelled, OutsideValidity) as error:
        return None, f"No set is recommended, because the analytical model does not cover this run: {error}"
    return found, "" if found else "No set is recommended: the run has no failures, or practically never ends"


def _named(only: list[str] | None, catalogue: Catalogue) -> list[str] | None:
    """``--only``, checked; None for all."""
    if only is None:
        return None
    names = [name.strip() for name in ",".join(only).split(",") if name.strip()]
    if not names:
        raise InputError("--only names no mitigation, e.g. --only lemon-removal")
    return [catalogue[name].id for name in names]
