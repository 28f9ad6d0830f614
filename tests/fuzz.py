"""Inputs that nobody meant, for everything that reads: each is read and keeps what it promises, or is refused in words.

``tests/test_fuzz.py`` tries some of each. ``make check`` has libFuzzer look for more, guided by the branches that an
input takes, for half a minute each: ``python tests/fuzz.py [SECONDS | --runs N] [NAME...]``. An input that breaks a
promise, or takes more than 5 s of a core or 1 GiB, is kept in ``_build/fuzz``, and so are those that took a new branch,
from which the next time goes on.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import fuzz_folders
import fuzz_logs
import fuzz_yaml

FOUND = Path(__file__).parents[1] / "_build" / "fuzz"
TARGETS = fuzz_logs.TARGETS | fuzz_yaml.TARGETS | fuzz_folders.TARGETS
MEMORY = Path("/dev/shm")
LONGEST_S, MOST_MIB = 5.0, 1024
"""Of a core, and of memory, for one input."""
WORDS = (
    *("1e308", "1e-320", "18446744073709551616", "9" * 60, "-0.0", "nan", "inf", ".nan", "-.inf", "1e400", "10000000"),
    *("&a", "*a", "<<: *a", "!!int", "!!set", "!!binary", "? ", "[[[[", "{a: ", '{"a":', "\r", "\0", "\uff11"),
)
"""What a search by branches does not come upon by itself."""


@cache
def _path() -> Path:
    return Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None)) / "input.yml"


def hold(name: str, data: bytes) -> bool:
    """Whether an input is read; False if it is refused in words. Anything else raises."""
    from ettr.core.errors import EttrError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's: a number went where it does not fit
            TARGETS[name].read(data, _path())
    except EttrError as error:
        if not str(error).strip():
            raise AssertionError("refused without a word") from error
        return False
    return True


def bounded(name: str, data: bytes) -> bool:
    """The same within the limits of time and memory, once everything is imported."""
    started_s, before_kib = time.process_time(), _peak_kib()
    is_read = hold(name, data)
    took_s, more_mib = time.process_time() - started_s, (_peak_kib() - before_kib) / 1024
    assert took_s <= LONGEST_S, f"took {took_s:.1f} s of a core"
    assert more_mib <= MOST_MIB, f"took {more_mib:,.0f} MiB more than any input before"
    return is_read


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-")


def fuzz(name: str, *options: str) -> None:
    """Let libFuzzer look for an input that breaks a promise; does not return."""
    import atheris

    target = TARGETS[name]
    with atheris.instrument_imports(include=[f"ettr.{room}" for room in target.rooms]):
        seeds = Path(tempfile.mkdtemp())
        for number, seed in enumerate([*target.seeds(), *(one for one in target.found if len(one) < 4000)]):
            (seeds / str(number)).write_bytes(seed)
            hold(name, seed)  # all that is imported late is imported here
    words = seeds.with_suffix(".dict")
    spelled = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in WORDS)
    words.write_text("".join(f'"{word}"\n' for word in spelled))
    branches = FOUND / "branches" / _slug(name)
    branches.mkdir(parents=True, exist_ok=True)
    folders = (str(branches), str(seeds))
    atheris.Setup([sys.argv[0], *options, f"-dict={words}", *folders], lambda data: bounded(name, data))
    atheris.Fuzz()


def report(name: str, limit: str) -> bool:
    """Fuzz in a process of its own and print what was found; whether nothing was."""
    FOUND.mkdir(parents=True, exist_ok=True)
    kept = FOUND / _slug(name)
    # waiting for a core counts for libFuzzer, which ends what never returns; memory of all that is imported too
    options = [limit, "-timeout=120", f"-rss_limit_mb={2 * MOST_MIB}", f"-malloc_limit_mb={MOST_MIB}"]
    done = subprocess.run(
        [sys.executable, __file__, "--one", name, *options, "-print_final_stats=1", f"-artifact_prefix={kept}-"],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
    tried, speed, slowest_s, peak_mib = (
        int(found.get(key, 0))
        for key in ("number_of_executed_units", "average_exec_per_sec", "slowest_unit_time_sec", "peak_rss_mb")
    )
    count = f"{tried:,} inputs, {speed:,}/s, slowest {slowest_s} s, peak {peak_mib:,} MiB" if found else "stopped"
    if done.returncode == 0:
        print(f"{name}: {count}, nothing found", flush=True)
        return True
    where = re.findall(r"Test unit written to .*|ERROR: libFuzzer: (?:timeout|out-of-memory).*", done.stderr)
    lines = [*done.stdout.splitlines()[-40:], *(where or done.stderr.splitlines()[-40:])]
    print(f"{name}: {count}, found:", *(f"    {line}" for line in lines), sep="\n", flush=True)
    return False


def main(arguments: list[str]) -> int:
    """Fuzz every target, or those named, as many at a time as there are cores."""
    limit = "-max_total_time=30"
    if arguments[:1] == ["--runs"]:
        limit, arguments = f"-runs={int(arguments[1])}", arguments[2:]
    elif arguments and arguments[0].isdecimal():
        limit, arguments = f"-max_total_time={arguments[0]}", arguments[1:]
    try:
        import atheris  # noqa: F401
    except ImportError:
        print("the fuzzer atheris has no build for this machine: nothing was fuzzed")
        return 0
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        return int(not all(list(workers.map(lambda name: report(name, limit), arguments or TARGETS))))


if __name__ == "__main__":
    if "--one" in sys.argv:
        fuzz(*sys.argv[2:])
    sys.exit(main(sys.argv[1:]))
