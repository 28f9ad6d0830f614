"""``ettr compare``: what each mitigation is worth on a scenario, and which to have together."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr import mitigation
from ettr.cli import options, terminal
from ettr.cli.options import JsonOption, QuietOption, ScenarioArgument, SetOption
from ettr.core.errors import InputError
from ettr.core.report import Note
from ettr.mitigation import Catalogue

if TYPE_CHECKING:
    import pandas as pd

    from ettr.recommendation import Comparison, Portfolio

_RUNS_TOGETHER = 200
"""Many sets are looked at, and their differences are large."""
_FEW = 6
"""Mitigations of which all sets are looked at within a budget; of more one is taken after the other."""
_MOST = 12
_NOTHING_HELPS = "Nothing to spend the budget on: none helps for certain here; more --runs may tell, or another --by"


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
    at_a_loss: Annotated[
        bool,
        typer.Option("--at-a-loss", help="With --budget, show the best set also where it costs more than it saves."),
    ] = False,
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="MEASURE", help="Rank by usd (all costs counted), days, ettr, gpu_h or mwh. [default: usd]"
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List all mitigations, also those without an answer, and all sets.")
    ] = False,
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
    says nothing of, such as lemons, spares or slow nodes, is assumed for the mitigations that act on it, and listed
    (with --all, for which): their gain is over the run that has it. With --as-given nothing is, and they are left out.

    Mitigations are ranked by the money that they save, their price counted, and by what was published about them:
    effects whose size is assumed come after, and what nobody has published anything about, or what no scenario can
    express, is counted and listed with --all. One that the scenario has in place already is measured by taking it away.

    With --budget two sets are sought among those that help by a published effect, or among those of --only: the one
    that saves most money, and the best by days, or by what --by says. Prices, and the GPUs that they hold as spares,
    count. A set that costs more than it saves is shown with --at-a-loss only.

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

    n_runs = options.number_of_runs(runs, MOST_RUNS, least=2)
    known = mitigation.catalogue(catalogue)
    ids = _named(only, known)
    with terminal.simulating("preparing", "scenarios", quiet, as_json) as on_progress:
        answer = recommendation.mitigations(
            run,
            ids,
            seed,
            n_runs,
            by or "usd",
            interval,  # type: ignore[arg-type]
            known,
            as_given,
            on_progress=on_progress,
        )
        best = _within(answer, budget, by or "days", only is not None, on_progress) if budget is not None else None
    extra = {"portfolio": best.to_dict() if best else None, "changes": changes}
    report = [] if as_json else answer.report(best, everything, at_a_loss)
    if report and budget is not None and best is None:
        report.append(Note(_NOTHING_HELPS))
    terminal.show(answer, as_json, extra, report)


def _named(only: list[str] | None, known: Catalogue) -> list[str] | None:
    """``--only``, checked; None for all."""
    if only is None:
        return None
    ids = [name for name in ",".join(only).replace(" ", "").split(",") if name]
    if not ids:
        raise InputError("--only names no mitigation, e.g. --only lemon-removal")
    return [known[name].id for name in ids]


def _within(answer: Comparison, budget: float, measure: str, all_of_them: bool, on_progress: Any) -> Portfolio | None:
    """The best sets for the money, of those that help for certain; None where none does."""
    from ettr import recommendation

    known, assumed = (_helping(rows, measure) for rows in (answer.known, answer.assumed))
    ids = ([*known, *assumed] if all_of_them else known or assumed)[:_MOST]
    if not ids:
        return None
    method = recommendation.EXACT if len(ids) <= _FEW else recommendation.GREEDY
    study = answer.study
    if study.n_runs > _RUNS_TOGETHER:
        study = replace(study, n_runs=_RUNS_TOGETHER)
    return recommendation.portfolio(study, ids, budget, measure, method, on_progress, paying=True)


def _helping(rows: pd.DataFrame, measure: str) -> list[str]:
    """Those that are better for certain, by the measure or in money."""
    return list(rows.loc[(rows[f"{measure}_low"] > 0) | (rows["usd_low"] > 0), "id"])
