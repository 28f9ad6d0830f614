"""Options that the user gives with a log, checked once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.core.results import OF_EVERY_NODE
from ettr.files.clock import StampClock
from ettr.files.ledger import Ledger
from ettr.files.times import DAY, UNITS, NoTime, time_part
from ettr.files.zones import zone_of
from ettr.logs.states import SEVERITIES, plain, severity_of

MOST_NODES = 10**9
_EXAMPLE = "give it as 2024-03-30/2025-03-14, or as 0..348.98 if times are numbers since an origin"

WindowLike = str | Sequence[Any] | None


@dataclass(frozen=True)
class Options:
    """Options from the user.

    Attributes
    ----------
    n_nodes : int or None
        Nodes that were watched.
    first_us, last_us : int or None
        Ends of the window, if given. [us since 1970 UTC]
    calendar : bool or None
        Whether the window is given in dates; None without a window.
    zone : tzinfo or None
        Time zone of time stamps without one.
    year : int or None
        Year of the first time stamp, if time stamps have none.
    time_unit : str or None
        Unit of times that are plain numbers: ``s``, ``ms``, ``us``, ``ns``, ``min``, ``h`` or ``d``.
    columns : mapping of str to str
        Role to column name, e.g. ``{"start": "opened_at"}``.
    planned : Pattern or None
        Pattern of causes that are planned work.
    cohort_nodes : mapping
        Nodes watched for each value of a cohort column.
    where : mapping of str to Pattern
        Column to the pattern that its text must match for a record to count.
    down, up : tuple of str
        Words for a node that is down, and for one that is up again.
    failure_severity : str or None
        Lowest severity that is a failure.
    split : str or None
        Column whose values are separate systems: a name in two of them is two nodes.
    header : tuple of str
        Names of the columns of a table without a header.
    inventory : DataFrame or None
        Times of each node in service, see `read_inventory`.
    """

    n_nodes: int | None = None
    first_us: int | None = None
    last_us: int | None = None
    calendar: bool | None = None
    zone: tzinfo | None = None
    year: int | None = None
    time_unit: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    planned: re.Pattern[str] | None = None
    cohort_nodes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    where: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    down: tuple[str, ...] = ()
    up: tuple[str, ...] = ()
    failure_severity: str | None = None
    split: str | None = None
    header: tuple[str, ...] = ()
    inventory: pd.DataFrame | None = None

    def clock(self, ledger: Ledger) -> StampClock:
        """Return a reader of the log's time stamps."""
        return StampClock(ledger, self.zone, self.year, self.time_unit)


def checked_options(
    n_nodes: int | None = None,
    window: WindowLike = None,
    *,
    zone: str | tzinfo | None = None,
    year: int | None = None,
    time_unit: str | None = None,
    columns: Mapping[str, str] | Sequence[str] | None = None,
    planned: str | None = None,
    cohort_nodes: Mapping[str, Mapping[str, int]] | None = None,
    where: Mapping[str, str] | None = None,
    down: str | Sequence[str] | None = None,
    up: str | Sequence[str] | None = None,
    failure_severity: str | None = None,
    split: str | None = None,
    header: Sequence[str] | None = None,
) -> Options:
    """Return the options after checking them; for parameters and errors see ``ettr.logs.read``."""
    if time_unit is not None and time_unit not in UNITS:
        raise UnknownName("time unit", str(time_unit), UNITS, "`time_unit`")
    if year is not None:
        year = _whole_number("year", year, 1990, 2100)
    nodes = None if n_nodes is None else _whole_number("n_nodes", n_nodes, 1, MOST_NODES)
    if failure_severity is not None and severity_of(failure_severity) is None:
        raise UnknownName("severity", failure_severity, [name for name, _ in SEVERITIES], "`failure_severity`")
    mapping = _columns(columns)
    if split and split not in OF_EVERY_NODE:
        mapping.setdefault(split, split)
    options = Options(
        n_nodes=nodes,
        zone=zone_of(zone),
        year=year,
        time_unit=time_unit,
        columns=mapping,
        planned=None if planned is None else _pattern("planned", planned),
        where={column: _pattern("where", pattern) for column, pattern in (where or {}).items()},
        down=_words("down", down),
        up=_words("up", up),
        failure_severity=failure_severity,
        split=split if split not in OF_EVERY_NODE else None,
        header=checked_header(header),
    )
    both = sorted({plain(word) for word in options.down} & {plain(word) for word in options.up})
    if both:
        raise InputError(f"`down` and `up` must not share a word, got {', '.join(both)}")
    first, last, calendar = _window(window, options)
    return replace(options, first_us=first, last_us=last, calendar=calendar, cohort_nodes=_cohort_nodes(cohort_nodes))


def _whole_number(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within limits."""
    is_whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if isinstance(value, bool | np.bool_) or not is_whole or not least <= value <= most:
        limits = f"{least} to {most}" if name == "year" else f"{least:,} to {most:,}"
        raise InputError(f"{name} must be a whole number from {limits}, got {value!r}")
    return int(value)


def _columns(columns: Mapping[str, str] | Sequence[str] | None) -> dict[str, str]:
    """Roles to column names, from a mapping or from texts such as ``start=opened_at``."""
    if not isinstance(columns, Mapping):
        columns = dict(item.partition("=")[::2] for item in columns or ())
    for role, name in columns.items():
        if not role.strip() or not name.strip():
            raise InputError(f"columns must map roles to column names, e.g. start=opened_at, got {role!r}={name!r}")
    return {role.strip(): name.strip() for role, name in columns.items()}


def checked_header(header: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns of a table without a header; refuse names that occur twice."""
    names = tuple(name.strip() for name in (header.split(",") if isinstance(header, str) else header or ()))
    twice = [name for name in names if name and names.count(name) > 1]
    if twice or (header is not None and not any(names)):
        raise InputError(
            'header must have a different name for each column, in order, e.g. `header=["start", "node"]`, got '
            f"{twice[0] + ' twice' if twice else repr(header)}"
        )
    return names


def _pattern(option: str, text: str) -> re.Pattern[str]:
    """A regular expression without case."""
    if isinstance(text, str) and not text.strip():
        raise InputError(f"`{option}` must not be empty, because an empty pattern matches everything, got {text!r}")
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise InputError(f"{option} must be a regular expression, got {text!r}: {error}") from error


def _words(option: str, value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Words, as a sequence or separated by commas."""
    parts = value.split(",") if isinstance(value, str) else value or ()
    words = tuple(word.strip() for word in parts if isinstance(word, str) and plain(word))
    if value is not None and not words:
        raise InputError(f'`{option}` must be a word in the log, e.g. `{option}="failed"`, got {value!r}')
    return words


def _cohort_nodes(nodes: Mapping[str, Mapping[str, int]] | None) -> dict[str, dict[str, int]]:
    """Nodes of each value of each cohort column, as whole numbers."""
    return {
        str(column): {
            str(value): _whole_number(f"cohort_nodes[{column}][{value}]", n, 1, MOST_NODES)
            for value, n in values.items()
        }
        for column, values in (nodes or {}).items()
    }


# --------------------------------------------------------------------------- the window


def _window(window: WindowLike, options: Options) -> tuple[int | None, int | None, bool | None]:
    """First and last time [us], and whether they are dates."""
    if window is None:
        return None, None, None
    if isinstance(window, str):
        parts: Sequence[Any] = window.split("..") if ".." in window else window.split("/")
    else:
        parts = window
    if isinstance(parts, Mapping) or len(parts) != 2:
        raise InputError(f"window must have a first and a last time, got {window!r}: {_EXAMPLE}")
    ledger = Ledger()
    clock = options.clock(ledger)
    first, last = _instant(parts[0], clock, window), _instant(_day_after(parts[1]), clock, window)
    ledger.close()
    if first is None and last is None:
        return None, None, None
    if first is not None and last is not None and last <= first:
        raise InputError(f"window must end after it starts, got {window!r}")
    now = int(datetime.now(UTC).timestamp() * 1e6)
    if ledger.calendar and last is not None and last > now + DAY:
        raise InputError(f"window must not end in the future, got {window!r}")
    return first, last, ledger.calendar


def _day_after(part: Any) -> Any:
    """The midnight at the end of a day, if the last time is only a date; else the time itself."""
    if isinstance(part, date) and not isinstance(part, datetime):
        return part + timedelta(days=1)
    if not isinstance(part, str) or ":" in part or time_part(part) != "date":
        return part
    try:
        day = StampClock(Ledger()).us(part)
    except NoTime:
        return part  # refused where it is read
    return f"{pd.Timestamp(day + DAY, unit='us'):%Y-%m-%d}"


def _instant(part: Any, clock: StampClock, window: Any) -> int | None:
    """One end of the window [us]; None if it is open."""
    if part is None or (isinstance(part, str) and not part.strip()):
        return None
    try:
        if isinstance(part, datetime):
            return clock.us_of(part)
        if isinstance(part, date | str):
            return clock.us(str(part))
        if isinstance(part, Real):
            return clock.us(repr(float(part)))
    except NoTime as error:
        raise InputError(f"window must be two times, got {part!r} in {window!r} ({error}): {_EXAMPLE}") from error
    raise InputError(f"window must be two times, got {part!r} in {window!r}: {_EXAMPLE}")
