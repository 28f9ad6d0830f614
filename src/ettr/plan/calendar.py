"""When a run starts, by when it has to be done, and how much of it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from ettr.core.errors import InputError
from ettr.core.quantities import parse_quantity
from ettr.core.sentences import duration
from ettr.files.times import NoTime, written
from ettr.files.zones import zone_of

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Calendar:
    """Dates of a run.

    Attributes
    ----------
    start : datetime or None
        When it is submitted; of a run under way, when it had got as far as ``done``. With its zone.
    deadline : datetime or None
        By when it has to be done. With its zone.
    done : float
        Share of the work that is done, in [0, 1).
    """

    start: datetime | None = None
    deadline: datetime | None = None
    done: float = 0.0

    @property
    def deadline_h(self) -> float | None:
        """Hours from the start to the deadline; None without one. [h]"""
        if self.start is None or self.deadline is None:
            return None
        return (self.deadline.astimezone(UTC) - self.start.astimezone(UTC)) / timedelta(hours=1)

    def moment(self, hours: float) -> datetime | None:
        """Date and time so many hours after the start; None without one, or beyond the calendar."""
        if self.start is None:
            return None
        try:
            return (self.start.astimezone(UTC) + timedelta(hours=hours)).astimezone(self.start.tzinfo)
        except (OverflowError, ValueError):
            return None

    def day(self, hours: float) -> str | None:
        """The same as a day in words, e.g. ``14 March 2027``."""
        moment = self.moment(hours)
        return f"{moment.day} {moment:%B %Y}" if moment else None

    def when(self, hours: float) -> str:
        """The day, or how long after the start where that has no date, e.g. ``53.7 days after submission``."""
        if not math.isfinite(hours):
            return "never"
        return self.day(hours) or f"{duration(hours)} {'from now' if self.done else 'after submission'}"

    def by(self, hours: float) -> str:
        """The same as the end of a sentence, e.g. ``by 14 March 2027``."""
        return f"by {self.when(hours)}" if self.day(hours) else self.when(hours)

    @property
    def deadline_day(self) -> str:
        """The deadline in words: the day that ends with it, or the day and the time; empty without one."""
        if self.deadline is None:
            return ""
        at_midnight = (self.deadline.hour, self.deadline.minute) == (0, 0)
        last = self.deadline - timedelta(minutes=1) if at_midnight else self.deadline
        return f"{last.day} {last:%B %Y}" + ("" if at_midnight else f" at {last:%H:%M}")

    @property
    def values(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {"start": _iso(self.start), "deadline": _iso(self.deadline), "done": self.done}


def calendar_of(
    start: str | None = None,
    deadline: str | None = None,
    zone: str | None = None,
    done: str | float = 0.0,
) -> Calendar:
    """Dates of a run as people write them.

    Parameters
    ----------
    start, deadline : str, optional
        A day (``2027-01-15``), or a day and a time of it. A day alone is its beginning for the start, and its end for
        the deadline.
    zone : str, optional
        Of dates that carry none, e.g. ``Europe/Berlin``; UTC without.
    done : str or float
        Share of the work that is done, e.g. ``0.4`` or ``40%``.

    Returns
    -------
    Calendar

    Raises
    ------
    InputError
        A date that is none, a deadline without a start or before it, a zone that there is not, a share outside [0, 1).

    Examples
    --------
    >>> dates = calendar_of("2027-01-15", "2027-03-01", "Europe/Berlin", "40%")
    >>> dates.deadline_h, dates.done, dates.day(1000)
    (1104.0, 0.4, '25 February 2027')
    """
    where = zone_of(zone) or UTC
    share = _share(done)
    begins = None if start is None else _moment("start", start, where, later=False)
    if deadline is None:
        return Calendar(begins, None, share)
    if begins is None:
        raise InputError(f"a deadline needs the start that it is counted from: --start with --deadline {deadline}")
    ends = _moment("deadline", deadline, where, later=True)
    if ends <= begins:
        raise InputError(f"deadline must be after the start, {begins:%Y-%m-%d %H:%M}, got {deadline}")
    return Calendar(begins, ends, share)


def _moment(name: str, text: str, zone: tzinfo, later: bool) -> datetime:
    """A date as a moment; of a day alone its beginning, or its end."""
    day_alone = ":" not in text
    try:
        read = written(text.strip() + (" 00:00" if day_alone else ""))
    except NoTime as error:
        raise InputError(f"{name} must be a date that there is, e.g. 2027-03-01, got {text!r}") from error
    if read is None:
        raise InputError(f"{name} must be a date with the year first, e.g. 2027-03-01, got {text!r}")
    moment = read if read.tzinfo else read.replace(tzinfo=zone)
    return moment + _DAY if later and day_alone else moment


def _share(done: str | float) -> float:
    """Share of the work that is done."""
    text = str(done).strip()
    try:
        share = parse_quantity(text)
    except ValueError:
        raise InputError(f"done must be a share, e.g. 40%, got {text!r}") from None
    if not 0 <= share < 1:
        raise InputError(f"done must be at least 0 and below 1, e.g. 0.4 or 40%, got {text}")
    return share


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
