"""The formats of one kind of file: named by the user, or known by a file's first lines."""

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
    """One format.

    Attributes
    ----------
    name : str
        As in ``--format``.
    title : str
        What it is, in a few words.
    sniff : callable
        From the first lines of a file, whether it is this one.
    read : callable
        Called with the source, what the user gives, what takes the records, and the ledger. It accounts in the ledger
        for every record that is not taken, and raises InputError only where nothing can be read at all.
    command : str
        What produces such a file.
    sample : str
        Two lines of one.
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
        What a file is to its reader, for messages.
    advice : str
        What a table needs, for a file that no format knows.
    *formats : Format
        Those that there are.

    Examples
    --------
    >>> Formats("log", "", Format("csv", "a table", bool, print)).table()["name"].tolist()
    ['csv']
    """

    def __init__(self, kind: str, advice: str, *formats: Format) -> None:
        super().__init__((each.name, each) for each in formats)
        self._kind, self._advice = kind, advice

    def table(self) -> pd.DataFrame:
        """``name``, ``title``, ``command`` and ``sample`` of each."""
        columns = ("name", "title", "command", "sample")
        return pd.DataFrame([{column: getattr(each, column) for column in columns} for each in self.values()])

    def named(self, name: str) -> Format:
        """The format of that name.

        Raises
        ------
        UnknownName
            There is none.
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
            The format that the user names; that which knows the first lines if none is named.
        progress, encoding
            As for ``Source``.

        Returns
        -------
        tuple of Source and Format

        Raises
        ------
        UnknownName
            No format of that name.
        InputError
            A file that cannot be read, or that no format knows.
        """
        if name is not None:
            self.named(name)
        source = Source(path, progress, self._kind, encoding)
        if name is not None:
            return source, self[name]
        head = source.head()
        for each in self.values():
            if each.sniff(head):
                return source, each
        raise InputError(
            f"the format of {source.name} is not known; it begins {first_line(head).strip()[:_SHOWN]!r}. Name it with "
            f"--format: {', '.join(self)}. {self._advice}"
        )
