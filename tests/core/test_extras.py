"""Imported packages are declared for the subpackage that needs them, and declared packages are imported."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ettr
from ettr.core.extras import EXTRAS, MissingExtra, needed
from lean import PROJECT, REPOSITORY, declared, normalised

SOURCES = Path(ettr.__file__).parents[1]
NEEDED_AS_A_WHOLE = {
    **dict.fromkeys(("ettr/notebook", "ettr/plots", "ettr/sweep", "ettr_book/chapters"), "sweep"),
    "ettr_book/publish": "book",
}
"""Subpackages that are of no use without an extra; in all others each import names its own."""
FROM_ELSEWHERE = {"torch"}
"""What a load is run with that `--load` names: whoever has a GPU has one of them, for that GPU."""
BY_NAME = {
    "jupyter-book": ("ettr_book/publish/site.py", "jupyter_book.cli"),
    "nvidia-ml-py": ("ettr/telemetry/recording.py", '"pynvml"'),
    "sphinx-book-theme": ("../_config.yml", "sphinx_book_theme"),
    "sphinx-mathjax-offline": ("ettr_book/publish/assets.py", '"sphinx-mathjax-offline"'),
}
"""What is used without an import: run, or read as files."""


def extra_of(block: ast.With) -> str | None:
    call = block.items[0].context_expr
    is_needed = isinstance(call, ast.Call) and ast.unparse(call.func) in ("extras.needed", "needed")
    return call.args[0].value if is_needed else None


def imports(tree: ast.AST, extra: str = "") -> Iterator[tuple[str, str]]:
    """The modules of others that are imported, and the extra in whose block."""
    for node in ast.iter_child_nodes(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        inside = (extra_of(node) if isinstance(node, ast.With) else None) or extra
        for name in names:
            if (top := name.partition(".")[0]) not in {*sys.stdlib_module_names, "ettr", "ettr_book"}:
                yield top, extra
        yield from imports(node, inside)


def third_party_imports() -> Iterator[tuple[str, str, str]]:
    """File, distribution and extra of each import of a package of others."""
    of_module = importlib.metadata.packages_distributions()
    for path in sorted(SOURCES.rglob("*.py")):
        place = path.relative_to(SOURCES)
        whole = NEEDED_AS_A_WHOLE.get("/".join(place.parts[:2]), "")
        for module, extra in imports(ast.parse(path.read_text(encoding="utf-8"))):
            if module not in FROM_ELSEWHERE:
                yield place.as_posix(), normalised(min(of_module[module])), extra or whole


@pytest.fixture(scope="module")
def all_imports():
    return list(third_party_imports())


def test_each_import_is_declared_for_its_subpackage(all_imports):
    assert len(all_imports) > 300
    wrong = [f"{place}: {name} is not in {extra or 'dependencies'}" for place, name, extra in all_imports
             if name not in declared(extra) | declared("")]  # fmt: skip
    assert not wrong


def test_what_is_declared_is_imported(all_imports):
    imported = {name for _, name, _ in all_imports}
    for extra in ("", "simulate", "sweep", "book", "record"):
        unused = declared(extra) - imported - set(BY_NAME)
        assert not unused, extra or "dependencies"


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_declared_for_another_use_is_used(name, all_imports):
    place, text = BY_NAME[name]
    assert text in (SOURCES / place).read_text(encoding="utf-8")
    assert name not in {imported for _, imported, _ in all_imports}


def test_the_extras_that_code_names_are_those_of_the_project(all_imports):
    assert set(EXTRAS) <= set(PROJECT["optional-dependencies"])
    assert {extra for _, _, extra in all_imports if extra} | {"record"} == set(EXTRAS)


@pytest.mark.parametrize("subpackage", ["ettr/plots", "ettr/sweep", "ettr_book/chapters", "ettr_book/publish"])
def test_a_subpackage_of_an_extra_asks_for_it_first(subpackage):  # ettr/notebook asks where it reads one
    module = ast.parse((SOURCES / subpackage / "__init__.py").read_text(encoding="utf-8"))
    assert NEEDED_AS_A_WHOLE[subpackage] in [extra_of(node) for node in module.body if isinstance(node, ast.With)]


def test_the_readme_lists_the_extras():
    rows = re.findall(r"^\| `(\w+)` \|", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [extra for extra in EXTRAS if extra != "dev"]


def test_the_extra_of_the_outer_block_is_named():
    with pytest.raises(MissingExtra) as caught, needed("book", "or read it"), needed("sweep"):
        import no_such_package  # noqa: F401
    assert str(caught.value) == (
        "building the book needs no_such_package, which is not installed: pip install 'ettr[book]', or read it"
    )
    assert caught.value.name == "no_such_package"
