"""Break the package in the ways that ``mutants.csv`` lists, one at a time, and see whether a test notices.

Run by ``make mutants``. Each mutant is one changed line, in a copy of the project, with the tests that should notice.
Those known to live are marked in the list; the exit status is 1 if another one lives, so that tests can be rewritten
without saying less.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
LONGEST_S = 900
"""Tests that run for longer than this count as failed."""


class Mutant(NamedTuple):
    """A row of the list."""

    file: str
    """Below ``src/ettr`` or ``src/ettr_book``."""
    operator: str
    """The kind of change, by its name in Cosmic Ray."""
    line: str
    becomes: str
    tests: str
    """Folders or files below ``tests``, parted by spaces."""
    known: str
    """Column of the CSV: ``killed``, or the reason why it lives."""

    @property
    def path(self) -> Path:
        library = Path("src/ettr", self.file)
        return library if (REPOSITORY / library).is_file() else Path("src/ettr_book", self.file)

    def code(self) -> str:
        """The file with the first such line changed.

        Raises
        ------
        LookupError
            If the file has no such line.
        """
        lines = (REPOSITORY / self.path).read_text(encoding="utf-8").splitlines(keepends=True)
        for row, text in enumerate(lines):
            if text.strip() == self.line:
                lines[row] = text.replace(self.line, self.becomes)
                return "".join(lines)
        raise LookupError(f"{self.path} has no line {self.line!r}")

    def noticed(self, tree: Path) -> str:
        """Return the test that fails in a copy of the project; empty if none does."""
        (tree / self.path).write_text(self.code(), encoding="utf-8")
        try:
            done = run_tests(tree, self.tests)
        except subprocess.TimeoutExpired:
            return "tests that never end"
        finally:
            shutil.copy2(REPOSITORY / self.path, tree / self.path)
        failed = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", done.stdout, re.MULTILINE)
        return "" if done.returncode == 0 else failed[1] if failed else "tests that never start"


def run_tests(tree: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run tests in a copy of the project until one fails."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options]
    command += [f"tests/{name}" for name in tests.split()]
    # without new bytecode: Python takes that of one mutant for another of the same file, size and second
    environment = os.environ | {"PYTHONPATH": f"{tree}/src", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_S
    )


def missing(mutant: Mutant) -> str:
    """Return why a mutant no longer applies; empty if it does."""
    try:
        mutant.code()
    except (LookupError, OSError) as error:
        return str(error)
    return ""


def listed() -> list[Mutant]:
    """Return all mutants of the list."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as rows:
        return [Mutant(**row) for row in csv.DictReader(rows)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only mutants whose file name contains one of these")
    parser.add_argument(
        "-n", type=int, default=os.cpu_count() or 1, help="mutants to test at a time (default: %(default)s)"
    )
    options = parser.parse_args()
    mutants = [m for m in listed() if not options.names or any(name in m.file for name in options.names)]
    if gone := list(filter(None, map(missing, mutants))):
        print("the code of these mutants has changed; replace them:", *gone, sep="\n    ")
        return 1
    lives = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.n) as workers:
        free: Queue[Path] = Queue()
        for i in range(options.n):
            ignored = shutil.ignore_patterns(".*", "_build")
            free.put(shutil.copytree(REPOSITORY, Path(folder, str(i)), ignore=ignored))
        wanted = " ".join(sorted({name for mutant in mutants for name in mutant.tests.split()}))
        collected = run_tests(Path(folder, "0"), wanted, "--collect-only")
        if collected.returncode:  # or each mutant would seem to be noticed
            print(f"the tests cannot run:\n{collected.stdout[-2000:]}")
            return 1

        def judge(mutant: Mutant) -> tuple[str, float]:
            tree, began = free.get(), time.monotonic()
            try:
                return mutant.noticed(tree), time.monotonic() - began
            finally:
                free.put(tree)

        for i, (mutant, (by, took_s)) in enumerate(zip(mutants, workers.map(judge, mutants), strict=True), 1):
            verdict = f"killed in {took_s:.0f} s by {by}" if by else f"LIVES ({mutant.known})"
            print(f"[{i}/{len(mutants)}] {mutant.path}: {mutant.line} -> {mutant.becomes}: {verdict}", flush=True)
            if not by:
                lives.append(mutant)
    new = [mutant for mutant in lives if mutant.known == "killed"]
    print(f"{len(mutants) - len(lives)} of {len(mutants)} killed, {len(lives)} live, {len(new)} of them unexpectedly")
    return int(bool(new))


if __name__ == "__main__":
    sys.exit(main())
