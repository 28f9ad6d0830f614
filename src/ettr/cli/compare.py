"""``ettr compare``: what each mitigation is worth on a scenario, and which to have together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
import typer
from rich.text import Text

from ettr import mitigation
from ettr.chapters.common.sentences import count, listed
from ettr.cli import options, terminal
from ettr.cli.options import JsonOption, ScenarioArgument, SetOption
from ettr.cli.terminal import console, printable, table
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
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
    changes = options.changes(set_ or [])
    options.check_seed(seed)
    if budget is not None and not budget >= 0:
        raise InputError(f"--budget must be >= 0 USD, got {budget:g}")
    from ettr import compare as compared
    from ettr.simulation import MOST_RUNS

    n_runs = options.number_of_runs(runs, MOST_RUNS, least=2)
    known = mitigation.catalogue(catalogue)
    run = Scenario.load(scenario).override(changes) if changes else Scenario.load(scenario)
    ids = _named(only, known)
    late = terminal.said_if_late(terminal.COMPILES, quiet)
    stopped = terminal.stopped_with("stopped before the end; nothing is kept")
    with stopped, terminal.progress(quiet or as_json, "preparing") as report, late as begun:

        def on_progress(done: int, total: int) -> None:
            begun()
            report.scenarios(done, total)

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
    if as_json:
        record = answer.to_dict() | {"portfolio": best.to_dict() if best else None, "changes": changes}
        typer.echo(json.dumps(record, indent=2, allow_nan=False))
    else:
        print_comparison(answer, best, changes)


def advised(run: Scenario, quiet: bool) -> Advice | None:
    """What `ettr plan` says of mitigations and spares; None where the scenario cannot be simulated."""
    from ettr import compare as compared

    late = terminal.said_if_late(terminal.COMPILES, quiet)
    stopped = terminal.stopped_with("stopped before the advice on mitigations; --quick leaves it out")
    with stopped, terminal.progress(quiet, "what to do next") as report, late as begun:

        def on_progress(done: int, total: int) -> None:
            begun()
            report.scenarios(done, total)

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


_GAINS = {
    "days": ("days", 1.0, 2),
    "ettr": ("points", 1e2, 2),
    "gpu_h": ("1000 GPU h", 1e-3, 0),
    "usd": ("1000 USD", 1e-3, 0),
    "mwh": ("MWh", 1.0, 0),
}
"""Title of a column, factor and decimals of what is gained of a measure."""
_ALWAYS = ("days", "ettr", "usd")


def print_comparison(answer: Comparison, best: Portfolio | None, changes: dict[str, Any]) -> None:
    """Show the ranking, what is in place, what is not ranked and why, and the best within a budget."""
    from ettr.compare import IN_PLACE, TRIED

    out, study, base = console(), answer.study, answer.baseline

    def say(text: str, style: str = "") -> None:
        out.print(Text(printable(text), style=style), soft_wrap=True)

    say(study.scenario.title, "bold")
    for path, value in changes.items():
        say(f"  {path} = {value}")
    at = f"{'its best interval' if study.interval == 'best' else 'the given interval'}"
    say(
        f"{count(study.n_runs)} runs of each scenario, seed {study.seed}, at {at}. Without any of them: ETTR "
        f"{base.ettr:.1%}, {base.mean('days'):,.1f} days, {base.mean('usd') / 1e6:,.1f} million USD"
    )
    if study.assumptions:
        given = study.as_given
        say(f"As given, without what is assumed here, ETTR {given.ettr:.1%} and {given.mean('days'):,.1f} days", "dim")
    ranked = answer.ranked
    tried, placed = (ranked[ranked["state"] == state] for state in (TRIED, IN_PLACE))
    if len(tried):
        say(f"Each alone, by {answer.measure}", "bold")
        say(
            "What each saves, and its price in 1000 USD; points of ETTR, also by the closed form; ±: 95%",
            "dim",
        )
        out.print(_ranking(tried, answer.measure))
        if answer.measure == "ettr":
            say("The ETTR counts slower training as productive, which the days do not", "dim")
    if len(placed):
        say("In place already, or taken to be, and worth", "bold")
        out.print(_ranking(placed, answer.measure))
    _print_others(say, answer.frame)
    if best is not None:
        _print_best(say, out, best, study.catalogue)
    _print_assumptions(say, study.assumptions)
    say(
        "The intervals tell how well so many runs know the difference, not how well a mitigation's effect is known: "
        "that is as it was published elsewhere, or assumed (see basis).",
        "dim",
    )


def _ranking(frame: pd.DataFrame, measure: str) -> Any:
    """A table of mitigations with what they gain, of ``measure`` with its interval."""
    gains = {name: gain for name, gain in _GAINS.items() if name in (*_ALWAYS, measure)}
    titles = {name: title for name, (title, _, _) in gains.items()}
    titles |= {"closed": "by formula", "own_usd": "price", "basis": "basis"}
    rows = []
    for row in frame.to_dict("records"):
        cells = {"name": row["id"], "own_usd": f"{row['own_usd'] / 1e3:,.0f}", "basis": row["basis"]}
        for name, (_, factor, decimals) in gains.items():
            cells[name] = _signed(factor * row[f"{name}_gain"], decimals)
            if name == measure:
                cells[name] += f" ± {factor * (row[f'{name}_high'] - row[f'{name}_low']) / 2:,.{decimals}f}"
        closed = row["closed_ettr_gain"]
        cells["closed"] = "" if pd.isna(closed) else _signed(100 * closed, 2)
        rows.append(cells)
    return table("mitigation", titles, rows)


def _signed(value: float, decimals: int) -> str:
    """With its sign, but for a zero, whose sign would be noise."""
    return f"{round(value, decimals) + 0.0:+,.{decimals}f}"


def _print_others(say: Any, frame: pd.DataFrame) -> None:
    """What has no rank, by reason."""
    from ettr.compare import COMPARED

    rest = frame[frame["rank"].isna()]
    no_evidence = rest[rest["state"].isin(COMPARED)]
    if len(no_evidence):
        say("Without any published figure, not ranked", "bold")
        say(", ".join(no_evidence["id"]))
    others = rest[~rest["state"].isin(COMPARED)]
    if len(others):
        say("No answer here", "bold")
        for row in others.itertuples():
            say(f"{row.id}: {row.state}; {row.why}")


def _print_best(say: Any, out: Any, best: Portfolio, of: Catalogue) -> None:
    row = best.best
    say(f"Within {best.budget_usd:,.0f} USD", "bold")
    how = "all sets" if best.method == "exact" else "one after the other"
    if row is None:
        say("No set is worth its price")
        return
    say(
        f"{listed(list(best.ids))}: {row['cost_usd']:,.0f} USD, ETTR {row['ettr']:.1%}, {row['days']:,.1f} days, "
        f"{row['saved_usd']:+,.0f} USD saved, all costs counted ({how}, {len(best.frame)} looked at)"
    )
    considered = dict.fromkeys(name for ids in best.frame["ids"] for name in ids.split(", ") if name)
    for name in best.ids:
        for other in considered:
            if why := of.conflict(name, other):
                say(f"Not together: {name} and {other}: {why}", "dim")
    steps = [
        {"name": one["ids"] or "none", "usd": f"{one['cost_usd']:,.0f}", "ettr": f"{one['effective_ettr']:.1%}"}
        for one in best.front.to_dict("records")
    ]
    out.print(table("no cheaper set has as high an effective ETTR", {"usd": "USD", "ettr": "effective"}, steps))


def _print_assumptions(say: Any, assumptions: Iterable[Any]) -> None:
    paths = [assumption.path for assumption in assumptions]
    if paths:
        say(f"Assumed here, because the scenario says nothing of it: {', '.join(dict.fromkeys(paths))}", "dim")


def print_advice(advice: Advice) -> None:
    """Show the next mitigations of a plan."""
    out = console()
    study = advice.study
    out.print(Text("What to do next", style="bold"))
    if not len(advice.frame):
        out.print(Text("No mitigation with evidence helps here for certain"), soft_wrap=True)
    rows = [
        {
            "name": row["id"],
            "days": f"{row['added']:+,.2f}",
            "between": f"{row['low']:+,.2f} to {row['high']:+,.2f}",
            "ettr": f"{row['ettr']:.1%}",
            "cost": f"{row['cost_usd']:,.0f}",
            "usd": f"{row['saved_usd']:+,.0f}",
            "basis": row["basis"],
        }
        for row in advice.frame.to_dict("records")
    ]
    titles = {"days": "days saved", "between": "95%", "ettr": "ETTR then", "cost": "USD", "usd": "USD saved"}
    if rows:
        out.print(table("one after the other", {**titles, "basis": "effect"}, rows))
    if advice.at_a_loss:
        row = advice.at_a_loss
        text = (
            f"Faster at a loss: {row['id']} saves {row['added']:,.2f} days and costs {-row['saved_usd']:,.0f} USD more "
        )
        out.print(Text(f"{text}than it saves"), soft_wrap=True)
    if advice.pool:
        pool = advice.pool
        held = f"{advice.n_spares:,} are {'assumed' if advice.spares_are_lent else 'held'} now"
        near = f"; from {pool.low:,} to {pool.high:,} it costs hardly more" if pool.low < pool.high else ""
        out.print(
            Text(f"Hold {pool.n_spares:,} hot spares ({held}): the cheapest pool by the closed form{near}"),
            soft_wrap=True,
        )
    assumed = (
        f", with what is assumed here: {', '.join(dict.fromkeys(assumption.path for assumption in study.assumptions))}"
        if study.assumptions
        else ""
    )
    text = f"From {study.n_runs:,} simulated runs of each, ETTR {advice.ettr:.1%} before{assumed}."
    out.print(Text(printable(f"{text} `ettr compare` shows all."), style="dim"), soft_wrap=True)
