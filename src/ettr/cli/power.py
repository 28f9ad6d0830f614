"""``ettr power``: what a run draws from the grid, how much that swings, and what it costs."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.table import Table
from rich.text import Text

from ettr import power as model
from ettr.chapters.common.sentences import duration, gpus, number
from ettr.cli import options, terminal
from ettr.cli.options import JsonOption, ScenarioArgument, SetOption
from ettr.cli.terminal import console, printable
from ettr.core.errors import InputError
from ettr.scenario import Scenario


def power(
    scenario: ScenarioArgument,
    set_: SetOption = None,
    part: Annotated[
        str | None, typer.Option("--part", metavar="PART", help="Another GPU: a preset, or a file in .yml.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Of the simulated run.")] = 0,
    limits: Annotated[
        str | None,
        typer.Option("--limits", metavar="SPEC", help="Check against a specification: a name, or a file in .csv."),
    ] = None,
    series: Annotated[
        Path | None, typer.Option("--series", metavar="FILE", help="Write the power at the grid here, as CSV.")
    ] = None,
    resolution: Annotated[
        float, typer.Option("--resolution", metavar="S", help="Length of a bin of the series in seconds.")
    ] = 60.0,
    start: Annotated[float | None, typer.Option("--from", metavar="H", help="Hour in which the series begins.")] = None,
    end: Annotated[float | None, typer.Option("--to", metavar="H", help="Hour in which the series ends.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a run draws from the grid, how much that swings, and what it costs.

    One run is simulated, and each of its states draws what the GPU does in it. Answers with the mean and the extremes
    of the power at the grid in seconds, swings and ramps, and energy, money and carbon by part of the wall clock. The
    sections power and cost of a scenario say what is drawn and what it costs; what they do not say is assumed.

    The series has the columns time_h (middle of a bin, since submission) and power_mw (its mean). With --json, units
    are the ends of names, and null stands for what seconds cannot show.

    Example: ettr power llama3-405b --set power.step_s=3 --limits utility-example
    """
    changes = options.changes(set_ or [])
    options.check_seed(seed)
    if series is not None:
        options.check_file_out(series)
    run = Scenario.load(scenario).override(changes) if changes else Scenario.load(scenario)
    with terminal.said_if_late(terminal.COMPILES, as_json):
        draw = drawn(run, part, seed, limits)
    if series is not None:
        options.write(series, written(draw, resolution, start, end))
    if as_json:
        typer.echo(json.dumps(for_json(draw, seed, changes), indent=2, allow_nan=False))
    else:
        print_power(draw, seed, changes)
        if series is not None:
            print_written(series)


_LONGEST_H = 90 * 24.0
"""Of a longer run the beginning is measured."""
_MOST_ROWS = 10_000_000


@dataclass(frozen=True)
class Drawn:
    """One simulated run and its power.

    Attributes
    ----------
    run : Scenario
        The job.
    profile : Profile
        Power by state.
    timeline : DataFrame
        Stretches of the run.
    measured : Metrics
        At the grid, in seconds.
    measured_h : float
        Length of what was measured. [h]
    bill : DataFrame
        Of the whole run.
    limits : DataFrame or None
        Verdicts, if a specification was given.
    """

    run: Scenario
    profile: model.Profile
    timeline: Any
    measured: model.Metrics
    measured_h: float
    bill: Any
    limits: Any


def drawn(run: Scenario, part: str | None, seed: int, specification: str | None) -> Drawn:
    """Simulate one run, and measure what it draws."""
    from ettr.simulation import simulate

    profile = model.profile(run, part)
    rules = model.specification(specification) if specification else None
    timeline = simulate(run, 1, seed, timeline=[0]).timeline
    end_h = min(float(timeline["end_h"].iloc[-1]), _LONGEST_H)
    series = model.series(timeline, profile, 1.0, 0.0, end_h)
    limits = None if rules is None else _judged(timeline, profile, series, rules)
    return Drawn(run, profile, timeline, model.metrics(series), end_h, model.bill(timeline, profile, run), limits)


def _judged(timeline: Any, profile: model.Profile, series: model.PowerSeries, rules: Any) -> Any:
    """Rules of a band need bins of milliseconds, in an hour from the first training on."""
    in_band = rules["metric"] == "band_share"
    verdicts = [model.check(series, rules[~in_band])] if (~in_band).any() else []
    if in_band.any():
        highest_hz = float(rules.loc[in_band, "high_hz"].max())
        start_h = float(timeline.loc[timeline["state"] == "training", "start_h"].iloc[0])
        end_h = min(start_h + 1.0, float(timeline["end_h"].iloc[-1]))
        step_s = min(0.01, 0.5 / highest_hz)
        verdicts.append(model.check(model.series(timeline, profile, step_s, start_h, end_h), rules[in_band]))
    return pd.concat(verdicts, ignore_index=True)


def written(draw: Drawn, resolution_s: float, start_h: float | None, end_h: float | None) -> str:
    """The series as CSV: ``time_h`` (middle of the bin) and ``power_mw`` at the grid."""
    last_h = float(draw.timeline["end_h"].iloc[-1])
    rows = ((last_h if end_h is None else end_h) - (start_h or 0.0)) * 3600 / resolution_s if resolution_s > 0 else 0
    if rows > _MOST_ROWS:
        raise InputError(f"{rows:,.0f} rows are more than {_MOST_ROWS:,}: a longer --resolution, or --from and --to")
    series = model.series(draw.timeline, draw.profile, resolution_s, start_h, end_h)
    return str(series.to_frame().to_csv(index=False, float_format="%.9g"))


def for_json(draw: Drawn, seed: int, changes: dict[str, Any]) -> dict[str, Any]:
    """The answer for JSON; null for what the series cannot show."""
    record = {
        "scenario": draw.run.name,
        "n_gpus": draw.run.cluster.n_gpus,
        "part": draw.profile.title,
        "seed": seed,
        "measured_h": draw.measured_h,
        "metrics": draw.measured.to_dict(),
        "notes": list(draw.measured.notes),
        "incoherent_mw": draw.profile.incoherent_mw,
        "bill": draw.bill.to_dict("records"),
        "limits": [] if draw.limits is None else [_plain(row) for row in draw.limits.to_dict("records")],
        "changes": changes,
    }
    return {key: [_plain(row) for row in value] if key == "bill" else value for key, value in record.items()}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else _unboxed(value)
        for key, value in row.items()
    }


def _unboxed(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def print_power(draw: Drawn, seed: int, changes: dict[str, Any]) -> None:
    """Show what the run draws, how uneven it is, and the bill."""
    from ettr.chapters.power.words import megawatts

    out = console()

    def say(text: str, style: str = "") -> None:
        out.print(Text(printable(text), style=style), soft_wrap=True)

    say(draw.run.title, "bold")
    for path, value in changes.items():
        say(f"  {path} = {value}")
    span = duration(draw.measured_h)
    say(
        f"{gpus(draw.profile.n_gpus)} powered as {draw.profile.title}, one run with seed {seed}: "
        f"{megawatts(draw.measured.mean_mw)} from the grid on average over {span}"
    )
    out.print(_measures(draw.measured))
    say("Of the whole run", "bold")
    out.print(_bill(draw.bill))
    if draw.limits is not None:
        say("Against the specification", "bold")
        out.print(_limits(draw.limits))
    for note in draw.measured.notes:
        say(note, "dim")
    say("Levels and prices that the scenario does not give are assumed: see the chapter on power.", "dim")


def _table(columns: dict[str, bool], rows: list[list[str]]) -> Any:
    """A plain table; numbers to the right."""
    table = Table(box=None, pad_edge=False)
    for name, is_number in columns.items():
        table.add_column(name, justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*row, style="bold" if row[0] == "total" else "")
    return table


def _measures(metrics: model.Metrics) -> Any:
    rows = [
        [row.meaning, number(row.value), "" if row.unit == "1" else row.unit]
        for row in metrics.to_frame().dropna(subset="value").itertuples()
    ]
    return _table({"at the grid, in seconds": False, "value": True, "unit": False}, rows)


def _bill(bill: Any) -> Any:
    names = {
        "hours": "hours",
        "facility_mwh": "MWh",
        "electricity_usd": "electricity, USD",
        "gpu_usd": "GPU-hours, USD",
        "t_co2": "t CO2",
    }
    rows = [[str(row["part"]), *(number(float(row[name])) for name in names)] for row in bill.to_dict("records")]
    lost, whole = bill[bill["wasted"]][list(names)].sum(), bill[list(names)].sum()
    rows += [[name, *(number(float(value)) for value in sums)] for name, sums in (("lost", lost), ("total", whole))]
    return _table({"part": False, **dict.fromkeys(names.values(), True)}, rows)


def _limits(limits: Any) -> Any:
    rows = [
        [row.rule, number(row.limit), "" if row.verdict == model.UNKNOWN else number(row.value), row.unit, row.verdict]
        for row in limits.itertuples()
    ]
    return _table({"rule": False, "limit": True, "this run": True, "unit": False, "verdict": False}, rows)


def print_written(path: Path) -> None:
    """Say where the series is."""
    console().print(Text(f"The series is at {shlex.quote(printable(str(path)))}"), soft_wrap=True)
