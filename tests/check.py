"""Run the slow tests one after another and print their results. Run by ``make check``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-q", "--no-loadscope-reorder", "-n", "auto"]
CHECKED = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(REPOSITORY / "_build" / "boundscheck")}
"""Compiled code that checks each index, kept apart from the other and for the next time."""
SLOW = ["--dist", "worksteal", "-m", "slow", "--durations=30"]
STEPS = {
    "full samples and all combinations": ([*PYTEST, *SLOW], {}),
    "the simulator with every index checked": ([*PYTEST, "tests/simulation"], CHECKED),
    "drills": ([sys.executable, "benchmarks/drill.py", "--quick", "--fresh"], {}),
    "fuzzing": ([*PYTEST, "--dist", "worksteal", "--hypothesis-profile", "random", "tests/test_fuzz.py"], {}),
    "mutants": ([sys.executable, "tests/mutants.py"], {}),
}


def main() -> int:
    results = []
    for title, (command, variables) in STEPS.items():
        print(f"== {title}", flush=True)
        started, last = time.monotonic(), ""
        running = subprocess.Popen(
            command, cwd=REPOSITORY, env=os.environ | variables, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        for line in running.stdout:
            print(line, end="", flush=True)
            last = line.strip(" =\n") or last
        verdict = "passed" if running.wait() == 0 else "FAILED"
        results.append((title, verdict, f"{(time.monotonic() - started) / 60:.1f} min", last))
    print("== results")
    for row in results:
        print("  ".join(row))
    return int(any(verdict == "FAILED" for _, verdict, *_ in results))


if __name__ == "__main__":
    sys.exit(main())
