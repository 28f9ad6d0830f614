"""What an installation takes: packages, space on disk, and CPU seconds of a plan, without extras and with some.

Run as ``make bench``. The wheel is built from this copy, and from other commits if they are named, as in
``benchmarks/install.py 0a5f70c``; each installation is an environment of its own. The reference is the import of
numpy, pandas and scipy in the same environment.
"""

from __future__ import annotations

import io
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXTRAS = ("simulate", "sweep", "book")
QUESTION = ("plan", "--gpus", "4096", "--mtbf-h", "9")
REFERENCE = ("-c", "import numpy, pandas, scipy")
REPEATS = 7


def source(commit: str, folder: Path) -> Path:
    """The files of a commit, in a folder."""
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def built(repository: Path, folder: Path) -> Path:
    """The wheel of a repository."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=repository, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def names(wheel: Path) -> Iterator[str]:
    """What can be installed of a wheel: itself, and with each extra that it has."""
    with zipfile.ZipFile(wheel) as archive:
        (place,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        described = archive.read(place).decode("utf-8")
    yield "ettr"
    yield from (f"ettr[{extra}]" for extra in EXTRAS if f"\nProvides-Extra: {extra}\n" in described)


def installed(wheel: Path, name: str, environment: Path) -> Path:
    """An environment with one of these, compiled as pip compiles it; where its Python is."""
    uv, python = str(Path(sys.executable).with_name("uv")), environment / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True)
    into = ("--quiet", "--compile-bytecode", "--python", str(python))
    subprocess.run([uv, "pip", "install", *into, f"{name} @ {wheel.as_uri()}"], check=True)
    return python


def size(python: Path) -> tuple[int, float]:
    """Packages of an environment, and what its packages take on disk [MB]."""
    (packages,) = python.parents[1].glob("lib/python*/site-packages")
    blocks = sum(path.lstat().st_blocks for path in packages.rglob("*"))
    return len(list(packages.glob("*.dist-info"))), blocks * 512 / 1e6


def cpu_seconds(*command: str) -> float:
    """User and system time of a command, the median of several."""
    times = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def main(commits: Sequence[str]) -> None:
    print(f"{'':10}{'':16}{'packages':>9}{'MB':>7}{'a plan':>9}{'its imports':>13}")
    for commit in (*commits, ""):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            wheel = built(source(commit, folder / "source") if commit else ROOT, folder / "wheel")
            print(f"{commit or 'this copy':10}{'the wheel':16}{'':9}{wheel.stat().st_size / 1e6:7.1f}", flush=True)
            for name in names(wheel):
                python = installed(wheel, name, folder / name)
                n, megabytes = size(python)
                plan = cpu_seconds(str(python.with_name("ettr")), *QUESTION)
                imports = cpu_seconds(str(python), *REFERENCE)
                print(f"{'':10}{name:16}{n:9}{megabytes:7.0f}{plan:7.2f} s{imports:11.2f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
