"""Arguments that several commands share, checked and converted for the package."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr.cli import completion, terminal
from ettr.core.errors import InputError, UnknownName
from ettr.core.quantities import parse_quantity
from ettr.core.sentences import cut

if TYPE_CHECKING:
    from ettr.scenario import Scenario

ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A preset (see `ettr scenarios`), or a scenario file ending in .yml.",
        autocompletion=completion.scenarios,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Change a field, e.g. cluster.n_gpus=100000; null unsets it (see `ettr fields`). May be repeated.",
        autocompletion=completion.fields_to_set,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help='Answer as JSON, with name and version of its form in "schema".')
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
CatalogueOption = Annotated[
    Path | None,
    typer.Option("--catalogue", metavar="FILE", help="Your own mitigations, in the format of data/mitigations.yml."),
]
_LOG_ENDINGS = (".csv", ".tsv", ".txt", ".log", ".json", ".jsonl", ".gz", ".xz", ".bz2", ".zst", ".zip", ".parquet")


def faults(pairs: list[str] | None) -> dict[str, float]:
    """Return the mean time between faults by kind, from ``--fault``; crashes every 5 s by default. [s]"""
    means_s = {}
    for kind, mean_s, pair in _split(pairs or ["crash=5"], "--fault takes KIND=SECONDS, e.g. crash=5"):
        try:
            means_s[kind] = parse_quantity(mean_s, "s")
        except ValueError as error:
            raise InputError(f"--fault takes KIND=SECONDS, e.g. crash=5, got {pair!r} ({error})") from None
    return means_s


def columns(pairs: list[str]) -> dict[str, str]:
    """Return the columns of a file by the names of the package, from ``--map``."""
    return {ours: theirs for ours, theirs, _ in _split(pairs, "--map takes OURS=THEIRS, e.g. start=opened_at")}


def where(pairs: list[str]) -> dict[str, str]:
    """Return patterns by column, from ``--where``."""
    patterns: dict[str, str] = {}
    for column, pattern, _ in _split(pairs, "--where takes COLUMN=REGEX, e.g. site=east"):
        if column in patterns:
            raise InputError(f"--where names {column!r} twice: combine the patterns, e.g. {column}='a|b'")
        patterns[column] = pattern
    return patterns


def _split(pairs: list[str], rule: str) -> Iterator[tuple[str, str, str]]:
    """Yield the left and right side of each pair, and the pair itself."""
    for pair in pairs:
        left, _, right = pair.partition("=")
        if not left.strip() or not right.strip():
            raise InputError(f"{rule}, got {pair!r}")
        yield left.strip(), right.strip(), pair


def cohorts(split: str | None) -> tuple[str | None, dict[str, int]]:
    """Return the column and the number of nodes by value of ``--split``, e.g. ``generation=V100:200,A100:100``."""
    if split is None:
        return None, {}
    rule = "--split takes COLUMN or COLUMN=VALUE:NODES,VALUE:NODES"
    column, _, listed = split.partition("=")
    sizes = {}
    for item in filter(None, listed.split(",")):
        value, colon, n_nodes = item.rpartition(":")
        if not colon or not value.strip() or not _is_count(n_nodes.strip()):
            raise InputError(f"{rule}, got {item!r}")
        if value.strip() in sizes:
            raise InputError(f"--split names {value.strip()!r} twice, got {split!r}")
        sizes[value.strip()] = int(n_nodes.strip())
    if not column.strip():
        raise InputError(f"{rule}, got {split!r}")
    return column.strip(), sizes


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


UNMET = 3
"""Exit status if an ETTR is below a goal."""


def check_shares(goals: Mapping[str, float | None]) -> None:
    """Refuse goals, by their options, that are no share of the time."""
    for option, value in goals.items():
        if value is not None and not 0 < value < 1:
            instead = f"{value:g}%" if 1 < value < 100 else "0.9"
            raise InputError(f"{option} must be between 0 and 1, got {value:g}: write e.g. {instead}")


def fail_unmet(subject: str, ettr: float, goals: Mapping[str, float | None]) -> None:
    """End with status 3 and a message if an ETTR is below a goal."""
    unmet = [f"{option} {value:g}" for option, value in goals.items() if value is not None and ettr < value]
    if unmet:
        terminal.say(f"ettr: {subject}, {ettr:.4g}, is below {' and '.join(unmet)}", err=True)
        raise typer.Exit(UNMET)


def short_name(path: Path) -> str:
    """Return a name for a scenario from the name of a file."""
    name = re.sub(r"[^a-z0-9._-]+", "-", path.name.lower().partition(".")[0]).strip("-._")
    return name[:64] or "fitted"


def medium(name: str) -> str:
    """Return ``--medium``, checked."""
    from ettr.scenario.gpu import MEDIA

    if name not in MEDIA:
        raise UnknownName("medium", name, MEDIA, "--medium")
    return name


def check_scenario_name(scenario: str | None) -> None:
    """Refuse a missing scenario file, an unknown preset or a log, before anything slow is loaded."""
    if scenario is None:
        return
    if scenario.endswith((".yml", ".yaml")):
        if not os.path.exists(scenario):
            raise InputError(f"cannot read scenario {scenario}: {os.strerror(errno.ENOENT)}")
    elif os.path.isfile(scenario) or scenario.endswith(_LOG_ENDINGS):
        raise InputError(
            f"a scenario is a preset or a file ending in .yml, got {scenario}; for a failure or training log: "
            f"ettr fit {scenario}"
        )
    else:
        from ettr.evidence import check_scenario_name as check_preset

        check_preset(scenario)


def changed(scenario: str, pairs: list[str] | None) -> tuple[Scenario, dict[str, Any]]:
    """Return a scenario with the changes of ``--set``, and these changes; warn of implausible values."""
    check_scenario_name(scenario)
    from ettr.scenario import Scenario
    from ettr.scenario.fields import implausible

    values = changes_of(pairs)
    run = Scenario.load(scenario)
    run = run.override(values) if values else run
    terminal.warn(implausible(run))
    return run, values


def changes_of(pairs: list[str] | None) -> dict[str, Any]:
    """Return paths and values of ``--set``."""
    values: dict[str, Any] = {}
    for pair in pairs or []:
        path, equals, text = pair.partition("=")
        if not equals or not path.strip():
            raise InputError(f"--set takes FIELD=VALUE, e.g. cluster.n_gpus=4096, got {pair!r}")
        path = path.strip()
        if path in values:
            raise InputError(f"--set {path} occurs twice; keep one value for it")
        values[path] = _as_number(path, value(text.strip()))
    return values


def _as_number(path: str, value: Any) -> Any:
    """Return the number in a text such as ``4,096`` for a field that takes one, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    from ettr.scenario import Scenario
    from ettr.scenario.basics import spelled_out
    from ettr.scenario.bounds import is_number
    from ettr.scenario.paths import field_at

    try:
        number = spelled_out(path, value) if is_number(field_at(path, Scenario).annotation) else value
    except UnknownName:
        return value  # refused by the scenario
    return int(number) if isinstance(number, float) and number.is_integer() else number


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """Return values by dotted path as sections with fields.

    Examples
    --------
    >>> nested({"cluster.n_gpus": 8, "name": "mine"})
    {'cluster': {'n_gpus': 8}, 'name': 'mine'}
    """
    sections: dict[str, Any] = {}
    for path, value in values.items():
        *outer, last = path.split(".")
        section = sections
        for name in outer:
            section = section.setdefault(name, {})
            if not isinstance(section, dict):
                raise InputError(f"--set {path} conflicts with another --set of the section {name}; use one of them")
        section[last] = value
    return sections


def value(text: str) -> Any:
    """Return a value, read as in a scenario file."""
    from ettr.core.yaml_files import load

    return load(text, f"--set cannot read the value {cut(text, 80)!r}")


def interval(text: str) -> str | float:
    """Return ``--interval-min``: minutes, or the name of a rule."""
    from ettr.scenario.checkpoints import RULES

    if text in RULES:
        return text
    try:
        return parse_quantity(text, "min")
    except ValueError as error:
        written = cut(repr(text), 80)
        raise InputError(f"--interval-min takes minutes, best, young or daly, got {written} ({error})") from None


def check_runs(value: int, most: int, least: int = 1) -> None:
    """Refuse a number of runs that is out of range."""
    if not least <= value <= most:
        raise InputError(f"--runs must be from {least} to {most:,}, got {value:,}")


def check_seed(value: int) -> None:
    """Refuse a seed that is out of range."""
    if not 0 <= value < 2**63:
        raise InputError(f"--seed must be a whole number from 0 to 2^63 - 1, got {value}")


def check_until_error(value: float | None) -> None:
    """Refuse a relative error that is out of range."""
    if value is not None and not 0 < value < 1:
        raise InputError(f"--until-error must be between 0 and 1, e.g. 0.1%, got {value:g}")
