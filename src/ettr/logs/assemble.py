"""From the failures that a reader found to a failure log: no duplicates, one window, one exposure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.core.results import LOG_COLUMNS, FailureLog
from ettr.core.sentences import number, pct
from ettr.files.ledger import NOT_PARSED, Ledger
from ettr.files.times import DAY, FIRST_US, HOUR, SECOND, UNITS
from ettr.logs.doubts import doubt, without_outliers
from ettr.logs.events import DIGEST, LINE, NO_LINE, OPEN, TEXTS, Events, NodesWatched, in_utc
from ettr.logs.inventory import node_days, watched
from ettr.logs.nodes import settle_nodes
from ettr.logs.options import Options

_MS = 1_000
_FEWEST_NUMBERS = 10
_MANY_ALIKE = 0.05
_REACHING = "began before the window and lasted into it"
_FUTURE, _BEFORE, _AFTER = "in the future", "before the window", "after the window"


def observed(
    events: Events, exposure: NodesWatched, options: Options, ledger: Ledger, *, name: str, source: str
) -> FailureLog:
    """Return the failure log: failures inside the window, with the nodes and the time that were watched.

    Parameters
    ----------
    events : Events
        Failures found by the reader; emptied.
    exposure : NodesWatched
        Nodes and window according to the file.
    options : Options
        Nodes and window according to the user, which take precedence.
    ledger : Ledger
        Records every row that is left out.
    name : str
        Name of the format.
    source : str
        Name of the file.

    Returns
    -------
    FailureLog

    Raises
    ------
    InputError
        Nothing or too little could be read, no failure lies in the window, or the number of nodes or the window is not
        known.
    """
    frame = events.frame()
    if frame.empty and ledger.total(NOT_PARSED) and ledger.total(NOT_PARSED) == ledger.total():
        raise InputError(f"{source}: nothing could be read. {ledger.reasons()}{_swapped(ledger)}")
    n_read = len(frame) + ledger.total()
    if ledger.total(NOT_PARSED) > n_read / 2:
        raise InputError(
            f"most of the file could not be read as {name}: {ledger.total(NOT_PARSED):,} of {n_read:,} records of "
            f"{source}. {ledger.reasons()}"
        )
    if options.calendar is not None and not frame.empty and options.calendar != ledger.calendar:
        kind, times = ("dates", "numbers since an origin") if options.calendar else ("numbers", "dates")
        raise InputError(f"window must have the kind of times that the log has, got {kind}; {source} has {times}")
    first_us = 0 if frame.empty else int(frame["start"].iloc[0])
    frame = _plausible(frame, ledger, distinct=events.distinct)
    _refuse_row_numbers(frame, options, ledger, source)
    _refuse_none_left(frame, first_us, ledger, source)
    frame = without_outliers(frame, options, ledger)
    window, window_origin = _window(frame, exposure, events.others.window, options, ledger)
    frame = _inside(frame, window, ledger)
    _refuse_none_left(frame, first_us, ledger, source)
    n_records = len(frame) + ledger.total()
    frame = settle_nodes(frame, options.split, ledger, source)
    for column in frame.select_dtypes("category"):
        frame[column] = frame[column].cat.remove_unused_categories()
    _note_ends(frame, window[1], ledger)
    frame["planned"] |= _planned(frame, options, ledger)
    _note_nodes(frame, ledger)
    doubt(frame[~frame["planned"]], window, ledger)
    stays = None if options.inventory is None else watched(options.inventory, frame, window, ledger)
    if stays is not None:
        exposure = NodesWatched(stays["node"].nunique(), window, exposure.node_days or node_days(stays))
        options = replace(options, n_nodes=None)
    n_nodes, days, origin = _exposure(frame, exposure, options, window, source, ledger)
    origin = origin if stays is None else "nodes from the inventory"
    stamps = (pd.Timestamp(window[0], unit="us", tz="UTC"), pd.Timestamp(window[1], unit="us", tz="UTC"))
    log = FailureLog(
        events=in_utc(frame.drop(columns=[LINE, DIGEST])),
        n_nodes=n_nodes,
        window=stamps,
        node_days=days,
        format=name,
        source=source,
        resolution_h=_resolution_h(frame["start"].to_numpy()),
        calendar=ledger.calendar,
        cohort_nodes=options.cohort_nodes,
        ledger=ledger.to_frame(),
        n_records=n_records,
        notes=tuple(ledger.notes),
        doubts=tuple(ledger.doubts),
        exposure=f"{origin}, {window_origin}",
        stays=stays,
    )
    _check_cohorts(log)
    return log


# --------------------------------------------------------------------------- rows that are left out


def _plausible(frame: pd.DataFrame, ledger: Ledger, *, distinct: bool) -> pd.DataFrame:
    """Rows with plausible times, without duplicates."""
    start, end = frame["start"], frame["end"]
    backwards = (end != OPEN) & (end < start)
    future = start > _latest_us(ledger)
    duplicate = frame.duplicated(["start", "end", *TEXTS, DIGEST]) & (not distinct)
    stray = ledger.calendar & (start < FIRST_US)
    backwards &= ~stray
    ledger.not_parsed("a number among dates", int(stray.sum()), _place(frame[stray]))
    ledger.not_parsed("end before start", int(backwards.sum()), _place(frame[backwards]))
    ledger.dropped(_FUTURE, int(future.sum()), _place(frame[future]))
    wrong = backwards | future | stray
    repeats = duplicate & ~wrong
    ledger.merged("exact duplicate", int(repeats.sum()), _place(frame[repeats]))
    frame = frame[~(wrong | duplicate)]
    alike = int(frame.duplicated(["start", "end", *TEXTS]).sum()) if not distinct else 0
    if alike:
        sentence = (
            f"records that differ only in columns that are not read: {alike:,}, each counted; if they are duplicates, "
            "give a file without those columns"
        )
        (ledger.doubt if alike > _MANY_ALIKE * len(frame) else ledger.note)(sentence)
    return frame


def _refuse_row_numbers(frame: pd.DataFrame, options: Options, ledger: Ledger, source: str) -> None:
    """Refuse times that count up by one: they are row numbers."""
    unit_us = UNITS[options.time_unit or "d"]
    if not ledger.calendar and len(frame) >= _FEWEST_NUMBERS and (np.diff(frame["start"]) == unit_us).all():
        raise InputError(
            f"start must be a column of times, but in {source} it has numbers that count up by one, like row numbers: "
            'name the column of times, e.g. `columns={"start": "opened_at"}`'
        )


def _inside(frame: pd.DataFrame, window: tuple[int, int], ledger: Ledger) -> pd.DataFrame:
    """Failures that start inside the window."""
    start, end = frame["start"], frame["end"]
    early, late = start < window[0], start > window[1]
    reaching = early & (end != OPEN) & (end > window[0])
    for rows, reason in ((early & ~reaching, _BEFORE), (reaching, _REACHING), (late, _AFTER)):
        ledger.dropped(reason, int(rows.sum()), _place(frame[rows]))
    return frame[~(early | late)].reset_index(drop=True)


def _refuse_none_left(frame: pd.DataFrame, first_us: int, ledger: Ledger, source: str) -> None:
    """Refuse a window without any of the failures: it is a wrong window, not a log without failures."""
    n = ledger.n_of(_FUTURE, _BEFORE, _AFTER) if frame.empty else 0
    if n and not ledger.n_of(_REACHING):
        first = f"{first_us / DAY:g} d"
        if ledger.calendar:
            first = f"{pd.Timestamp(first_us, unit='us'):%Y-%m-%d %H:%M} UTC"
        lie = "the only failure lies" if n == 1 else f"all {n:,} failures lie"
        raise InputError(
            f"{lie} outside the window (the first at {first}): correct `window`, `year` or `time_unit` ({source})"
        )


# --------------------------------------------------------------------------- planned work and notes


def _note_ends(frame: pd.DataFrame, last_us: int, ledger: Ledger) -> None:
    """Note the outages that end after the window, which are open at its end."""
    n_late = int(((frame["end"] > last_us) & (frame["end"] != frame["start"])).sum())
    if n_late:
        ledger.note(f"outages that end after the window, treated as open: {n_late:,}")


def _planned(frame: pd.DataFrame, options: Options, ledger: Ledger) -> pd.Series:
    """Whether the cause of each row, or the component if the log has no causes, matches the pattern of planned work."""
    pattern = options.planned
    if pattern is None:
        return pd.Series(data=False, index=frame.index)
    name = "cause" if frame["cause"].notna().any() else "component"
    matching = frame[name].isin([text for text in frame[name].cat.categories if pattern.search(text)])
    ledger.note(f"planned work by a {name} that matches {pattern.pattern!r}: {int(matching.sum()):,}")
    return matching


def _note_nodes(frame: pd.DataFrame, ledger: Ledger) -> None:
    """Note failures without a node, and overlapping outages of a node."""
    n_unknown = int(frame["node"].isna().sum())
    if n_unknown:
        ledger.note(f"failures without a node: {n_unknown:,}")
    named = frame[frame["node"].notna()]
    n = int((named["start"] < named.groupby("node", observed=True)["end"].shift(fill_value=OPEN)).sum())
    if n:
        ledger.note(f"outages that start before the previous outage of their node has ended, each counted: {n:,}")


# --------------------------------------------------------------------------- window and exposure


def _window(
    frame: pd.DataFrame, exposure: NodesWatched, others: tuple[int, int] | None, options: Options, ledger: Ledger
) -> tuple[tuple[int, int], str]:
    """Ends of the window [us], and where they come from."""
    first, last = options.first_us, options.last_us
    origin = "window given"
    if first is None or last is None:
        span, begin, instant = exposure.window, "first", "stamp"
        if span is None:
            span, begin, instant = _span(frame, others, ledger), "first" if ledger.calendar else "origin", "time"
        if span is None:
            raise InputError(f"no failure was read, so `window` must be given. {ledger.reasons()}".strip())
        part = "window" if first is None and last is None else "one end of the window"
        ledger.note(
            f"{part} not given: it runs from the {begin} to the last {instant} in the log. Quiet time before and after "
            "is missing, so the rate is an upper estimate"
        )
        origin = f"window from the {begin} to the last {instant} in the log"
        first, last = (span[0] if first is None else first), (span[1] if last is None else last)
    if last <= first:
        raise InputError(
            "window must have a length, and the log has only one time: give the time that was watched, e.g. "
            '`window="2024-03-30/2025-03-14"`'
        )
    return (first, last), origin


def _span(frame: pd.DataFrame, others: tuple[int, int] | None, ledger: Ledger) -> tuple[int, int] | None:
    """First time in the log (or its origin) and the last, without ends in the future. [us]

    The times of records that are no failures count too, up to a year from the failures: further away they are mistyped.
    """
    latest_us = _latest_us(ledger)
    if frame.empty:
        return others and (others[0] if ledger.calendar else 0, min(others[1], latest_us))
    start, end = frame["start"], frame["end"]
    first, last = int(start.iloc[0]), int(max(start.iloc[-1], end[end <= latest_us].max()))
    if others is not None:
        first, last = (
            min(first, max(others[0], first - 365 * DAY)),
            max(last, min(others[1], last + 365 * DAY, latest_us)),
        )
    return first if ledger.calendar else 0, last


def _exposure(
    frame: pd.DataFrame,
    exposure: NodesWatched,
    options: Options,
    window: tuple[int, int],
    source: str,
    ledger: Ledger,
) -> tuple[int, float, str]:
    """Nodes, node-days, and where they come from."""
    n_failed, n_nodes = frame["node"].nunique(), options.n_nodes
    origin = "number of nodes given"
    if n_nodes is None:
        n_nodes, origin = exposure.n_nodes, "nodes named in the log"
    if n_nodes is None:
        hint = f" (at least {n_failed:,}, which failed)" if n_failed else ""
        raise InputError(
            "`n_nodes` must be given: the number of nodes that were watched, including healthy ones, which do not "
            f"appear in a log{hint}"
        )
    if n_failed > n_nodes:
        raise InputError(f"`n_nodes` must be >= {n_failed:,}, the nodes that failed in {source}, got {n_nodes:,}")
    all_days = n_nodes * (window[1] - window[0]) / DAY
    job_days = exposure.node_days
    if job_days is None or job_days >= all_days:
        return n_nodes, all_days, origin
    if options.n_nodes is not None:
        n = int((~frame["planned"]).sum())
        ledger.doubt(
            f"jobs used {pct(job_days / all_days, 0)} of the time of the {n_nodes:,} nodes, and the log has only "
            f"failures under jobs: the rate is {number(1000 * n / job_days)} per 1,000 node-days of jobs, "
            f"{number(1000 * n / all_days)} per 1,000 node-days of all nodes; the first is used"
        )
    return n_nodes, job_days, "node time of jobs"


def _check_cohorts(log: FailureLog) -> None:
    """Check the numbers of nodes of each cohort against the log."""
    for column, nodes in log.cohort_nodes.items():
        valid = [name for name in log.events.columns if name not in LOG_COLUMNS or name == "component"]
        if column not in valid:
            raise UnknownName("cohort column", column, valid, log.source)
        if sum(nodes.values()) > log.n_nodes:
            raise InputError(
                f"cohort_nodes of {column} must sum to at most n_nodes = {log.n_nodes:,}, got {sum(nodes.values()):,}"
            )
        n_failed = log.events.groupby(column, observed=True)["node"].nunique()
        for value, n in nodes.items():
            if n_failed.get(value, 0) > n:
                raise InputError(
                    f"cohort_nodes of {column} {value} must be >= {n_failed[value]:,}, the nodes that failed, got {n:,}"
                )


def _resolution_h(start: np.ndarray) -> float:
    """Resolution: the largest step that all starts share, from 1 ms to a day; a second for one or two times. [h]"""
    if len(start) <= 2 or start[0] == start[-1]:
        return SECOND / HOUR
    step = int(np.gcd.reduce(np.append(start - start[0], DAY)))
    return max(step, _MS) / HOUR


# --------------------------------------------------------------------------- messages


def _latest_us(ledger: Ledger) -> int:
    """The latest plausible time: now. [us]"""
    return int(datetime.now(UTC).timestamp() * SECOND) if ledger.calendar else np.iinfo(np.int64).max


def _place(rows: pd.DataFrame) -> str:
    """The line and the time of the first of some rows."""
    if rows.empty:
        return ""
    line, start = int(rows[LINE].iloc[0]), int(rows["start"].iloc[0])
    began = f"start {pd.Timestamp(start, unit='us'):%Y-%m-%d %H:%M:%S} UTC"
    return began if line == NO_LINE else f"line {line:,}: {began}"


def _swapped(ledger: Ledger) -> str:
    """Advice if every record ends before it starts, or has no time."""
    if all(reason.startswith("start: ") for reason in ledger.to_frame()["reason"]):
        return '. Write times as 2025-06-01 10:00, or name their column, e.g. `columns={"start": "opened_at"}`'
    if ledger.n_of("end before start") < ledger.total():
        return ""
    return '. If the columns are swapped, name them, e.g. `columns={"start": "closed_at", "end": "opened_at"}`'
