"""YAML that anybody may have written: without its traps, and never larger than what was agreed."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ettr.core.errors import InputError
from ettr.core.numbers import refuse_other_digits

LIMIT = "ETTR_YAML_VALUES"
"""Names, in the environment, how many values a file may hold."""
MOST_VALUES = 100_000
"""Values, keys and lists of a file where nothing else is said; an alias counts as all that it stands for."""
MOST_LEVELS = 50
"""Lists and mappings inside each other."""
MOST_DIGITS = 300
"""Of a whole number: more are beyond what a float can hold."""
_CHARACTERS_PER_VALUE = 20
_UNUSED = ("int", "float", "timestamp", "value")
"""Kinds that YAML 1.1 finds in texts, and that are read otherwise here or not at all."""


class _Size(NamedTuple):
    """How many values there are, and how deep they go."""

    n_values: int
    n_levels: int


class StrictLoader(yaml.SafeLoader):
    """YAML without its traps: a key given twice is an error, 1:30 and 010 are not numbers, and 1e5 is one.

    Tags are refused, and so is what is larger or deeper than the limits, with aliases counted as often as they stand.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] not in _UNUSED]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._most = most_values()
        self._n_values = self._level = self._deepest = 0
        self._anchored: dict[str, _Size] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self.anchors and event.anchor not in self._anchored:
                raise _at(event, f"*{event.anchor:.40} stands inside what it names")
            self._count(event, *self._anchored.get(event.anchor or "", _Size(0, 0)))
            return super().compose_node(parent, index)
        if event.tag is not None:
            raise _at(event, f"the tag {event.tag.replace(_TAGS, '!!'):.40} is not read: write the value without it")
        if isinstance(event, yaml.ScalarEvent) and not event.value.isascii():
            _check_signs(event)
        before, above, self._deepest = self._n_values, self._deepest, self._level
        self._count(event, 1, 0 if isinstance(event, yaml.ScalarEvent) else 1)
        self._level += 1
        node: Any = super().compose_node(parent, index)
        self._level -= 1
        if event.anchor is not None:
            self._anchored[event.anchor] = _Size(self._n_values - before, self._deepest - self._level)
        self._deepest = max(above, self._deepest)
        return node

    def compose_mapping_node(self, anchor: Any) -> Any:
        node: Any = super().compose_mapping_node(anchor)
        seen: set[Any] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _at(key, "a key must be a plain word")
            name = key.value if key.tag == f"{_TAGS}merge" else self.construct_object(key)
            if name in seen:
                raise _at(key, f"key {key.value!r} stands twice")
            seen.add(name)
        return node

    def _count(self, event: Any, n_values: int, n_levels: int) -> None:
        """Take note of what begins here, and refuse what is too much."""
        self._n_values += n_values
        self._deepest = max(self._deepest, self._level + n_levels)
        if self._n_values > self._most:
            raise _at(event, f"more than {self._most:,} values, aliases counted as often as they stand; {_remedy()}")
        if self._deepest > MOST_LEVELS:
            raise _at(event, f"nested more than {MOST_LEVELS} deep: write it flatter")


_TAGS = "tag:yaml.org,2002:"
_WHOLE = r"(0|[1-9][0-9_]*)"
StrictLoader.add_implicit_resolver(f"{_TAGS}int", re.compile(rf"[-+]?{_WHOLE}$"), list("-+0123456789"))
StrictLoader.add_implicit_resolver(
    f"{_TAGS}float",
    re.compile(
        rf"[-+]?({_WHOLE}?\.[0-9][0-9_]*|{_WHOLE}\.?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$"
    ),
    list("-+0123456789."),
)


def _number(loader: StrictLoader, node: Any) -> float:
    return loader.construct_yaml_float(node) + 0.0  # -0.0 becomes 0.0


def _whole_number(loader: StrictLoader, node: Any) -> int:
    if len(node.value) > MOST_DIGITS:
        raise _at(node, f"a whole number may have {MOST_DIGITS} digits at most, got {len(node.value):,}")
    return loader.construct_yaml_int(node)


StrictLoader.add_constructor(f"{_TAGS}float", _number)
StrictLoader.add_constructor(f"{_TAGS}int", _whole_number)


def most_values() -> int:
    """How many values a file may hold: as the environment says, or ``MOST_VALUES``."""
    given = os.environ.get(LIMIT, "")
    if given and not (given.isascii() and given.isdecimal() and len(given) < 13 and int(given)):
        raise InputError(f"{LIMIT} must be a whole number above 0, got {given[:40]!r} (in the environment)")
    return int(given or MOST_VALUES)


def load(text: str, place: str) -> Any:
    """What YAML text holds, made of texts, numbers, truth values, lists and mappings.

    Parameters
    ----------
    text : str
        As written.
    place : str
        Names it in errors.

    Raises
    ------
    InputError
        Broken YAML, with line and column; tags, keys that stand twice; more values, characters or levels than the
        limits, with how to raise them.

    Examples
    --------
    >>> load("{a: [1e3, 010, -0.0], b: &x yes, c: *x}", "mine.yml")
    {'a': [1000.0, '010', 0.0], 'b': True, 'c': True}
    """
    _refuse_long(len(text), place)
    try:
        return yaml.load(text, Loader=StrictLoader)
    except InputError:
        raise
    except (RecursionError, ValueError) as error:  # deep or long where no value is; a number that cannot be one
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error).partition(";")[0]
        raise InputError(f"{place}: broken YAML, {problem}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f": line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise InputError(f"{place}{where}: broken YAML, {problem}") from error


def mapping_of(text: str, place: str, kind: str) -> dict[str, Any]:
    """Sections from YAML text; broken YAML is an :class:`InputError` with line and column."""
    raw = load(text, place)
    if not isinstance(raw, dict):
        raise InputError(f"{place}: a {kind} is a mapping of sections, got {type(raw).__name__}")
    return raw


def text_of(path: str | os.PathLike[str], kind: str) -> str:
    """The text of a file, which :func:`load` takes; ``kind`` says in errors what it is."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_most_characters() + 1)
    except (OSError, ValueError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", error)
        raise InputError(f"cannot read {kind} {path}: {reason}") from error
    _refuse_long(len(text), str(path))
    return text


def _most_characters() -> int:
    return most_values() * _CHARACTERS_PER_VALUE


def _refuse_long(n_characters: int, place: str) -> None:
    if n_characters > _most_characters():
        raise InputError(f"{place} has more than {_most_characters():,} characters; {_remedy()}")


def _remedy() -> str:
    return f"split it, or set a higher {LIMIT} in the environment than {most_values()}"


def _at(where: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=where.start_mark)


def _check_signs(event: Any) -> None:
    """Refuse a text with a lone surrogate, and a number without quotes in other digits than 0 to 9."""
    try:
        event.value.encode()
        if event.implicit[0]:
            refuse_other_digits(event.value)
    except UnicodeEncodeError:
        raise _at(event, "a lone surrogate, such as \\ud800, is no text") from None
    except ValueError as error:
        raise _at(event, str(error)) from error
