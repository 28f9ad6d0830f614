"""Times that lie years from all others: mistyped, most likely."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ettr.files.ledger import Ledger
from ettr.files.times import DAY
from ettr.logs.options import Options
from ettr.logs.raw_failures import LINE, NO_LINE

_YEAR_US = 365 * DAY
_FEWEST = 5
_FEW = 0.01
"""No more of the records than this, and at least one, are taken as mistyped at either end."""
_REASON = "years from all others, probably mistyped"


def without_outliers(frame: pd.DataFrame, options: Options, ledger: Ledger) -> pd.DataFrame:
    """Leave out the few failures that began years before, or after, all others, unless the window holds them.

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
    is over a year and longer than the rest lasts.
    """
    start = frame["start"].to_numpy()
    n = len(start)
    if n < _FEWEST or not ledger.calendar:
        return frame
    first, last = 0, n
    most = max(1, int(_FEW * n))
    for k in range(most, 0, -1):
        if first == 0 and _far(start[k] - start[k - 1], start[last - 1] - start[k]):
            first = k
    for k in range(most, 0, -1):
        if last == n and _far(start[n - k] - start[n - k - 1], start[n - k - 1] - start[first]):
            last = n - k
    far = np.ones(n, dtype=bool)
    far[first:last] = False
    held = options.first_us is not None and options.last_us is not None
    # a window that is given decides what lies in it, and the rest is dropped with that reason
    if held or not far.any():
        return frame
    lines = frame.loc[far, LINE].to_numpy()
    when = pd.to_datetime(start[far], unit="us")
    named = [
        f"{stamp:%Y-%m-%d}" + (f" (line {line:,})" if line != NO_LINE else "")
        for stamp, line in list(zip(when, lines, strict=True))[:3]
    ]
    ledger.dropped(_REASON, int(far.sum()), named[0])
    ledger.doubt(
        f"{int(far.sum()):,} of the failures lie years from all others, and are left out: {', '.join(named)}; correct "
        "them, or name a --window that holds them"
    )
    return frame[~far].reset_index(drop=True)


def _far(gap_us: int, rest_us: int) -> bool:
    return gap_us > _YEAR_US and gap_us > rest_us
