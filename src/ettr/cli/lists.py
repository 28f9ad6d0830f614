"""``ettr scenarios``, ``gpus``, ``formats`` and ``mitigations``: what is known by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import pandas as pd
import typer

from ettr.cli import terminal
from ettr.cli.options import CatalogueOption, JsonOption
from ettr.core.report import Headline, Note, Report, table_of


def formats(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A format, to see what produces it and what it looks like.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the formats of failure and training logs that `ettr fit` reads, or show one of them."""
    from ettr.logs.formats import KNOWN

    if name is not None:
        one = KNOWN.named(name)
        sample = [Note(line, apart=i == 0) for i, line in enumerate(one.sample.splitlines())]
        shown: Report = [Headline(one.title), Note(one.command), *sample]
        about = {"name": one.name, "title": one.title, "command": one.command, "sample": one.sample}
        terminal.write_json(about) if as_json else terminal.render(shown)
        return
    table = KNOWN.table()
    if as_json:
        terminal.write_json(table)
        return
    for row in table.itertuples():
        terminal.say(f"{row.name:11} {row.title}")
    terminal.say("", "ettr formats NAME shows the command that produces one, and two lines of it.")


def scenarios(as_json: JsonOption = False) -> None:
    """List the presets, with size, time to failure and ETTR of each."""
    from ettr.plan import presets

    cells = {
        "preset": "{name}",
        "run": "{title}",
        "GPUs": "{n_gpus:,}",
        "MTTF": "{job_mttf_h:.2f} h",
        "ETTR": "{ettr:.1%}",
    }
    _list(presets(), as_json, cells, words=("run",))


def gpus(as_json: JsonOption = False) -> None:
    """List the GPUs that heat and power know by name, and how many of their figures are assumed.

    A GPU of your own is a file such as `ettr telemetry` writes; name it where a scenario says part.
    """
    from ettr.scenario import Gpu

    cells = {"name": "{name}", "GPU": "{title}", "limit": "{limit_w:,.4g} W", "idle": "{idle_w:,.4g} W"}
    cells |= {"cooled by": "{media}", "assumed": "{n_assumed} of {n_figures}"}
    _list(Gpu.presets(), as_json, cells, words=("GPU", "cooled by"))


def mitigations(
    catalogue: CatalogueOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the mitigations that `ettr compare` knows, and whether anything was published about what they do."""
    from ettr import mitigation

    cells = {"mitigation": "{id}", "": "{title}", "acts on": "{group}", "evidence": "{evidence}"}
    _list(mitigation.catalogue(catalogue).to_frame(), as_json, cells)


def _list(known: pd.DataFrame, as_json: bool, cells: Mapping[str, str], words: Sequence[str] = ()) -> None:
    """Write what is known: all columns as JSON, or templates over them as a table."""
    if as_json:
        terminal.write_json(known)
    else:
        terminal.render([replace(table_of(known, cells), words=words)])
