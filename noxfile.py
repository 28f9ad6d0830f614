"""Environments apart from .venv: the quick tests on every Python (`make matrix`), and a release (`make release`)."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025"
nox.options.default_venv_backend = "uv"
nox.options.sessions = ["tests"]
# the interpreters of pyenv, because its shims start only the selected version
PYENV = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin"), reverse=True)
os.environ["PATH"] = os.pathsep.join([*map(str, PYENV), os.environ["PATH"]])

PROJECT = nox.project.load_toml("pyproject.toml")
DIST = Path("dist")
NO_NETWORK = {f"{scheme}_PROXY": "http://127.0.0.1:9" for scheme in ("HTTP", "HTTPS", "ALL")}
SAMPLE_LOG = "[Thu May  2 10:00:00 2024] NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.\n"
TRIED = {
    "": ("ettr --version", "ettr plan llama3-405b", "ettr fit kernel.log --nodes 8 --window 2024-05-01/2024-06-01"),
    "simulate": ("ettr simulate rsc-1 --runs 50", "ettr compare rsc-1 --runs 20"),
    "sweep": ("ettr sweep --call budget --scenario rsc-1 --grid fields.yml --out budgets",),
    "book": ("ettr sweep failure_rates --grid runs.yml --out runs --workers 1", "ettr book --out site --quiet"),
}
"""Commands that a release runs after each extra is installed."""


@nox.session(python=nox.project.python_versions(PROJECT), download_python="never")
@nox.parametrize("versions", ["newest", "oldest"], ids=["newest", "oldest"])
def tests(session: nox.Session, versions: str) -> None:
    """Run the quick tests and a plan in the newest or the oldest versions that the dependencies of the package allow.

    The extras and the tools are the newest that go with them. Options and paths for pytest follow ``--``.
    """
    bounds = Path(session.virtualenv.location, "bounds.txt")
    bounds.write_text("\n".join(oldest(session) if versions == "oldest" else []), encoding="utf-8")
    everything = ("--requirement", "pyproject.toml", "--all-extras", "--group", "build")
    session.install("--no-build", *everything, "--constraint", str(bounds))
    session.install("--no-deps", "--no-build-isolation", "--editable", ".")
    session.run("python", "tests/compiled.py")
    session.run("ettr", "plan", "llama3-405b", silent=True)
    options = session.posargs or ["-n", "auto", "--no-loadscope-reorder"]
    session.run("pytest", "-q", "-p", "no:cacheprovider", *options)


def oldest(session: nox.Session) -> list[str]:
    """Install the oldest wheels of the dependencies of the package, and return them as requirements."""
    required = PROJECT["project"]["dependencies"]
    session.install("--no-build", "--prerelease", "disallow", "--resolution", "lowest-direct", *required)
    names = {re.split("[<>=]", requirement)[0].replace("_", "-") for requirement in required}
    frozen = str(session.run("uv", "pip", "freeze", external=True, silent=True)).split()
    return [pinned for pinned in frozen if pinned.split("==")[0] in names]


@nox.session
def release(session: nox.Session) -> None:
    """Build sdist and wheel into dist/, try the wheel without network, and list components and checksums.

    ``-- --any-tree`` builds a tree with changes, or of a version that has its tag.
    """
    changed = session.run("git", "status", "--porcelain", external=True, silent=True)
    if changed and "--any-tree" not in session.posargs:
        session.error(f"not committed:\n{changed}")
    shutil.rmtree(DIST, ignore_errors=True)
    session.run("uv", "build", "--quiet", "--out-dir", str(DIST), external=True)  # the wheel is built from the sdist
    wheel, sdist = next(DIST.glob("*.whl")), next(DIST.glob("*.tar.gz"))
    version = wheel.name.split("-")[1]
    tagged = session.run("git", "tag", "--list", f"v{version}", external=True, silent=True)
    if tagged and "--any-tree" not in session.posargs:
        session.error(f"v{version} has its tag: raise __version__ in src/ettr/__init__.py")
    try_installed(session, wheel.resolve())
    components = DIST / f"ettr-{version}.cdx.json"
    options = ("--output-reproducible", "--output-file", str(components))
    list_components = ("--from", "cyclonedx-bom==7.5.0", "cyclonedx-py", "environment", *options)
    session.run("uv", "tool", "run", "--no-build", *list_components, str(Path(session.bin, "python")), external=True)
    sums = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (wheel, sdist, components))
    (DIST / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def try_installed(session: nox.Session, wheel: Path) -> None:
    """Install a wheel with one extra after another, in the newest allowed versions, and run it without network."""
    folder = Path(session.create_tmp(), "empty")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "kernel.log").write_text(SAMPLE_LOG, encoding="utf-8")
    (folder / "fields.yml").write_text("checkpoint.interval_min: [30, 60, 120]\n", encoding="utf-8")
    (folder / "runs.yml").write_text("scenario: [rsc-1]\n", encoding="utf-8")
    for extra, commands in TRIED.items():
        session.install("--no-build", f"ettr[{extra}] @ {wheel.as_uri()}")
        with session.chdir(folder):
            for command in commands:
                session.run(*command.split(), env=NO_NETWORK)
