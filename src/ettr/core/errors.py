"""The errors that ``ettr`` raises on purpose, with messages a user can act on.

All derive from :class:`EttrError`, and the errors about an input from :class:`InputError`:

>>> issubclass(UnknownName, InputError) and issubclass(InputError, ValueError)
True
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_MANY = 12
"""Longest list of valid names in a message."""


class EttrError(Exception):
    """Base of all errors raised on purpose; the command line prints only the message.

    Each argument is a line of the message. A line end within an argument belongs to a name, and is printed escaped.
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
        The unknown name.
    valid : iterable of str
        All valid names.
    place : str
        Where the name was found, e.g. a file; appended in parentheses.
    near : sequence of str
        Valid names to offer, the best first, instead of those of similar spelling.

    Examples
    --------
    >>> print(UnknownName("preset", "llama3", ["llama3-405b", "rsc-1"]))
    unknown preset 'llama3'; did you mean 'llama3-405b'? Valid: llama3-405b, rsc-1
    >>> print(UnknownName("unit", "mo", ["hour", "minute", "month"], near=["month"]))
    unknown unit 'mo'; did you mean 'month'? Valid: hour, minute, month
    """

    def __init__(self, kind: str, name: str, valid: Iterable[str], place: str = "", near: Sequence[str] = ()) -> None:
        self.name = name
        self.valid = sorted(valid)
        near = near or difflib.get_close_matches(str(name).lower(), self.valid, n=5, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        where = f" ({place})" if place else ""
        if near == self.valid:
            listed = ""
        elif len(self.valid) <= _MANY or not near:
            listed = f" Valid: {', '.join(self.valid)}"
        else:
            listed = f" Near it: {', '.join(near)}" if len(near) > 1 else ""
        super().__init__(f"unknown {kind} {name!r}{where}{hint}{listed}")


class OutsideValidity(EttrError, ValueError):
    """A formula was evaluated outside its range of validity."""


class NotModelled(InputError):
    """A scenario uses a field that a model does not include."""


class WrongChart(InputError):
    """A chart cannot be drawn as requested; an error of the calling code, not of the scenario."""


class NoProgress(EttrError):
    """A simulated run makes no progress: failures come faster than it can work."""


class DataError(EttrError):
    """A table of ``data/`` is missing, was changed, or violates its schema."""


class NotebookFailed(EttrError):
    """A notebook stopped at a cell; the message names notebook, cell and error."""


class NotebookKilled(NotebookFailed):
    """The process of a notebook was killed or did not start, which says nothing about the notebook: run it again."""
