"""Roles of the columns of a table, from common names or from the user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.tables import columns_found, listed_names, plain_name, refuse_twice, same_name
from ettr.files.times import epoch_s, is_number, time_part
from ettr.logs.durations import without_unit

Columns = dict[str, tuple[str, ...]]
"""Role to column names of the file; several names if their texts together are the name of a node or a time."""

ROLES = ("start", "end", "duration", "node", "component", "cause", "planned")
"""Roles of columns in a failure log; any other column is a cohort."""

_WORDS = {
    "start": """
        start starttime startedat started startat startsat startdate startts begin began begintime begintimestamp opened
        openedat opentime failedat failuretime failtime faulttime downat downsince down occurredat occurred
        occurrencetime eventtime incidentstart detectedat detected firstseen createdat created timestamp datetime time
        date ts when lasttimestamp firsttimestamp""",
    "end": """
        end endtime endsat endedat ended endat enddate endts finish finished finishedat finishtime resolved resolvedat
        resolvetime closed closedat closetime repaired repairedat repairtime recovered recoveredat restored restoredat
        fixedat returnedat upat stop stopped stoptime clearedat cleared incidentend backat lastseen""",
    "duration": "duration downtime lasted outageduration repairduration timetorepair ttr",
    "node": """
        node nodeid nodename hostname host hostid hostip server serverid servername machine machineid machinename
        instance instanceid nodes""",
    "component": """
        component componenttype part subsystem device faultclass failureclass errorclass category class hardware
        service""",
    "cause": """
        cause rootcause reason failurereason description desc faulttype failuretype errortype error errormessage failure
        fault symptom kind type alertname message msg event eventtype details detail""",
    "planned": "planned isplanned scheduled maintenance ismaintenance",
}
_HOUR_NAME = re.compile(r"time|hour|clock|uhrzeit|zeit|heure|hora|ora")
_TIME_NAME = re.compile(rf"date|datum|fecha|data|day|jour|{_HOUR_NAME.pattern}")
_PERHAPS_DURATIONS = ("repairtime", "resolvetime")
_NO_HOURS = (
    "hours next to the dates in {!r} must be written as 10:00, but {!r} has values such as {!r}: write them so, or "
    "leave the column out"
)
_FIRST_TEXTS = 100
WORDS = {role: tuple(words.split()) for role, words in _WORDS.items()}
"""Column names for each role, without case, spaces and signs, in order of preference."""


def find_columns(present: Sequence[str], mapping: Mapping[str, str], place: str) -> Columns:
    """Find the role of each column.

    Parameters
    ----------
    present : sequence of str
        Columns that the file has.
    mapping : mapping of str to str
        Role to column name, or to several names joined by ``+``, given by the user; other keys than roles are cohorts.
    place : str
        Name of the file, for messages.

    Returns
    -------
    dict of str to tuple of str
        Role to column names, always with ``start``.

    Raises
    ------
    InputError
        A mapped column is missing, a name occurs twice, or no column can be the start.

    Examples
    --------
    >>> find_columns(["Opened At", "rack", "slot", "GPU error"], {"cause": "GPU error", "node": "rack+slot"}, "a.csv")
    {'start': ('Opened At',), 'node': ('rack', 'slot'), 'cause': ('GPU error',)}
    """
    chosen: Columns = {}
    for role, column in mapping.items():
        parts = [column] if same_name(column, present) else column.split("+")
        names = [same_name(part.strip(), present) for part in parts]
        if not all(names):
            purpose = "" if role == column else f" for {role}"
            raise InputError(f"{place} has no column {column!r}{purpose}. {columns_found(present)}")
        chosen[role] = tuple(filter(None, names))
    for role, words in WORDS.items():
        taken = {name for names in chosen.values() for name in names}
        free = {_name_of(role, name): name for name in reversed(present) if name not in taken}
        word = next((word for word in words if word in free), None)
        if role not in chosen and word:
            chosen[role] = (free[word],)
    if "start" not in chosen:
        raise InputError(
            f"{place} must have a column with the start of failures. {columns_found(present)} Name the columns, e.g. "
            '`columns={"start": "opened_at", "node": "host"}`'
            + (", or skip the lines before the header: tail -n +4 FILE | ettr fit -" if len(present) == 1 else "")
            + '. If the first line is a row, name the columns in order, e.g. `header=["start", "node"]`'
        )
    refuse_twice((name for names in chosen.values() for name in names), present, place)
    return {name: chosen[name] for name in (*ROLES, *chosen) if name in chosen}


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


def _name_of(role: str, name: str) -> str:
    """A column name in the form of ``WORDS``, for durations without its unit."""
    return plain_name(without_unit(name) if role == "duration" else name)


def origins(kind: str, columns: Columns, present: Sequence[str], also_read: Sequence[str] = ()) -> str:
    """Return a note of the columns that are read, with their roles, and of those that are not."""
    taken = {name for names in columns.values() for name in names}
    unread = [name for name in present if name not in (*taken, *also_read)]
    read = ", ".join(f"{role} from {'+'.join(names)!r}" for role, names in columns.items())
    return f"{kind} read: {read}{f'; not read: {listed_names(unread)}' if unread else ''}"


def is_start(name: str) -> bool:
    """Return whether a column's name means the start of a failure."""
    return plain_name(name) in WORDS["start"]
