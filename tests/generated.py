"""Generated parts of pages, and the command that renews them: ``make readme``.

A generated block stands between ``<!-- name -->`` and ``<!-- end -->``. A console block is an example: a command, and
the lines of its answer that the page shows. Where the words of an answer changed, the most similar line takes the place
of the old one, and ``make readme`` prints both. A code block with a caption is a file for the commands of its page.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import pandas
import yaml

from ettr import Gpu, Scenario, telemetry
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
"""Width of a sentence in a console block; tables are not wrapped."""
TERMINAL = {"COLUMNS": "120", "NO_COLOR": "1"}


def picture() -> str:
    """Return the README's picture as SVG."""
    chart = what_if.show("scale", Scenario.load("llama3-405b"))
    return rendering.svg(chart.properties(width=640).to_dict() | {"background": "white"})


def deposit() -> str:
    """Return ``.zenodo.json``, made from ``CITATION.cff``, which Zenodo does not read where the other file exists."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    record = {
        "title": citation["title"],
        "description": f"<p>{citation['abstract']}</p>",
        "creators": [{"name": author["name"]} for author in citation["authors"]],
        "version": citation["version"],
        "publication_date": str(citation["date-released"]),
        "license": citation["license"].lower(),
        "keywords": citation["keywords"],
        "upload_type": citation["type"],
        "access_right": "open",
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def headline() -> str:
    """Return the README's headline: the answer of the chapter on scale."""
    run = Scenario.load("llama3-405b")
    answer = scale.answer(run, scale.ettr_of_sizes(run, [100_000]), 0.9)
    return textwrap.fill(plain(answer.text), WIDTH, break_on_hyphens=False)


def title(docname: str) -> str:
    """Return the first heading of a page of the book."""
    path = chapters.source(ROOT, docname)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    return text.splitlines()[0].removeprefix("# ")


def contents() -> str:
    """Return the README's list of chapters, one line per part, from ``_toc.yml`` and the first heading of each page."""
    lines = []
    for caption, pages in chapters.contents(ROOT):
        paths = [chapters.source(ROOT, page).relative_to(ROOT).as_posix() for page, _ in pages]
        links = [f"[{title(page)}]({path})" for (page, _), path in zip(pages, paths, strict=True)]
        lines.append(f"- **{caption}:** {' · '.join(links)}")
    return "\n".join(lines)


def first_sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring, as Markdown."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0].replace("``", "`")


def layers(package: str) -> list[tuple[list[str], bool]]:
    """Return the subpackages of each layer, highest first, and whether they may import each other (import-linter)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract.get("containers") == [package])
    return [(re.split(r" [:|] ", layer), " : " in layer) for layer in contract["layers"]]


def structure() -> str:
    """Return the layers of both packages, each subpackage with the first sentence of its docstring."""
    parts = []
    for package, folder in PACKAGES.items():
        rows, open_layers = [f"| Layer of `{package}` | Subpackage | Contents |", "|---|---|---|"], []
        from_the_top = layers(package)
        for number, (subpackages, is_open) in zip(range(len(from_the_top), 0, -1), from_the_top, strict=True):
            open_layers += [number] if is_open else []
            for place, name in enumerate(subpackages):
                path = folder / name / "__init__.py"
                sentence = first_sentence(path if path.exists() else folder / f"{name}.py")
                rows.append(f"| {'' if place else number} | `{name}` | {sentence} |")
        parts.append("\n".join(row.replace("|  |", "| |") for row in rows))
        if open_layers:
            *others, last = map(str, sorted(open_layers))
            numbers = f"{', '.join(others)} and {last}"
            parts.append(f"Subpackages of one layer may import each other in layers {numbers} only.")
    return "\n\n".join(parts)


def printed(command: list[str], folder: str) -> str:
    """Return the output of an ``ettr`` command in a folder, as a block of text without the time that it took."""
    run = subprocess.run(
        [sys.executable, "-m", "ettr.cli", *command],
        cwd=folder,
        env=os.environ | TERMINAL,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.rstrip() for line in re.sub(r", in [\d.]+ s\.", ".", run.stdout).splitlines()]
    return "\n".join(["```text", f"$ ettr {shlex.join(command)}", *lines, "```"])


def recording() -> str:
    """Return the output of ``ettr telemetry`` for a simulated recording."""
    schedule = telemetry.schedule(minutes=20)
    samples = telemetry.simulate(Gpu.load("h100"), schedule, step_s=1.0, power_window_s=1.0, seed=1).samples
    with tempfile.TemporaryDirectory() as folder:
        samples.to_csv(Path(folder) / "node7.csv", index=False)
        return printed(["telemetry", "node7.csv", "--power-window-ms", "1000"], folder)


def sweep_of_fields() -> str:
    """Return the output of a small ``ettr sweep`` of fields, and the first columns of its table."""
    grid = {"cluster.n_gpus": [1024, 4096, 16384], "recovery.restart_min": [2, 10]}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fields.yml").write_text(yaml.safe_dump(grid), encoding="utf-8")
        command = "sweep --call budget --scenario rsc-1 --grid fields.yml --out budgets"
        output = printed(command.split(), folder).removesuffix("```")
        table = pandas.read_parquet(Path(folder) / "budgets" / "results.parquet")
    columns = table[[*grid, "ettr", "total_h", "rework_h", "restart_h"]].round(3)
    return f"{output}\n{columns.to_string(index=False)}\n```"


BLOCKS: dict[tuple[str, str], Callable[[], str]] = {
    ("README.md", "headline"): headline,
    ("README.md", "chapters"): contents,
    ("ARCHITECTURE.md", "structure"): structure,
    ("book/your_cluster/telemetry.md", "output"): recording,
    ("book/your_cluster/sweeps.md", "output"): sweep_of_fields,
}
"""By file and name."""


_EXAMPLE = re.compile(r"(?<=```console\n\$ ettr )([^\n]*)\n(.*?)(?=```)", re.DOTALL)
_FILE = re.compile(r"```\{code-block\} text\n:caption: (\S+)\n\n(.*?)```", re.DOTALL)
_CONTINUED = re.compile(r" {4}\S")
_LEADING = re.compile(r"^\d[\d,.]*\s*")
_ALIKE = 0.2
"""Likeness from which a line of an answer counts as a reworded line of the page."""


def examples(file: str) -> list[tuple[str, str]]:
    """Return the commands of a page, without ``ettr``, each with the lines of its answer that the page shows."""
    return _EXAMPLE.findall((ROOT / file).read_text(encoding="utf-8"))


def lay_out(file: str, folder: Path) -> None:
    """Write the files that a page shows, and a link to the data, into the folder where its commands run."""
    (folder / "data").symlink_to(ROOT / "data")
    for name, text in _FILE.findall((ROOT / file).read_text(encoding="utf-8")):
        (folder / name).write_text(text, encoding="utf-8")


def label(line: str) -> str:
    """Return the words of a line up to its next number or column, by which it is found in another answer."""
    words = re.split(r"\s{2,}", _LEADING.sub("", line.strip()))[0]
    return re.split(r"\d", words)[0].strip()


def wrapped(line: str) -> list[str]:
    """Return a line of an answer as a page shows it."""
    if re.search(r"\S\s{2,}\S", line):
        return [line.rstrip()]
    return textwrap.wrap(line, SENTENCE_WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def is_answer(command: str, status: int, err: str) -> bool:
    """Return whether a command answered with no message but a compilation, an unusual value or a target not reached."""
    err = re.sub(r"ettr: (compiling the simulator|warning: .* is far outside its plausible range) .*\n", "", err)
    unmet = status == 3 and "--target" in command and re.fullmatch(r"ettr: .* is below --target .*\n", err)
    return bool(unmet) or (status, err) == (0, "")


def unwrapped(page_lines: str) -> list[str]:
    """Return the lines of an answer that a page shows, each on one line, without ``...``."""
    lines: list[str] = []
    for line in page_lines.splitlines():
        if _CONTINUED.match(line):
            lines[-1] += f" {line.strip()}"
        elif line != "...":
            lines.append(line)
    return lines


def likeness(line: str, candidate: str) -> float:
    """Return how alike a line of a page and of an answer are: 2 with equal labels, else the share of common words."""
    if label(line) == label(candidate):
        return 2
    ours, theirs = (set(re.findall(r"[\w.,%]*\w%?", text)) for text in (line, candidate))
    return len(ours & theirs) / max(1, len(ours | theirs))


def aligned(page_lines: list[str], answer_lines: list[str]) -> list[int | None]:
    """Return for each line of a page the index of the line most like it, in order; None where the answer has none."""
    best: dict[tuple[int, int], tuple[float, list[int | None]]] = {}
    for at in range(len(page_lines), -1, -1):
        for start in range(len(answer_lines), -1, -1):
            options: list[tuple[float, list[int | None]]] = []
            if at < len(page_lines) and start < len(answer_lines):
                similarity = likeness(page_lines[at], answer_lines[start])
                score, rest = best[at + 1, start + 1]
                options += [(score + similarity, [start, *rest])] if similarity > _ALIKE else []
                options.append(best[at, start + 1])
            if at < len(page_lines):
                score, rest = best[at + 1, start]
                options.append((score, [None, *rest]))
            best[at, start] = max(options, key=lambda option: option[0], default=(0, []))
    return best[0, 0][1]


def excerpt(page_text: str, answer: str, *, reworded: bool = False) -> str:
    """Return the lines that a page shows as the answer has them now, with ``...`` where it has others in between.

    A line is found by its label. With ``reworded``, a line without its label in the answer is replaced by the line most
    like it, or left out, with a message.
    """
    lines, page_lines = answer.splitlines(), unwrapped(page_text)
    renewed: list[str] = []
    start = 0
    for line, index in zip(page_lines, (aligned if reworded else located)(page_lines, lines), strict=True):
        if index is None or label(lines[index]) != label(line):
            print(f"reworded: {line.strip()!r}\n      now: {'' if index is None else lines[index].strip()!r}")
        if index is not None:
            renewed += ["..."] if renewed and index > start else []
            renewed += wrapped(lines[index])
            start = index + 1
    before, after = (
        ["..."] if elided else [] for elided in (page_text.startswith("...\n"), page_text.endswith("\n...\n"))
    )
    return "\n".join([*before, *renewed, *after]) + "\n"


def located(page_lines: list[str], answer_lines: list[str]) -> list[int]:
    """Return for each line of a page the index of the next line of the answer with its label."""
    indices: list[int] = []
    for line in page_lines:
        after = range(indices[-1] + 1 if indices else 0, len(answer_lines))
        index = next((at for at in after if label(answer_lines[at]) == label(line)), None)
        assert index is not None, f"the answer has no further line {label(line)!r}:\n" + "\n".join(answer_lines)
        indices.append(index)
    return indices


def answered(example: re.Match[str], folder: str) -> str:
    """Return an example with the answer that its command gives now in a folder."""
    command = [sys.executable, "-m", "ettr.cli", *shlex.split(example[1])]
    run = subprocess.run(command, cwd=folder, env=os.environ | TERMINAL, capture_output=True, text=True, check=False)
    if not is_answer(example[1], run.returncode, run.stderr):
        raise SystemExit(f"ettr {example[1]} has no answer: {run.stderr}")
    return f"{example[1]}\n{excerpt(example[2], run.stdout, reworded=True)}"


def block(file: str, name: str) -> re.Match[str]:
    """Return the match of a block; its second group is the generated text."""
    text = (ROOT / file).read_text(encoding="utf-8")
    match = re.search(rf"(<!-- {name} -->\n+)(.*?)(\n*<!-- end -->)", text, re.DOTALL)
    assert match, f"{file} has no block <!-- {name} --> that ends in <!-- end -->"
    return match


def renew() -> None:
    """Write the picture, the deposit, all blocks and the answers of all examples."""
    PICTURE.write_text(picture(), encoding="utf-8")
    DEPOSIT.write_text(deposit(), encoding="utf-8")
    for (file, name), text in BLOCKS.items():
        match = block(file, name)
        renewed = match.string[: match.start(2)] + text() + "\n" + match.string[match.end(2) :].lstrip("\n")
        (ROOT / file).write_text(renewed, encoding="utf-8")
    for file in EXAMPLES:
        page = (ROOT / file).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            lay_out(file, Path(folder))
            renewed = _EXAMPLE.sub(functools.partial(answered, folder=folder), page)
        (ROOT / file).write_text(renewed, encoding="utf-8")


if __name__ == "__main__":
    renew()
