"""``ettr scenarios``, ``gpus``, ``formats`` and ``mitigations``: what is known by name."""

from __future__ import annotations

import typer

from ettr.cli import terminal
from ettr.cli.options import CatalogueOption, JsonOption
from ettr.core.report import Table


def formats(as_json: JsonOption = False) -> None:
    """List the formats of failure logs that `ettr fit` reads."""
    from ettr import logs

    table = logs.formats()
    if as_json:
        terminal.write_json(table)
        return
    for row in table.itertuples():
        typer.echo(f"{row.name:10} {row.title}")


def scenarios(as_json: JsonOption = False) -> None:
    """List the presets, with size, time to failure and ETTR of each."""
    from ettr.plan import presets

    table = presets()
    if as_json:
        terminal.write_json(table)
        return
    rows = [
        (row.name, row.title, f"{row.n_gpus:,}", f"{row.job_mttf_h:.2f} h", f"{row.ettr:.1%}")
        for row in table.itertuples()
    ]
    terminal.render([Table(("preset", "run", "GPUs", "MTTF", "ETTR"), rows, words=("run",))])


def gpus(as_json: JsonOption = False) -> None:
    """List the GPUs that heat and power know by name, and how many of their figures are assumed.

    A GPU of your own is a file such as `ettr telemetry` writes; name it where a scenario says part.
    """
    from ettr.scenario import Gpu

    table = Gpu.presets()
    if as_json:
        terminal.write_json(table)
        return
    rows = []
    for row in table.itertuples():
        watts = (f"{row.limit_w:,.4g} W", f"{row.idle_w:,.4g} W")
        rows.append((row.name, row.title, *watts, row.media, f"{row.n_assumed} of {row.n_figures}"))
    columns = ("name", "GPU", "limit", "idle", "cooled by", "assumed")
    terminal.render([Table(columns, rows, words=("GPU", "cooled by"))])


def parts(as_json: JsonOption = False) -> None:
    """Answer as `ettr gpus` does, which it was called in version 0.1."""
    typer.echo("ettr: `ettr parts` is now `ettr gpus`; the old name goes with version 0.3", err=True)
    gpus(as_json)


def mitigations(
    catalogue: CatalogueOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the mitigations that `ettr compare` knows, and whether anything was published about what they do."""
    from ettr import mitigation

    table = mitigation.catalogue(catalogue).to_frame()
    if as_json:
        terminal.write_json(table)
        return
    rows = table[["id", "title", "group", "evidence"]].to_numpy().tolist()
    terminal.render([Table(("mitigation", "", "acts on", "evidence"), rows)])
