"""``ettr fields``: search the fields of a scenario by name, alias or meaning."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ettr.cli import completion, terminal
from ettr.cli.options import JsonOption
from ettr.core.errors import InputError
from ettr.core.report import Headline, Note, Report, Table

if TYPE_CHECKING:
    from ettr.mitigation import Mitigation
    from ettr.scenario.basics import Plausible
    from ettr.scenario.field_list import ListedField


def fields(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD",
            help="Words to search for; a field must match all. A full path shows one field.",
            autocompletion=completion.fields,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search the fields of a scenario by name, alias or meaning: unit, default and allowed values of each.

    The search covers paths, other common names (MTBF, NCCL timeout, hot spare), meanings, units and sections. A single
    match is shown in full, with its plausible range and the direction that improves ETTR. In a path, <name> stands for
    the name of a failure mode or a checkpoint tier and can be left out. If no field matches, mitigations that do are
    listed.

    With --json, low and high bound the allowed values; plausible has low, high, source (a bibliography key; empty if
    the range is assumed) and reason, or is null; better is less, more or between for fields that `ettr plan --target`
    solves for; swept is true for fields that accept an array in the Python API.

    Exit status: 0 answer; 2 no field or mitigation matches.

    Example: ettr fields restart

    Example: ettr fields hot spare

    Example: ettr fields recovery.restart_min
    """
    matches = matching_fields(words or [])
    if as_json and (matches or _matching_mitigations(words or [])):
        terminal.write_json("fields", {"fields": [record_of(field) for field in matches]})
    elif len(matches) == 1:
        terminal.render(_in_full(matches[0]))
    elif matches:
        terminal.render(_as_tables(matches))
    elif mitigations := _matching_mitigations(words or []):
        terminal.render(_mitigations_instead(words or [], mitigations))
    else:
        raise _no_field(words or [])


def _matching_mitigations(words: Sequence[str]) -> list[Mitigation]:
    from ettr import mitigation

    catalogue = mitigation.catalogue()
    return [catalogue[name] for name in catalogue.search([part for word in words for part in word.split()])]


def _mitigations_instead(words: Sequence[str], mitigations: Sequence[Mitigation]) -> Report:
    """A pointer to mitigations, for words that match no field."""
    rows = [(entry.id, entry.title) for entry in mitigations]
    return [
        Headline(f"No field matches {' '.join(words)!r:.80}, but these mitigations do"),
        Table(("mitigation", "name"), rows, words=("name",)),
        Note(
            "`ettr compare --only` takes these; `ettr mitigations` lists all",
            dim=True,
            apart=True,
        ),
    ]


# --------------------------------------------------------------------------- search

_MAX_NEAR = 5
_LONGEST = 80
"""Characters of a word that a message repeats."""


def matching_fields(words: Sequence[str]) -> list[ListedField]:
    """Return the field with this path, or all fields that match every word, best match first."""
    from ettr.core.search import search
    from ettr.scenario import Scenario
    from ettr.scenario.field_list import fields_of, without_items

    listed = fields_of(Scenario)
    path = without_items(" ".join(words))  # the name of a failure mode may contain spaces
    words = [part for word in words for part in word.split()]
    if match := [field for field in listed if field.section and without_items(field.path) == path]:
        return match
    if words:  # fields of the whole run before those of a single mode or tier
        listed = tuple(sorted(listed, key=lambda field: "<" in field.path))
    by_path = {field.path: field for field in listed}
    return [by_path[key] for key in search(words, [field.entry for field in listed])]


def _no_field(words: Sequence[str]) -> InputError:
    """Return the error for words that match no field, with the fields nearest by spelling."""
    from ettr.scenario import Scenario
    from ettr.scenario.field_list import fields_of

    words, listed = [part for word in words for part in word.split()], fields_of(Scenario)
    near = _nearest(words, listed)
    hint = f"; did you mean {', '.join(near)}?" if near else ";"
    quoted = " and ".join(repr(word[:_LONGEST]) for word in words)
    return InputError(f"no field or mitigation matches {quoted}{hint} `ettr fields` lists all {len(listed)} fields")


def _nearest(words: Sequence[str], listed: Sequence[ListedField]) -> list[str]:
    """Return paths of the fields that match most words, each word replaced by the most similar one that occurs."""
    from ettr.core.search import search

    entries = [field.entry for field in listed]
    vocabulary = sorted(
        {part for entry in entries for part in re.findall(r"[^\W_]{3,}", f"{entry.names}{entry.text}".casefold())}
    )
    hits: Counter[str] = Counter()
    for word in re.findall(r"[^\W_]+", " ".join(words).casefold()):
        for similar in difflib.get_close_matches(word, vocabulary, n=1, cutoff=0.7):
            hits.update({key: 3 if similar in key else 2 for key in search([similar], entries)})
    order = {entry.key: i for i, entry in enumerate(entries)}
    return sorted(hits, key=lambda key: (-hits[key], order[key]))[:_MAX_NEAR]


# --------------------------------------------------------------------------- output


def record_of(field: ListedField) -> dict[str, Any]:
    """Return a field as plain values."""
    plausible = _plausible(field)
    ends = plausible and {
        "low": plausible.low,
        "high": plausible.high,
        "source": plausible.source,
        "reason": plausible.reason,
    }
    return {
        "field": field.path,
        "unit": field.unit,
        "meaning": field.meaning,
        "aliases": field.meta.aliases,
        "default": field.default,
        "required": field.required,
        "rule": field.rule,
        "low": field.low,
        "high": field.high,
        "plausible": ends,
        "better": field.meta.better,
        "swept": field.meta.swept,
    }


def _plausible(field: ListedField) -> Plausible | None:
    """The plausible range of a field within its allowed values; None for fields without one."""
    from ettr.ranges.inputs import plausible

    ends = field.meta.plausible
    if ends is None and field.meta.swept and isinstance(field.default, (int, float)):
        ends = plausible(field.path, float(field.default))
    if ends is None:
        return None
    low = ends.low if field.low is None else max(ends.low, field.low)
    return replace(ends, low=low, high=ends.high if field.high is None else min(ends.high, field.high))


def _as_tables(listed: Sequence[ListedField]) -> Report:
    """One table per section, the section with the best match first."""
    from ettr.scenario.field_list import without_items

    columns = ("field", "unit", "default", "rule", "meaning")
    groups: dict[str, list[ListedField]] = {}
    for field in listed:
        groups.setdefault(field.section, []).append(field)
    report: Report = []
    for section, group in groups.items():
        rows = [(field.name, field.unit, field.default_in_words, field.rule, field.meaning) for field in group]
        report += [Headline(_title(section), apart=bool(report)), Table(columns, rows, words=columns)]
    path = without_items(next((field.path for field in listed if field.section), listed[0].path))
    return [*report, Note(f"Set a field by section and name; `ettr fields {path}` shows more", dim=True, apart=True)]


def _title(section: str) -> str:
    """A section with the beginning of its description."""
    from ettr.scenario import Scenario
    from ettr.scenario.paths import field_at

    if not section:
        return "Top level of the scenario"
    path = section.removesuffix(".<name>").removesuffix(".<*>")
    description = field_at(path, Scenario).description or ""
    begins = re.split(r"[.:;,]\s", f"{description} ")[0].strip().replace("``", "")
    return f"{section}: {begins}"


_BETTER = {
    "less": "less; `ettr plan --target` solves for the largest value that reaches the target",
    "more": "more; `ettr plan --target` solves for the smallest value that reaches the target",
    "between": "an optimum between; `ettr plan --target` solves for the range that reaches the target",
}


def _in_full(field: ListedField) -> Report:
    """One field, one line per fact."""
    lines = {
        "meaning": field.meaning,
        "also called": ", ".join(field.meta.aliases),
        "unit": field.unit or "none",
        "default": field.default_in_words or "none; optional",
        "rule": field.rule or "none",
        "plausible": _range_in_words(field),
        "better": _BETTER.get(field.meta.better or "", ""),
        "swept": "accepts an array in the Python API" if field.meta.swept else "",
    }
    return [Headline(field.path), *(Note(f"  {name:11} {text}") for name, text in lines.items() if text)]


def _range_in_words(field: ListedField) -> str:
    ends = _plausible(field)
    if ends is None:
        return ""
    unit = f" {field.unit}" if field.unit else ""
    return f"{ends.low:.6g} to {ends.high:.6g}{unit}: {ends.reason} ({ends.source or 'assumed'})"
