"""The catalogue: every mitigation, by its name, and which do not go together."""

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
from ettr.core.search import Entry, search
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
"""Matches that an error lists by their ids."""


class _File(Section):
    """A catalogue as it stands in a file."""

    assumptions: tuple[Assumption, ...] = Field((), description="what is assumed of a scenario that says nothing of it")
    mitigations: tuple[Mitigation, ...] = Field(description="a list with at least one")

    @model_validator(mode="after")
    def _names_that_are_there(self) -> _File:
        ids = [one.id for one in self.mitigations]
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
    """Mitigations by their ids.

    Attributes
    ----------
    mitigations : tuple of Mitigation
        In the order of the file.
    assumptions : tuple of Assumption
        What is assumed of a scenario that says nothing of it.
    """

    mitigations: tuple[Mitigation, ...]
    assumptions: tuple[Assumption, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of all mitigations."""
        return tuple(one.id for one in self.mitigations)

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
            valid = matches if 0 < len(matches) <= _FEW else self.ids
            raise UnknownName("mitigation", str(name), valid)
        return entry

    @functools.cached_property
    def _by_name(self) -> dict[str, Mitigation]:
        """Mitigations by id, alias and title in small letters; an id before an alias, and that before a title."""
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
    def _entries(self) -> tuple[Entry, ...]:
        return tuple(
            Entry(entry.id, (entry.id, entry.title, *entry.aliases), f"{entry.group} {entry.mechanism}")
            for entry in self.mitigations
        )

    def conflict(self, first: str, second: str) -> str:
        """Why two mitigations do not go together; empty if they do.

        Examples
        --------
        >>> catalogue().conflict("just-in-time-checkpoint", "peer-checkpoint")
        'both define the fastest checkpoint tier'
        """
        one, other = self[first], self[second]
        if first == second:
            return ""
        declared = one.conflicts.get(second) or other.conflicts.get(first)
        clashes = (
            _clash(a, b)
            for a, b in itertools.product(one.changes, other.changes)
            if not (_ruled_out(a, other) or _ruled_out(b, one) or _is_made_of_stall(a, b) or _is_made_of_stall(b, a))
        )
        return declared or next(filter(None, clashes), "")

    def check_together(self, ids: Iterable[str]) -> None:
        """Raise where two of several mitigations do not go together.

        Raises
        ------
        InputError
            Which two, and why.
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
                "id": one.id,
                "title": one.title,
                "aliases": ", ".join(one.aliases),
                "group": one.group,
                "mechanism": one.mechanism,
                "evidence": NO_EVIDENCE if not one.has_evidence else PUBLISHED if one.changes else NOT_MODELLED,
                "asked_by": ", ".join(one.asked_by),
                "n_published": len(one.published),
                "unmodelled": one.unmodelled or "",
            }
            for one in self.mitigations
        )
        return pd.DataFrame(rows)


def _ruled_out(change: Change, by: Mitigation) -> bool:
    """Whether a mitigation makes what a change does without, so that the change has no place beside it."""
    made = {one.path for one in by.changes if one.op == "set" and one.path in one.unless}
    return any(path in made for path in change.unless)


def _is_made_of_stall(one: Change, other: Change) -> bool:
    """Whether a write is made of the stall, where there is none, so that what scales the stall has scaled it too."""
    return one.path == other.path and one.path in one.unless and one.of == "stall_s" and other.op == "scale"


def _clash(one: Change, other: Change) -> str:
    """Why two changes give different scenarios by their order; empty if they do not."""
    short, long = sorted((one, other), key=lambda change: len(change.path))
    if long.path.startswith(f"{short.path}.") and short.op == "set":
        return f"one sets {short.path}, the other changes {long.path}"
    if not _overlap(one.path, other.path):
        return ""
    if one.op != other.op:
        return f"on {one.path} it matters whether {one.op} or {other.op} comes first"
    if one.op == "set" and (one.value, one.of) != (other.value, other.of):
        return f"both set {one.path}"
    if isinstance(one.value, dict) and one.op == "add" and one.value.get("name") == other.value.get("name"):
        return f"both add {one.value.get('name')!r} to {one.path}"
    return ""


def _overlap(one: str, other: str) -> bool:
    """Whether two paths may lead to the same field; a star stands for every item of a list."""
    if one == other:
        return True
    listed = list_of(one)
    if not listed or listed != list_of(other) or listed in (one, other):
        return False
    names = [path.removeprefix(f"{listed}.").rpartition(".") for path in (one, other)]
    return names[0][2] == names[1][2] and ALL_ITEMS in (names[0][0], names[1][0])


def catalogue(path: str | Path | None = None) -> Catalogue:
    """All mitigations, or those of a file of the same form.

    Parameters
    ----------
    path : str or Path, optional
        A YAML file; the project's own catalogue without.

    Returns
    -------
    Catalogue
        In the order of the file.

    Raises
    ------
    InputError
        A file that cannot be read, a path that is no field of a scenario (with the nearest), an operation that does not
        fit its value, a conflict with an unknown mitigation.

    Examples
    --------
    >>> known = catalogue()
    >>> known["lemon-removal"].title
    'Lemon-node removal'
    """
    if path is None:
        return _own()
    return _parsed(text_of(path, "catalogue"), str(path))


@functools.lru_cache(maxsize=1)
def _own() -> Catalogue:
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
    """An error with the ids of mitigations in the place of their numbers."""
    rows = list(enumerate(raw)) if isinstance(raw, list) else []
    for number, one in reversed(rows):  # so that 1 does not find 11
        if isinstance(one, dict) and isinstance(one.get("id"), str):
            message = message.replace(f"mitigations.{number}", one["id"])
    return message
