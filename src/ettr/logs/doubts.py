"""What a reader of a log's numbers must know before any of them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from ettr.core.sentences import pct
from ettr.files.ledger import NOT_PARSED, Ledger
from ettr.files.times import DAY, SECOND
from ettr.logs.raw_failures import OPEN

_MANY = 0.5
"""A share of the failures from which on a pattern of theirs is a trait of the log, not of the cluster."""
_LOST = 0.05
"""A share of lost records that the headline tells."""
_FEWEST = 10
_PLANNED = re.compile(r"(?<!un)(?:planned|scheduled)|maintenance|upgrade", re.IGNORECASE)


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
