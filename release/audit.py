"""List every locked package with its date, licence and asker, and say what is wrong. Run by ``make audit``.

Dates and what asks for a package are read from ``uv.lock``, licences from what is installed. Two questions go to the
network: whether a version was withdrawn (to PyPI) and whether a weakness of it is known (to the service of
``uv audit``). Where there is no answer, that is said, and it counts as no fault.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import date
from importlib.metadata import PackageMetadata, PackageNotFoundError, distribution
from pathlib import Path

from license_expression import ExpressionError, LicenseExpression, Licensing

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "_build" / "audit.csv"
REVIEWED = ROOT / "release" / "licences.csv"
UV = str(Path(sys.executable).with_name("uv"))
LICENSING = Licensing()
PERMISSIVE = {
    *("0BSD", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "Zlib"),
    *("Apache-2.0", "Apache-2.0 WITH LLVM-exception"),
}
"""Licences under which a package may be used and passed on whatever the licence of the whole."""
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "Artistic License": "Artistic",
    "BSD License": "BSD",
    "GNU General Public License (GPL)": "GPL",
    "GNU General Public License v2 or later (GPLv2+)": "GPL-2.0-or-later",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Public Domain": "Public-Domain",
    "Python Software Foundation License": "PSF-2.0",
}
FREE_TEXT = {"Apache 2.0": "Apache-2.0", "UNKNOWN": ""}


@dataclass(frozen=True)
class Package:
    """A locked version."""

    name: str
    version: str
    released: date
    asked_for_by: str
    """The first of the package itself, its extras and the groups of development that needs it."""
    installed: bool
    """Whether it is installed here: some are for other systems or other versions of Python."""
    licence: str
    """What its metadata says; empty where that is nothing, or where it is not installed."""
    verdict: str
    """``permissive``; ``reviewed``, with the reason; or what is wrong, as :attr:`is_fault` finds."""

    @property
    def is_fault(self) -> bool:
        return self.installed and not self.verdict.startswith(("permissive", "reviewed"))


def stated_licence(metadata: PackageMetadata) -> str:
    """Return a licence from metadata, by SPDX's names where it is one of theirs; empty if there is none."""
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [text.split(" :: ") for text in metadata.get_all("Classifier") or ()]
    names = [words[-1] for words in classifiers if words[0] == "License" and words[1:] != ["OSI Approved"]]
    if names:
        return " AND ".join(CLASSIFIERS.get(name) or re.sub(r"[^\w.+]+", "-", name).strip("-") for name in names)
    first_line = (metadata.get("License") or "").strip().partition("\n")[0]
    return FREE_TEXT.get(first_line, first_line)


def is_permissive(licence: str) -> bool:
    """Whether all that a licence asks to be kept is permissive; of alternatives one is enough."""

    def holds(part: LicenseExpression) -> bool:
        if isinstance(part, LICENSING.AND):
            return all(map(holds, part.args))
        if isinstance(part, LICENSING.OR):
            return any(map(holds, part.args))
        return part.render() in PERMISSIVE

    try:
        parsed = LICENSING.parse(licence)
    except ExpressionError:
        return False
    return parsed is not None and holds(parsed)


def reviewed(path: Path = REVIEWED) -> dict[tuple[str, str], str]:
    """Return the reason for each package and licence that a person looked at."""
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["package"], row["licence"]): row["reason"] for row in csv.DictReader(file)}


def judge(name: str, licence: str, reasons: Mapping[tuple[str, str], str]) -> str:
    if is_permissive(licence):
        return "permissive"
    if reason := reasons.get((name, licence)):
        return f"reviewed: {reason}"
    return "not permissive, and not in release/licences.csv" if licence else "no licence in its metadata"


def asked_for_by(lock: Mapping[str, list], order: Sequence[str], project: str = "ettr") -> dict[str, str]:
    """Return what first needs each package: the project itself, then its extras in the order given, then the groups."""
    needs: dict[str, list[str]] = {}
    for package in lock["package"]:
        extras = package.get("optional-dependencies", {}).values()
        entries = [*package.get("dependencies", ()), *(entry for extra in extras for entry in extra)]
        needs.setdefault(package["name"], []).extend(entry["name"] for entry in entries)
    (own,) = [package for package in lock["package"] if package["name"] == project]
    asking = {project: own.get("dependencies", [])} | {extra: own["optional-dependencies"][extra] for extra in order}
    found = {project: project}
    for asker, entries in (asking | own.get("dev-dependencies", {})).items():
        waiting = [entry["name"] for entry in entries]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = asker
                waiting += needs[name]
    return found


def packages() -> Iterator[Package]:
    """Yield the locked packages."""
    lock, project = (tomllib.loads((ROOT / name).read_text(encoding="utf-8")) for name in ("uv.lock", "pyproject.toml"))
    asking, reasons = asked_for_by(lock, list(project["project"]["optional-dependencies"])), reviewed()
    for package in lock["package"]:
        if "registry" not in package["source"]:
            continue
        name, version = package["name"], package["version"]
        files = [*package.get("wheels", ()), *([package["sdist"]] if "sdist" in package else ())]
        released = min(date.fromisoformat(file["upload-time"][:10]) for file in files)
        try:
            here = distribution(name)
        except PackageNotFoundError:
            here = None
        installed = here is not None and here.version == version
        licence = stated_licence(here.metadata) if installed else ""
        verdict = judge(name, licence, reasons) if installed else "not installed here"
        yield Package(name, version, released, asking[name], installed, licence, verdict)


def withdrawn(*options: str, requirements: Path = ROOT / "requirements.txt") -> tuple[list[str], str]:
    """Return the locked versions that were withdrawn ("yanked") from PyPI, as it says, and why that is not known."""
    asked = [UV, "pip", "compile", "--universal", "--no-deps", "--no-annotate", *options, requirements]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return [], "whether a version was withdrawn is not known: PyPI could not be asked"
    return re.findall(r"^warning: (.* is yanked.*)$", done.stderr, re.MULTILINE), ""


def weaknesses(*options: str, project: Path = ROOT) -> tuple[list[str], str]:
    """Return what ``uv audit`` found, and why that is not known."""
    asked = [UV, "audit", "--frozen", "--preview-features", "audit-command", *options]
    done = subprocess.run(asked, cwd=project, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return [], "whether weaknesses are known is not known: the service of `uv audit` could not be asked"
    return (done.stdout.strip().splitlines() if done.returncode else []), ""


def table(rows: list[Package]) -> str:
    """Return the packages as text, the oldest first."""
    heads = ("package", "version", "released", "asked for by", "licence")
    cells = [heads] + [
        (row.name, row.version, str(row.released), row.asked_for_by, row.licence or f"({row.verdict})")
        for row in sorted(rows, key=lambda row: row.released)
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads) - 1)]
    return "\n".join("  ".join([*map(str.ljust, line, widths), line[-1]]) for line in cells)


def main() -> int:
    rows = list(packages())
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[field.name for field in fields(Package)], *map(astuple, rows)])
    print(table(rows))
    print("== licences that are not permissive, or not stated")
    for row in rows:
        if row.installed and row.verdict != "permissive":
            print(f"{row.name} ({row.asked_for_by}): {row.licence or 'none stated'}; {row.verdict}")
    faults = sum(row.is_fault for row in rows)
    for title, (found, unknown) in {"withdrawn": withdrawn(), "known weaknesses": weaknesses()}.items():
        print(f"== {title}", *(found or [unknown or "none"]), sep="\n")
        faults += len(found)
    oldest = min(rows, key=lambda row: row.released)
    years = (date.today() - oldest.released).days / 365.25
    print(f"== {len(rows)} packages, the oldest {oldest.name} of {years:.0f} years ago; {os.path.relpath(TABLE)}")
    print(f"{faults} fault{'s' * (faults > 1)}" if faults else "no fault")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
