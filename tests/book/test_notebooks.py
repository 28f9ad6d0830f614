"""How notebooks of the book are written: they ask, call the package and show; logic is in tested code."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from ettr import notebook
from ettr_book.publish import chapters

ROOT = Path(__file__).parents[2]
NOTEBOOKS = [name for name in chapters.docnames(ROOT) if (ROOT / f"{name}.ipynb").is_file()]
REFERENCE = "book/reference/"  # tables of what is there; their titles need not ask
TAGS = {
    *("parameters", "answer", "prose", "study", "solution", "open"),
    *("hide-input", "remove-input", "hide-output", "remove-cell", "hide-cell"),
}
LOOPS = {"For", "While", "ListComp", "SetComp", "DictComp", "GeneratorExp"}
LOGIC = LOOPS | {"FunctionDef", "AsyncFunctionDef", "ClassDef", "Lambda", "If", "Try", "With", "AsyncFor"}
ALLOWED = {"open": LOOPS, "solution": LOOPS | {"FunctionDef", "Lambda", "If"}}
"""Logic by the tag of a cell that shows a computation to change, or solves an exercise."""

pytestmark = pytest.mark.parametrize("name", NOTEBOOKS)


@cache
def document(name: str) -> dict:
    return json.loads((ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))


def source(cell: dict) -> str:
    return "".join(cell["source"])


def code_cells(name: str) -> list[dict]:
    return [cell for cell in document(name)["cells"] if cell["cell_type"] == "code"]


def tags(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


def test_the_title_is_the_question(name):
    first = document(name)["cells"][0]
    title = source(first).splitlines()[0]
    assert first["cell_type"] == "markdown"
    assert title.startswith("# ")
    assert title.endswith("?") or name.startswith(REFERENCE)


def test_there_is_a_second_heading_for_the_page_s_contents(name):
    texts = [source(cell) for cell in document(name)["cells"] if cell["cell_type"] == "markdown"]
    assert any(line.startswith("## ") for text in texts for line in text.splitlines())


def test_one_cell_declares_plain_parameters_with_units(name):
    declared = notebook.declared_parameters(ROOT / f"{name}.ipynb")
    marked = [cell for cell in code_cells(name) if "parameters" in tags(cell)]
    assert len(marked) <= 1
    if not name.startswith(REFERENCE):
        assert declared
    for parameter in declared:
        assert parameter.comment, f"{parameter.name} needs a comment with its unit or meaning"
        assert parameter.type in ("int", "float", "str", "bool", "list"), parameter
    assert sum(len(ast.parse(source(cell)).body) for cell in marked) == len(declared)


def test_parameters_come_before_any_other_code(name):
    marked = [i for i, cell in enumerate(code_cells(name)) if "parameters" in tags(cell)]
    assert marked in ([], [0])


def test_there_is_no_logic_outside_exercises(name):
    for cell in code_cells(name):
        used = {type(node).__name__ for node in ast.walk(ast.parse(source(cell)))}
        allowed = set().union(*(ALLOWED.get(tag, set()) for tag in tags(cell)))
        assert not LOGIC & used - allowed, source(cell)


def test_an_exercise_stays_with_its_solution_in_a_book_for_another_run(name):
    cells = document(name)["cells"]
    studies = "\n".join(source(cell) for cell in cells if "study" in tags(cell))
    assert re.findall(r"^\*\*\d+\.\*\*", studies, re.MULTILINE) == []


def test_no_text_repeats_what_the_footer_links(name):
    headings = [line for cell in document(name)["cells"] for line in source(cell).splitlines()]
    assert "## Next" not in headings


def test_it_is_committed_clean(name):
    assert document(name)["nbformat_minor"] >= 5
    assert document(name)["metadata"]["kernelspec"]["name"] == "python3"
    for part in (document(name), *code_cells(name)):
        assert "papermill" not in part["metadata"]
    for cell in code_cells(name):
        assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_cells_have_ids_of_their_own_and_known_tags(name):
    cells = document(name)["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert {tag for cell in cells for tag in tags(cell)} <= TAGS
    assert sum("answer" in tags(cell) for cell in cells) <= 1
    assert {cell["cell_type"] for cell in cells if {"solution", "open"} & {*tags(cell)}} <= {"code"}
