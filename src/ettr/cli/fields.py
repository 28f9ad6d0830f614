"""``ettr fields``: what a scenario can say, found by a word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr.cli import terminal
from ettr.cli.options import JsonOption
from ettr.core.errors import InputError
from ettr.core.report import Headline, Note, Report, Table

if TYPE_CHECKING:
    from ettr.scenario.basics import Plausible
    from ettr.scenario.field_list import ListedField


def fields(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]...", help="What to look for; of several words all. A whole path shows one field."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the fields of a scenario: what each means, its unit, its default, and what it may be.

    A word is looked for in paths, meanings, units, names and what sections say of themselves. One field alone, as its
    path finds it, is answered in full: how far its value may plausibly be from the default, and which way it is better.
    For <name> stands the name of a failure mode, a component or a tier; in the path of a field
    to look for it can be left out.

    With --json, low and high are the ends of what it may be; plausible has low, high, source (a bibliography key; empty
    where the range is assumed) and reason, or is null; better is less, more or between for fields that `ettr plan
    --target` solves for; swept says whether formulas take an array for it.

    Example: ettr fields restart

    Example: ettr fields recovery.restart_min
    """
    found = _found(words or [])
    if as_json:
        terminal.write_json([record_of(one) for one in found])
    elif len(found) == 1:
        terminal.render(_in_full(found[0]))
    else:
        terminal.render(_as_tables(found))


# --------------------------------------------------------------------------- finding

_MOST_NEAR = 5
_LONGEST = 80
"""Signs of a word that a message repeats."""


def _found(words: Sequence[str]) -> list[ListedField]:
    """The field whose path is given, or all in which every word occurs, in the order of the model."""
    from ettr.scenario import Scenario
    from ettr.scenario.field_list import fields_of, without_items

    known = fields_of(Scenario)
    path = without_items(" ".join(words))  # the name of a failure mode may hold spaces
    words = [part for word in words for part in word.split()]
    found = [one for one in known if one.section and without_items(one.path) == path]
    found = found or [one for one in known if one.has(words)]
    if not found:
        near = _nearest(words, known)
        hint = f"; near it: {', '.join(near)}" if near else ""
        asked = " and ".join(repr(word[:_LONGEST]) for word in words)
        raise InputError(f"no field of a scenario has {asked}{hint}. `ettr fields` alone lists all {len(known)}")
    return found


def _nearest(words: Sequence[str], known: Sequence[ListedField]) -> list[str]:
    """Paths of the fields in which most words occur, each word as it is or as the most similar one that occurs."""
    vocabulary = sorted({part for one in known for part in re.findall(r"[^\W_]{3,}", one.text)})
    similar = [
        difflib.get_close_matches(part, vocabulary, n=1, cutoff=0.7)
        for word in words
        for part in re.findall(r"[^\W_]+", word.casefold())
    ]
    sought = [part for parts in similar for part in parts]

    def likeness(one: ListedField) -> tuple[int, int]:
        return sum(one.has([part]) for part in sought), sum(part in one.path for part in sought)

    ranked = sorted((one for one in known if likeness(one)[0]), key=likeness, reverse=True)
    return [one.path for one in ranked[:_MOST_NEAR]]


# --------------------------------------------------------------------------- showing


def record_of(one: ListedField) -> dict[str, Any]:
    """All that is known of a field, as plain values."""
    ends = _plausible(one)
    return {
        "field": one.path,
        "unit": one.unit,
        "meaning": one.meaning,
        "default": one.default,
        "required": one.required,
        "rule": one.rule,
        "low": one.low,
        "high": one.high,
        "plausible": ends and {"low": ends.low, "high": ends.high, "source": ends.source, "reason": ends.reason},
        "better": one.meta.better,
        "swept": one.meta.swept,
    }


def _plausible(one: ListedField) -> Plausible | None:
    """How far a value may be from the default, within its rule; None of what a plan takes as it is."""
    from ettr.ranges.inputs import plausible

    ends = one.meta.plausible
    if ends is None and one.meta.swept and isinstance(one.default, (int, float)):
        ends = plausible(one.path, float(one.default))
    if ends is None:
        return None
    low = ends.low if one.low is None else max(ends.low, one.low)
    return replace(ends, low=low, high=ends.high if one.high is None else min(ends.high, one.high))


def _as_tables(found: Sequence[ListedField]) -> Report:
    """A table for each section, which stands above it, so that the names of its fields fit."""
    from ettr.scenario.field_list import without_items

    columns = ("field", "unit", "default", "rule", "meaning")
    groups: dict[str, list[ListedField]] = {}
    for one in found:
        groups.setdefault(one.section, []).append(one)
    report: Report = []
    for section, group in groups.items():
        rows = [(one.name, one.unit, one.default_in_words, one.rule, one.meaning) for one in group]
        report += [Headline(_title(section), apart=bool(report)), Table(columns, rows, words=columns)]
    path = without_items(next((one.path for one in found if one.section), found[0].path))
    more = Note(f"A field is set by its section and its name; `ettr fields {path}` says more", dim=True, apart=True)
    return [*report, more]


def _title(section: str) -> str:
    """A section, and the beginning of what it says of itself."""
    from ettr.scenario import Scenario
    from ettr.scenario.paths import field_at

    if not section:
        return "The scenario itself"
    path = section.removesuffix(".<name>").removesuffix(".<*>")
    said = field_at(path, Scenario).description or ""
    begins = re.split(r"[.:;,]\s", f"{said} ")[0].strip().replace("``", "")
    return f"{section}: {begins}"


_BETTER = {
    "less": "less; `ettr plan --target` says the most that it may be",
    "more": "more; `ettr plan --target` says the least that it may be",
    "between": "around an optimum; `ettr plan --target` says the range that it may be in",
}


def _in_full(one: ListedField) -> Report:
    """One field, a line each for what is known of it."""
    lines = {
        "meaning": one.meaning,
        "unit": one.unit or "none",
        "default": one.default_in_words or "none; it may be left out",
        "rule": one.rule or "none",
        "plausible": _range_in_words(one),
        "better": _BETTER.get(one.meta.better or "", ""),
        "swept": "formulas take an array for it" if one.meta.swept else "",
    }
    return [Headline(one.path), *(Note(f"  {name:10} {text}") for name, text in lines.items() if text)]


def _range_in_words(one: ListedField) -> str:
    ends = _plausible(one)
    if ends is None:
        return ""
    unit = f" {one.unit}" if one.unit else ""
    return f"{ends.low:.6g} to {ends.high:.6g}{unit}: {ends.reason} ({ends.source or 'assumed'})"
