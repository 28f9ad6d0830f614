"""What stands twice is the same in both places: pages and code, version and changes, chapters and their rooms."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

import ettr
from ettr_book.publish import chapters, pages
from generated import BLOCKS, DEPOSIT, PACKAGES, block, deposit, layers, title

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
GUIDES = {
    name: (ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md")
}
PAGES = chapters.docnames(ROOT)
REFERENCE = ROOT / "book" / "reference"
API = {path.name: path.read_text(encoding="utf-8") for path in (REFERENCE / "api.md", *REFERENCE.glob("api/*.md"))}


@pytest.mark.parametrize(("file", "name"), BLOCKS)
def test_what_a_page_repeats_is_what_the_code_says(file, name):
    assert block(file, name)[2] == BLOCKS[file, name](), "run `make readme`"


# --------------------------------------------------------------------------- version and changes


def test_the_version_stands_in_one_place_and_heads_the_changes():
    newest = re.findall(r"^## (\S+) \((\S+)\)$", CHANGES, re.MULTILINE)[0]
    assert newest == (ettr.__version__, str(CITATION["date-released"]))
    assert CITATION["version"] == ettr.__version__ and "version" not in PROJECT["project"]
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/ettr/__init__.py"


def test_the_citation_is_that_of_the_package():
    project = PROJECT["project"]
    assert CITATION["cff-version"] == "1.2.0" and {"title", "message", "abstract", "authors"} <= set(CITATION)
    assert (CITATION["license"], CITATION["keywords"]) == (project["license"], project["keywords"])
    assert CITATION["authors"] == project["authors"]
    assert re.search(rf"\b{project['name']}\b", CITATION["abstract"]) and CITATION["type"] == "software"


@pytest.mark.parametrize("reference", CITATION["references"], ids=lambda one: one["title"])
def test_what_the_citation_refers_to_is_in_the_bibliography(reference):
    entries = re.split(r"(?m)^(?=@)", (ROOT / "data" / "references.bib").read_text(encoding="utf-8"))
    place = reference.get("doi") or reference["url"]
    (entry,) = (one for one in entries if f"{{{place}}}" in one and reference["authors"][0]["family-names"] in one)
    assert reference["title"] in entry.replace("{Llama}", "Llama") and f"year = {{{reference['year']}}}" in entry


def test_zenodo_is_told_what_the_citation_says():
    assert DEPOSIT.read_text(encoding="utf-8") == deposit(), "run `make readme`"


def test_versions_and_dates_only_rise():
    versions = re.findall(r"^## (\d+)\.(\d+)\.(\d+) \((\S+)\)$", CHANGES, re.MULTILINE)
    assert versions and len(versions) == CHANGES.count("\n## ")
    numbers = [tuple(map(int, version[:3])) for version in versions]
    dates = [date.fromisoformat(version[3]) for version in versions]
    assert (numbers, dates) == (sorted(set(numbers), reverse=True), sorted(dates, reverse=True))


# --------------------------------------------------------------------------- chapters


FOLDER = PACKAGES["ettr_book"] / "chapters"
CHAPTERS = sorted({path.stem for path in FOLDER.iterdir()} - {"common", "__init__", "__pycache__"})


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_code_of_a_chapter_asks_the_question_of_its_page(name):
    (page,) = (page for page in PAGES if Path(page).name == name)
    docstring = importlib.import_module(f"ettr_book.chapters.{name}").__doc__
    assert docstring.partition("\n")[0] == title(page)


def test_a_notebook_has_its_code():
    assert {Path(name).name for name in PAGES if (ROOT / f"{name}.ipynb").is_file()} <= set(CHAPTERS)


def test_no_notebook_lies_beside_the_table_of_contents():
    there = {path.relative_to(ROOT).with_suffix("").as_posix() for path in (ROOT / "book").rglob("*.ipynb")}
    assert {name for name in there if ".ipynb_checkpoints" not in name} <= set(PAGES)


def test_the_readme_has_every_chapter_of_the_table_of_contents_in_its_order():
    rows = re.findall(
        r"^\| ([^|]*?) ?\| \[\w+\]\(([^)]+)\) \| ([^|]+) \|$", block("README.md", "chapters")[2], re.MULTILINE
    )
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    expected = [
        ("" if at else part["caption"], chapter["file"], title(chapter["file"]))
        for part in toc["parts"]
        for at, chapter in enumerate(part["chapters"])
        if not chapter["file"].startswith("book/reference/api/")  # which the page api leads to
    ]
    assert [(part.strip(), link.rpartition(".")[0], question) for part, link, question in rows] == expected


def test_the_first_page_leads_to_all_chapters():
    cells = json.loads((ROOT / "book/index.ipynb").read_text(encoding="utf-8"))["cells"]
    (contents,) = ("".join(cell["source"]) for cell in cells if cell["id"] == "answers")
    assert pages.ANSWERS in contents  # which the build fills from _toc.yml


# --------------------------------------------------------------------------- pages on the package


def resolved(name: str) -> Any:
    """What a dotted name stands for."""
    path, *parts = name.split(".")
    found: Any = importlib.import_module(path)
    for part in parts:
        path += f".{part}"
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(path)
    return found


def documented(page: str) -> list[tuple[str, str]]:
    """Names, and the options that stand below them."""
    return re.findall(r"\.\. auto\w+:: (ettr[\w.]*)\n((?:   :.*\n)*)", f"{API[page]}\n")


@pytest.mark.parametrize("page", API)
def test_names_that_a_page_documents_are_there(page):
    for name, options in documented(page):
        found = resolved(name)
        fields = {*dir(found), *getattr(found, "__dataclass_fields__", ()), *getattr(found, "model_fields", ())}
        listed = re.search(r":members: (\S.*)", options)
        assert not listed or set(listed[1].split(", ")) <= fields, name


def test_nothing_is_documented_twice():
    names = [name for page in API for name, _ in documented(page)]
    assert len(names) > 200 and len(names) == len(set(names))


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_names_files_and_targets_that_there_are(guide):
    text = GUIDES[guide]
    for path in re.findall(r"`([\w.-]+/[\w./-]*)`", text):
        assert any((folder / path).exists() for folder in (ROOT, ROOT / "src", *PACKAGES.values())), path
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("package", PACKAGES)
def test_every_subpackage_is_in_a_layer_and_says_what_it_holds(package):
    subpackages = {path.parent.name for path in PACKAGES[package].glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGES[package].glob("[!_]*.py")}
    assert sorted(name for layer, _ in layers(package) for name in layer) == sorted(subpackages | modules)
    for sentence in re.findall(
        r"^\| \d* ?\| `\w+` \| (.*) \|$", block("ARCHITECTURE.md", "structure")[2], re.MULTILINE
    ):
        assert sentence.endswith(".") and len(sentence) < 130, sentence


# --------------------------------------------------------------------------- names

MODULES = sorted((ROOT / "src").rglob("*.py"))


def test_a_class_name_stands_for_one_thing():
    classes: dict[str, list[str]] = {}
    for path in MODULES:
        for name in re.findall(r"(?m)^ *class ([A-Z]\w*)", path.read_text(encoding="utf-8")):
            classes.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in classes.items() if len(paths) > 1} == {}


def test_a_module_name_is_unique_within_its_subpackage():
    modules: dict[tuple[str, ...], list[str]] = {}
    for path in MODULES:
        package, *folders, name = path.relative_to(ROOT / "src").parts
        depth = 2 if "chapters" in folders else 1  # each chapter has its own charts, tables and words
        if not name.startswith("__"):
            modules.setdefault((package, *folders[:depth], name), []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}
