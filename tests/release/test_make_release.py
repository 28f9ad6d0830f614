"""A release: what keeps one back, that it is built alike everywhere, and that it is tried where nothing else is."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path

import pytest

import ettr
import make_release
from audit import ROOT
from make_release import NotReady, build_alike, check_metadata, faults, left_to_do, run, try_installed

MADE = datetime(2026, 11, 26, tzinfo=UTC)
PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "ettr"
version = "1.2.3"
readme = "README.md"
requires-python = ">=3.11"
scripts = { ettr = "ettr:main" }
optional-dependencies = { simulate = [] }
[tool.hatch.build.targets.wheel]
packages = ["ettr"]
[tool.hatch.build.targets.wheel.force-include]
"data.csv" = "ettr/data.csv"
[tool.hatch.build.targets.sdist]
include = ["ettr", "README.md", "data.csv"]
"""
CODE = """
import os, sys
from pathlib import Path

def main():
    assert os.environ["HTTPS_PROXY"] == "http://127.0.0.1:9"
    print(Path(__file__).with_name("data.csv").read_text())
    sys.exit(f"no {sys.argv[2]} here" if len(sys.argv) > 2 else 0)
"""


@pytest.fixture
def project(tmp_path) -> Path:
    """A package of the same name, small enough to be built in a moment."""
    files = {"pyproject.toml": PROJECT, "README.md": "# Small\n", "data.csv": "a,b\n1,2\n", "ettr/__init__.py": CODE}
    for name, text in files.items():
        (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / name).write_text(text)
    return tmp_path / "project"


@pytest.fixture
def work(tmp_path) -> Path:
    (tmp_path / "work" / "empty").mkdir(parents=True)
    return tmp_path / "work"


@pytest.fixture
def repository(tmp_path) -> Path:
    """One that fits a release of 1.2.3."""
    if not shutil.which("git"):
        pytest.skip("there is no git, from which a release is made")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.3 (2026-11-26)\n\n## 1.2.2 (2026-11-25)\n")
    (tmp_path / "CITATION.cff").write_text("date-released: 2026-11-26\nversion: 1.2.3\n")
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.org")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "files: begin"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    return tmp_path


def test_a_tree_that_fits_has_no_faults(repository):
    assert faults(repository, "1.2.3") == []


def test_what_does_not_fit_is_named(repository):
    (repository / "CITATION.cff").write_text("date-released: 2026-11-20\nversion: 1.2.2\n")
    subprocess.run(["git", "tag", "v1.3.0"], cwd=repository, check=True)
    assert faults(repository, "1.3.0") == [
        "not committed: CITATION.cff",
        "v1.3.0 is tagged already: raise __version__ in src/ettr/__init__.py",
        "CHANGELOG.md begins with 1.2.3, and the package is 1.3.0",
        "CITATION.cff is of 2026-11-20, and CHANGELOG.md of 2026-11-26",
        "CITATION.cff is of version 1.2.2, and the package is 1.3.0",
    ]


def test_a_package_is_built_alike_and_works_where_nothing_else_is(project, work, capsys):
    wheel, sdist = build_alike(project, work, MADE)
    assert (wheel.name, sdist.name) == ("ettr-1.2.3-py3-none-any.whl", "ettr-1.2.3.tar.gz")
    try_installed(wheel, work, {"": ("ettr plan",), "simulate": ("ettr simulate",)})
    assert re.findall(r"^   (.*): \d+ s$", capsys.readouterr().out, re.MULTILINE) == ["ettr plan", "ettr simulate"]
    (work / "again" / "empty").mkdir(parents=True)
    with pytest.raises(NotReady, match=r"ettr plan llama3-405b\n(.*\n)*no llama3-405b here"):
        try_installed(wheel, work / "again", {"": ("ettr plan llama3-405b",)})


def test_a_file_that_the_sdist_lacks_is_named(project, work):
    text = (project / "pyproject.toml").read_text().replace('"ettr", "README.md"', '"ettr/__init__.py", "README.md"')
    (project / "pyproject.toml").write_text(text)
    (project / "ettr" / "more.py").write_text("")
    with pytest.raises(NotReady, match=r"whl is not the same when built from the sdist: .*ettr/more\.py"):
        build_alike(project, work, MADE)


def test_a_build_that_depends_on_its_place_is_refused(project, work):
    (project / "hatch_build.py").write_text(
        textwrap.dedent("""
            from pathlib import Path
            from hatchling.builders.hooks.plugin.interface import BuildHookInterface

            class Hook(BuildHookInterface):
                def initialize(self, version, build_data):
                    Path(self.root, "data.csv").write_text(self.root)
        """)
    )
    text = (project / "pyproject.toml").read_text() + "[tool.hatch.build.hooks.custom]\n"
    (project / "pyproject.toml").write_text(text)
    with pytest.raises(NotReady, match=r"is not the same when built again: .*data\.csv"):
        build_alike(project, work, MADE)


def test_metadata_is_held_against_the_rules(project, work):
    wheel, _ = build_alike(project, work, MADE)
    check_metadata(wheel, "1.2.3")
    text = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(text.replace('readme = "README.md"', ""))
    described_in_nothing, _ = build_alike(project, work / "other", MADE)
    with pytest.raises(NotReady, match="described in None"):
        check_metadata(described_in_nothing, "1.2.3")


@pytest.mark.slow
def test_this_package_is_built_alike(work):
    run("git", "archive", "--format=tar", f"--output={work / 'source.tar'}", "HEAD")
    (work / "source").mkdir()
    run("tar", "-xf", work / "source.tar", cwd=work / "source")
    wheel, _ = build_alike(work / "source", work, MADE)
    check_metadata(wheel, ettr.__version__)


def test_what_is_left_to_do_names_this_version_and_its_changes():
    written = left_to_do(ettr.__version__)
    (extract,) = re.findall(r"^ +(sed .*?)    #", written, re.MULTILINE)
    changes = subprocess.run(["sh", "-c", extract], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert changes.startswith(f"## {ettr.__version__} (") and changes.count("\n## ") == 0 and len(changes) > 100
    assert written.count(ettr.__version__) >= 5


def test_a_tree_that_does_not_fit_is_not_released(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["make_release.py"])
    monkeypatch.setattr(make_release, "faults", lambda root, version: ["not committed: a.py"])
    assert make_release.main() == 1
    assert capsys.readouterr().err == f"no release of {ettr.__version__}:\nnot committed: a.py\n"
