"""Columns of a table by what they hold: found by common names, or named by the user."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.tables import columns_found, listed_names, plain_name, refuse_twice, same_name
from ettr.files.times import epoch_s, is_number, time_part

Columns = dict[str, tuple[str, ...]]
"""Role to column names of the file; several names if their texts together are the name of a node or a time."""

_HOUR_NAME = re.compile(r"time|hour|clock|uhrzeit|zeit|heure|hora|ora")
_TIME_NAME = re.compile(rf"date|datum|fecha|data|day|jour|{_HOUR_NAME.pattern}")
_PERHAPS_DURATIONS = ("repairtime", "resolvetime")
_NO_HOURS = (
    "hours next to the dates in {!r} must be written as 10:00, but {!r} has values such as {!r}: write them so, or "
    "leave the column out"
)
_FIRST_TEXTS = 100


def find_roles(
    present: Sequence[str],
    words: Mapping[str, Sequence[str]],
    mapping: Mapping[str, str],
    place: str,
    name_of: Callable[[str, str], str] = lambda role, name: plain_name(name),
) -> Columns:
    """Find the role of each column.

    Parameters
    ----------
    present : sequence of str
        Columns that the file has.
    words : mapping of str to sequence of str
        Common names of the column of each role, in order of preference.
    mapping : mapping of str to str
        Role to column name, or to several names joined by ``+``, given by the user.
    place : str
        Name of the file, for messages.
    name_of : callable
        Returns a column's name in the form of ``words``, from a role and the name.

    Returns
    -------
    dict of str to tuple of str
        Role to column names, for the roles that have a column.

    Raises
    ------
    InputError
        A mapped column is missing, or a name occurs twice.

    Examples
    --------
    >>> find_roles(["Opened At", "rack", "slot"], {"start": ["openedat"]}, {"node": "rack+slot"}, "a.csv")
    {'node': ('rack', 'slot'), 'start': ('Opened At',)}
    """
    chosen: Columns = {}
    for role, column in mapping.items():
        parts = [column] if same_name(column, present) else column.split("+")
        names = [same_name(part.strip(), present) for part in parts]
        if not all(names):
            purpose = "" if role == column else f" for {role}"
            raise InputError(f"{place} has no column {column!r}{purpose}. {columns_found(present)}")
        chosen[role] = tuple(filter(None, names))
    for role, usual in words.items():
        taken = {name for names in chosen.values() for name in names}
        free = {name_of(role, name): name for name in reversed(present) if name not in taken}
        word = next((word for word in usual if word in free), None)
        if role not in chosen and word:
            chosen[role] = (free[word],)
    refuse_twice((name for names in chosen.values() for name in names), present, place)
    return chosen


def with_hours(
    columns: Columns, texts: Mapping[str, Sequence[str]], mapping: Mapping[str, str], ledger: Ledger
) -> Columns:
    """Return the columns with those of dates and of hours joined, where a date and an hour are one time.

    Parameters
    ----------
    columns : dict of str to tuple of str
        Role to column names of the file.
    texts : mapping of str to sequence of str
        The first texts of each column of the file.
    mapping : mapping of str to str
        Role to column name, given by the user.
    ledger : Ledger
        Takes a caution on hours that are not read.

    Raises
    ------
    InputError
        The hours next to a date cannot be read, and the user has not chosen the date alone.

    Examples
    --------
    >>> texts = {"Event Date": ["2025-06-01"], "Event Time": ["10:00"]}
    >>> with_hours({"start": ("Event Time",)}, texts, {}, Ledger())
    {'start': ('Event Date', 'Event Time')}
    """
    parts = {name: _most_common_part(cells) for name, cells in texts.items()}
    joined = dict(columns)
    for role in ("start", "end"):
        name, *more = columns.get(role, ("",))
        dated = [column for column in texts if parts[column] == "date" and _stem(column) == _stem(name)]
        if (
            role not in mapping
            and parts.get(name) == "number"
            and dated
            and not all(map(_since_1970, texts[name][:_FIRST_TEXTS]))
        ):
            raise InputError(_NO_HOURS.format(dated[0], name, _first(texts[name])))
        if more or parts.get(name) not in ("date", "hour") or plain_name(name) in _PERHAPS_DURATIONS:
            continue
        wanted = "hour" if parts[name] == "date" else "date"
        # an end may have the date of the start, but no two times the same hour
        taken = {
            column
            for other, names in columns.items()
            for column in names
            if wanted == "hour" or other not in ("start", "end")
        }
        free = [
            column
            for column in texts
            if column not in taken and (parts[column] == "date" if wanted == "date" else _is_hour_name(column))
        ]
        same = [column for column in free if _stem(column) == _stem(name)]
        fitting = [column for column in same if parts[column] == wanted]
        if fitting or (wanted == "date" and len(free) == 1):
            joined[role] = (name, (fitting or free)[0])[:: 1 if wanted == "hour" else -1]
            dates, hours = (texts[column] for column in joined[role])
            if any(date.strip() and not hour.strip() for date, hour in zip(dates, hours, strict=True)):
                ledger.note(f"dates without an hour in {joined[role][1]!r} are read as midnight")
        elif wanted == "hour" and same and any(map(str.strip, texts[same[0]])):
            sentence = _NO_HOURS.format(name, same[0], _first(texts[same[0]]))
            if role not in mapping:
                raise InputError(sentence)
            ledger.doubt(f"{role} is read without hours: {sentence}")
        elif hours := [column for column in free if parts[column] == "hour"]:
            ledger.doubt(
                f"{role} is read from {name!r}, which has no hours; if those in {hours[0]!r} belong to it, give "
                f"`columns={ {role: f'{name}+{hours[0]}'} }`"
            )
    return joined


def _most_common_part(texts: Sequence[str]) -> str:
    """The part of a time that most of the first texts have, ``number`` for plain numbers."""
    first = [text for text in texts[:_FIRST_TEXTS] if text.strip()]
    parts = [time_part(text) or ("number" if is_number(text.strip()) else "") for text in first]
    return max(parts, key=parts.count, default="")


def _first(texts: Sequence[str]) -> str:
    """The first text that is not blank."""
    return next(filter(None, map(str.strip, texts)))


def _since_1970(text: str) -> bool:
    """Whether a text is no number, or one of seconds or smaller units since 1970."""
    return not is_number(text.strip()) or epoch_s(float(text)) is not None


def _is_hour_name(name: str) -> bool:
    """Whether a column's name means hours of the day."""
    return _HOUR_NAME.search(plain_name(name)) is not None


def _stem(name: str) -> str:
    """What a name of a date and one of an hour share if they belong together."""
    return _TIME_NAME.sub("", plain_name(name))


def origins(kind: str, columns: Columns, present: Sequence[str], also_read: Sequence[str] = ()) -> str:
    """Return a note of the columns that are read, with their roles, and of those that are not."""
    taken = {name for names in columns.values() for name in names}
    unread = [name for name in present if name not in (*taken, *also_read)]
    read = ", ".join(f"{role} from {'+'.join(names)!r}" for role, names in columns.items())
    return f"{kind} read: {read}{f'; not read: {listed_names(unread)}' if unread else ''}"
