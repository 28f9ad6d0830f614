"""YAML without its traps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from ettr.core.errors import InputError

_YAML_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:timestamp")


class StrictLoader(yaml.SafeLoader):
    """YAML without its traps: a key given twice is an error, 1:30 and 010 are not numbers, and 1e5 is one."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _YAML_NUMBERS]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be a plain word", problem_mark=key_node.start_mark)
            if key_node.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key_node.value!r} stands twice", problem_mark=key_node.start_mark
                )
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


StrictLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?(0|[1-9][0-9_]*)$"), list("-+0123456789"))
StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"[-+]?((0|[1-9][0-9_]*)?\.[0-9_]+|(0|[1-9][0-9_]*)\.?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
    ),
    list("-+0123456789."),
)


def text_of(path: str | Path, kind: str) -> str:
    """The text of a file; ``kind`` says in errors what it is."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"cannot read {kind} {path}: {reason}") from error


def stamp(path: str | Path) -> tuple[int, int]:
    """When a file was written last and how long it is, to know again what was read; zeros if there is none."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_size


def beside(name: str, folder: str | Path) -> str:
    """The absolute path of a file in a folder; where there is none the name itself, as seen from the working folder."""
    path = Path(folder) / name
    try:
        return str(path.resolve()) if path.suffix and path.is_file() else name
    except (OSError, ValueError):  # too long for a name, or a null byte
        return name


def mapping_of(text: str, place: str, kind: str) -> dict[str, Any]:
    """Sections from YAML text; broken YAML is an :class:`InputError` with line and column."""
    try:
        raw = yaml.load(text, Loader=StrictLoader)
    except RecursionError as error:
        raise InputError(f"{place}: broken YAML, nested too deeply") from error
    except ValueError as error:  # a date or a number that cannot be one
        raise InputError(f"{place}: broken YAML, {str(error).partition(';')[0]}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise InputError(f"{place}{':' if where else ''}{where}: broken YAML, {problem}") from error
    if not isinstance(raw, dict):
        raise InputError(f"{place}: a {kind} is a mapping of sections, got {type(raw).__name__}")
    return raw
