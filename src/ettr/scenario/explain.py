"""Error messages for scenarios: full path, rule with unit, value and nearest name."""

from __future__ import annotations

import difflib
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ettr.core.quantities import advice, noun_of
from ettr.core.sentences import cut
from ettr.core.units import unit_of
from ettr.core.yaml_files import inline
from ettr.scenario.basics import Section
from ettr.scenario.bounds import of_section
from ettr.scenario.paths import model_of

_BOUNDS = {"greater_than": ">", "greater_than_equal": ">=", "less_than": "<", "less_than_equal": "<="}
_KINDS = {
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
    "model": "a section with its fields",
    "dict": "a section with its fields",
}
_LONGEST = 80
"""Maximum length of a value in a message."""


def explain(error: ValidationError, model: type[Section], place: str) -> list[str]:
    """Return one line per error.

    Parameters
    ----------
    error : ValidationError
        As pydantic raised it.
    model : type
        The scenario class.
    place : str
        File or override that the values came from.
    """
    return [f"{_sentence(fault, model)} ({place})" for fault in error.errors()]


def _sentence(fault: Any, model: type[Section]) -> str:
    path = ".".join(str(part) for part in fault["loc"])
    name, value, kind, context = path.rpartition(".")[2], fault["input"], fault["type"], fault.get("ctx", {})
    unit = f" {unit_of(name)}" if unit_of(name) else ""
    quoted = cut(repr(value) if isinstance(value, str) else inline(value), _LONGEST)
    if kind in _BOUNDS:
        sign, limit = _BOUNDS[kind], next(context[key] for key in ("gt", "ge", "lt", "le") if key in context)
        if (sign, limit) == (">", 0):  # the unit's least number is the bound
            sign, limit = _lower_bound(fault["loc"], model)
        return f"{path} must be {sign} {limit:g}{unit}, got {cut(inline(value), _LONGEST)}"
    if kind == "finite_number":
        return f"{path} must be finite, got {cut(inline(value), _LONGEST)}"
    if kind == "missing":
        return f"{path} is missing{_meaning(fault['loc'], model)}"
    if kind == "extra_forbidden":
        return _unknown(path, fault["loc"], model)
    if kind == "literal_error":
        return f"{path} must be {context['expected']}, got {quoted}"
    if kind in ("string_pattern_mismatch", "string_too_long"):
        return _bad_text(path, value, context)
    if kind == "invalid_key":
        return f"{path}: a field's name must be text, got {quoted}"
    if kind == "value_error":
        return _own_rule(path, str(context["error"]), value, model)
    if kind.startswith(("int", "float")):
        whole = kind.startswith("int")
        instead = advice(value, unit.strip(), whole=whole) if isinstance(value, str) else ""
        return f"{path} must be {noun_of(unit.strip(), whole=whole)}, got {quoted}{': ' * bool(instead)}{instead}"
    for prefix, words in _KINDS.items():
        if kind.startswith(prefix):
            return f"{path} must be {words}, got {quoted}"
    return f"{path}: {fault['msg']}, got {quoted}"


def _lower_bound(location: Any, model: type[Section]) -> tuple[str, float]:
    """Return the lower bound of the number at a location, with its sign."""
    section = _section_at(location[:-1], model) or model
    rules = of_section(section).get(str(location[-1]), ())
    return next((rule for rule in rules if rule[0].startswith(">")), (">", 0))


def _bad_text(path: str, text: str, context: Any) -> str:
    if not text.strip():
        return f"{path} must not be empty"
    if "max_length" in context:
        return f"{path} must have at most {context['max_length']} characters, got {len(text)}"
    return f"{path} has characters that are not allowed, got {cut(repr(text), _LONGEST)}; {_pattern_in_words(path)}"


def _own_rule(path: str, message: str, value: Any, model: type[Section]) -> str:
    """Join the message of a section's validator with the path of the section."""
    if message == "is not a number":
        return f"{path} must be a number, got {inline(value)}"
    if message.startswith("must be"):
        return f"{path} {message}"
    section = _section_at(path.split("."), model) if path else model
    first = message.split(maxsplit=1)[0].rstrip(":")
    if not path:
        return message
    return f"{path}.{message}" if section and first in section.model_fields else f"{path} {message}"


def _section_at(parts: Any, model: type[Section]) -> type[Section] | None:
    """Return the section class at the end of a location, skipping list positions."""
    section: type[Section] | None = model
    for part in parts:
        if isinstance(part, int) or str(part).isdigit():
            continue
        if section is None or part not in section.model_fields:
            return section
        section = model_of(section.model_fields[part].annotation)
    return section


def _unknown(path: str, location: Any, model: type[Section]) -> str:
    section = _section_at(location[:-1], model) or model
    valid = list(section.model_fields)
    close = difflib.get_close_matches(str(location[-1]), valid, n=1, cutoff=0.4)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"unknown field {path}{hint} Valid: {', '.join(valid)}"


def _meaning(location: Any, model: type[Section]) -> str:
    section = _section_at(location[:-1], model)
    field: FieldInfo | None = section.model_fields.get(str(location[-1])) if section else None
    if field is None or not field.description:
        return ""
    unit = unit_of(str(location[-1]))
    return f"{f' [{unit}]' if unit else ''}: {field.description.splitlines()[0]}"


def _pattern_in_words(path: str) -> str:
    if path == "name":
        return "a name has a-z, 0-9, dot, dash and underscore, and at most 64 of them"
    if path.endswith(".id"):
        return "an id has a-z, 0-9 and dash, and at most 64 of them"
    if path == "title":
        return "a title is one line of characters that can be printed"
    return "letters, digits, spaces and plain punctuation are"
