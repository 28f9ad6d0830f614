"""Time stamps of telemetry, as seconds since 1970 UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger

FIRST_S, LAST_S = 631_152_000.0, 4_133_980_800.0
"""1990 and 2101: what lies between may be a date, what does not is none."""

_MS_FROM, _US_FROM, _NS_FROM = 1e11, 1e14, 1e17
_SMI = re.compile(r"(\d{4})[/-](\d\d)[/-](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?\s*(Z|[-+]\d\d:?\d\d)?")
_OFFSET = re.compile(r"([-+])(\d\d):?(\d\d)")


def zone_of(given: str | tzinfo | None) -> tzinfo | None:
    """A zone by name or offset.

    Raises
    ------
    InputError
        No such zone.
    """
    if given is None or isinstance(given, tzinfo):
        return given
    if _OFFSET.fullmatch(given):
        return datetime.fromisoformat(f"2000-01-01T00:00:00{given}").tzinfo
    try:
        return ZoneInfo(given)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(
            f"zone must be a name such as Europe/Berlin, or an offset such as +08:00, got {given!r}"
        ) from (error)


class Stamps:
    """Reads stamps of one file.

    Parameters
    ----------
    zone : tzinfo or None
        Of stamps that carry none; UTC if not given, with a note.
    ledger : Ledger
        Takes the note.
    """

    def __init__(self, zone: tzinfo | None, ledger: Ledger) -> None:
        self._zone, self._ledger = zone, ledger
        self._minute, self._minute_s = "", 0.0

    def read(self, text: str) -> float | None:
        """Seconds since 1970 UTC; None if the text is no stamp."""
        stamp = text.strip()
        match = _SMI.fullmatch(stamp)
        if not match:
            return None
        minute, seconds = stamp[:16], float(f"{match[6]}.{match[7] or 0}")
        if seconds >= 61:
            return None
        if match[8] is None and minute == self._minute:  # thousands of stamps lie in one minute
            return self._minute_s + seconds
        try:
            year, month, day, hour, minutes = (int(match[i]) for i in range(1, 6))
            since = datetime(year, month, day, hour, minutes, tzinfo=self._zone_of(match[8])).timestamp()
        except (ValueError, OverflowError):
            return None
        if not FIRST_S <= since < LAST_S:
            return None
        if match[8] is None:
            self._minute, self._minute_s = minute, since
        return since + seconds

    def _zone_of(self, offset: str | None) -> tzinfo:
        if offset == "Z":
            return UTC
        if offset:
            return datetime.fromisoformat(f"2000-01-01T00:00:00{offset}").tzinfo or UTC
        if self._zone is None:
            self._ledger.note("stamps carry no zone and are taken as UTC; differences of time do not depend on it")
        return self._zone or UTC


def epoch_s(number: float) -> float | None:
    """A count of seconds, or of smaller units, since 1970; None if it is no date."""
    for least, scale in ((_NS_FROM, 1e-9), (_US_FROM, 1e-6), (_MS_FROM, 1e-3), (0.0, 1.0)):
        if number >= least:
            since = number * scale
            return since if FIRST_S <= since < LAST_S else None
    return None
