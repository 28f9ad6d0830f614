"""The catalogue of mitigations, and the conflicts between them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError, model_validator

from ettr import evidence
from ettr.core.errors import InputError, UnknownName
from ettr.core.numbers import refuse_infinite
from ettr.core.search import Searchable, search
from ettr.core.yaml_files import mapping_of, text_of
from ettr.mitigation.entries import ALL_ITEMS, PUBLISHED, Assumption, Change, Mitigation
from ettr.scenario.basics import Section
from ettr.scenario.explain import explain
from ettr.scenario.paths import list_of

if TYPE_CHECKING:
    import pandas as pd


NO_EVIDENCE, NOT_MODELLED = "no evidence", "not modelled"
_PLACE = "mitigations.yml"
_FEW = 5
"""Maximum number of matches that an error lists."""


class _File(Section):
    """A catalogue file."""

    assumptions: tuple[Assumption, ...] = Field((), description="values assumed for fields that a scenario leaves out")
    mitigations: tuple[Mitigation, ...] = Field(description="a list with at least one")

    @model_validator(mode="after")
    def _names_that_are_there(self) -> _File:
        ids = [entry.id for entry in self.mitigations]
        if not ids:
            raise ValueError("needs at least one mitigation")
        for name in ids:
            if ids.count(name) > 1:
                raise ValueError(f"has two mitigations with the id {name!r}")
        for entry in self.mitigations:
            for other in entry.conflicts:
                if other not in ids or other == entry.id:
                    raise UnknownName("mitigation in conflicts", other, set(ids) - {entry.id}, f"of {entry.id}")
        return self

    @model_validator(mode="after")
    def _each_name_belongs_to_one_mitigation(self) -> _File:
        owners: dict[str, str] = {}
        for entry in self.mitigations:
            for name in (entry.id, *entry.aliases):
                owner = owners.setdefault(name.casefold(), entry.id)
                if owner != entry.id:
                    raise ValueError(f"the name {name!r} belongs to both {owner} and {entry.id}")
        return self


@dataclass(frozen=True)
class Catalogue:
    """Mitigations by id.

    Attributes
    ----------
    mitigations : tuple of Mitigation
        All mitigations, in the order of the file.
    assumptions : tuple of Assumption
        Values assumed for fields that a scenario leaves out.
    """

    mitigations: tuple[Mitigation, ...]
    assumptions: tuple[Assumption, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all mitigations."""
        return tuple(entry.id for entry in self.mitigations)

    def __iter__(self) -> Iterator[Mitigation]:
        return iter(self.mitigations)

    def __len__(self) -> int:
        return len(self.mitigations)

    def __getitem__(self, name: str) -> Mitigation:
        """Return a mitigation by its id, title or an alias, whatever their case.

        Raises
        ------
        UnknownName
            No mitigation has this name; the message offers the nearest ids.

        Examples
        --------
        >>> catalogue()["torchft"].id, catalogue()["Dual-ToR networking"].id
        ('replica-drop', 'dual-switch')
        """
        entry = self._by_name.get(str(name).strip().casefold())
        if entry is None:
            matches = self.search([str(name)])
            raise UnknownName("mitigation", str(name), self.ids, near=matches if len(matches) <= _FEW else ())
        return entry

    @functools.cached_property
    def _by_name(self) -> dict[str, Mitigation]:
        """Mitigations by lower-case id, alias and title; ids take precedence over aliases, aliases over titles."""
        titles = {entry.title.casefold(): entry for entry in reversed(self.mitigations)}
        return titles | {name.casefold(): entry for entry in self.mitigations for name in (*entry.aliases, entry.id)}

    def search(self, words: Sequence[str]) -> list[str]:
        """Return the ids of the mitigations whose id, title, aliases or description match all words, best match first.

        Examples
        --------
        >>> catalogue().search(["hot", "spare"])[0], catalogue().search(["SDC"])[0]
        ('warm-standby', 'sdc-checks')
        """
        return search(words, self._entries)

    @functools.cached_property
    def _entries(self) -> tuple[Searchable, ...]:
        return tuple(
            Searchable(entry.id, (entry.id, entry.title, *entry.aliases), f"{entry.group} {entry.mechanism}")
            for entry in self.mitigations
        )

    def conflict(self, first: str, second: str) -> str:
        """Return why two mitigations conflict; empty if they do not.

        Examples
        --------
        >>> catalogue().conflict("just-in-time-checkpoint", "peer-checkpoint")
        'both define the fastest checkpoint tier'
        """
        mitigation, other = self[first], self[second]
        if first == second:
            return ""
        declared = mitigation.conflicts.get(second) or other.conflicts.get(first)
        clashes = (
            _clash(change, counterpart)
            for change, counterpart in itertools.product(mitigation.changes, other.changes)
            if not (_ruled_out(change, other) or _ruled_out(counterpart, mitigation))
            and not (_is_made_of_stall(change, counterpart) or _is_made_of_stall(counterpart, change))
        )
        return declared or next(filter(None, clashes), "")

    def check_together(self, ids: Iterable[str]) -> None:
        """Raise if two of several mitigations conflict.

        Raises
        ------
        InputError
            The message names the two and the reason.
        """
        for first, second in itertools.combinations(dict.fromkeys(ids), 2):
            if why := self.conflict(first, second):
                raise InputError(f"{first} and {second} do not go together: {why}")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per mitigation.

        Returns
        -------
        DataFrame
            ``id``, ``title``, ``aliases`` (comma-separated), ``group``, ``mechanism``, ``evidence`` (``published``,
            ``no evidence`` or ``not modelled``), ``asked_by`` (comma-separated keys), ``n_published``, ``unmodelled``
            (the reason; empty if modelled).
        """
        import pandas as pd

        rows = (
            {
                "id": entry.id,
                "title": entry.title,
                "aliases": ", ".join(entry.aliases),
                "group": entry.group,
                "mechanism": entry.mechanism,
                "evidence": NO_EVIDENCE if not entry.has_evidence else PUBLISHED if entry.changes else NOT_MODELLED,
                "asked_by": ", ".join(entry.asked_by),
                "n_published": len(entry.published),
                "unmodelled": entry.unmodelled or "",
            }
            for entry in self.mitigations
        )
        return pd.DataFrame(rows)


def _ruled_out(change: Change, by: Mitigation) -> bool:
    """Return whether a mitigation sets the field whose absence is a condition of a change."""
    made = {other.path for other in by.changes if other.op == "set" and other.path in other.unless}
    return any(path in made for path in change.unless)


def _is_made_of_stall(change: Change, other: Change) -> bool:
    """Return whether a change derives the write time from the stall, so that scaling the stall already scales it."""
    return change.path == other.path and change.path in change.unless and change.of == "stall_s" and other.op == "scale"


def _clash(first: Change, second: Change) -> str:
    """Return why the result of two changes depends on their order; empty if it does not."""
    short, long = sorted((first, second), key=lambda change: len(change.path))
    if long.path.startswith(f"{short.path}.") and short.op == "set":
        return f"one sets {short.path}, the other changes {long.path}"
    if not _overlap(first.path, second.path):
        return ""
    if first.op != second.op:
        return f"on {first.path} it matters whether {first.op} or {second.op} comes first"
    if first.op == "set" and (first.value, first.of) != (second.value, second.of):
        return f"both set {first.path}"
    if isinstance(first.value, dict) and first.op == "add" and first.value.get("name") == second.value.get("name"):
        return f"both add {first.value.get('name')!r} to {first.path}"
    return ""


def _overlap(first: str, second: str) -> bool:
    """Return whether two paths can refer to the same field; a star refers to every item of a list."""
    if first == second:
        return True
    listed = list_of(first)
    if not listed or listed != list_of(second) or listed in (first, second):
        return False
    names = [path.removeprefix(f"{listed}.").rpartition(".") for path in (first, second)]
    return names[0][2] == names[1][2] and ALL_ITEMS in (names[0][0], names[1][0])


def catalogue(path: str | Path | None = None) -> Catalogue:
    """Return all mitigations, or those of a file.

    Parameters
    ----------
    path : str or Path, optional
        A YAML file in the same format; the built-in catalogue by default.

    Returns
    -------
    Catalogue
        In the order of the file.

    Raises
    ------
    InputError
        The file cannot be read, a path is not a field of a scenario (with the nearest), an operation does not fit its
        value, or a conflict names an unknown mitigation.

    Examples
    --------
    >>> catalogue()["lemon-removal"].title
    'Lemon-node removal'
    """
    if path is None:
        return _published()
    return _parsed(text_of(path, "catalogue"), str(path))


@functools.lru_cache(maxsize=1)
def _published() -> Catalogue:
    return _parsed(evidence.mitigations_text(), _PLACE)


def _parsed(text: str, place: str) -> Catalogue:
    raw = mapping_of(text, place, "catalogue")
    try:
        refuse_infinite("", raw, place)
        parsed = _File.model_validate(raw)
    except (InputError, ValidationError) as error:
        lines = explain(error, _File, place) if isinstance(error, ValidationError) else error.args
        raise InputError(*(_by_id(line, raw.get("mitigations")) for line in lines)) from error
    return Catalogue(parsed.mitigations, parsed.assumptions)


def _by_id(message: str, raw: Any) -> str:
    """Return an error message with ids of mitigations instead of their positions."""
    rows = list(enumerate(raw)) if isinstance(raw, list) else []
    for number, entry in reversed(rows):  # so that 1 does not find 11
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            message = message.replace(f"mitigations.{number}", entry["id"])
    return message
