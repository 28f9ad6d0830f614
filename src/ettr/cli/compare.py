"""``ettr compare``: what each mitigation is worth on a scenario, and which to have together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr import mitigation
from ettr.cli import options, terminal
from ettr.cli.options import JsonOption, QuietOption, ScenarioArgument, SetOption
from ettr.core.errors import EttrError, InputError
from ettr.mitigation import Catalogue
from ettr.scenario import Scenario

if TYPE_CHECKING:
    from ettr.compare import Advice, Comparison, Portfolio

_RUNS_OF_ADVICE = 100
"""Enough to tell what adds most, as all scenarios share their random numbers."""
_RUNS_TOGETHER = 200
"""Many sets are looked at, and their differences are large."""
_FEW = 6
"""Mitigations of which all sets are looked at within a budget; of more one is taken after the other."""
_MOST = 12


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
        typer.Option("--budget", metavar="USD", help="Say which together are best for no more money than this."),
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="MEASURE", help="Rank by days, ettr, gpu_h, usd or mwh.")] = "days",
    runs: Annotated[float, typer.Option("--runs", metavar="N", help="Runs of each scenario.")] = 500,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="All scenarios share the failures of a seed.")] = 0,
    interval: Annotated[
        str,
        typer.Option(
            "--interval", metavar="WHICH", help="Checkpoint at the best interval of each scenario, or at the given one."
        ),
    ] = "best",
    as_given: Annotated[
        bool, typer.Option("--as-given", help="Assume nothing that the scenario does not say.")
    ] = False,
    catalogue: Annotated[
        Path | None,
        typer.Option("--catalogue", metavar="FILE", help="Mitigations of your own, as YAML of the same form."),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Say what each mitigation is worth on a scenario, and which together.

    All scenarios meet the same failures, so that the difference between them is known from few runs. What a scenario
    says nothing of, such as lemons, spares or slow nodes, is assumed here, and listed: with --as-given nothing is, and
    mitigations that would act on it are left out.

    Mitigations are ranked by what was published about them: those without any published figure are not, and neither is
    what no scenario can express. One that the scenario has in place already is measured by taking it away. With
    --budget the best set is sought among those that help: their prices, and the GPUs that they hold as spares, count.

    With --json, <measure>_gain is positive where a mitigation is better, between <measure>_low and <measure>_high
    (95%); days, GPU-hours, USD and MWh are saved, ETTR is gained.

    Example: ettr compare llama3-405b-tokens --budget 2000000

    Example: ettr compare mine.yml --only lemon-removal,peer-checkpoint --set cluster.n_gpus=32768
    """
    run, changes = options.changed(scenario, set_)
    options.check_seed(seed)
    if budget is not None and not budget >= 0:
        raise InputError(f"--budget must be >= 0 USD, got {budget:g}")
    from ettr import compare as compared
    from ettr.simulation import MOST_RUNS

    n_runs = options.number_of_runs(runs, MOST_RUNS, least=2)
    known = mitigation.catalogue(catalogue)
    ids = _named(only, known)
    with terminal.simulating("preparing", "scenarios", quiet, as_json) as on_progress:
        answer = compared.mitigations(
            run,
            ids,
            seed,
            n_runs,
            by,
            interval,  # type: ignore[arg-type]
            known,
            as_given,
            on_progress=on_progress,
        )
        best = _within(answer, budget, on_progress) if budget is not None else None
    extra = {"portfolio": best.to_dict() if best else None, "changes": changes}
    terminal.show(answer, as_json, extra, answer.report(best))


@terminal.stopped_with("stopped before the advice on mitigations; --quick leaves it out")
def advised(run: Scenario, quiet: bool) -> Advice | None:
    """What `ettr plan` says of mitigations and spares; None where the scenario cannot be simulated."""
    from ettr import compare as compared

    with terminal.simulating("what to do next", "scenarios", quiet) as on_progress:
        try:
            return compared.advise(compared.study(run, _RUNS_OF_ADVICE), on_progress=on_progress)
        except EttrError as error:
            if not quiet:
                typer.echo(f"No advice on mitigations: {error}")
            return None


def _named(only: list[str] | None, known: Catalogue) -> list[str] | None:
    """``--only``, checked; None for all."""
    if only is None:
        return None
    ids = [name for name in ",".join(only).replace(" ", "").split(",") if name]
    if not ids:
        raise InputError("--only names no mitigation, e.g. --only lemon-removal")
    return [known[name].id for name in ids]


def _within(answer: Comparison, budget: float, on_progress: Any) -> Portfolio:
    """The best set for the money, of those that help for certain."""
    from ettr import compare as compared

    ranked = answer.ranked
    helps = ranked[(ranked["state"] == compared.TRIED) & (ranked[f"{answer.measure}_low"] > 0)]
    ids = helps["id"].tolist()[:_MOST]
    if not ids:
        raise InputError("--budget has nothing to choose from: no mitigation helps here for certain")
    method = compared.EXACT if len(ids) <= _FEW else compared.GREEDY
    study = answer.study
    if study.n_runs > _RUNS_TOGETHER:
        study = replace(study, n_runs=_RUNS_TOGETHER)
    return compared.portfolio(study, ids, budget, answer.measure, method, on_progress)
