"""The book builds without Jupyter Book 1, which is in maintenance: from the same sources, with the newest Sphinx."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import plain_sphinx
from ettr_book import publish
from ettr_book.publish import chapters, site

ROOT = plain_sphinx.REPOSITORY
UV = str(Path(sys.executable).with_name("uv"))
pytestmark = pytest.mark.slow  # an environment from a package index, and all chapters and pages


def run(*command: str, **variables: str) -> None:
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    if "error sending request" in done.stderr:
        pytest.skip("PyPI cannot be reached")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def python(tmp_path) -> str:
    """Python with the newest Sphinx, and with what the package needs."""
    environment = tmp_path / "environment"
    run(UV, "venv", "--quiet", "--python", sys.executable, str(environment))
    python = str(environment / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    project = ("--requirement", str(ROOT / "pyproject.toml"), "--extra", "sweep")
    run(UV, "pip", "install", "--quiet", "--no-build", "--python", python, *plain_sphinx.PACKAGES, *project)
    return python


@pytest.fixture
def book(tmp_path) -> Path:
    """A copy of the book with its executed chapters, which no build runs again, and its ``conf.py``."""
    root, run_already = tmp_path / "book", chapters.EXECUTED / "default"
    assert all(chapter.is_good for chapter in publish.execute(ROOT))
    site.unpacked(root)
    shutil.copy(ROOT / "requirements.txt", root)  # part of the identity of a chapter
    shutil.copytree(ROOT / run_already, root / run_already)
    plain_sphinx.write(root)
    return root


def executed(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (root / chapters.EXECUTED).rglob("*.ipynb")}


def test_all_pages_are_built_by_sphinx_alone_without_a_warning(python, book, tmp_path):
    out, before = tmp_path / "html", executed(book)
    options = ("--fail-on-warning", "--keep-going", "--nitpicky", "--quiet", "--builder", "html")
    run(python, "-m", "sphinx", *options, str(book), str(out), PYTHONPATH=str(ROOT / "src"))
    pages = {name: out / f"{name}.html" for name in ("index", "404", "search", *chapters.docnames(book))}
    assert [name for name, page in pages.items() if not page.is_file()] == []
    with_charts = [name for name, page in pages.items() if 'class="book-chart' in page.read_text(encoding="utf-8")]
    assert len(with_charts) > 10 and executed(book) == before
