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
    "- {a: 1}\n- {a: [1, 2]}\n- {a: {b: 2024-05-01}}\n",
)
SETTINGS = (
    "cluster.n_gpus=100000",
    "checkpoint.interval_min = 12.5",
    "failures.modes=[{name: hang, share: 0.5, detection_min: 30}]",
    "maintenance=null",
    "checkpoint.tiers=[{name: memory, interval_s: 60, survives: {GPU: 0.5, other: 1}}]",
    "failures.modes.Faulty GPU.factor=2",
    "recovery.detection_min=1.5",
)


class Target(NamedTuple):
    """Something that reads what people write."""

    read: Callable[[bytes, Path], None]
    """Reads bytes, written to the path where it reads files; lets through whatever breaks a promise."""
    seeds: Callable[[], Iterator[bytes]]
    """Inputs that are valid, to begin with."""
    found: tuple[bytes, ...] = ()
    """Inputs that broke a promise once, or could."""


def scenario(data: bytes, _: Path) -> None:
    """A scenario is the same when written and read again, and the closed form answers or says why not."""
    from ettr import Scenario

    check_scenario(Scenario.parse(data.decode("utf-8", "replace")))


def check_scenario(run) -> None:
    from ettr import Scenario, budget

    assert Scenario.parse(run.to_yaml()) == run, "written and read again it is another"
    assert 0 <= budget.exact(run).ettr <= 1, "no share"


def gpu(data: bytes, _: Path) -> None:
    from ettr import Gpu

    read = Gpu.parse(data.decode("utf-8", "replace"))
    assert Gpu.parse(read.to_yaml()) == read, "written and read again it is another"


def grid(data: bytes, path: Path) -> None:
    from ettr.sweep import grid

    path.write_bytes(data)
    read = grid.load(path, 1000)
    points = list(read.points())
    assert len(points) == read.n_points <= 1000
    assert len({grid.key(point.parameters) for point in points}) == len(points), "a point comes twice"


def catalogue(data: bytes, path: Path) -> None:
    from ettr import mitigation

    path.write_bytes(data)
    read = mitigation.catalogue(path)
    assert len(set(read.ids)) == len(read) > 0


def setting(data: bytes, _: Path) -> None:
    from ettr.cli.options import changed

    check_scenario(changed("llama3-405b", [data.decode("utf-8", "replace")])[0])


def option(data: bytes, _: Path) -> None:
    """The first byte chooses the option, the rest is what stands behind it."""
    from ettr.cli import options
    from ettr.logs.options import what_is_given
    from ettr.plan.calendar import calendar_of

    text = data[1:].decode("utf-8", "replace")
    take = (
        lambda: options.faults([text]),
        lambda: options.columns([text]),
        lambda: options.where([text]),
        lambda: options.cohorts(text),
        lambda: options.timeline_runs(text, Path("x.csv"), 100),
        lambda: calendar_of("2027-01-15", text, None, "0"),
        lambda: calendar_of("2027-01-15", "2027-03-01", text, "0"),
        lambda: calendar_of("2027-01-15", "2027-03-01", None, text),
        lambda: what_is_given(window=text),
    )
    take[data[0] % len(take) if data else 0]()


def valid_catalogues() -> Iterator[bytes]:
    """A few entries: all of them take a third of a second to parse."""
    import yaml

    entries = yaml.safe_load((DATA / "mitigations.yml").read_text(encoding="utf-8"))
    alone = [entry for entry in entries["mitigations"] if not entry.get("conflicts")]
    for part in (alone[:2], alone[-3:]):
        text = yaml.safe_dump({"assumptions": entries["assumptions"][:3], "mitigations": part}, allow_unicode=True)
        yield text.encode()


def files(folder: str) -> Callable[[], Iterator[bytes]]:
    return lambda: (path.read_bytes() for path in sorted((DATA / folder).glob("*.yml")))


OPTIONS = ("crash=5", "start=opened_at", "site=east", "generation=V100:200,A100:100", "0,1,2", "2027-03-01")
OPTIONS += ("Europe/Berlin", "40%", "2024-05-01/2024-06-01")
LAUGHS = b"a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"a%d: &a%d [%b]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 10)
)
MERGED = b"a0: &a0 {k: 1}\n" + b"".join(
    b"a%d: &a%d {<<: [%b]}\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 30)) for n in range(1, 6)
)
DIRECTIVES = b"".join(b"%%TAG !a%d! x\n" % n for n in range(60_000))
CHAIN = b"a0: &a0 [1]\n" + b"".join(b"a%d: &a%d [*a%d]\n" % (n, n, n - 1) for n in range(1, 400))
ODD_VALUES = (
    *(b"!!timestamp x", b"!!bool x", b"!!int ''", b"!!float ''", b"!!null x", b"!!binary eA==", b"!!str 1", b"!x y"),
    *(b"!!set {b}", b"!!omap [b: 1]", b"!!python/object/apply:os.system [ls]", b"&a [*a]", b"&a {<<: *a}", b"*b", b"="),
    *(b"[" * 2000, b"[" * 2000 + b"]" * 2000, b"{a: " * 2000, b'"\\ud800"', b"9" * 5000, b"9" * 400),
    *(
        b".inf",
        b"-.inf",
        b".nan",
        b"1e400",
        b"-0.0",
        "\uff11\uff12".encode(),
        b"x" * 2_100_000,
        b"[" + b"1," * 200_000 + b"]",
    ),
)
ODD_YAML = (LAUGHS, MERGED, CHAIN, *(b"a: " + value + b"\n" for value in ODD_VALUES), b"\0")
ODD_YAML += ("a: 1".encode("utf-16"), DIRECTIVES)
RANGE = b"a: {from: %b, to: %b, count: 3, multiple_of: %b}\n"
ODD_GRIDS = (
    *ODD_YAML,
    b"a: {from: 1, to: 18446744073709551616}\n",
    RANGE % (b"1", b"18446744073709551616", b"8"),
    RANGE % (b"1", b"2", b"1e-320"),
    RANGE % (b"1e-320", b"1e299", b"5e-324"),
    b"a: {from: 1, to: 18446744073709551616, step: 9223372036854775808}\n",
    b"a: {from: 1e-320, to: 1e299, count: 4, scale: log}\n",
    b"a: {from: -1e299, to: 1e299, step: 1e-320}\n",
)
FULL_WIDTH = {ord(digit): 0xFF10 + int(digit) for digit in "0123456789"}


def with_values(values: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return tuple(b"checkpoint.interval_min=" + value for value in values)


TARGETS = {
    "scenarios": Target(scenario, files("scenarios"), ODD_YAML),
    "GPUs": Target(gpu, files("gpus"), ODD_YAML),
    "grids": Target(grid, lambda: (text.encode() for text in GRIDS), ODD_GRIDS),
    "catalogues": Target(catalogue, valid_catalogues, ODD_YAML),
    "--set": Target(setting, lambda: (text.encode() for text in SETTINGS), with_values(ODD_VALUES)),
    "options": Target(
        option,
        lambda: (bytes([place]) + text.encode() for place, text in enumerate(OPTIONS)),
        (
            *(bytes([place]) + text.translate(FULL_WIDTH).encode() for place, text in enumerate(OPTIONS)),
            *(bytes([place]) + text.encode() + b"\x1f" for place, text in enumerate(OPTIONS)),
        ),
    ),
}
