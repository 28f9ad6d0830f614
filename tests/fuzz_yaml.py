"""Inputs for all that reads YAML and settings, and what each promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

DATA = Path(__file__).parents[1] / "data"
GRIDS = (
    "n_gpus: [1024, 2048]\ninterval_min: {from: 1, to: 60, count: 7, scale: log}\n",
    "product: {n_gpus: {from: 8, to: 64, step: 8, multiple_of: 16}}\nzip: {a: [1, 2], b: [x, y]}\n",
    "points:\n  small: {n_gpus: 8, name: a}\n  large: {n_gpus: 1e5, name: true}\n",
)
SETTINGS = (
    "cluster.n_gpus=100000",
    "checkpoint.interval_min = 12.5",
    "failures.modes=[{name: hang, share: 0.5, detection_min: 30}]",
    "checkpoint.tiers=[{name: memory, interval_s: 60, survives: {GPU: 0.5, other: 1}}]",
)
LAUGHS = b"a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"a%d: &a%d [%b]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 10)
)
MERGED = b"a0: &a0 {k: 1}\n" + b"".join(
    b"a%d: &a%d {<<: [%b]}\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 30)) for n in range(1, 6)
)
CHAIN = b"a0: &a0 [1]\n" + b"".join(b"a%d: &a%d [*a%d]\n" % (n, n, n - 1) for n in range(1, 400))
ODD_VALUES = (
    *(b"!!timestamp x", b"!!int ''", b"!!binary eA==", b"!!set {b}", b"!!python/object/apply:os.system [ls]"),
    *(b"&a [*a]", b"&a {<<: *a}", b"*b", b"=", b"[" * 2000, b"9" * 5000, b".inf", b".nan", b"1e400", b"-0.0"),
)
ODD_YAML = (LAUGHS, MERGED, CHAIN, *(b"a: " + value + b"\n" for value in ODD_VALUES), b"\0")


class Target(NamedTuple):
    """A reader of user input."""

    read: Callable[[bytes, Path], None]
    """Reads bytes, written to the path for readers of files, and raises on a violated guarantee."""
    seeds: Callable[[], Iterator[bytes]]
    """Valid inputs to mutate."""
    regressions: tuple[bytes, ...] = ()
    """Inputs that failed once, or could."""


def scenario(data: bytes, _: Path) -> None:
    """Check that a scenario survives writing and reading, and that the analytical model answers or refuses it."""
    from ettr import Scenario

    check_scenario(Scenario.parse(data.decode("utf-8", "replace")))


def check_scenario(run) -> None:
    from ettr import Scenario, budget

    assert Scenario.parse(run.to_yaml()) == run, "it changes when written and read"
    assert 0 <= budget.exact(budget.simplified(run).scenario).ettr <= 1, "ETTR outside 0 to 1"


def gpu(data: bytes, _: Path) -> None:
    from ettr import Gpu

    read = Gpu.parse(data.decode("utf-8", "replace"))
    assert Gpu.parse(read.to_yaml()) == read, "it changes when written and read"


def grid(data: bytes, path: Path) -> None:
    from ettr.sweep import grid

    path.write_bytes(data)
    read = grid.load(path, 1000)
    points = list(read.points())
    assert len(points) == read.n_points <= 1000
    assert len({grid.key(point.parameters) for point in points}) == len(points), "a point occurs twice"


def setting(data: bytes, _: Path) -> None:
    from ettr.cli.options import changed

    check_scenario(changed("llama3-405b", [data.decode("utf-8", "replace")])[0])


def files(folder: str) -> Callable[[], Iterator[bytes]]:
    return lambda: (path.read_bytes() for path in sorted((DATA / folder).glob("*.yml")))


def encoded(*texts: str) -> Callable[[], Iterator[bytes]]:
    return lambda: (text.encode() for text in texts)


TARGETS = {
    "scenarios": Target(scenario, files("scenarios"), ODD_YAML),
    "GPUs": Target(gpu, files("gpus"), ODD_YAML),
    "grids": Target(grid, encoded(*GRIDS), (*ODD_YAML, b"a: {from: 1, to: 2, count: 3, multiple_of: 1e-320}\n")),
    "--set": Target(setting, encoded(*SETTINGS), tuple(b"checkpoint.interval_min=" + value for value in ODD_VALUES)),
}
