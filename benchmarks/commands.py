"""CPU time of commands as people run them, next to the import of NumPy and pandas in the same run.

Run as ``make bench``. Each time is that of a new process and its child processes, the least of some runs. The first
simulation has an empty cache, and so compiles; all other commands find compiled code and Python's bytecode.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from ettr import evidence

CAUSES = ("GPU", "HBM", "NIC", "NVLink", "host", "software")
FEW, MANY = 200, 600_000


def write_log(path: Path, n_failures: int, n_nodes: int, days: float) -> Path:
    """Write a failure log with independent failures of nodes of one rate."""
    rng = random.Random(0)
    start = datetime.datetime(2026, 1, 1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["start", "end", "node", "cause"])
        for day in sorted(rng.uniform(0, days) for _ in range(n_failures)):
            down = start + datetime.timedelta(days=day)
            up = down + datetime.timedelta(hours=rng.lognormvariate(1, 1))
            writer.writerow([down.isoformat(), up.isoformat(), f"node{rng.randrange(n_nodes):05d}", rng.choice(CAUSES)])
    return path


def cpu_s(command: list[str], runs: int, variables: dict[str, str] | None = None, status: int = 0) -> float:
    """Return the CPU time of a command that ends with a status, the least of some runs."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, env=environment | (variables or {}), capture_output=True, text=True, check=False)
        if done.returncode != status:
            raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}: {done.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of each short command")
    options = parser.parse_args()
    ettr = [sys.executable, "-m", "ettr.cli"]
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}")
    reference = cpu_s([sys.executable, "-c", "import numpy, pandas"], options.runs)
    print(f"{'reference: import numpy, pandas':44}{reference:8.2f} s")

    def show(label: str, command: list[str], runs: int, variables: dict[str, str] | None = None) -> None:
        taken_s = cpu_s([*ettr, *command], runs, variables, status=2 if label.startswith("refusal") else 0)
        print(f"{label:44}{taken_s:8.2f} s{taken_s / reference:8.1f} times the reference", flush=True)

    for name in evidence.scenario_names():
        cpu_s([*ettr, "plan", name], 1)  # compiles what it needs
        show(f"plan {name}", ["plan", name], options.runs)
    show("refusal: an unknown preset", ["plan", "llama3-405x"], options.runs)
    show("refusal: no number", ["plan", "--gpus", "4096", "--mtbf-h", "soon"], options.runs)
    show("refusal: a value out of range", ["plan", "rsc-1", "--set", "checkpoint.interval_min=-5"], options.runs)
    with tempfile.TemporaryDirectory() as name:
        few = write_log(Path(name, "few.csv"), FEW, 500, 90)
        many = write_log(Path(name, "many.csv"), MANY, 20_000, 365)
        show(f"fit of {FEW} rows", ["fit", str(few), "--nodes", "500"], options.runs)
        show(f"fit of {MANY:,} rows", ["fit", str(many), "--nodes", "20000"], 1)
        for scenario in ("rsc-1", "llama3-405b"):
            show(f"compare {scenario}", ["compare", scenario], 2)
        show("power llama3-405b", ["power", "llama3-405b"], 2)
        for number, arguments in enumerate((["rsc-1"], ["rsc-1", "--days", "9"])):
            empty = {"NUMBA_CACHE_DIR": str(Path(name, f"compiled-{number}"))}
            show(f"first simulate {' '.join(arguments)}", ["simulate", *arguments, "--runs", "9"], 1, empty)


if __name__ == "__main__":
    main()
