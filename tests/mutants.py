"""Break the package in the ways that ``mutants.csv`` lists, one at a time, and see whether a test notices.

Run by ``make mutants``. Each mutant is one line of the package changed by an operator of Cosmic Ray, in a copy of the
project, with the tests that should notice. Those known to live are marked in the list; the exit status is 1 if
another one lives, so that tests can be rewritten without saying less.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome

REPOSITORY = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".csv")
LONGEST_S = 900
"""A mutant that makes the tests run for longer than this is noticed too."""


class Mutant(NamedTuple):
    """A row of the list."""

    file: str
    """Below ``src/ettr``."""
    operator: str
    line: str
    becomes: str
    tests: str
    """Folders or files below ``tests``, parted by spaces."""
    known: str
    """``killed``, or why it lives."""

    @property
    def path(self) -> Path:
        return Path("src/ettr", self.file)

    def code(self) -> str:
        """The file with this line changed.

        Raises
        ------
        LookupError
            If the file has no such line to change.
        """
        source = (REPOSITORY / self.path).read_text(encoding="utf-8")
        lines = source.splitlines()
        operator = cosmic_ray.plugins.get_operator(f"core/{self.operator}")()
        starts = (start for node in ast_nodes(get_ast(source)) for start, _ in operator.mutation_positions(node))
        for occurrence, (row, _) in enumerate(starts):
            if lines[row - 1].strip() == self.line:
                code = mutate_code(source, operator, occurrence)
                if code.splitlines()[row - 1].strip() == self.becomes:
                    return code
        raise LookupError(f"{self.path} has no line {self.line!r} that {self.operator} turns into {self.becomes!r}")

    def missing(self) -> str:
        """Why it cannot be made any more, or nothing."""
        try:
            self.code()
        except (LookupError, OSError) as error:
            return str(error)
        return ""

    def noticed(self, tree: Path) -> str:
        """The test of it that fails in a copy of the project; empty if none does."""
        (tree / self.path).write_text(self.code(), encoding="utf-8")
        try:
            outcome, output = run_tests(command(tree, self.tests), LONGEST_S)
        finally:
            shutil.copy2(REPOSITORY / self.path, tree / self.path)
        if outcome is TestOutcome.SURVIVED:
            return ""
        failed = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", output, re.MULTILINE)
        return failed[1] if failed else "tests that never end, or never start"


def listed() -> list[Mutant]:
    with LIST.open(encoding="utf-8", newline="") as rows:
        return [Mutant(**row) for row in csv.DictReader(rows)]


def command(tree: Path, tests: str, *options: str) -> str:
    """What runs tests in a copy of the project until one fails."""
    words = ["env", f"--chdir={tree}", f"PYTHONPATH={tree}/src"]
    words += [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options]
    return shlex.join([*words, *(f"tests/{name}" for name in tests.split())])


def copy_to(tree: Path) -> Path:
    """A copy of the project, with what was compiled of it."""
    return shutil.copytree(REPOSITORY, tree, ignore=shutil.ignore_patterns(".*", "_build"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="only mutants whose file holds one of these")
    parser.add_argument("-n", type=int, default=os.cpu_count() or 1, help="so many at a time (default: %(default)s)")
    options = parser.parse_args()
    mutants = [m for m in listed() if not options.names or any(name in m.file for name in options.names)]
    gone = [mutant.missing() for mutant in mutants]
    if any(gone):
        print("code has changed; put other mutants in place of these:", *filter(None, gone), sep="\n    ")
        return 1
    lives = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.n) as workers:
        free: Queue[Path] = Queue()
        for i in range(options.n):
            free.put(copy_to(Path(folder, str(i))))

        wanted = " ".join(sorted({name for mutant in mutants for name in mutant.tests.split()}))
        collected = subprocess.run(
            shlex.split(command(Path(folder, "0"), wanted, "--collect-only")),
            capture_output=True,
            text=True,
            check=False,
        )
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
