"""Facts stated in two places agree: pages and code, version and changelog, chapters and their code."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

import ettr
import mutants
from ettr.scenario import basics
from ettr_book.publish import chapters, pages
from generated import BLOCKS, DEPOSIT, PACKAGES, block, deposit, layers, title

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
GUIDES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "README.md")
}
PAGES = chapters.docnames(ROOT)
REFERENCE = ROOT / "book" / "reference"
API = {path.name: path.read_text(encoding="utf-8") for path in (REFERENCE / "api.md", *REFERENCE.glob("api/*.md"))}


@pytest.mark.parametrize(("file", "name"), BLOCKS)
def test_a_generated_block_is_up_to_date(file, name):
    assert block(file, name)[2] == BLOCKS[file, name](), "run `make readme`"


def test_the_code_of_every_listed_mutant_and_its_tests_exist():
    listed = mutants.listed()
    assert [why for mutant in listed if (why := mutants.missing(mutant))] == []
    assert [name for mutant in listed for name in mutant.tests.split() if not (ROOT / "tests" / name).exists()] == []


# --------------------------------------------------------------------------- version and changes


def test_the_version_is_defined_once_and_heads_the_changelog():
    newest = re.findall(r"^## (\S+) \((\S+)\)$", CHANGES, re.MULTILINE)[0]
    assert newest == (ettr.__version__, str(CITATION["date-released"]))
    assert CITATION["version"] == ettr.__version__ and "version" not in PROJECT["project"]
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/ettr/__init__.py"


def test_the_citation_agrees_with_the_project():
    project = PROJECT["project"]
    assert CITATION["cff-version"] == "1.2.0" and {"title", "message", "abstract", "authors"} <= set(CITATION)
    assert (CITATION["license"], CITATION["keywords"]) == (project["license"], project["keywords"])
    assert CITATION["authors"] == project["authors"]
    assert re.search(rf"\b{project['name']}\b", CITATION["abstract"]) and CITATION["type"] == "software"


@pytest.mark.parametrize("reference", CITATION["references"], ids=lambda reference: reference["title"])
def test_references_of_the_citation_are_in_the_bibliography(reference):
    entries = re.split(r"(?m)^(?=@)", (ROOT / "data" / "references.bib").read_text(encoding="utf-8"))
    place = reference.get("doi") or reference["url"]
    author = reference["authors"][0]["family-names"]
    (entry,) = (entry for entry in entries if f"{{{place}}}" in entry and author in entry)
    assert reference["title"] in entry.replace("{Llama}", "Llama") and f"year = {{{reference['year']}}}" in entry


def test_the_zenodo_deposit_is_made_from_the_citation():
    assert DEPOSIT.read_text(encoding="utf-8") == deposit(), "run `make readme`"


def test_versions_and_dates_increase():
    versions = re.findall(r"^## (\d+)\.(\d+)\.(\d+) \((\S+)\)$", CHANGES, re.MULTILINE)
    assert versions and len(versions) == CHANGES.count("\n## ")
    numbers = [tuple(map(int, version[:3])) for version in versions]
    dates = [date.fromisoformat(version[3]) for version in versions]
    assert (numbers, dates) == (sorted(set(numbers), reverse=True), sorted(dates, reverse=True))


# --------------------------------------------------------------------------- chapters


FOLDER = PACKAGES["ettr_book"] / "chapters"
CHAPTERS = sorted({path.stem for path in FOLDER.iterdir()} - {"common", "__init__", "__pycache__"})


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_docstring_of_a_chapter_is_the_title_of_its_page(name):
    (page,) = (page for page in PAGES if Path(page).name == name)
    docstring = importlib.import_module(f"ettr_book.chapters.{name}").__doc__
    assert docstring.partition("\n")[0] == title(page)


def test_every_notebook_has_a_chapter_subpackage():
    assert {Path(name).name for name in PAGES if (ROOT / f"{name}.ipynb").is_file()} <= set(CHAPTERS)


def test_every_notebook_is_in_the_table_of_contents():
    notebooks = {path.relative_to(ROOT).with_suffix("").as_posix() for path in (ROOT / "book").rglob("*.ipynb")}
    assert {name for name in notebooks if ".ipynb_checkpoints" not in name} <= set(PAGES)


def test_the_readme_lists_the_chapters_in_order():
    parts = re.findall(r"^- \*\*(.+):\*\* (.*)$", block("README.md", "chapters")[2], re.MULTILINE)
    chapters_of = {caption: re.findall(r"\[([^]]+)\]\(([^)]+)\)", links) for caption, links in parts}
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert {
        caption: [(question, path.rpartition(".")[0]) for question, path in links]
        for caption, links in chapters_of.items()
    } == {
        part["caption"]: [(title(chapter["file"]), chapter["file"]) for chapter in part["chapters"]]
        for part in toc["parts"]
    }


def test_the_first_page_has_the_place_for_the_list_of_chapters():
    cells = json.loads((ROOT / "book/index.ipynb").read_text(encoding="utf-8"))["cells"]
    (contents,) = ("".join(cell["source"]) for cell in cells if cell["id"] == "answers")
    assert pages.ANSWERS in contents  # which the build fills from _toc.yml


# --------------------------------------------------------------------------- pages on the package


def resolved(name: str) -> Any:
    """Return the object of a dotted name."""
    path, *parts = name.split(".")
    value: Any = importlib.import_module(path)
    for part in parts:
        path += f".{part}"
        value = getattr(value, part) if hasattr(value, part) else importlib.import_module(path)
    return value


def documented(page: str) -> list[tuple[str, str]]:
    """Return the names that a page documents, each with the options below it."""
    return re.findall(r"\.\. auto\w+:: (ettr[\w.]*)\n((?:   :.*\n)*)", f"{API[page]}\n")


@pytest.mark.parametrize("page", API)
def test_documented_names_exist(page):
    for name, options in documented(page):
        value = resolved(name)
        fields = {*dir(value), *getattr(value, "__dataclass_fields__", ()), *getattr(value, "model_fields", ())}
        listed = re.search(r":members: (\S.*)", options)
        assert not listed or set(listed[1].split(", ")) <= fields, name


@pytest.mark.parametrize("page", API)
def test_every_documented_function_has_an_example(page):
    values = {name: resolved(name) for name, _ in documented(page)}
    functions = {name: value for name, value in values.items() if inspect.isroutine(value)}
    assert [name for name, function in functions.items() if ">>>" not in (inspect.getdoc(function) or "")] == []


def test_nothing_is_documented_twice():
    names = [name for page in API for name, _ in documented(page)]
    assert len(names) > 200 and len(names) == len(set(names))


@pytest.mark.parametrize("guide", GUIDES)
def test_files_and_targets_that_a_guide_names_exist(guide):
    text = GUIDES[guide]
    for path in re.findall(r"`([\w.-]+/[\w./-]*)`", text):
        assert any((folder / path).exists() for folder in (ROOT, ROOT / "src", *PACKAGES.values())), path
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("package", PACKAGES)
def test_every_subpackage_is_in_a_layer_and_has_one_sentence(package):
    subpackages = {path.parent.name for path in PACKAGES[package].glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGES[package].glob("[!_]*.py")}
    assert sorted(name for layer, _ in layers(package) for name in layer) == sorted(subpackages | modules)
    for sentence in re.findall(
        r"^\| \d* ?\| `\w+` \| (.*) \|$", block("ARCHITECTURE.md", "structure")[2], re.MULTILINE
    ):
        assert sentence.endswith(".") and len(sentence) < 130, sentence


def test_forms_for_issues_and_the_workflow_are_valid():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        ids = [part["id"] for part in form["body"]]
        assert form["name"] and form["description"] and len(ids) == len(set(ids))
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    steps = workflow["jobs"]["test"]["steps"]
    assert [step["run"].split()[0] for step in steps if "run" in step] == [".ci/run"]
    assert all(re.search(r"@v\d+\.\d+\.\d+$", step["uses"]) for step in steps if "uses" in step)


def test_contributing_names_every_file_with_fields():
    section = GUIDES["CONTRIBUTING.md"].partition("## A field of a scenario")[2].partition("\n## ")[0]
    files = {cls.__module__.removeprefix("ettr.").replace(".", "/") + ".py" for cls in sections_of_scenarios()}
    assert len(files) > 8 and files <= set(re.findall(r"`(scenario/\w+\.py)`", section))


def sections_of_scenarios() -> set[type]:
    """Return the classes of the sections of a scenario and of a GPU that have fields."""
    pending, classes = [basics.Section], set()
    while pending:
        pending += pending.pop().__subclasses__()
        classes |= {
            cls for cls in pending if cls.__module__.startswith("ettr.scenario.") and "Hours" not in cls.__name__
        }
    return {cls for cls in classes if vars(cls).get("__annotations__")}


# --------------------------------------------------------------------------- names

MODULES = sorted((ROOT / "src").rglob("*.py"))


def test_a_class_name_is_unique_in_the_package():
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
