"""CPU seconds of ``ettr plan`` as a user waits for it, start-up included, beside loading numpy and pandas.

Run as ``make bench``. All are measured in this one run, in turn, and the least of several is taken.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Sequence

from ettr import evidence

REPEATS = 5
ETTR = (sys.executable, "-m", "ettr.cli")
REFERENCE = (sys.executable, "-c", "import numpy, pandas")
STORY = ("--gpus", "4096", "--mtbf-h", "9", "--stall-s", "90", "--restart-min", "12", "--usd-per-gpu-h", "2.5")


def cpu_seconds(command: Sequence[str]) -> float:
    """User and system time of a command, the least of several."""
    times = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=False, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def main() -> None:
    questions = {
        "the first question in one line": ("plan", *STORY),
        **{f"preset {name}": ("plan", name) for name in evidence.scenario_names()},
        "llama3-405b on 100,000 GPUs": ("plan", "llama3-405b", "--gpus", "100000"),
        "the same with --details": ("plan", "llama3-405b", "--gpus", "100000", "--details"),
        "the same with --json": ("plan", "llama3-405b", "--gpus", "100000", "--json"),
        "no such file": ("plan", "nowhere.yml"),
        "a refused value": ("plan", "rsc-1", "--set", "checkpoint.stall_s=-1"),
        "ettr fields restart": ("fields", "restart"),
    }
    reference = cpu_seconds(REFERENCE)
    print(f"import numpy, pandas: {reference:.2f} s of CPU")
    for name, arguments in questions.items():
        seconds = cpu_seconds((*ETTR, *arguments))
        print(f"{name:34s} {seconds:5.2f} s, {seconds / reference:4.1f} times that")


if __name__ == "__main__":
    main()
