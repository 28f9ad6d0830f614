"""The pages of the book, run in this process: what each says, draws and shows."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt

from ettr.core.sentences import Finding, plain
from ettr_book.publish import chapters

ROOT = Path(__file__).parents[1]
NOTEBOOKS = tuple(name for name in chapters.docnames(ROOT) if (ROOT / f"{name}.ipynb").is_file())
OF_A_RUN = tuple(name for name in NOTEBOOKS if "scenario = " in (ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))
"""Those that a book of another scenario computes anew."""
QUICK = {"n_runs": 6, "n_runs_elsewhere": 3, "n_draws": 2000, "n_dates": 100, "n_points": 4}
"""Parameters with which a page says and draws all that it does, of few runs."""
_ROLE = re.compile(r"\{(?:doc|term|cite:\w|ref|eq|dropdown)\}`?")
_NUMBER = re.compile(r"\[([^\]]+)\]\{#q-([\w-]+)\}")


@dataclass(frozen=True)
class Output:
    """Output of one cell: a finding, a chart as its specification, or a table."""

    cell: str
    tags: tuple[str, ...]
    value: Any


def cells(page: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook."""
    return json.loads((ROOT / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]


@cache
def outputs(page: str, scenario: str = "", quickly: bool = False) -> tuple[Output, ...]:
    """Return the outputs of a page for a preset or file, by default for the page's own scenario."""
    collected: list[Output] = []
    space: dict[str, Any] = {}
    for cell in cells(page):
        if cell["cell_type"] != "code":
            continue
        tags, source = tuple(cell["metadata"].get("tags", [])), "".join(cell["source"])

        def keep(value: Any, cell_id: str = cell["id"], tags: tuple[str, ...] = tags) -> None:
            if value is not None:
                collected.append(Output(cell_id, tags, specification(value)))

        space["display"] = keep
        keep(run(source, space))
        if "parameters" in tags and scenario and "scenario" in space:
            space["scenario"] = scenario
        if "parameters" in tags and quickly:
            space |= {name: value for name, value in QUICK.items() if name in space}
    return tuple(collected)


def run(source: str, space: dict[str, Any]) -> Any:
    """Run the code of a cell and return its output."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), space) if last else None


def specification(value: Any) -> Any:
    """Return a chart as Vega-Lite, and any other value unchanged."""
    return value.to_dict() if isinstance(value, alt.TopLevelMixin) else value


def findings(page: str, scenario: str = "", quickly: bool = False) -> list[Finding]:
    """Return the sentences of a page."""
    return [output.value for output in outputs(page, scenario, quickly) if isinstance(output.value, Finding)]


def charts(page: str, scenario: str = "", quickly: bool = False) -> list[dict[str, Any]]:
    """Return the charts of a page."""
    return [
        output.value
        for output in outputs(page, scenario, quickly)
        if isinstance(output.value, dict) and "$schema" in output.value
    ]


def numbers(page: str, scenario: str = "") -> dict[str, set[str]]:
    """Return the named numbers of a page as texts."""
    texts: dict[str, set[str]] = {}
    for finding in findings(page, scenario):
        for text, name in _NUMBER.findall(f"{finding.title} {finding.text}"):
            texts.setdefault(name, set()).add(text)
    return texts


def check(page: str, scenario: str, quickly: bool = False) -> None:
    """Check that sentences are well formed and charts are not empty."""
    for finding in findings(page, scenario, quickly):
        text = re.sub(r"<a .*?</a>", "", _ROLE.sub("", plain(f"{finding.title} {finding.text}")))
        assert finding.title.strip() or finding.text.strip()
        assert not re.search(
            r"\b(nan|inf|NaN|array)\b|\bNone\b(?! (pays|of|has|in))|\{|(?<=[a-z,])  +[a-z]|(?<!\d)-0\.?0*%", text
        ), text
        assert not re.search(r"\.\.(?!/)|\. ?\.| ,| \.(?!\d)", text.replace("...", "")), text
    for chart in charts(page, scenario, quickly):
        check_drawn(chart)


def check_drawn(chart: dict[str, Any]) -> None:
    json.dumps(chart, allow_nan=False)
    assert chart["title"]["text"].strip() and len(chart["description"]) > 30
    assert not re.search(r"\b(nan|inf|None)\b", chart["description"]), chart["description"]
    drawn = [(layer, values_of(chart, layer)) for layer in layers(chart)]
    assert any(rows for _, rows in drawn), f"{chart['title']['text']}: nothing is drawn"
    for layer, rows in drawn:
        missing = set(fields_of(layer["encoding"])) - set().union(*(set(row) for row in rows))
        assert not missing or not rows, f"{chart['title']['text']}: {missing} stand in no row, and would be drawn blank"


def layers(part: dict[str, Any], data: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the single charts of a specification at any depth, each with its data."""
    data = part.get("data", data)
    below = [*part.get("layer", []), *(part[key] for key in ("spec",) if key in part)]
    for child in below:
        yield from layers(child, data)
    if not below:
        yield {**part, "data": data}


def values_of(spec: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a single chart of a specification."""
    return layer["data"]["values"] if "values" in layer["data"] else spec["datasets"][layer["data"]["name"]]


def fields_of(encoding: object) -> Iterator[str]:
    """Yield the columns of an encoding."""
    if isinstance(encoding, dict):
        if isinstance(encoding.get("field"), str):
            yield encoding["field"]
        for value in encoding.values():
            yield from fields_of(value)
    elif isinstance(encoding, list):
        for value in encoding:
            yield from fields_of(value)
