"""Every error that ``ettr`` raises on purpose, in words a user can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MANY = 12
"""More names than this are not all listed in a message."""


class EttrError(Exception):
    """Base of all errors raised on purpose; the command line prints the message alone.

    Each argument is a line of it. A line end within an argument is part of a name, and is shown as its escape.
    """

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class InputError(EttrError, ValueError):
    """A value, name or file given by the user that breaks a rule."""


class UnknownName(InputError):
    """A name that is not one of the valid ones; the message offers the nearest.

    Parameters
    ----------
    kind : str
        What the name stands for, e.g. ``"preset"``.
    name : str
        The name as given.
    valid : iterable of str
        The names that exist.
    place : str
        Where the name stood, e.g. a file; appended in brackets.
    """

    def __init__(self, kind: str, name: str, valid: Iterable[str], place: str = "") -> None:
        self.name = name
        self.valid = sorted(valid)
        near = difflib.get_close_matches(str(name).lower(), self.valid, n=5, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        where = f" ({place})" if place else ""
        if len(self.valid) <= _MANY or not near:
            listed = f" Valid: {', '.join(self.valid)}"
        else:
            listed = f" Near it: {', '.join(near)}" if len(near) > 1 else ""
        super().__init__(f"unknown {kind} {name!r}{where}{hint}{listed}")


class OutsideValidity(EttrError, ValueError):
    """A formula was asked for a value where it no longer holds."""


class NotModelled(InputError):
    """A scenario uses a field that this formula has no term for."""


class WrongChart(InputError):
    """A chart was asked for in a way that it cannot be drawn: a fault of code, whatever the scenario."""


class NoProgress(EttrError):
    """A simulated run cannot get on: it meets failures faster than it can work."""


class DataError(EttrError):
    """A table of ``data/`` is missing, was changed, or breaks its schema."""


class NotebookFailed(EttrError):
    """A notebook stopped at a cell; the message names notebook, cell and error."""
