"""Build a release into dist/, try it as whoever installs it, and say what is left to do. Run by ``make release``."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import yaml
from packaging.metadata import Metadata

import components
import ettr
from audit import ROOT, UV

DIST = ROOT / "dist"
NOWHERE = {f"{scheme}_PROXY": "http://127.0.0.1:9" for scheme in ("HTTP", "HTTPS", "ALL")}
"""Keeps what is tried away from the network."""
COMMANDS = {
    "": ("ettr --version", "ettr plan llama3-405b", "ettr fit kernel.log --nodes 8 --window 2025-06-01/2025-07-01"),
    "simulate": ("ettr simulate rsc-1 --runs 50", "ettr compare rsc-1 --runs 20"),
    "sweep": ("ettr sweep --call budget --scenario rsc-1 --grid fields.yml --out budgets",),
    "book": ("ettr sweep failure_rates --grid runs.yml --out runs --workers 1", "ettr book --out site --quiet"),
    "book,test": ("python -m pytest -q -o doctest_optionflags=NORMALIZE_WHITESPACE --doctest-modules --pyargs ettr",),
}
"""What is tried in an empty environment, after the package with each extra."""


class NotReady(Exception):
    """Why there can be no release of this."""


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> str:
    """Run a command and return what it prints; one that fails ends the release, with what it said."""
    own = os.environ | variables
    done = subprocess.run(command, cwd=cwd, env=own, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise NotReady(f"{' '.join(map(str, command))}\n{said}")
    return done.stdout


def faults(root: Path, version: str) -> list[str]:
    """Return what of a repository does not fit a release of this version."""
    found = []
    if changed := run("git", "status", "--porcelain", cwd=root):
        found.append(f"not committed: {', '.join(line[3:] for line in changed.splitlines())}")
    if run("git", "tag", "--list", f"v{version}", cwd=root):
        found.append(f"v{version} is tagged already: raise __version__ in src/ettr/__init__.py")
    heading = re.search(r"^## (\S+) \((\S+)\)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    newest, dated = heading.groups() if heading else ("none", "none")
    if newest != version:
        found.append(f"CHANGELOG.md begins with {newest}, and the package is {version}")
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    if str(citation["date-released"]) != dated:
        found.append(f"CITATION.cff is of {citation['date-released']}, and CHANGELOG.md of {dated}")
    if str(citation.get("version", version)) != version:
        found.append(f"CITATION.cff is of version {citation['version']}, and the package is {version}")
    return found


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def built(source: Path, into: Path, made: datetime, *targets: str) -> dict[str, Path]:
    """Build distributions of a folder and return them by name; their times are all ``made``."""
    wanted = [part for target in targets for part in ("-t", target)]
    epoch = str(int(made.timestamp()))
    run(sys.executable, "-m", "hatchling", "build", *wanted, "-d", into, cwd=source, SOURCE_DATE_EPOCH=epoch)
    return {path.name: path for path in into.iterdir()}


def unpacked(sdist: Path, into: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(into, filter="data")
    (folder,) = into.iterdir()
    return folder


def build_alike(source: Path, work: Path, made: datetime) -> tuple[Path, Path]:
    """Build wheel and sdist, again elsewhere, and the wheel from the sdist; return them if they are the same bytes."""
    first = built(source, work / "first", made, "sdist", "wheel")
    copy = work / "another" / "folder"
    shutil.copytree(source, copy)
    again = built(copy, work / "again", made, "sdist", "wheel")
    (sdist,) = [path for name, path in first.items() if name.endswith(".tar.gz")]
    (wheel,) = [path for name, path in first.items() if name.endswith(".whl")]
    from_sdist = built(unpacked(sdist, work / "unpacked"), work / "from_sdist", made, "wheel")
    for title, others in {"built again": again, "built from the sdist": from_sdist}.items():
        for name, path in others.items():
            if digest(path) != digest(first[name]):
                raise NotReady(f"{name} is not the same when {title}: {difference(first[name], path)}")
    return wheel, sdist


def members(path: Path) -> dict[str, str]:
    """Return a digest of each file of a wheel or an sdist."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}
    with tarfile.open(path) as archive:
        files = [member for member in archive if member.isfile()]
        return {member.name: hashlib.sha256(archive.extractfile(member).read()).hexdigest() for member in files}


def difference(one: Path, other: Path) -> str:
    first, second = members(one), members(other)
    names = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    return ", ".join(names[:9]) or "the same files, in another order or of another time"


def check_metadata(wheel: Path, version: str) -> None:
    """Hold the metadata of a wheel against the rules of PyPI."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = Metadata.from_email(archive.read(f"ettr-{version}.dist-info/METADATA"), validate=True)
    if str(metadata.version) != version or metadata.description_content_type != "text/markdown":
        raise NotReady(f"metadata of version {metadata.version}, described in {metadata.description_content_type}")


def prepare(folder: Path) -> None:
    """Write what the commands are given: a log, and grids."""
    folder.mkdir()
    sample = json.loads(run(Path(sys.executable).with_name("ettr"), "formats", "xid", "--json"))["sample"]
    (folder / "kernel.log").write_text(sample + "\n", encoding="utf-8")
    (folder / "fields.yml").write_text("checkpoint.interval_min: [30, 60, 120]\n", encoding="utf-8")
    (folder / "runs.yml").write_text("scenario: [rsc-1]\n", encoding="utf-8")


def try_installed(wheel: Path, work: Path, commands: dict[str, Sequence[str]]) -> None:
    """Install a wheel where nothing is, extra after extra, with the newest versions that it allows, and use it."""
    environment = work / "environment"
    run(UV, "venv", "--quiet", "--no-project", "--python", sys.executable, environment, cwd=work)
    into = ("--python", str(environment / "bin" / "python"))
    for extra, lines in commands.items():
        wanted = f"ettr[{extra}] @ {wheel.as_uri()}"
        run(UV, "pip", "install", "--quiet", "--no-build", *into, wanted, cwd=work)
        run(UV, "pip", "check", *into, cwd=work)
        for line in lines:
            started = time.monotonic()
            command, *arguments = line.split()
            run(environment / "bin" / command, *arguments, cwd=work / "empty", **NOWHERE)
            print(f"   {line}: {time.monotonic() - started:.0f} s", flush=True)


def left_to_do(version: str) -> str:
    """Return what no script does, each with its command."""
    files = f"dist/ettr-{version}-py3-none-any.whl dist/ettr-{version}.tar.gz"
    return f"""
    # first: the day into CHANGELOG.md and CITATION.cff, and where there is an address of the repository, that into
    # [project.urls] and before the relative links of README.md, which PyPI does not follow
    git tag --annotate v{version} --message "ettr {version}" && git push origin v{version}
    .venv/bin/uv publish {files}    # asks for a token of PyPI
    (cd dist && sha256sum --check SHA256SUMS)    # then let Zenodo archive the tag, as .zenodo.json says
    echo "doi: <the DOI of this version>" >> CITATION.cff && git commit --message "cff: name the DOI" CITATION.cff
    sed -n '/^## {version} /,/^## /p' CHANGELOG.md | sed '$d'    # the text to announce it with
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--any-tree", action="store_true", help="go on where the tree does not fit a release, to try this"
    )
    asked = parser.parse_args()
    version = ettr.__version__
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ettr-release-") as folder:
        work = Path(folder)
        try:
            if (wrong := faults(ROOT, version)) and not asked.any_tree:
                raise NotReady("\n".join(wrong))
            release(version, work)
        except NotReady as error:
            print(f"no release of {version}:\n{error}", file=sys.stderr)
            return 1
    print(f"== ettr {version} is in dist/ after {time.monotonic() - started:.0f} s; what is left to do by hand:")
    print(left_to_do(version))
    return 0


def release(version: str, work: Path) -> None:
    """Build, check and try the last commit, and put it into ``dist/``."""
    made = datetime.fromtimestamp(int(run("git", "log", "-1", "--format=%ct")), UTC)
    source = work / "source"
    run("git", "archive", "--format=tar", f"--output={work / 'source.tar'}", "--prefix=source/", "HEAD")
    with tarfile.open(work / "source.tar") as archive:
        archive.extractall(work, filter="data")
    print("== building twice, and from the sdist", flush=True)
    wheel, sdist = build_alike(source, work, made)
    check_metadata(wheel, version)
    print("== trying the wheel where nothing else is", flush=True)
    prepare(work / "empty")
    try_installed(wheel, work, COMMANDS)
    bill = components.components(made)
    if wrong := components.faults(bill):
        raise NotReady(f"the list of components does not fit its schema: {wrong}")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    files = [Path(shutil.copy(path, DIST)) for path in (wheel, sdist)]
    files.append(DIST / f"ettr-{version}.cdx.json")
    files[-1].write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in files)
    (DIST / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(sums, end="")


if __name__ == "__main__":
    sys.exit(main())
