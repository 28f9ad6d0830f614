"""Run the quick tests and a plan on every Python found, each in an environment of the lock, by ``make matrix``."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
ENVIRONMENTS = ROOT / "_build" / "matrix"
UV = str(Path(sys.executable).with_name("uv"))
INSTALL = (UV, "pip", "install", "--quiet", "--no-deps")
QUICK = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not browser and not slow")


def candidates(version: str) -> Iterator[str]:
    """Where a Python of this version may be: the search path, uv's own, and pyenv's."""
    for folder in os.get_exec_path():
        yield str(Path(folder) / f"python{version}")
    found = subprocess.run(
        [UV, "python", "find", "--managed-python", "--no-python-downloads", version],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    yield found.stdout.strip()
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from map(str, sorted(versions.glob(f"{version}.*/bin/python"), reverse=True))


def interpreter(version: str) -> str | None:
    """Return the first Python of this version that starts: one on the search path may be a shim that leads nowhere."""
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    for python in candidates(version):
        if shutil.which(python):
            answer = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=False)
            if answer.stdout.strip() == version:
                return python
    return None


def run(title: str, command: list[str], log: Path) -> str:
    """Run a command into a log and return what came of it, with its seconds."""
    print(f"   {title}: {log.relative_to(ROOT)}", flush=True)
    started = time.monotonic()
    with log.open("w", encoding="utf-8") as file:
        status = subprocess.run(
            command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False
        ).returncode
    lines = log.read_text(encoding="utf-8").strip().splitlines()
    last = lines[-1].strip(" =") if lines else ""
    return f"{'passed' if status == 0 else 'FAILED'} after {time.monotonic() - started:.0f} s" + (
        f": {last}" if status or title == "tests" else ""
    )


def try_version(python: str, version: str, tests: list[str]) -> dict[str, str]:
    """Return what came of the environment, a plan and the tests; of nothing after the environment if that fails."""
    folder = ENVIRONMENTS / version
    folder.parent.mkdir(parents=True, exist_ok=True)
    own = folder / "bin" / "python"
    into = ("--python", str(own))
    make = (
        (UV, "venv", "--quiet", "--clear", "--python", python, str(folder)),
        (*INSTALL, *into, "--require-hashes", "--requirement", "requirements.txt"),
        (*INSTALL, *into, "--no-build-isolation", "--editable", "."),
    )
    steps = {
        "environment": ["sh", "-ec", "\n".join(map(shlex.join, make))],
        "plan": [str(folder / "bin" / "ettr"), "plan", "llama3-405b"],
        "tests": [str(own), *QUICK, *(tests or ["-n", "auto", "--no-loadscope-reorder"])],
    }
    found: dict[str, str] = {}
    for title, command in steps.items():
        found[title] = run(title, command, ENVIRONMENTS / f"{version}-{title}.log")
        if title == "environment" and found[title].startswith("FAILED"):
            break
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=VERSIONS, metavar="VERSION", help=f"of {', '.join(VERSIONS)}")
    parser.add_argument("tests", nargs="*", help="options and paths for pytest, after --: -- -n 1 -k plan tests/plan")
    asked = parser.parse_args()
    rows, missing = [], []
    for version in asked.only:
        python = interpreter(version)
        if python is None:
            missing.append(version)
            continue
        print(f"== Python {version}: {python}", flush=True)
        rows += [(version, *row) for row in try_version(python, version, asked.tests).items()]
    print("== found")
    for row in rows:
        print("  ".join(row))
    if missing:
        print(f"not tried, as no interpreter was found: Python {', '.join(missing)}")
    return int(not rows or any(outcome.startswith("FAILED") for *_, outcome in rows))


if __name__ == "__main__":
    sys.exit(main())
