"""Cautions that belong before any number of a log, and times that are probably mistyped."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from ettr.core.sentences import pct
from ettr.files.ledger import NOT_PARSED, Ledger
from ettr.files.times import DAY, SECOND
from ettr.logs.events import LINE, NO_LINE, OPEN
from ettr.logs.options import Options

_MANY = 0.5
"""Share of the failures above which a pattern is probably an artefact of the log."""
_LOST = 0.05
"""Share of unreadable records above which there is a caution."""
_FEWEST = 10
_PLANNED = re.compile(r"(?<!un)(?:planned|scheduled)|maintenance|upgrade", re.IGNORECASE)
_YEAR_US = 365 * DAY
_SHORT_LOG, _SHORT_US, _TIMES_REST = 10, 90 * DAY, 3
"""Outliers in a log of at least this many failures: shortest gap, and its smallest ratio to the length of the rest."""
_STRANGE_US, _TIMES_GAP = 30 * DAY, 5
"""Shortest gap at either end that is remarked, and its smallest ratio to the longest other gap."""
_FEWEST_TIMES = 5
_FEW = 0.01
"""Largest share of the records, but at least one record, that is taken as mistyped at either end."""
_REASON = "far from all others, probably mistyped"


def doubt(frame: pd.DataFrame, window: tuple[int, int], ledger: Ledger) -> None:
    """Add cautions to the ledger: signs that the failures are not what they seem.

    Parameters
    ----------
    frame : DataFrame
        Failures in the window, as ``Events.frame`` gives them.
    window : tuple of int
        Ends of the window. [us]
    ledger : Ledger
        Takes the cautions.
    """
    n, n_lost = len(frame), ledger.total(NOT_PARSED)
    if n_lost > _LOST * (n + n_lost):
        lost = pct(n_lost / (n + ledger.total()), 0)
        ledger.doubt(f"{lost} of the records could not be read, so the rate is too low")
    if n < _FEWEST:
        return
    start = frame["start"].to_numpy()
    unexplained = frame["cause"].isna() & frame["component"].isna()
    if not unexplained.all() and unexplained.mean() > _MANY:
        share = pct(unexplained.mean(), 0)
        ledger.doubt(f"{share} of the failures have neither cause nor component: are they failures?")
    same = int(pd.Series(start // SECOND).value_counts().iloc[0])
    last = int((start >= start[-1] - DAY).sum())
    if same > _MANY * n:
        share = pct(same / n, 0)
        ledger.doubt(f"{share} of the failures have the same time stamp: is it the time of a report or an import?")
    elif last > _MANY * n and window[1] - window[0] > 3 * DAY:
        share = pct(last / n, 0)
        ledger.doubt(f"{share} of the failures are on the last day: is it the day on which they were entered?")
    _doubt_planned(frame, ledger)
    _doubt_outages(frame, window, ledger)


def _doubt_planned(frame: pd.DataFrame, ledger: Ledger) -> None:
    """Caution if causes look like planned work."""
    named = [text for text in frame["cause"].cat.categories if _PLANNED.search(text)]
    n = int(frame["cause"].isin(named).sum())
    if n:
        alike = " and the like" if len(named) > 1 else ""
        ledger.doubt(
            f"{n:,} of the failures have the cause {named[0][:40]!r}{alike}: leave planned work out, e.g. with "
            '`planned="planned|maintenance"`'
        )


def _doubt_outages(frame: pd.DataFrame, window: tuple[int, int], ledger: Ledger) -> None:
    """Caution if nodes are out most of the time: up and down are probably swapped."""
    start, end = frame["start"].to_numpy(), frame["end"].to_numpy()
    ended = end != OPEN
    n_nodes = frame["node"].nunique()
    if not n_nodes or ended.mean() < _MANY:
        return
    out = np.minimum(end[ended], window[1]) - start[ended]
    share = float(out.sum()) / (n_nodes * (window[1] - window[0]))
    if share > _MANY:
        ledger.doubt(
            f"the nodes that failed were out of service for {pct(min(share, 1.0), 0)} of the time: are the words for "
            "down and up, or the columns of start and end, swapped?"
        )


# --------------------------------------------------------------------------- mistyped times


def without_outliers(frame: pd.DataFrame, options: Options, ledger: Ledger) -> pd.DataFrame:
    """Return the failures without the few that lie far before or after all others, unless the window was given.

    Parameters
    ----------
    frame : DataFrame
        Failures sorted by start, as ``Events.frame`` gives them.
    options : Options
        With the window, if given.
    ledger : Ledger
        Takes the failures that are left out, and a caution.

    Notes
    -----
    At most 1% of the failures at either end of the log are left out, if the gap to the rest is over a year and longer
    than the rest; in a log of at least ten failures, also if it is over 90 days and three times as long as the rest. A
    single failure at an end stays, with a caution, if its gap is over 30 days and five times the longest other gap.
    """
    start = frame["start"].to_numpy()
    n = len(start)
    if n < _FEWEST_TIMES or not ledger.calendar:
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
    if options.first_us is not None and options.last_us is not None:
        return frame  # failures outside the window are dropped for that reason
    days = _days(frame, far)
    if days:
        ledger.dropped(_REASON, int(far.sum()), days[0])
        ledger.doubt(
            f"{int(far.sum()):,} of the failures lie far from all others and are left out: {', '.join(days[:3])}; "
            "correct them, or give a `window` that contains them"
        )
        frame = frame[~far].reset_index(drop=True)
    _doubt_ends(frame, ledger)
    return frame


def _doubt_ends(frame: pd.DataFrame, ledger: Ledger) -> None:
    """Caution if the first or the last failure is far from all others."""
    gaps = np.diff(frame["start"].to_numpy())
    if len(gaps) < _SHORT_LOG:
        return
    for at, others in ((0, gaps[1:]), (len(gaps), gaps[:-1])):
        gap_us = gaps[min(at, len(gaps) - 1)]
        if gap_us > max(_STRANGE_US, _TIMES_GAP * others.max()):
            alone = np.arange(len(frame)) == at
            ledger.doubt(
                f"the {'last' if at else 'first'} failure, {_days(frame, alone)[0]}, is {gap_us / DAY:.0f} days from "
                "all others: if it is mistyped, correct it, or give a `window` without it"
            )


def _days(frame: pd.DataFrame, which: np.ndarray) -> list[str]:
    """Days of some failures, with their lines."""
    when = pd.to_datetime(frame.loc[which, "start"].to_numpy(), unit="us")
    lines = frame.loc[which, LINE].to_numpy()
    return [
        f"{stamp:%Y-%m-%d}" + (f" (line {line:,})" if line != NO_LINE else "")
        for stamp, line in zip(when, lines, strict=True)
    ]


def _far(gap_us: int, rest_us: int, n: int) -> bool:
    """Whether a gap sets failures apart from the rest, see `without_outliers`."""
    short = n >= _SHORT_LOG and gap_us > max(_SHORT_US, _TIMES_REST * rest_us)
    return short or (gap_us > _YEAR_US and gap_us > rest_us)
