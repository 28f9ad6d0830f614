"""``ettr scenarios``, ``gpus``, ``formats`` and ``mitigations``: list or search the built-in data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import pandas as pd
import typer

from ettr.cli import completion, terminal
from ettr.cli.fields import matching_fields
from ettr.cli.options import CatalogueOption, JsonOption
from ettr.core.errors import InputError
from ettr.core.report import Headline, Note, Report, Table, table_of


def formats(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A format, to show the command that produces it and a sample.",
            autocompletion=completion.formats,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the formats of failure and training logs that `ettr fit` reads, or show one format.

    Exit status: 0 answer; 2 unknown format.

    Example: ettr formats slurm
    """
    from ettr.logs.formats import ALL_FORMATS

    if name is not None:
        log_format = ALL_FORMATS.named(name)
        sample = [Note(line, apart=i == 0) for i, line in enumerate(log_format.sample.splitlines())]
        report: Report = [Headline(log_format.title), Note(log_format.command), *sample]
        record = {key: getattr(log_format, key) for key in ("name", "title", "command", "sample")}
        terminal.write_json("format", record) if as_json else terminal.render(report)
        return
    table = ALL_FORMATS.table()
    if as_json:
        terminal.write_json("formats", {"formats": table})
        return
    rows = list(zip(table["name"], table["title"], strict=True))
    note = Note("`ettr formats NAME` shows the command that produces a format, and a sample.", dim=True, apart=True)
    terminal.render([Table(("format", "log"), rows, words=("log",)), note])


def scenarios(as_json: JsonOption = False) -> None:
    """List the preset scenarios with their size, MTTF and ETTR.

    Example: ettr plan llama3-405b
    """
    from ettr.plan import presets

    cells = {
        "preset": "{name}",
        "run": "{title}",
        "GPUs": "{n_gpus:,}",
        "MTTF": "{job_mttf_h:.2f} h",
        "ETTR": "{ettr:.1%}",
    }
    _list("scenarios", presets(), as_json, cells, text_columns=("run",))


WordsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="WORD", help="Words to search for; an entry must match all.")
]


def gpus(words: WordsArgument = None, as_json: JsonOption = False) -> None:
    """List or search the GPUs with built-in power and thermal figures, and how many of these are assumed.

    For another GPU, write a file as `ettr telemetry` does and set heat.part or power.part to it.

    Exit status: 0 answer; 2 no GPU matches.

    Example: ettr gpus blackwell
    """
    from ettr.scenario import Gpu

    cells = {"name": "{name}", "GPU": "{title}", "limit": "{limit_w:,.4g} W", "idle": "{idle_w:,.4g} W"}
    cells |= {"cooled by": "{media}", "assumed": "{n_assumed} of {n_figures}"}
    presets = Gpu.presets()
    if words:
        presets = _matching(presets, Gpu.search(words), "name")
    if presets.empty:
        raise InputError(
            f"no built-in GPU matches {' '.join(words or [])!r:.80}; `ettr gpus` lists all, and `ettr telemetry` "
            "writes a file for another GPU from its readings"
        )
    _list("gpus", presets, as_json, cells, text_columns=("GPU", "cooled by"))


def mitigations(
    words: WordsArgument = None,
    catalogue: CatalogueOption = None,
    as_json: JsonOption = False,
) -> None:
    """List or search the mitigations of `ettr compare`, and whether their effect has published evidence.

    The search covers ids, names, other common names (torchft, SDC, hot spare) and descriptions. If no mitigation
    matches, fields of a scenario that do are listed.

    Exit status: 0 answer; 2 no mitigation or field matches.

    Example: ettr mitigations hot spare
    """
    from ettr import mitigation

    cells = {"mitigation": "{id}", "name": "{title}", "acts on": "{group}", "evidence": "{evidence}"}
    entries = mitigation.catalogue(catalogue)
    table = entries.to_frame()
    if words:
        cells["also called"] = "{aliases}"
        table = _matching(table, entries.search([part for word in words for part in word.split()]), "id")
    if not table.empty:
        _list("mitigations", table, as_json, cells, text_columns=tuple(cells))
    elif not (listed := matching_fields(words or [])):
        raise InputError(f"no mitigation or field matches {' '.join(words or [])!r:.80}; `ettr mitigations` lists all")
    elif as_json:
        terminal.write_json("mitigations", {"mitigations": []})
    else:
        rows = [(field.path, field.unit, field.meaning) for field in listed]
        headline = Headline(f"No mitigation matches {' '.join(words or [])!r:.80}, but these fields do")
        terminal.render([headline, Table(("field", "unit", "meaning"), rows, words=("meaning",))])


def _matching(table: pd.DataFrame, keys: Sequence[str], column: str) -> pd.DataFrame:
    """The rows with these keys, in the order of the keys."""
    return table.set_index(column, drop=False).loc[list(keys)].reset_index(drop=True)


def _list(
    command: str, table: pd.DataFrame, as_json: bool, cells: Mapping[str, str], text_columns: Sequence[str] = ()
) -> None:
    """Write all columns as JSON, under the name of the command, or templates over them as a table."""
    if as_json:
        terminal.write_json(command, {command: table})
    else:
        terminal.render([replace(table_of(table, cells), words=text_columns)])
