"""Turn a chapter's source and its executed copy into the notebook that becomes its page."""

from __future__ import annotations

import ast
import copy
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ettr import notebook
from ettr.core.sentences import TITLE, literal

ANSWER = "answer"  # tag of the cell whose output follows the title
ANSWERS = "<!-- answers -->"  # line of the first page that is replaced by the answers of all chapters
PARAMETERS = "parameters"


def with_outputs(source: Any, executed: Any, root: Path) -> Any:
    """Return the source notebook with the outputs and the parameters of a run.

    Text comes from the source, so that a corrected sentence needs no new run; outputs come from the executed copy, cell
    by cell.
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
        if PARAMETERS in _tags(cell) and parameters:
            cell.source = notebook.replaced_values(cell.source, parameters)
    return merged


def page(merged: Any, path: str) -> Any:
    """Return the notebook in the form that a page needs.

    The answer follows the title. The parameters follow as a line of text with the command to change them, before their
    folded cell.

    Parameters
    ----------
    merged : notebook
        As from :func:`with_outputs`.
    path : str
        Path of the notebook in the repository.
    """
    result = copy.deepcopy(merged)
    answers = [cell for cell in result.cells if ANSWER in _tags(cell)]
    rest = [cell for cell in result.cells if ANSWER not in _tags(cell)]
    first = next((i for i, cell in enumerate(rest) if cell.cell_type == "markdown"), -1)
    result.cells = [*_keywords(merged), *rest[: first + 1], *answers]
    for cell in rest[first + 1 :]:
        result.cells += [*_parameters(cell, path), cell] if PARAMETERS in _tags(cell) else [cell]
    return result


@dataclass(frozen=True)
class PageAnswer:
    """The answer of a chapter: its part of the book, page, short title, and sentence."""

    part: str
    docname: str
    title: str
    sentence: str


def with_answers(first: Any, answers: Sequence[PageAnswer]) -> None:
    """Put the answers of all chapters into the first page, one row each."""
    rows = ["| | |", "|---|---|"]
    for before, answer in zip([None, *answers], answers, strict=False):
        if before is None or before.part != answer.part:
            rows.append(f"| **{answer.part}** | |")
        name = answer.docname.rpartition("/")[2].replace("_", "-")
        sentence = literal(answer.sentence)
        rows.append(f"| {{doc}}`{answer.title} </{answer.docname}>` | [{sentence}.]{{#answer-{name}}} |")
    for cell in first.cells:
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace(ANSWERS, "\n".join(rows) if answers else "")


def answered(executed: Any) -> str:
    """Return the title of a chapter's answer from an executed notebook; empty if it has none."""
    for cell in executed.cells:
        if ANSWER in _tags(cell):
            for output in reversed(cell.outputs):
                if TITLE in output.get("metadata", {}):
                    return str(output["metadata"][TITLE])
    return ""


def _tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def _keywords(merged: Any) -> list[Any]:
    """Return the further search words of a page."""
    words = merged.metadata.get("keywords", [])
    text = f"```{{eval-rst}}\n.. meta::\n   :keywords: {' '.join(words)}\n```"
    return [_markdown(text, "keywords")] if words else []


def _parameters(cell: Any, path: str) -> list[Any]:
    """Return the parameters as a line of text with the command that changes them; the cell gets folded."""
    values = dict(notebook.assigned(cell.source))
    if not values:
        return []
    cell.metadata["tags"] = [*_tags(cell), "hide-input"]
    cell.metadata["mystnb"] = {
        "code_prompt_show": "Show what the parameters mean",
        "code_prompt_hide": "Hide the parameters",
    }
    named = ", ".join(f"{name} {_code(value)}" for name, value in values.items())
    last, value = [*values.items()][-1]
    text_value = str(ast.literal_eval(value)) if value.startswith(("'", '"')) else value
    command = f"papermill {path.rpartition('/')[2]} out.ipynb -p {last} {shlex.quote(text_value)}"
    text = (
        f"Computed for {named}. For other values download the notebook of this page and run {_code(command)}; for a "
        f"grid of values run `ettr sweep {path}`."
    )
    return [_markdown(f":::{{div}} parameters\n{text}\n:::", "parameters-as-text")]


def _code(text: str) -> str:
    """Return text as Markdown code, also where it contains backticks."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " * (len(fence) > 1)
    return f"{fence}{space}{text}{space}{fence}"


def _markdown(text: str, name: str) -> Any:
    from nbformat import v4

    return v4.new_markdown_cell(text, id=name)  # type: ignore[no-untyped-call]


_KEPT = ("# ", "## Limits", "## Sources", "## Next")


def unanswered(merged: Any, why: str, stopped: str = "", elsewhere: str = "") -> Any:
    """Return the page of a chapter that has no answer for its scenario, or none from some cell on.

    Results before that cell stay if they include the page's answer; else only the title, the limits and the sources.

    Parameters
    ----------
    merged : notebook
        As from :func:`with_outputs`.
    why : str
        Reason of the refusal.
    stopped : str, optional
        Id of the cell that refused the scenario.
    elsewhere : str, optional
        Links to other pages, in Markdown.
    """
    ids = [cell.get("id") for cell in merged.cells]
    at = ids.index(stopped) if stopped in ids else 0
    is_answered = any(ANSWER in _tags(cell) for cell in merged.cells[:at])
    before, rest = merged.cells[:at], merged.cells[at:]
    if not is_answered:
        before, rest = [cell for cell in merged.cells if _starts(cell, _KEPT[:1])], merged.cells
    after = [cell for cell in rest if _starts(cell, _KEPT[1:]) or PARAMETERS in _tags(cell) or ANSWERS in cell.source]
    what = "From here on this page has no answer" if is_answered else "This page has no answer"
    text = f"**{what} for this run: {literal(why)}.** The results that depend on it are left out."
    merged.cells = [*before, _markdown(" ".join(filter(None, [text, elsewhere])), "unanswered"), *after]
    return merged


def _starts(cell: Any, words: tuple[str, ...]) -> bool:
    return bool(cell.cell_type == "markdown" and cell.source.startswith(words))


def _portable(value: Any, root: Path) -> Any:
    """Return a path inside the repository relative to its root."""
    if isinstance(value, str) and os.path.isabs(value) and Path(value).is_relative_to(root):
        return Path(value).relative_to(root).as_posix()
    return value
