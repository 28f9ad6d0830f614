"""The list of locked packages: licences as metadata has them, what is permissive, and who asks for what."""

from __future__ import annotations

import csv
import http.server
import json
import subprocess
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path

import pytest

import audit

ROWS = list(audit.packages())


@pytest.mark.parametrize(
    ("headers", "licence"),
    [
        ([("License-Expression", "MIT AND PSF-2.0"), ("License", "other")], "MIT AND PSF-2.0"),
        ([("Classifier", "License :: OSI Approved :: BSD License"), ("License", "BSD, and\nmore")], "BSD"),
        ([("Classifier", "License :: OSI Approved"), ("License", "Apache 2.0")], "Apache-2.0"),
        ([("Classifier", "License :: A New One (v1)"), ("Classifier", "Typing :: Typed")], "A-New-One-v1"),
        ([("License", "BSD-3-Clause\nCopyright")], "BSD-3-Clause"),
        ([("License", "UNKNOWN")], ""),
        ([], ""),
    ],
)
def test_a_licence_is_read_from_the_best_that_metadata_has(headers, licence):
    metadata = Message()
    for name, value in headers:
        metadata[name] = value.replace("\n", "\n  ")
    assert audit.stated_licence(metadata) == licence


@pytest.mark.parametrize(
    ("licence", "permissive"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND MPL-2.0", False),
        ("GPL-2.0-or-later OR MIT", True),
        ("MIT AND (GPL-2.0-only OR BSD-3-Clause)", True),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", True),
        ("as you like it", False),
        ("", False),
    ],
)
def test_what_is_permissive(licence, permissive):
    assert audit.is_permissive(licence) is permissive


def test_a_review_holds_for_the_licence_that_was_reviewed():
    reasons = {("a", "MPL-2.0"): "unchanged", ("b", ""): "its LICENSE is MIT's"}
    assert audit.judge("a", "MPL-2.0", reasons) == "reviewed: unchanged"
    assert audit.judge("a", "GPL-3.0-only", reasons) == "not permissive, and not in release/licences.csv"
    assert audit.judge("b", "", reasons) == "reviewed: its LICENSE is MIT's"
    assert audit.judge("c", "", reasons) == "no licence in its metadata"


def test_no_installed_package_has_a_licence_that_nobody_looked_at():
    assert sum(row.installed for row in ROWS) > 100
    assert not [row for row in ROWS if row.is_fault]
    locked = {row.name for row in ROWS}
    assert not [name for name, _ in audit.reviewed() if name not in locked], "reviewed, and no longer locked"


def test_who_asks_is_the_first_that_needs_a_package():
    def needs(*names: str) -> list[dict[str, str]]:
        return [{"name": name} for name in names]

    own = {
        "name": "ettr",
        "dependencies": needs("a"),
        "optional-dependencies": {"book": needs("ettr", "d"), "small": needs("c")},
        "dev-dependencies": {"build": needs("a", "e")},
    }
    others = [{"name": "a", "dependencies": needs("b")}, {"name": "c", "dependencies": needs("a", "d")}]
    lock = {"package": [own, *others, *({"name": name} for name in "bde")]}
    asking = audit.asked_for_by(lock, ("small", "book"))
    assert asking == {"ettr": "ettr", "a": "ettr", "b": "ettr", "c": "small", "d": "small", "e": "build"}


def test_the_table_has_every_package_with_its_date():
    lines = audit.table(ROWS).splitlines()
    assert len(lines) == len(ROWS) + 1
    released = [line.split()[2] for line in lines[1:]]
    assert released == sorted(released)
    (numpy,) = [row for row in ROWS if row.name == "numpy" and row.installed]
    assert numpy.asked_for_by == "ettr" and numpy.released.year > 2024 and "BSD-3-Clause" in numpy.licence


@contextmanager
def service(weak: str, status: int = 200) -> Iterator[str]:
    """A service of known weaknesses, which knows one of one package."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, content: dict) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
            known = {"vulns": [{"id": "TEST-1", "modified": "2026-01-01T00:00:00Z"}]}
            self.answer({"results": [known if query["package"]["name"] == weak else {} for query in asked]})

        def do_GET(self) -> None:
            package = {"package": {"name": weak, "ecosystem": "PyPI"}, "versions": ["1"]}
            self.answer({"id": "TEST-1", "modified": "2026-01-01T00:00:00Z", "affected": [package]})

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def index(tmp_path) -> Path:
    """An index of one package of nothing, as a folder."""
    folder = tmp_path / "simple" / "thing"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "thing-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("thing-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
        wheel.writestr("thing-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("thing-1.dist-info/RECORD", "")
    (folder / "index.html").write_text('<a href="thing-1-py3-none-any.whl">thing-1-py3-none-any.whl</a>')
    return folder.parent


def test_known_weaknesses_are_told_apart_from_no_answer(index, tmp_path):
    needs = 'name = "whole"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["thing"]\n'
    (tmp_path / "pyproject.toml").write_text(f"[project]\n{needs}")
    asked = [audit.UV, "lock", "--quiet", "--no-cache", "--default-index", index.as_uri()]
    subprocess.run(asked, cwd=tmp_path, check=True)
    with service("thing") as url:
        found, unknown = audit.weaknesses("--service-url", url, project=tmp_path)
        assert not unknown and "TEST-1" in "".join(found) and any(line.startswith("thing 1 ") for line in found)
    with service("another") as url:
        assert audit.weaknesses("--service-url", url, project=tmp_path) == ([], "")
    with service("thing", status=404) as url:
        found, unknown = audit.weaknesses("--service-url", url, project=tmp_path)
        assert not found and "could not be asked" in unknown


def test_a_withdrawn_version_is_named(index, tmp_path):
    page = index / "thing" / "index.html"
    (tmp_path / "requirements.txt").write_text("thing==1\n")

    def asked() -> tuple[list[str], str]:
        options = ("--no-cache", "--default-index", index.as_uri())
        return audit.withdrawn(*options, requirements=tmp_path / "requirements.txt")

    assert asked() == ([], "")
    page.write_text(page.read_text().replace('whl">', "whl\" data-yanked='it was wrong'>"))
    assert asked() == (['`thing==1` is yanked (reason: "it was wrong")'], "")
    page.unlink()
    found, unknown = asked()
    assert not found and "could not be asked" in unknown


def test_a_fault_fails_the_audit(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(audit, "TABLE", tmp_path / "made" / "audit.csv")
    monkeypatch.setattr(audit, "packages", lambda: iter(ROWS))
    monkeypatch.setattr(audit, "withdrawn", lambda: (["`rich==1` is yanked"], ""))
    monkeypatch.setattr(audit, "weaknesses", lambda: ([], "not known"))
    assert audit.main() == 1
    out = capsys.readouterr().out
    assert "`rich==1` is yanked" in out and out.endswith("1 fault\n")
    with audit.TABLE.open(encoding="utf-8", newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [row.name for row in ROWS]
    monkeypatch.setattr(audit, "withdrawn", lambda: ([], ""))
    assert audit.main() == 0
