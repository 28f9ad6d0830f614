"""What stands on the command line, checked and in the form that the package takes."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr.cli import terminal
from ettr.core.errors import InputError, UnknownName
from ettr.core.quantities import parse_quantity
from ettr.core.sentences import cut

if TYPE_CHECKING:
    from ettr.scenario import Scenario

ScenarioArgument = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="A preset (see `ettr scenarios`), or a scenario file ending in .yml.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Another value for a field, e.g. cluster.n_gpus=100000, or null to unset it. May be repeated.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


def faults(pairs: list[str] | None) -> dict[str, float]:
    """``--fault``, pair by pair; crashes every 5 s where none is given."""
    means_s = {}
    for kind, mean_s, pair in _split(pairs or ["crash=5"], "--fault takes KIND=SECONDS, e.g. crash=5"):
        try:
            means_s[kind] = parse_quantity(mean_s, "s")
        except ValueError:
            raise InputError(f"--fault takes KIND=SECONDS, e.g. crash=5, got {pair!r}") from None
    return means_s


def columns(pairs: list[str]) -> dict[str, str]:
    """``--map``, pair by pair."""
    return {ours: theirs for ours, theirs, _ in _split(pairs, "--map takes OURS=THEIRS, e.g. start=opened_at")}


def where(pairs: list[str]) -> dict[str, str]:
    """``--where``, pair by pair, as columns and patterns."""
    patterns: dict[str, str] = {}
    for column, pattern, _ in _split(pairs, "--where takes COLUMN=REGEX, e.g. site=east"):
        if column in patterns:
            raise InputError(f"--where names {column!r} twice: write one pattern, e.g. {column}='a|b'")
        patterns[column] = pattern
    return patterns


def _split(pairs: list[str], rule: str) -> Iterator[tuple[str, str, str]]:
    """What stands on both sides of each equals sign, and the pair itself."""
    for pair in pairs:
        left, _, right = pair.partition("=")
        if not left.strip() or not right.strip():
            raise InputError(f"{rule}, got {pair!r}")
        yield left.strip(), right.strip(), pair


def cohorts(split: str | None) -> tuple[str | None, dict[str, int]]:
    """``generation=V100:200,A100:100`` as a column and its nodes by value."""
    if split is None:
        return None, {}
    column, _, listed = split.partition("=")
    sizes = {}
    for item in filter(None, listed.split(",")):
        value, colon, n_nodes = item.rpartition(":")
        if not colon or not value.strip() or not _is_count(n_nodes.strip()):
            raise InputError(f"--split takes COLUMN=VALUE:NODES,VALUE:NODES, got {item!r}")
        if value.strip() in sizes:
            raise InputError(f"--split names {value.strip()!r} twice, got {split!r}")
        sizes[value.strip()] = int(n_nodes.strip())
    if not column.strip():
        raise InputError(f"--split takes COLUMN=VALUE:NODES,VALUE:NODES, got {split!r}")
    return column.strip(), sizes


def short_name(path: Path) -> str:
    """A file's name as a scenario's."""
    name = re.sub(r"[^a-z0-9._-]+", "-", path.name.lower().partition(".")[0]).strip("-._")
    return name[:64] or "fitted"


def medium(name: str) -> str:
    """``--medium``."""
    from ettr.scenario.gpu import MEDIA

    if name not in MEDIA:
        raise UnknownName("medium", name, MEDIA, "--medium")
    return name


def check_there(scenario: str | None) -> None:
    """Refuse a file that is not there, before anything that takes a moment to load."""
    if scenario and scenario.endswith((".yml", ".yaml")) and not os.path.exists(scenario):
        raise InputError(f"cannot read scenario {scenario}: {os.strerror(errno.ENOENT)}")


def changed(scenario: str, pairs: list[str] | None) -> tuple[Scenario, dict[str, Any]]:
    """A scenario with what ``--set`` changes, and these fields with their values; warn of implausible values."""
    from ettr.scenario import Scenario
    from ettr.scenario.fields import implausible

    values = changes_of(pairs)
    run = Scenario.load(scenario)
    run = run.override(values) if values else run
    terminal.warn(implausible(run))
    return run, values


def changes_of(pairs: list[str] | None) -> dict[str, Any]:
    """``--set``, pair by pair, as paths and values."""
    values: dict[str, Any] = {}
    for pair in pairs or []:
        path, equals, text = pair.partition("=")
        if not equals or not path.strip():
            raise InputError(f"--set takes FIELD=VALUE, got {pair!r}")
        values[path.strip()] = _as_number(path.strip(), value(text.strip()))
    return values


def _as_number(path: str, given: Any) -> Any:
    """The number that a text spells, e.g. ``4,096``, if the field takes one; all else as it is."""
    if not isinstance(given, str):
        return given
    from ettr.scenario import Scenario
    from ettr.scenario.basics import spelled_out
    from ettr.scenario.bounds import is_number
    from ettr.scenario.paths import field_at

    try:
        number = spelled_out(path, given) if is_number(field_at(path, Scenario).annotation) else given
    except UnknownName:
        return given  # which the scenario refuses
    return int(number) if isinstance(number, float) and number.is_integer() else number


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """Paths and values as sections with their fields.

    Examples
    --------
    >>> nested({"cluster.n_gpus": 8, "name": "mine"})
    {'cluster': {'n_gpus': 8}, 'name': 'mine'}
    """
    sections: dict[str, Any] = {}
    for path, given in values.items():
        *outer, last = path.split(".")
        place = sections
        for name in outer:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                raise InputError(f"--set {path} goes into {name}, which another --set gives as a whole")
        place[last] = given
    return sections


def value(text: str) -> Any:
    """A value as it would be read from a scenario file."""
    from ettr.core.yaml_files import load

    return load(text, f"--set cannot read the value {cut(text, 80)!r}")


def check_runs(value: int, most: int, least: int = 1) -> None:
    """Refuse a number of runs that is out of range."""
    if not least <= value <= most:
        raise InputError(f"--runs must be from {least} to {most:,}, got {value:,}")


def interval(text: str) -> str | float:
    """``--interval-min``: minutes, or the name of a rule."""
    from ettr.scenario.checkpoints import RULES

    if text in RULES:
        return text
    try:
        return parse_quantity(text, "min")
    except ValueError as error:
        rules = ", ".join(RULES)
        raise InputError(
            f"--interval-min takes minutes, or one of {rules}, got {cut(repr(text), 80)} ({error})"
        ) from None


def check_seed(value: int) -> None:
    """Refuse what is no seed."""
    if not 0 <= value < 2**63:
        raise InputError(f"--seed must be a whole number from 0 to 2^63 - 1, got {value}")


def check_until_error(value: float | None) -> None:
    """Refuse what is no relative error."""
    if value is not None and not 0 < value < 1:
        raise InputError(f"--until-error must be between 0 and 1, e.g. 0.001 for 0.1%, got {value:g}")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


CatalogueOption = Annotated[
    Path | None,
    typer.Option("--catalogue", metavar="FILE", help="Mitigations of your own, in the form of data/mitigations.yml."),
]
