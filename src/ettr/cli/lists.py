"""``ettr scenarios``, ``gpus``, ``formats`` and ``mitigations``: what is known by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from ettr.cli.options import CatalogueOption, JsonOption
from ettr.cli.terminal import console, table

if TYPE_CHECKING:
    from ettr.mitigation import Catalogue


def formats(as_json: JsonOption = False) -> None:
    """List the formats of failure logs that `ettr fit` reads."""
    from ettr import logs

    table = logs.formats()
    if as_json:
        typer.echo(json.dumps(table.to_dict("records"), indent=2))
        return
    for row in table.itertuples():
        typer.echo(f"{row.name:10} {row.title}")


def scenarios(as_json: JsonOption = False) -> None:
    """List the presets, with size, time to failure and ETTR of each."""
    from ettr.plan import presets

    table = presets()
    if as_json:
        typer.echo(json.dumps(table.to_dict("records"), indent=2, allow_nan=False))
        return
    view = Table(box=None, pad_edge=False)
    for name, justify in (("preset", "left"), ("run", "left"), ("GPUs", "right"), ("MTTF", "right"), ("ETTR", "right")):
        view.add_column(name, justify=justify)  # type: ignore[arg-type]
    for row in table.to_dict("records"):
        cells = (row["name"], row["title"], f"{row['n_gpus']:,}", f"{row['job_mttf_h']:.2f} h", f"{row['ettr']:.1%}")
        view.add_row(*cells)
    console().print(view)


def gpus(as_json: JsonOption = False) -> None:
    """List the GPUs that heat and power know by name, and how many of their figures are assumed.

    A GPU of your own is a file such as `ettr telemetry` writes; name it where a scenario says part.
    """
    from ettr.scenario import Gpu

    table = Gpu.presets()
    if as_json:
        typer.echo(json.dumps(table.to_dict("records"), indent=2, allow_nan=False))
        return
    view = Table(box=None, pad_edge=False)
    for name in ("name", "GPU", "limit", "idle", "cooled by", "assumed"):
        view.add_column(name, justify="right" if name in ("limit", "idle", "assumed") else "left")
    for row in table.to_dict("records"):
        power = (f"{row[name]:,.4g} W" for name in ("limit_w", "idle_w"))
        view.add_row(row["name"], row["title"], *power, row["media"], f"{row['n_assumed']} of {row['n_figures']}")
    console().print(view)


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

    _print_catalogue(mitigation.catalogue(catalogue), as_json)


def _print_catalogue(known: Catalogue, as_json: bool) -> None:
    """List the mitigations."""
    rows = known.to_frame()
    if as_json:
        typer.echo(json.dumps(rows.to_dict("records"), indent=2))
        return
    columns = rows.assign(name=rows["id"])[["name", "title", "group", "evidence"]]
    named = columns.to_dict("records")
    console().print(table("mitigation", {"title": "", "group": "acts on", "evidence": "evidence"}, named))
