"""A strict YAML reader for files from anywhere: without the traps of YAML 1.1, and with limits on size and depth.

PyYAML's safe loader expands aliases without a limit, and does not read ``no`` and ``1:30`` as texts.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.composer import Composer

from ettr.core.errors import InputError
from ettr.core.numbers import refuse_other_digits

if not yaml.__with_libyaml__:
    raise ImportError(
        "ettr needs PyYAML with libyaml, as in its wheels: pip install --force-reinstall --only-binary :all: pyyaml"
    )

MOST_VALUES, MOST_LEVELS = 100_000, 50
"""Limits on the values in a file and on nesting; an alias counts as the values it stands for."""
MOST_DIGITS = 300
"""Digits of a whole number; more exceed the range of floats."""
_MOST_CHARACTERS = 20 * MOST_VALUES
_PLAINLY = {
    "found unexpected ':'": "write a value, or a space, behind ':'",
    "found character that cannot start any token": (
        "no value starts with this character; indent with spaces, not tabs, and quote text that starts with @, % or `"
    ),
    "did not find expected node content": "a value, or a closing ] or }, is missing",
    "exceeded maximum nesting depth": f"nested more than {MOST_LEVELS} deep; write it flatter",
}
"""Messages of libyaml, and their meaning."""
_UNUSED = ("int", "float", "timestamp", "value")
"""Kinds of YAML 1.1 that are read differently here, or not at all."""


class _Size(NamedTuple):
    """Number of values, and depth of nesting."""

    n_values: int
    n_levels: int


class StrictLoader(Composer, yaml.CSafeLoader):
    """A loader without the traps of YAML 1.1: repeated keys are errors, 1:30 and 010 are texts, and 1e5 is a number.

    Tags are refused, and so are files beyond the limits, with each alias counted in full. libyaml parses the events,
    four times as fast as PyYAML; the values made from them are counted here.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] not in _UNUSED]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        Composer.__init__(self)
        yaml.CSafeLoader.__init__(self, text)
        self._n_values = self._level = self._deepest = 0
        self._anchored: dict[str, _Size] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self.anchors and event.anchor not in self._anchored:
                raise _at(event, f"*{event.anchor:.40} is used inside its own anchor")
            self._count(event, *self._anchored.get(event.anchor or "", _Size(0, 0)))
            return super().compose_node(parent, index)
        if event.tag is not None:
            raise _at(event, f"the tag {event.tag.replace(_TAGS, '!!'):.40} is not read: write the value without it")
        if isinstance(event, yaml.ScalarEvent) and event.implicit[0] and not event.value.isascii():
            _check_digits(event)
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
                raise _at(key, f"the key {key.value!r} is repeated")
            seen.add(name)
        return node

    def flatten_mapping(self, node: Any) -> None:
        """Replace ``<<`` by what it merges: the mapping's own values win, and then the first of those merged.

        PyYAML 6.0.4 takes others where a merged mapping merges another itself.
        """
        if all(key.tag != f"{_TAGS}merge" for key, _ in node.value):
            return
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag != f"{_TAGS}merge":
                own[key.value] = key, value
                continue
            for part in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                if not isinstance(part, yaml.MappingNode):
                    raise _at(value, "<< takes a mapping or a list of mappings")
                self.flatten_mapping(part)
                for pair in part.value:
                    merged.setdefault(pair[0].value, pair)
        node.value = list((merged | own).values())

    def _count(self, event: Any, n_values: int, n_levels: int) -> None:
        """Count a value that begins, and refuse more than the limits."""
        self._n_values += n_values
        self._deepest = max(self._deepest, self._level + n_levels)
        if self._n_values > MOST_VALUES:
            raise _at(event, f"more than {MOST_VALUES:,} values, aliases counted in full; split it")
        if self._deepest > MOST_LEVELS:
            raise _at(event, f"nested more than {MOST_LEVELS} deep; write it flatter")


_TAGS = "tag:yaml.org,2002:"
_TAG_DIRECTIVE = re.compile(r"(?:\A|[\r\n\x85\u2028\u2029\ufeff])(%TAG)\b")
"""A directive at the start of a line, after any line end."""
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


def load(text: str, place: str) -> Any:
    """Return the content of a YAML text: texts, numbers, truth values, lists and mappings.

    Parameters
    ----------
    text : str
        The YAML.
    place : str
        Name of the file in errors.

    Raises
    ------
    InputError
        The YAML is broken (the message has line and column), has tags or repeated keys, or exceeds the limits.

    Examples
    --------
    >>> load("{a: [1e3, 010, -0.0], b: &x yes, c: *x}", "mine.yml")
    {'a': [1000.0, '010', 0.0], 'b': True, 'c': True}
    """
    _refuse_long(len(text), place)
    try:
        _refuse_tag_directives(text)
        return yaml.load(text, Loader=StrictLoader)
    except UnicodeEncodeError as error:
        raise InputError(f"{place}: broken YAML, a lone surrogate, such as \\ud800, is no text") from error
    except InputError:
        raise
    except (RecursionError, ValueError) as error:  # nested too deeply outside values; a number out of range
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error).partition(";")[0]
        raise InputError(f"{place}: broken YAML, {problem}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f": line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        problem = _PLAINLY.get(problem, problem)
        raise InputError(f"{place}{where}: broken YAML, {problem}") from error


def mapping_of(text: str, place: str, kind: str) -> dict[str, Any]:
    """Return the sections in a YAML text; broken YAML raises an :class:`InputError` with line and column."""
    raw = load(text, place)
    if raw is None:
        raise InputError(f"{place} is empty; a {kind} has sections with fields")
    if not isinstance(raw, dict):
        form = "a list" if isinstance(raw, list) else f"the value {inline(raw)[:40]!r}"
        raise InputError(f"{place}: a {kind} has sections with fields, got {form}")
    return raw


def inline(value: Any) -> str:
    """Return a value in one line as it may stand in a YAML file.

    Examples
    --------
    >>> inline({"n_nodes": 8, "idle": True, "bytes": 405e9, "tiers": [None, "peer"]})
    '{n_nodes: 8, idle: true, bytes: 405000000000, tiers: [null, peer]}'
    """
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {inline(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return min(f"{value:.12g}", repr(value), key=len) if isinstance(value, float) else str(value)


def text_of(path: str | os.PathLike[str], kind: str) -> str:
    """Return the text of a file for :func:`load`; ``kind`` names its content in errors."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_MOST_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", error)
        raise InputError(f"cannot read {kind} {path}: {reason}") from error
    _refuse_long(len(text), str(path))
    return text


def _refuse_long(n_characters: int, place: str) -> None:
    if n_characters > _MOST_CHARACTERS:
        raise InputError(f"{place} has more than {_MOST_CHARACTERS:,} characters; split it")


def _refuse_tag_directives(text: str) -> None:
    """Refuse %TAG lines: libyaml compares each with all before it, in quadratic time."""
    directive = _TAG_DIRECTIVE.search(text)
    if directive:
        start = directive.start(1)
        n_lines = len(text[:start].lstrip("\ufeff").splitlines())
        mark = yaml.Mark("", start, n_lines, 0, None, None)  # type: ignore[arg-type]
        raise yaml.MarkedYAMLError(problem="%TAG is not read: write values without tags", problem_mark=mark)


def _at(where: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=where.start_mark)


def _check_digits(event: Any) -> None:
    """Refuse a number in other digits than 0 to 9."""
    try:
        refuse_other_digits(event.value)
    except ValueError as error:
        raise _at(event, str(error)) from error
