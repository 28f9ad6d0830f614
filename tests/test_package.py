"""The package as it is installed: light to import, whole as a wheel, at work from an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import ettr
from ettr import evidence

REPOSITORY = Path(__file__).parents[1]


def python(*arguments: str, cwd: Path, path: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": path} if path else {**os.environ}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_no_heavy_library(tmp_path):
    code = "import sys, ettr; print(sorted(m for m in sys.modules if m.split('.')[0] not in sys.stdlib_module_names))"
    loaded = python("-c", code, cwd=tmp_path)
    assert "'ettr'" in loaded
    for heavy in ("numpy", "pandas", "scipy", "altair", "pydantic", "yaml", "frictionless", "typer"):
        assert f"'{heavy}" not in loaded


def test_every_public_name_is_there_and_no_other():
    for name in ettr.__all__:
        assert getattr(ettr, name) is not None
    assert dir(ettr) == sorted(ettr.__all__)
    assert ettr.Scenario is ettr.scenario.Scenario and ettr.TimeBudget.__module__ == "ettr.core.results"
    with pytest.raises(AttributeError, match="budgets"):
        ettr.budgets  # noqa: B018


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    python("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=REPOSITORY)
    (found,) = folder.glob("*.whl")
    return found


def test_the_version_of_the_wheel_is_that_of_the_package(wheel):
    assert wheel.name.startswith(f"ettr-{ettr.__version__}-")
    with zipfile.ZipFile(wheel) as archive:
        described = archive.read(f"ettr-{ettr.__version__}.dist-info/METADATA").decode("utf-8")
    assert f"\nVersion: {ettr.__version__}\n" in described


def sources_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not any(p.startswith(".") for p in path.parts)]


def test_the_wheel_carries_all_code_all_data_and_the_book(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    data = {f"ettr/data/{path.relative_to(evidence.DATA)}" for path in evidence.DATA.rglob("*") if path.is_file()}
    source = REPOSITORY / "src"
    code = {str(path.relative_to(source)) for path in (source / "ettr").rglob("*.py")}
    pages = {f"ettr/book/book/{path.relative_to(REPOSITORY / 'book')}" for path in sources_of(REPOSITORY / "book")}
    assert len(data) > 15 and len(code) > 30 and len(pages) > 40
    assert not (data | code | pages | {"ettr/py.typed", "ettr/book/_toc.yml", "ettr/book/_config.yml"}) - names
    assert not [name for name in names if name.startswith(("tests", "book", "benchmarks")) or "__pycache__" in name]


def test_the_wheel_works_from_an_empty_folder(wheel, tmp_path):
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(wheel) as archive:  # a wheel of plain Python is installed by unpacking it
        archive.extractall(installed)
    code = """
import ettr
from ettr import evidence
run = ettr.Scenario.load("rsc-1")
print(ettr.__file__)
print(evidence.DATA)
print(ettr.notebook.chapter("scale"))
print(len(evidence.table("claims")), run.n_nodes, round(ettr.plan.make(run).budget.ettr, 3))
"""
    package, data, chapter, answers = python("-c", code, cwd=empty, path=str(installed)).splitlines()
    assert package == str(installed / "ettr" / "__init__.py")
    assert data == str(installed / "ettr" / "data")
    assert chapter == str(installed / "ettr" / "book" / "book" / "ettr" / "scale.ipynb")
    here = ettr.Scenario.load("rsc-1")
    expected = [len(evidence.table("claims")), here.n_nodes, round(ettr.plan.make(here).budget.ettr, 3)]
    assert answers.split() == [str(value) for value in expected]
    entry = next(installed.glob("*.dist-info")) / "entry_points.txt"
    assert "ettr = ettr.cli:main" in entry.read_text(encoding="utf-8")
    listed = python("-c", "from ettr.cli import main; main(['scenarios'])", cwd=empty, path=str(installed))
    assert "llama3-405b" in listed
    assert not list(empty.iterdir())
