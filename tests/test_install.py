"""The package as users install it: from its wheel, with and without extras, used from an empty folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import lean

pytestmark = pytest.mark.slow  # environments of their own, from a package index


def installed(folder: Path, extra: str) -> Path:
    """Install the wheel of this repository with an extra in an environment, and return the folder of its commands."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=lean.REPOSITORY)
    (wheel,) = folder.glob("*.whl")
    uv, environment = str(Path(sys.executable).with_name("uv")), folder / "environment"
    run(uv, "venv", "--quiet", "--python", sys.executable, str(environment), cwd=folder)
    commands = environment / ("Scripts" if sys.platform == "win32" else "bin")
    wanted = f"ettr{f'[{extra}]' if extra else ''} @ {wheel.as_uri()}"
    run(uv, "pip", "install", "--quiet", "--python", str(commands / "python"), wanted, cwd=folder)
    return commands


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(folder: Path) -> dict[str, int]:
    """Return the files of an environment with their times of change, except compiled ones."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".pyc", ".nbc", ".nbi"))
    return {str(path): path.stat().st_mtime_ns for path in paths}


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return installed(tmp_path_factory.mktemp("base"), lean.BASE)


@pytest.fixture
def folder(tmp_path) -> Path:
    for name, text in lean.FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_it_has_few_packages(base):
    code = "from importlib.metadata import distributions as d; print(*{dist.name.lower() for dist in d()})"
    names = set(map(lean.normalised, run(str(base / "python"), "-c", code, cwd=base).split()))
    assert names == lean.brought(lean.BASE) | {"ettr"}


DRILL = ("drill", "drilled", "--work", "1", "--workers", "2", "--fault", "crash=1000", "--quiet")


@pytest.mark.parametrize("arguments", [*lean.ANSWERS, DRILL], ids=str)
def test_it_answers(base, folder, arguments):
    assert run(str(base / "ettr"), *arguments, cwd=folder)


@pytest.mark.parametrize(("arguments", "extra"), lean.NEEDS.items(), ids=str)
def test_a_command_without_its_extra_names_it_in_one_sentence(base, folder, arguments, extra):
    done = subprocess.run([base / "ettr", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert lean.sentence(extra).match(done.stderr.removesuffix("\n")), done.stderr


def test_the_book_is_built_from_the_wheel_in_an_empty_folder(tmp_path):
    commands, empty = installed(tmp_path, "book"), tmp_path / "empty"
    empty.mkdir()
    plan = ("plan", "--gpus", "2048", "--mtbf-h", "12", "--productive-h", "500", "--save", "mine.yml")
    run(str(commands / "ettr"), *plan, cwd=empty)
    before = files(commands.parent)
    run(str(commands / "ettr"), "book", "--scenario", "mine.yml", "--quiet", cwd=empty)
    assert files(commands.parent) == before
    assert {path.name for path in empty.iterdir()} == {"mine.yml", "_build", "ettr-book"}
    pages = lean.REPOSITORY / "book"
    sources = [path.relative_to(pages) for path in pages.rglob("*") if path.suffix in (".ipynb", ".md")]
    built = [empty / "ettr-book" / "book" / source.with_suffix(".html") for source in sources]
    assert len(built) > 30 and all(page.is_file() for page in built)
    assert "This copy of the book was computed for" in built[0].read_text(encoding="utf-8")
