"""Formats of one kind of file: named by the user, or detected from the first lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.files.opening import Progress, Source
from ettr.files.tables import first_line

_SHOWN = 80


@dataclass(frozen=True)
class Format:
    """A format of a kind of file.

    Attributes
    ----------
    name : str
        Name of the format.
    title : str
        Description in a few words.
    sniff : callable
        Returns from the first lines of a file whether it has this format.
    read : callable
        Called with the source, the options of the user, the object that takes the records, and the ledger. It records
        in the ledger every record that is left out, and raises InputError only if nothing can be read at all.
    command : str
        Command that produces such a file.
    sample : str
        Two lines of such a file.
    """

    name: str
    title: str
    sniff: Callable[[list[str]], bool]
    read: Callable[..., Any] = field(repr=False)
    command: str = ""
    sample: str = ""


class Formats(dict[str, Format]):
    """Formats of one kind of file by name, in the order in which they are tried.

    Parameters
    ----------
    kind : str
        Kind of file, for messages.
    advice : str
        Advice for a file of an unknown format.
    *formats : Format
        The formats.

    Examples
    --------
    >>> Formats("log", "", Format("csv", "a table", bool, print)).table()["name"].tolist()
    ['csv']
    """

    def __init__(self, kind: str, advice: str, *formats: Format) -> None:
        super().__init__((format_.name, format_) for format_ in formats)
        self._kind, self._advice = kind, advice

    def table(self) -> pd.DataFrame:
        """Return ``name``, ``title``, ``command`` and ``sample`` of each format."""
        columns = ("name", "title", "command", "sample")
        return pd.DataFrame([{column: getattr(format_, column) for column in columns} for format_ in self.values()])

    def named(self, name: str) -> Format:
        """Return the format of that name.

        Raises
        ------
        UnknownName
            If there is none.
        """
        if name not in self:
            raise UnknownName("format", str(name), self)
        return self[name]

    def open(
        self, path: str | Path, name: str | None, progress: Progress | None, encoding: str | None = None
    ) -> tuple[Source, Format]:
        """Open a file and choose its format.

        Parameters
        ----------
        path : str or path
            The file.
        name : str or None
            Name of the format; detected from the first lines if not given.
        progress, encoding
            See ``Source``.

        Returns
        -------
        tuple of Source and Format

        Raises
        ------
        UnknownName
            No format of that name.
        InputError
            The file cannot be read, or its format is unknown.
        """
        if name is not None:
            self.named(name)
        source = Source(path, progress, self._kind, encoding)
        if name is not None:
            return source, self[name]
        head = source.head()
        for format_ in self.values():
            if format_.sniff(head):
                return source, format_
        raise InputError(
            f"the format of {source.name} is not known; it starts with {first_line(head).strip()[:_SHOWN]!r}. Name it "
            f"with `format`: {', '.join(self)}. {self._advice}"
        )
