"""The start date of a run, its deadline, and the share of the work that is done."""

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
    """Start date and deadline of a run.

    Attributes
    ----------
    start : datetime or None
        Time of submission; for a run under way, the time at which the share ``done`` was reached. With time zone.
    deadline : datetime or None
        Time by which the run must finish. With time zone.
    done : float
        Share of the work that is done, in [0, 1).

    Examples
    --------
    >>> Calendar(start=datetime(2027, 1, 15, tzinfo=UTC)).by(48.0), Calendar().by(48.0)
    ('by 17 January 2027', 'within 48 h of submission')
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
        """Return the date and time a number of hours after the start; None without a start, or beyond year 9999."""
        if self.start is None:
            return None
        try:
            return (self.start.astimezone(UTC) + timedelta(hours=hours)).astimezone(self.start.tzinfo)
        except (OverflowError, ValueError):
            return None

    def day(self, hours: float) -> str | None:
        """Return the day a number of hours after the start, e.g. ``14 March 2027``; None without a start."""
        moment = self.moment(hours)
        return f"{moment.day} {moment:%B %Y}" if moment else None

    def when(self, hours: float) -> str:
        """Return the day, or without a start the time since submission, e.g. ``53.7 days after submission``."""
        if not math.isfinite(hours):
            return "never"
        return self.day(hours) or f"{duration(hours)} {'from now' if self.done else 'after submission'}"

    def by(self, hours: float) -> str:
        """Return the date as the end of a sentence, e.g. ``by 14 March 2027`` or ``within 2 days of submission``."""
        if not math.isfinite(hours):
            return "never"
        if day := self.day(hours):
            return f"by {day}"
        return f"within {duration(hours)} {'from now' if self.done else 'of submission'}"

    @property
    def deadline_day(self) -> str:
        """The deadline in words: the last day, or the day and the time; empty without one."""
        if self.deadline is None:
            return ""
        at_midnight = (self.deadline.hour, self.deadline.minute) == (0, 0)
        last = self.deadline - timedelta(minutes=1) if at_midnight else self.deadline
        return f"{last.day} {last:%B %Y}" + ("" if at_midnight else f" at {last:%H:%M}")

    @property
    def values(self) -> dict[str, Any]:
        """All attributes as values for JSON."""
        return {"start": _iso(self.start), "deadline": _iso(self.deadline), "done": self.done}


def calendar_of(
    start: str | None = None,
    deadline: str | None = None,
    zone: str | None = None,
    done: str | float = 0.0,
) -> Calendar:
    """Return the calendar of a run from dates as text.

    Parameters
    ----------
    start, deadline : str, optional
        A day (``2027-01-15``), or a day with a time. A day alone stands for its beginning as the start, and for its
        end as the deadline.
    zone : str, optional
        Time zone of dates without one, e.g. ``Europe/Berlin``; UTC by default.
    done : str or float
        Share of the work that is done, e.g. ``0.4`` or ``40%``.

    Returns
    -------
    Calendar

    Raises
    ------
    InputError
        An invalid date, a deadline without a start or before it, an unknown zone, or a share outside [0, 1).

    Examples
    --------
    >>> dates = calendar_of("2027-01-15", "2027-03-01", "Europe/Berlin", "40%")
    >>> dates.deadline_h, dates.done, dates.day(1000)
    (1104.0, 0.4, '25 February 2027')
    """
    default_zone = zone_of(zone) or UTC
    share = _share(done)
    begins = None if start is None else _moment("start", start, default_zone, later=False)
    if deadline is None:
        return Calendar(begins, None, share)
    if begins is None:
        raise InputError(f"deadline needs a start date, got deadline {deadline} alone")
    ends = _moment("deadline", deadline, default_zone, later=True)
    if ends <= begins:
        raise InputError(f"deadline must be after the start {begins:%Y-%m-%d %H:%M}, got {deadline}")
    return Calendar(begins, ends, share)


def _moment(name: str, text: str, zone: tzinfo, later: bool) -> datetime:
    """Return a date as a moment; for a day alone its beginning, or its end."""
    day_alone = ":" not in text
    try:
        parsed = written(text.strip() + (" 00:00" if day_alone else ""))
    except NoTime as error:
        raise InputError(f"{name} must be an existing date, e.g. 2027-03-01, got {text!r}") from error
    if parsed is None:
        raise InputError(f"{name} must be a date with the year first, e.g. 2027-03-01, got {text!r}")
    moment = parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)
    return moment + _DAY if later and day_alone else moment


def _share(done: str | float) -> float:
    """Return the share of the work that is done."""
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
