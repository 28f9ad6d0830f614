"""Times given as numbers: since 1970, or since an origin that nobody names."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.times import END_US, FIRST_US, LONGEST_DAYS, SECOND, SMALLEST_SINCE_1970

UNITS = {
    "ns": 0.001,
    "us": 1.0,
    "ms": 1e3,
    "s": 1e6,
    "min": 60e6,
    "h": 3600e6,
    "d": 86400e6,
}
"""Microseconds in the units that times as numbers may have."""

_SINCE_1970 = {"seconds": 1e6, "milliseconds": 1e3, "microseconds": 1.0, "nanoseconds": 0.001}
"""Microseconds in the units that times since 1970 are counted in."""
_IN_SECONDS = tuple(us / SECOND for us in _SINCE_1970.values())
_NEXT_UNIT = (1e11, 1e14, 1e17)
"""From each of these on a count since 1970 is of the next smaller unit."""
_LAST_SHEET_DAY = 60_000
_FEW = 0.02
"""So many small numbers among dates are mistakes of their rows, and no times since an origin."""


def epoch_s(number: float) -> float | None:
    """Read a count of seconds, or of smaller units, since 1970. [s]

    Parameters
    ----------
    number : float
        From 1e11 on milliseconds, from 1e14 on microseconds, from 1e17 on nanoseconds; else seconds.

    Returns
    -------
    float or None
        Seconds since 1970 UTC, from 1990 to 2100; None if it is no date. [s]

    Examples
    --------
    >>> epoch_s(1_717_000_000_500), epoch_s(348.98)
    (1717000000.5, None)
    """
    since = number * _IN_SECONDS[bisect_right(_NEXT_UNIT, number)]
    return since if FIRST_US <= since * SECOND < END_US else None


class TimeNumbers:
    """Times of one file that are plain numbers.

    Parameters
    ----------
    ledger : Ledger
        Takes what was assumed.
    unit : str or None
        One of ``UNITS``; if not given, days since an origin, or whatever fits the years since 1990.
    """

    def __init__(self, ledger: Ledger, unit: str | None) -> None:
        self._ledger, self._unit = ledger, unit
        self._largest = 0.0
        self._since_origin = self._zero = self._too_large = 0
        self.n_since_1970 = 0

    def read(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Times [us since 1970 UTC, or since the origin], and which numbers are times. Shape (n,)."""
        with np.errstate(invalid="ignore"):
            good = np.isfinite(values) & (values >= 0) & (values < 1e20)
        values = np.where(good, values, 0.0)
        if self._unit:
            scaled = values * UNITS[self._unit]
            since_1970 = scaled >= FIRST_US
        else:
            since_1970 = values >= SMALLEST_SINCE_1970
            units = np.array(list(_SINCE_1970.values()))[np.searchsorted(_NEXT_UNIT, values, side="right")]
            scaled = values * np.where(since_1970, units, UNITS["d"])
            too_large = good & ~since_1970 & (values >= LONGEST_DAYS)
            self._too_large += int(too_large.sum())
            self._largest = max(self._largest, float(np.max(values, where=too_large, initial=0.0)))
            good &= ~too_large & (~since_1970 | ((scaled >= FIRST_US) & (scaled < END_US)))
            self._say_unit(values[good & since_1970])
        good &= scaled < END_US
        counted = good & (values > 0)  # zero fits both kinds
        self.n_since_1970 += int((counted & since_1970).sum())
        self._since_origin += int((counted & ~since_1970).sum())
        self._largest = max(self._largest, float(np.max(values, where=good & ~since_1970, initial=0.0)))
        self._zero += int((good & (values == 0)).sum())
        return np.where(good, np.rint(np.where(good, scaled, 0.0)), 0).astype(np.int64), good

    def refuse_mixed(self, on_calendar: int) -> None:
        """Refuse a file with many numbers since an origin among its dates, of which there are ``on_calendar``."""
        if self._since_origin > _FEW * on_calendar > 0:
            raise InputError(
                f"times must be of one kind: {on_calendar:,} are dates and {self._since_origin:,} are small "
                f"numbers, up to {self._largest:g}. Name the unit of numbers with --time-unit, or the right columns "
                "with --map"
            )

    def finish_without_dates(self) -> None:
        """Say that all times count from an origin, if there are any; refuse what is too large for days."""
        if not (self._since_origin or self._zero or self._too_large):
            return
        self._ledger.calendar = False
        if self._too_large and self._largest <= _LAST_SHEET_DAY:
            raise InputError(
                f"times are numbers up to {self._largest:g}: these look like spreadsheet dates: write the column as "
                f"yyyy-mm-dd hh:mm, or name --time-unit ({', '.join(UNITS)})"
            )
        if self._too_large:
            raise InputError(
                f"times are numbers up to {self._largest:g}, too many for days. Name their unit with --time-unit "
                f"({', '.join(UNITS)}), or write dates as 2025-04-03"
            )
        words = f"{self._unit or 'days'} since the start"
        self._ledger.note(f"times are numbers up to {self._largest:g}: taken as {words}; if not so, name --time-unit")

    def _say_unit(self, values: np.ndarray) -> None:
        if len(values):
            words = list(_SINCE_1970)[bisect_right(_NEXT_UNIT, values[0])]
            self._ledger.note(f"times are large numbers: taken as {words} since 1970 UTC; if not so, name --time-unit")
