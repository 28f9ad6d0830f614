"""Times that lie far from all others: mistyped, most likely."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr.files.ledger import Ledger
from ettr.files.times import DAY
from ettr.logs.options import Options
from ettr.logs.raw_failures import LINE, NO_LINE

_YEAR_US = 365 * DAY
_SHORT_LOG, _SHORT_US, _TIMES_REST = 10, 90 * DAY, 3
"""A year that is one off stands out less: so many failures, so long a gap, and so many times what the rest lasts."""
_STRANGE_US, _TIMES_GAP = 30 * DAY, 5
"""A gap at either end so long, and so many times as long as any other, is said."""
_FEWEST = 5
_FEW = 0.01
"""No more of the records than this, and at least one, are taken as mistyped at either end."""
_REASON = "far from all others, probably mistyped"


def without_outliers(frame: pd.DataFrame, options: Options, ledger: Ledger) -> pd.DataFrame:
    """Leave out the few failures that began long before, or after, all others, unless the window holds them.

    Parameters
    ----------
    frame : DataFrame
        Failures sorted by start, as ``Events.frame`` gives them.
    options : Options
        With the window, where it is given.
    ledger : Ledger
        Takes those that go, and says so.

    Notes
    -----
    An end of the log is cut where it is at most one in a hundred of the failures, and the time between it and the rest
    is over a year and longer than the rest lasts; of ten failures or more, over 90 days and three times as long. A
    single failure at an end that is over 30 days and five times the longest other gap away stays, and is a doubt.
    """
    start = frame["start"].to_numpy()
    n = len(start)
    if n < _FEWEST or not ledger.calendar:
        return frame
    first, last = 0, n
    most = max(1, int(_FEW * n))
    for k in range(most, 0, -1):
        if first == 0 and _far(start[k] - start[k - 1], start[last - 1] - start[k], n):
            first = k
    for k in range(most, 0, -1):
        if last == n and _far(start[n - k] - start[n - k - 1], start[n - k - 1] - start[first], n):
            last = n - k
    far = np.ones(n, dtype=bool)
    far[first:last] = False
    held = options.first_us is not None and options.last_us is not None
    # a window that is given decides what lies in it, and the rest is dropped with that reason
    if held:
        return frame
    named = _named(frame, far)
    if named:
        ledger.dropped(_REASON, int(far.sum()), named[0])
        ledger.doubt(
            f"{int(far.sum()):,} of the failures lie far from all others, and are left out: {', '.join(named[:3])}; "
            "correct them, or name a --window that holds them"
        )
        frame = frame[~far].reset_index(drop=True)
    _say_strange(frame, ledger)
    return frame


def _say_strange(frame: pd.DataFrame, ledger: Ledger) -> None:
    """Say where the first or the last failure stands alone, and stays."""
    gaps = np.diff(frame["start"].to_numpy())
    if len(gaps) < _SHORT_LOG:
        return
    for at, others in ((0, gaps[1:]), (len(gaps), gaps[:-1])):
        gap_us = gaps[min(at, len(gaps) - 1)]
        if gap_us > max(_STRANGE_US, _TIMES_GAP * others.max()):
            alone = np.arange(len(frame)) == at
            ledger.doubt(
                f"the {'last' if at else 'first'} failure, {_named(frame, alone)[0]}, is {gap_us / DAY:.0f} days from "
                "all others: if it is mistyped, correct it, or name a --window without it"
            )


def _named(frame: pd.DataFrame, which: np.ndarray) -> list[str]:
    """Failures by their day and their line."""
    when = pd.to_datetime(frame.loc[which, "start"].to_numpy(), unit="us")
    lines = frame.loc[which, LINE].to_numpy()
    return [
        f"{stamp:%Y-%m-%d}" + (f" (line {line:,})" if line != NO_LINE else "")
        for stamp, line in zip(when, lines, strict=True)
    ]


def _far(gap_us: int, rest_us: int, n: int) -> bool:
    short = n >= _SHORT_LOG and gap_us > max(_SHORT_US, _TIMES_REST * rest_us)
    return short or (gap_us > _YEAR_US and gap_us > rest_us)
