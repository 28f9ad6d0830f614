"""What pages repeat of the code, and the command that writes it anew: ``make readme``.

Each block of a page stands between ``<!-- name -->`` and ``<!-- end -->``. A console block is an example: a command,
and the lines that the page shows of its answer.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import yaml

from ettr import Scenario
from ettr.core.sentences import plain
from ettr.notebook import rendering
from ettr_book.chapters import scale, what_if
from ettr_book.publish import chapters

ROOT = Path(__file__).parents[1]
PACKAGES = {name: ROOT / "src" / name for name in ("ettr", "ettr_book")}
PICTURE = ROOT / "book" / "_static" / "readme.svg"
DEPOSIT = ROOT / ".zenodo.json"
EXAMPLES = ("README.md", "book/your_cluster/first_questions.md")
"""The pages with console blocks."""
WIDTH = 130
SENTENCE_WIDTH = 78
"""Of a long sentence in a console block, which a terminal would wrap as well; tables are left alone."""
TERMINAL = {"COLUMNS": "120", "NO_COLOR": "1"}


def picture() -> str:
    """The README's picture."""
    chart = what_if.show("scale", Scenario.load("llama3-405b"))
    return rendering.svg(chart.properties(width=640).to_dict() | {"background": "white"})


def deposit() -> str:
    """What Zenodo is told of a version, from ``CITATION.cff``, which it leaves unread where this file is."""
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    record = {
        "title": told["title"],
        "description": f"<p>{told['abstract']}</p>",
        "creators": [{"name": author["name"]} for author in told["authors"]],
        "version": told["version"],
        "publication_date": str(told["date-released"]),
        "license": told["license"].lower(),
        "keywords": told["keywords"],
        "upload_type": told["type"],
        "access_right": "open",
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def headline() -> str:
    """The README's headline: what the chapter on scale answers."""
    run = Scenario.load("llama3-405b")
    sizes = scale.tables.ettr_of_sizes(run, [100_000])
    answer = scale.words.answer(run, sizes, scale.tables.reach_gpus(run, 0.9), 0.9)
    return textwrap.fill(plain(answer.text), WIDTH, break_on_hyphens=False)


def title(docname: str) -> str:
    """The first heading of a page of the book."""
    path = chapters.source(ROOT, docname)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    return text.splitlines()[0].removeprefix("# ")


def contents() -> str:
    """The README's table of chapters, from ``_toc.yml`` and the first heading of each page."""
    rows = ["| Part | Chapter | Its question |", "|---|---|---|"]
    for caption, pages in chapters.contents(ROOT):
        for number, (name, _) in enumerate(pages):
            path = chapters.source(ROOT, name).relative_to(ROOT).as_posix()
            rows.append(f"| {'' if number else caption} | [{Path(name).name}]({path}) | {title(name)} |")
    return "\n".join(row.replace("|  |", "| |") for row in rows)


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, as Markdown."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0].replace("``", "`")


def layers(package: str) -> list[tuple[list[str], bool]]:
    """The subpackages of each layer, the highest first, and whether they may use each other (import-linter)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each.get("containers") == [package])
    return [(re.split(r" [:|] ", layer), " : " in layer) for layer in contract["layers"]]


def structure() -> str:
    """The layers of both packages, each subpackage in the words of its own docstring."""
    parts = []
    for package, folder in PACKAGES.items():
        rows, open_layers = [f"| Layer of `{package}` | Subpackage | What it holds |", "|---|---|---|"], []
        above = layers(package)
        for number, (subpackages, is_open) in zip(range(len(above), 0, -1), above, strict=True):
            open_layers += [number] if is_open else []
            for place, name in enumerate(subpackages):
                module = folder / f"{name}.py" if (folder / f"{name}.py").exists() else folder / name / "__init__.py"
                rows.append(f"| {'' if place else number} | `{name}` | {first_sentence(module)} |")
        parts.append("\n".join(row.replace("|  |", "| |") for row in rows))
        if open_layers:
            *some, last = map(str, sorted(open_layers))
            parts.append(f"Subpackages of one layer may import each other in layers {', '.join(some)} and {last} only.")
    return "\n\n".join(parts)


BLOCKS: dict[tuple[str, str], Callable[[], str]] = {
    ("README.md", "headline"): headline,
    ("README.md", "chapters"): contents,
    ("ARCHITECTURE.md", "structure"): structure,
}
"""By file and name."""


_EXAMPLE = re.compile(r"(?<=```console\n\$ ettr )([^\n]*)\n(.*?)(?=```)", re.DOTALL)
_CONTINUED = re.compile(r" {4}\S")
_LEADING = re.compile(r"^\d[\d,.]*\s*")


def examples(file: str) -> list[tuple[str, str]]:
    """The commands of a page, without ``ettr``, and the lines that it shows of each answer."""
    return _EXAMPLE.findall((ROOT / file).read_text(encoding="utf-8"))


def label(line: str) -> str:
    """By what a line of an answer is found again: its words up to the next number or column."""
    words = re.split(r"\s{2,}", _LEADING.sub("", line.strip()))[0]
    return re.split(r"\d", words)[0].strip()


def wrapped(line: str) -> list[str]:
    """A line of an answer as a page shows it."""
    if re.search(r"\S\s{2,}\S", line):
        return [line.rstrip()]
    return textwrap.wrap(line, SENTENCE_WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def is_answer(command: str, status: int, err: str) -> bool:
    """Whether a command answers and says nothing else, but that a target is not reached."""
    unmet = status == 3 and "--target" in command and re.fullmatch(r"ettr: .* is below --target .*\n", err)
    return bool(unmet) or (status, err) == (0, "")


def excerpt(shown: str, answer: str) -> str:
    """The lines shown, as the answer has them now, with ``...`` where it has others in between."""
    lines = answer.splitlines()
    renewed: list[str] = []
    at: int | None = None
    for line in shown.splitlines():
        if line == "..." or _CONTINUED.match(line):
            continue
        start = 0 if at is None else at + 1
        found = next((place for place in range(start, len(lines)) if label(lines[place]) == label(line)), None)
        assert found is not None, f"the answer has no further line {label(line)!r}:\n{answer}"
        renewed += ["..."] if at is not None and found > start else []
        renewed += wrapped(lines[found])
        at = found
    before, after = (["..."] if ends else [] for ends in (shown.startswith("...\n"), shown.endswith("\n...\n")))
    return "\n".join([*before, *renewed, *after]) + "\n"


def answered(example: re.Match[str]) -> str:
    """An example with the answer that its command gives now."""
    command = [sys.executable, "-m", "ettr.cli", *shlex.split(example[1])]
    run = subprocess.run(command, cwd=ROOT, env=os.environ | TERMINAL, capture_output=True, text=True, check=False)
    if not is_answer(example[1], run.returncode, run.stderr):
        raise SystemExit(f"ettr {example[1]} has no answer: {run.stderr}")
    return f"{example[1]}\n{excerpt(example[2], run.stdout)}"


def block(file: str, name: str) -> re.Match[str]:
    """Where a block stands; what is in it is the match's second group."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(rf"(<!-- {name} -->\n+)(.*?)(\n+<!-- end -->)", text, re.DOTALL)
    assert found, f"{file} has no block <!-- {name} --> that ends in <!-- end -->"
    return found


def renew() -> None:
    """Write the picture, the deposit, all blocks and the answers of all examples."""
    PICTURE.write_text(picture(), encoding="utf-8")
    DEPOSIT.write_text(deposit(), encoding="utf-8")
    for (file, name), text in BLOCKS.items():
        place = block(file, name)
        renewed = place.string[: place.start(2)] + text() + place.string[place.end(2) :]
        (ROOT / file).write_text(renewed, encoding="utf-8")
    for file in EXAMPLES:
        page = (ROOT / file).read_text(encoding="utf-8")
        (ROOT / file).write_text(_EXAMPLE.sub(answered, page), encoding="utf-8")


if __name__ == "__main__":
    renew()
