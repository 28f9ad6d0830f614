"""Turns a chapter's source and its executed copy into the notebook that becomes its page."""

from __future__ import annotations

import copy
import os
import re
from pathlib import Path
from typing import Any

from ettr import notebook

ANSWER = "answer"  # the tag of the cell whose output stands right below the title


def with_outputs(source: Any, executed: Any, root: Path) -> Any:
    """The notebook as it stands in the repository, with the outputs and the parameters of a run.

    Text comes from the source, so correcting a sentence needs no new run; outputs come from the executed
    copy, cell by cell.
    """
    merged = copy.deepcopy(source)
    ran = {cell.get("id"): cell for cell in executed.cells if cell.cell_type == "code"}
    values = executed.metadata.get(notebook.RECORD, {}).get("parameters", {})
    parameters = {name: _portable(value, root) for name, value in values.items()}
    for cell in merged.cells:
        if cell.cell_type != "code":
            continue
        if cell.get("id") in ran:
            cell.outputs = ran[cell.id].outputs
            cell.execution_count = ran[cell.id].execution_count
        if "parameters" in cell.metadata.get("tags", []) and parameters:
            cell.source = notebook.replaced_values(cell.source, parameters)
    return merged


def page(merged: Any) -> Any:
    """The notebook in the order in which a page shows it: the answer stands below the question."""
    result = copy.copy(merged)
    answers = [cell for cell in merged.cells if ANSWER in cell.metadata.get("tags", [])]
    rest = [cell for cell in merged.cells if ANSWER not in cell.metadata.get("tags", [])]
    first = next((i for i, cell in enumerate(rest) if cell.cell_type == "markdown"), -1)
    result.cells = rest[: first + 1] + answers + rest[first + 1 :]
    return result


def failed_page(source: Any, path: str, error: str, stopped: dict[str, Any] | None) -> Any:
    """The page of a chapter that could not be computed: its title, the cell, its source and the error."""
    from nbformat import v4

    title = next((cell.source.splitlines()[0] for cell in source.cells if cell.source.startswith("# ")), f"# {path}")
    begun = stopped and stopped["number"]  # in which cell it stopped, if it began at all
    where = f"Cell {begun} (id {stopped['id']}) of {path}" if stopped and begun else path
    message = stopped["error"] if stopped else error
    lines = [title, "", "::::::::::{admonition} This page could not be computed", ":class: error", ""]
    lines += [_fenced(where, "text"), "stopped with", "", _fenced(message, "text")]
    if stopped and stopped["source"]:
        lines += ["in", "", _fenced(stopped["source"], "python")]
    lines += ["::::::::::"]
    cell = v4.new_markdown_cell("\n".join(lines), id="failed")  # type: ignore[no-untyped-call]
    return v4.new_notebook(metadata=source.metadata, cells=[cell])  # type: ignore[no-untyped-call]


def _fenced(text: str, language: str) -> str:
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall("`+", text))])
    return f"{fence}{language}\n{text}\n{fence}\n"


def _portable(value: Any, root: Path) -> Any:
    """A path inside the repository as it is written there."""
    if isinstance(value, str) and os.path.isabs(value) and Path(value).is_relative_to(root):
        return Path(value).relative_to(root).as_posix()
    return value
