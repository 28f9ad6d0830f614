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
from ettr.core.sentences import MYST, TITLE, listed, literal

ANSWER = "answer"  # tag of the cell whose output follows the title
ANSWERS = "<!-- answers -->"  # line of the first page that is replaced by the answers of all chapters
PARAMETERS = "parameters"
STUDY = "study"  # tag of commentary on the published run, which a book for another run leaves out
SOLUTION = "solution"  # tag of a cell that a page folds
_HEADING = re.compile(r"(#+) [^\n]*\Z")
_NO_HEADING = 7  # more than the levels of Markdown


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

    The answer follows the title, solutions are folded, and the parameters come last, with the command to change them.
    Generated text has its ids and links, which Jupyter would show as signs.

    Parameters
    ----------
    merged : notebook
        As from :func:`with_outputs`.
    path : str
        Path of the notebook in the repository.
    """
    result = copy.deepcopy(merged)
    answers = [cell for cell in result.cells if ANSWER in _tags(cell)]
    parameters = [cell for cell in result.cells if PARAMETERS in _tags(cell)]
    rest = [cell for cell in result.cells if not {ANSWER, PARAMETERS} & {*_tags(cell)}]
    for cell in result.cells:
        if SOLUTION in _tags(cell):
            _fold(cell, "hide-cell", "Solution", "Hide the solution")
        for output in cell.get("outputs", []):
            if MYST in output.get("metadata", {}):
                output.data["text/markdown"] = output.metadata[MYST]
    first = next((i for i, cell in enumerate(rest) if cell.cell_type == "markdown"), -1)
    last = [end for cell in parameters for end in _reproduction(cell, path)]
    result.cells = [*_keywords(merged), *rest[: first + 1], *answers, *rest[first + 1 :], *last]
    return result


def without_study(merged: Any, label: str) -> Any:
    """Return the notebook without commentary on the published run, and with a sentence that says so if it had any.

    Headings that this leaves without content go as well.

    Parameters
    ----------
    merged : notebook
        As from :func:`with_outputs`.
    label : str
        Title of the scenario of the book.
    """
    if not any(STUDY in _tags(cell) for cell in merged.cells):
        return merged
    kept: list[Any] = []
    level, is_emptied = 0, False  # level of the heading that follows, and whether commentary stood before it
    for cell in reversed(merged.cells):
        if STUDY in _tags(cell):
            is_emptied = True
            continue
        if _is_shown(cell):
            if is_emptied and cell.cell_type == "markdown":
                cell.source = _without_empty_headings(cell.source, level)
                if not cell.source:
                    continue
            is_emptied, level = False, _first_level(cell)
        kept.append(cell)
    text = f"Commentary on the published runs is left out: this copy was computed for {literal(label)}."
    merged.cells = [kept[-1], _markdown(text, "without-study"), *kept[-2::-1]]
    return merged


def _is_shown(cell: Any) -> bool:
    tags = {*_tags(cell)}
    return not (tags & {"remove-cell", PARAMETERS} or ("remove-input" in tags and not cell.get("outputs")))


def _without_empty_headings(text: str, next_level: int) -> str:
    """Return a text without the headings at its end that have no content before the next one of their level."""
    while (heading := _HEADING.search(text)) and len(heading[1]) >= next_level:
        text = text[: heading.start()].rstrip()
    return text


def _first_level(cell: Any) -> int:
    """Return the level of the heading with which a cell begins."""
    heading = re.match(r"(#+) ", cell.source) if cell.cell_type == "markdown" else None
    return len(heading[1]) if heading else _NO_HEADING


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


def _reproduction(cell: Any, path: str) -> list[Any]:
    """Return the section on the parameters: their values, the commands that change them, and their folded cell."""
    values = dict(notebook.assigned(cell.source))
    if not values:
        return []
    _fold(cell, "hide-input", "Show what the parameters mean", "Hide the parameters")
    named = listed([f"{name} {_code(value)}" for name, value in values.items()])
    last, value = [*values.items()][-1]
    text_value = str(ast.literal_eval(value)) if value.startswith(("'", '"')) else value
    command = f"papermill {shlex.quote(path)} out.ipynb -p {last} {shlex.quote(text_value)}"
    fence = _fence(command, 3)
    text = (
        f"Computed for {named}. In a copy of the repository, with other values:\n\n"
        f"{fence}text\n{command}\n{fence}\n\n"
        f"For a grid of values: `ettr sweep {path} --grid grid.yml --out sweep`."
    )
    return [_markdown(f"## Reproduce this page\n\n:::{{div}} parameters\n{text}\n:::", "reproduce"), cell]


def _fold(cell: Any, tag: str, show: str, hide: str) -> None:
    """Fold a cell, or part of a cell, behind a prompt."""
    cell.metadata["tags"] = [*_tags(cell), tag]
    cell.metadata["mystnb"] = {"code_prompt_show": show, "code_prompt_hide": hide}


def _code(text: str) -> str:
    """Return text as Markdown code, also where it contains backticks."""
    fence = _fence(text)
    space = " " * (len(fence) > 1)
    return f"{fence}{space}{text}{space}{fence}"


def _fence(text: str, least: int = 1) -> str:
    """Return more backticks than the text has in a row."""
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def _markdown(text: str, name: str) -> Any:
    from nbformat import v4

    return v4.new_markdown_cell(text, id=name)  # type: ignore[no-untyped-call]


_KEPT = ("# ", "## Limits", "## Sources")


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
    joint = "." if why[:1].isupper() else ":"  # a sentence of its own, or the end of this one
    text = f"**{what} for this run{joint} {literal(why)}.** The results that depend on it are left out."
    merged.cells = [*before, _markdown(" ".join(filter(None, [text, elsewhere])), "unanswered"), *after]
    return merged


def _starts(cell: Any, words: tuple[str, ...]) -> bool:
    return bool(cell.cell_type == "markdown" and cell.source.startswith(words))


def _portable(value: Any, root: Path) -> Any:
    """Return a path inside the repository relative to its root."""
    if isinstance(value, str) and os.path.isabs(value) and Path(value).is_relative_to(root):
        return Path(value).relative_to(root).as_posix()
    return value
