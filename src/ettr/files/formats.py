"""One format among several: named by the user, or known by its first lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.files.opening import Source

_SHOWN = 80


class Format(Protocol):
    """What every format has: a name as in ``--format``, a title, and a look at a file's first lines."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def sniff(self) -> Callable[[list[str]], bool]: ...


F = TypeVar("F", bound=Format)


def table_of(formats: Mapping[str, Format]) -> pd.DataFrame:
    """``name`` and ``title`` of each, in the order in which they are tried."""
    return pd.DataFrame([{"name": each.name, "title": each.title} for each in formats.values()])


def named(formats: Mapping[str, F], name: str | None) -> F | None:
    """The format that the user names; None if none is named.

    Raises
    ------
    UnknownName
        No format of that name.
    """
    if name is not None and name not in formats:
        raise UnknownName("format", str(name), formats)
    return None if name is None else formats[name]


def recognised(formats: Mapping[str, F], source: Source, advice: str) -> F:
    """The first format that knows the file.

    Parameters
    ----------
    formats : mapping of str to Format
        By name, in the order in which they are tried.
    source : Source
        The file.
    advice : str
        What a table needs, for the error.

    Raises
    ------
    InputError
        No format knows the file.
    """
    head = source.head()
    for each in formats.values():
        if each.sniff(head):
            return each
    first = next((line.strip() for line in head if line.strip()), "")
    raise InputError(
        f"the format of {source.name} is not known; it begins {first[:_SHOWN]!r}. Name it with --format: "
        f"{', '.join(formats)}. {advice}"
    )
