"""The package as installed: fast to import, complete as a wheel, usable from an empty folder."""

from __future__ import annotations

import importlib
import inspect
import operator
import os
import pickle
import pkgutil
import re
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


def test_public_names_are_complete():
    for name in ettr.__all__:
        assert getattr(ettr, name) is not None
    assert dir(ettr) == sorted(ettr.__all__)
    assert ettr.Scenario is ettr.scenario.Scenario and ettr.TimeBudget.__module__ == "ettr.core.results"
    with pytest.raises(AttributeError, match="budgets"):
        ettr.budgets  # noqa: B018


SUBPACKAGES = sorted(module.name for module in pkgutil.iter_modules(ettr.__path__) if module.ispkg)


def test_no_public_function_shares_its_name_with_a_subpackage():
    for package in SUBPACKAGES:
        module = importlib.import_module(f"ettr.{package}")
        names = {name for name in getattr(module, "__all__", ()) if inspect.isroutine(getattr(module, name))}
        assert not names & set(SUBPACKAGES), package
    modules = {module.name for module in pkgutil.iter_modules(ettr.__path__)}
    assert not {name for name in ettr.__all__ if inspect.isroutine(getattr(ettr, name))} & modules


@pytest.mark.parametrize("package", sorted({*SUBPACKAGES} - {"cli", "core", "files", "plots", "scaling", "thermal"}))
def test_calling_a_subpackage_names_the_function_to_call(package):
    module = importlib.import_module(f"ettr.{package}")
    with pytest.raises(TypeError, match=f"ettr.{package} is a module") as error:
        module("llama3-405b")
    named = re.findall(r"ettr\.[\w.]+(?=\()", str(error.value))
    assert named and all(callable(operator.attrgetter(name.removeprefix("ettr."))(ettr)) for name in named)
    assert pickle.loads(pickle.dumps(module)) is module  # as when a function that uses it is sent to another process


def test_common_jobs_are_the_functions_of_the_subpackages(tmp_path):
    assert ettr.read_log is ettr.logs.read and ettr.make_plan is ettr.plan.make
    assert ettr.finishing is ettr.budget.finishing
    run = ettr.Scenario.load("llama3-405b").override({"spares": {"n_nodes": 8}, "repair": {"manual_h": 24}})
    assert ettr.recommend(run).ids == ettr.make_plan(run).recommendation.ids
    path = tmp_path / "log.csv"
    path.write_text("start,node\n2024-05-01 00:00,n7\n2024-05-02 11:00,n9\n2024-05-11 00:00,n7\n", encoding="utf-8")
    log = ettr.read_log(path, n_nodes=15)
    assert ettr.fit_log(path, 15).rate == ettr.fit_log(log).rate == ettr.failures.fit(log).rate
    with pytest.raises(ettr.core.errors.InputError, match="n_nodes"):
        ettr.fit_log(log, 15)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    python("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=REPOSITORY)
    (path,) = folder.glob("*.whl")
    return path


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


@pytest.mark.parametrize(("name", "function"), [("fit", "fit_log"), ("compare", "recommend"), ("read", "read_log")])
def test_the_name_of_a_command_leads_to_its_function(name, function):
    assert function in ettr.__all__
    with pytest.raises(AttributeError, match=rf"did you mean ettr\.{function}\?"):
        getattr(ettr, name)
