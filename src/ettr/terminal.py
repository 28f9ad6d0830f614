"""What the command line shows: answers as text and tables, and progress on long work."""

from __future__ import annotations

import math
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

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


COMPILES = "ettr: after an installation or an update the simulator is compiled first, for about a minute"


class Report:
    """Progress on standard error: bytes of a file, runs of a simulation, scenarios, or the name of a step."""

    def __init__(self, bar: Any = None, first: str = "") -> None:
        self._bar = bar
        self._task = bar.add_task(first, total=None) if bar else None

    def bytes(self, done: int, total: int) -> None:
        if self._bar:
            self._bar.update(self._task, completed=done, total=total)

    def runs(self, done: int, total: int) -> None:
        self.step(f"{done:,} of {total:,} runs")
        self.bytes(done, total)

    def scenarios(self, done: int, total: int) -> None:
        self.step(f"{done:,} of {total:,} scenarios")
        self.bytes(done, total)

    def step(self, name: str) -> None:
        if self._bar:
            self._bar.update(self._task, description=name)


@contextmanager
def progress(quiet: bool, first: str = "reading") -> Iterator[Report]:
    """A bar on standard error, with the name of its first step; none if that is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if quiet or not sys.stderr.isatty():
        yield Report()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Report(bar, first)


@contextmanager
def said_if_late(text: str, quiet: bool, after_s: float = 5.0) -> Iterator[Callable[[], None]]:
    """Say this on standard error unless, before so many seconds, what is yielded is called or all is over."""
    timer = threading.Timer(after_s, typer.echo, [text], {"err": True})
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


@contextmanager
def stopped_with(text: str) -> Iterator[None]:
    """Say this on standard error when Ctrl-C is pressed, and end with the status that shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"ettr: {text}", err=True)
        raise typer.Exit(130) from None


def console() -> Any:
    """Standard output, as wide as the terminal; 110 columns where there is none."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 110)


def print_fit(fitted: Any, answer: Any, written: Path | None) -> None:
    """Show what a log says: what was read, the rate, each verdict, and the plan."""
    from rich.text import Text

    from ettr import findings

    out, log, say = console(), fitted.log, findings.failure_log

    def section(title: str, *texts: str) -> None:
        said = "".join(f"\n{_from_markdown(text)}" for text in texts)
        out.print(Text.assemble("\n", (title, "bold"), said), soft_wrap=True)

    out.print(Text.assemble((printable(log.source), "bold"), f" ({log.format})"), soft_wrap=True)
    out.print(Text(_from_markdown(say.answer(fitted, answer).text)), soft_wrap=True)
    section("What was read", say.reading(fitted).text)
    section("Failure rate", say.rate(fitted).text)
    columns = {"n_events": "failures", "share": "share", "rate": "per 1000 node-days", "interval": "95% if independent"}
    for name, rows in {"component": fitted.components, fitted.split: fitted.cohorts}.items():
        if rows is not None and len(rows) > 1:
            out.print(table(name, columns, say.rate_rows(rows)))
    rules = {
        "n_incidents": "incidents",
        "rate": "per 1000 node-days",
        "shape": "Weibull shape",
        "best": "best fit",
        "p": "memoryless",
    }
    section("Times between failures")
    out.print(table("merged", rules, say.rule_rows(fitted)))
    for verdict in say.verdicts(fitted):
        section(verdict.title, verdict.text)
    section("Repairs", say.repairs(fitted).text, say.lives(fitted).text)
    section(f"Next {findings.duration(24 * say.horizon_d(fitted))}", say.forecast(fitted).text)
    section("Plan", say.plan(answer).text, say.trust(answer).text)
    if written:
        path = printable(str(written))
        out.print(Text(f"\nThe scenario is at {path}: ettr plan {shlex.quote(path)}"), soft_wrap=True)


_WHOLE_WORDS = 30
"""Longest name that is not broken in a table."""


def table(first: str | None, columns: dict[str, str], rows: list[dict[str, str]]) -> Any:
    """Rows by the keys ``name`` and those of ``columns``, whose values are the titles."""
    from rich.table import Table
    from rich.text import Text

    found = Table(box=None, pad_edge=False, title_justify="left")
    longest = max((len(word) for row in rows for word in row["name"].split()), default=0)
    found.add_column(Text(printable(str(first))), overflow="fold", min_width=min(longest, _WHOLE_WORDS))
    for title in columns.values():
        found.add_column(title, justify="right")
    for row in rows:
        found.add_row(*(Text(printable(row[key])) for key in ("name", *columns)))
    return found


def printable(text: str) -> str:
    """Text of a log without control characters; as ``rich.Text`` none of its brackets means anything."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)


def _from_markdown(text: str) -> str:
    """A finding without the signs of Markdown."""
    return printable(re.sub(r"\\(\W|_)", r"\1", text.replace("**", "")))


def print_plan(answer: Any, changes: dict[str, Any]) -> None:
    """Show a plan: what to do, how sure that is, and where the hours go."""
    from ettr import findings

    out, run = console(), answer.scenario
    out.print(f"[bold]{run.title}[/bold]", *(f"{path} = {value}" for path, value in changes.items()), sep="\n  ")
    for line in findings.effective_time.plan_lines(answer):
        out.print(line, soft_wrap=True)
    if answer.changing:
        out.print(findings.changing_rates.planned_at_mean(answer), soft_wrap=True)
    if answer.checkpoints_to_keep:
        kept = f"{answer.checkpoints_to_keep:,}"
        out.print(f"Keep the newest {kept} checkpoints: silent failures spoil all that follow them", soft_wrap=True)
    _print_tiers(out, answer)
    _print_hours(out, answer)
    _print_bands(out, answer)
    out.print(findings.effective_time.assumptions(run), style="dim", soft_wrap=True)


def _print_hours(out: Any, answer: Any) -> None:
    from rich.table import Table

    from ettr import findings

    columns = {f"best interval, {findings.duration(answer.best.interval_h)}": answer.budget}
    if answer.budget_as_given:
        columns[f"as given, {findings.duration(answer.scenario.interval_h)}"] = answer.budget_as_given
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
    from rich.text import Text

    from ettr import findings

    if not answer.tiers:
        return
    rows = [
        {
            "name": tier.name,
            "survives": f"{tier.survives:.1%}",
            "own": findings.duration(tier.interval_s / 3600),
            "best": findings.duration(tier.best_interval_s / 3600),
        }
        for tier in answer.tiers
    ]
    out.print(Text("Tiers", style="bold"))
    columns = {"survives": "survives", "own": "interval", "best": "best of all together"}
    out.print(table("tier", columns, rows))
    out.print(Text(f"With the best of all together the ETTR is {answer.budget_of_tiers.ettr:.1%}."), soft_wrap=True)


def _print_bands(out: Any, answer: Any) -> None:
    from rich.text import Text

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
    from ettr import findings
    from ettr.findings.words import number

    if unit in _HOURS:
        return findings.duration(value * _HOURS[unit]) if math.isfinite(value) else "endless"
    return f"{value:.1%}" if unit == "" else number(value)


def print_needs(needs: list[Any]) -> None:
    """Show what each field alone would have to be for a target, and what stands in the way of those that fail."""
    from rich.text import Text

    from ettr.findings.words import limit

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
    for (other, enough), found in groups.items():
        failed, ettrs = zip(*found, strict=True)
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
    from ettr.findings.words import limit

    if need.value is None:
        return "none"
    if need.sense == "between" and need.low < 1e-6:  # as short as may be
        return f"<= {limit(need.high, 'at most')}"
    if need.sense == "between":
        return f"{limit(need.low, 'at least')} to {limit(need.high, 'at most')}"
    if math.isinf(need.value):
        return "any"
    return f"{'<=' if need.sense == 'at most' else '>='} {limit(need.value, need.sense)}"
