"""What a reader of a log's numbers must know before any of them, and times that are probably mistyped."""

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
"""A share of the failures from which on a pattern of theirs is a trait of the log, not of the cluster."""
_LOST = 0.05
"""A share of lost records that the headline tells."""
_FEWEST = 10
_PLANNED = re.compile(r"(?<!un)(?:planned|scheduled)|maintenance|upgrade", re.IGNORECASE)
_YEAR_US = 365 * DAY
_SHORT_LOG, _SHORT_US, _TIMES_REST = 10, 90 * DAY, 3
"""A year that is one off stands out less: so many failures, so long a gap, and so many times what the rest lasts."""
_STRANGE_US, _TIMES_GAP = 30 * DAY, 5
"""A gap at either end so long, and so many times as long as any other, is said."""
_FEWEST_TIMES = 5
_FEW = 0.01
"""No more of the records than this, and at least one, are taken as mistyped at either end."""
_REASON = "far from all others, probably mistyped"


def doubt(frame: pd.DataFrame, window: tuple[int, int], ledger: Ledger) -> None:
    """Put in the ledger what speaks against taking the failures at their word.

    Parameters
    ----------
    frame : DataFrame
        Failures in the window, as ``Events.frame`` gives them.
    window : tuple of int
        Ends of the observation. [us]
    ledger : Ledger
        Takes the sentences.
    """
    n, n_lost = len(frame), ledger.total(NOT_PARSED)
    if n_lost > _LOST * (n + n_lost):
        lost = pct(n_lost / (n + ledger.total()), 0)
        ledger.doubt(f"{lost} of the records could not be read, so that the rate is too low")
    if n < _FEWEST:
        return
    start = frame["start"].to_numpy()
    silent = frame["cause"].isna() & frame["component"].isna()
    if not silent.all() and silent.mean() > _MANY:
        ledger.doubt(f"{pct(silent.mean(), 0)} of the failures have neither cause nor component: are they failures?")
    same = int(pd.Series(start // SECOND).value_counts().iloc[0])
    last = int((start >= start[-1] - DAY).sum())
    if same > _MANY * n:
        ledger.doubt(f"{pct(same / n, 0)} of the failures have one time stamp: is it that of a report or an import?")
    elif last > _MANY * n and window[1] - window[0] > 3 * DAY:
        ledger.doubt(f"{pct(last / n, 0)} of the failures are of the last day: is it that on which they were entered?")
    _doubt_planned(frame, ledger)
    _doubt_outages(frame, window, ledger)


def _doubt_planned(frame: pd.DataFrame, ledger: Ledger) -> None:
    """Work that its cause calls planned is no failure, but only the user can say so."""
    named = [text for text in frame["cause"].cat.categories if _PLANNED.search(text)]
    n = int(frame["cause"].isin(named).sum())
    if n:
        alike = " and the like" if len(named) > 1 else ""
        ledger.doubt(
            f"{n:,} of the failures are called {named[0][:40]!r}{alike}: leave planned work out with --planned, e.g. "
            "--planned 'planned|maintenance'"
        )


def _doubt_outages(frame: pd.DataFrame, window: tuple[int, int], ledger: Ledger) -> None:
    """Nodes that are out most of the time are probably up then, and down in between."""
    start, end = frame["start"].to_numpy(), frame["end"].to_numpy()
    ended = end != OPEN
    n_nodes = frame["node"].nunique()
    if not n_nodes or ended.mean() < _MANY:
        return
    out = np.minimum(end[ended], window[1]) - start[ended]
    share = float(out.sum()) / (n_nodes * (window[1] - window[0]))
    if share > _MANY:
        ledger.doubt(
            f"the nodes that failed were out for {pct(min(share, 1.0), 0)} of the time: are the words for down and up, "
            "or the columns of start and end, the wrong way round?"
        )


# --------------------------------------------------------------------------- mistyped times


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
        return frame  # the given window decides, and the rest is dropped with that reason
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
