"""From failures as a format holds them to a log that can be counted: no repeats, one window, one exposure."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pandas as pd

from ettr.core.errors import InputError, UnknownName
from ettr.core.results import LOG_COLUMNS, FailureLog
from ettr.files.ledger import NOT_PARSED, Ledger
from ettr.files.log_times import DAY, SECOND
from ettr.logs.format import Exposure
from ettr.logs.options import Given
from ettr.logs.raw_failures import OPEN, Events, blocks

_MS = 1_000
_HOUR_US = 3600 * SECOND
_TEXTS = ("node", "component", "cause")
_FIRST_LOOK = 10_000
_BLOCK = 500_000
_REACHING = "began before the window and lasted into it"
_FUTURE, _BEFORE, _AFTER = "in the future", "before the window", "after the window"


def observed(events: Events, exposure: Exposure, given: Given, ledger: Ledger, *, name: str, source: str) -> FailureLog:
    """Drop what is no failure in the window, and say what was watched.

    Parameters
    ----------
    events : Events
        What the format read; it is emptied.
    exposure : Exposure
        What the format knows.
    given : Given
        What the user knows, which goes before.
    ledger : Ledger
        Takes every row that goes.
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
        Nothing or too little could be read, no failure lies in the window, or nodes or window are known to nobody.
    """
    if not events.n and ledger.total(NOT_PARSED) and ledger.total(NOT_PARSED) == ledger.total():
        raise InputError(f"{source}: nothing could be read. {_largest(ledger)}")
    n_read = events.n + ledger.total()
    if ledger.total(NOT_PARSED) > n_read / 2:
        raise InputError(
            f"most of the file could not be read as {name}: {ledger.total(NOT_PARSED):,} of {n_read:,} records of "
            f"{source}. {_largest(ledger)}"
        )
    if given.calendar is not None and events.n and given.calendar != ledger.calendar:
        ours, theirs = ("dates", "numbers since an origin") if given.calendar else ("numbers", "dates")
        raise InputError(f"window must be given as times are in the log: it is in {ours}, and {source} has {theirs}")
    events.sort()
    first_us = int(events.column("start")[0]) if events.n else 0
    events.keep(_understood(events, ledger))
    _refuse_none_left(events, first_us, ledger, source)
    window = _window(events, exposure, given, ledger)
    events.keep(_inside(events, window, ledger))
    _refuse_none_left(events, first_us, ledger, source)
    _note_ends(events, window[1], ledger)
    _mark_planned(events, given, ledger)
    _note_nodes(events, ledger)
    n_nodes, node_days = _exposure(_n_failing(events), exposure, given, window, source)
    resolution_h = _resolution_h(events.column("start"))
    frame = events.frame()
    stamps = (pd.Timestamp(window[0], unit="us", tz="UTC"), pd.Timestamp(window[1], unit="us", tz="UTC"))
    log = FailureLog(
        events=frame,
        n_nodes=n_nodes,
        window=stamps,
        node_days=node_days,
        format=name,
        source=source,
        resolution_h=resolution_h,
        calendar=ledger.calendar,
        cohort_nodes=given.cohort_nodes,
        ledger=ledger.to_frame(),
        n_records=len(frame) + ledger.total(),
        notes=tuple(ledger.notes),
    )
    _check_cohorts(log)
    return log


# --------------------------------------------------------------------------- rows that go


def _understood(events: Events, ledger: Ledger) -> np.ndarray:
    """Rows that can be true, once each."""
    starts, ends = events.column("start"), events.column("end")
    kept = np.ones(events.n, dtype=bool) if events.distinct else ~_repeats(events)
    now_us = _now_us() if ledger.calendar else np.iinfo(np.int64).max
    for block in blocks(events.n):
        start, end = starts[block], ends[block]
        backwards = (end != OPEN) & (end < start)
        future = ~backwards & (start > now_us)
        repeats = ~(kept[block] | backwards | future)
        ledger.not_parsed("end before start", int(backwards.sum()), _stamp(start, backwards))
        ledger.dropped(_FUTURE, int(future.sum()), _stamp(start, future))
        ledger.merged("exact duplicate", int(repeats.sum()), _stamp(start, repeats))
        kept[block] &= ~(backwards | future)
    return kept


def _repeats(events: Events) -> np.ndarray:
    """Rows that say what an earlier one said; only those with one start can."""
    columns = {name: events.column(name) for name in ("start", "end", *_TEXTS)}
    start = columns["start"]
    repeats = np.zeros(len(start), dtype=bool)
    first = 0
    while first < len(start):
        # a block ends where a start ends
        last = int(np.searchsorted(start, start[min(first + _BLOCK, len(start)) - 1], side="right"))
        same = start[first + 1 : last] == start[first : last - 1]
        tied = first + np.flatnonzero(np.r_[False, same] | np.r_[same, False])
        if len(tied):
            repeats[tied] = pd.DataFrame({name: each[tied] for name, each in columns.items()}).duplicated().to_numpy()
        first = last
    return repeats


def _inside(events: Events, window: tuple[int, int], ledger: Ledger) -> np.ndarray:
    starts, ends = events.column("start"), events.column("end")
    kept = np.ones(events.n, dtype=bool)
    for block in blocks(events.n):
        start, end = starts[block], ends[block]
        early, late = start < window[0], start > window[1]
        reaching = early & (end != OPEN) & (end > window[0])
        for rows, reason in (
            (early & ~reaching, _BEFORE),
            (reaching, _REACHING),
            (late, _AFTER),
        ):
            ledger.dropped(reason, int(rows.sum()), _stamp(start, rows))
        kept[block] = ~(early | late)
    return kept


def _refuse_none_left(events: Events, first_us: int, ledger: Ledger, source: str) -> None:
    """A window that holds none of the failures is a wrong window, not a log without failures."""
    n = 0 if events.n else ledger.n_of(_FUTURE, _BEFORE, _AFTER)
    if n and not ledger.n_of(_REACHING):
        first = f"{first_us / DAY:g} d"
        if ledger.calendar:
            first = f"{pd.Timestamp(first_us, unit='us'):%Y-%m-%d %H:%M} UTC"
        what = "the only failure lies" if n == 1 else f"all {n:,} failures lie"
        raise InputError(
            f"{what} outside the window (the first at {first}): give the right --window, --year or --time-unit "
            f"({source})"
        )


# --------------------------------------------------------------------------- what is set, and what is said


def _note_ends(events: Events, last_us: int, ledger: Ledger) -> None:
    """Count outages that outlast the window, whose ends prove that they were open then, and those without a length."""
    starts, ends = events.column("start"), events.column("end")
    n_late = n_instant = 0
    for block in blocks(events.n):
        start, end = starts[block], ends[block]
        late, instant = end > last_us, end == start
        n_late += int((late & ~instant).sum())
        n_instant += int(instant.sum())
    if n_late:
        ledger.note(f"outages that end after the window, taken as open: {n_late:,}")
    if n_instant:
        ledger.note(f"outages that end when they start, kept as failures of no length: {n_instant:,}")


def _mark_planned(events: Events, given: Given, ledger: Ledger) -> None:
    """Causes that match the user's pattern are planned; components, in a log without causes."""
    pattern = given.options.planned
    if pattern is None:
        return
    name = "cause" if events.texts("cause") else "component"
    matching = np.array([*(pattern.search(text) is not None for text in events.texts(name)), False], dtype=bool)
    planned, codes = events.column("planned"), events.column(name)
    n = 0
    for block in blocks(events.n):
        matches = matching[codes[block]]
        n += int(matches.sum())
        planned[block] |= matches
    ledger.note(f"planned work by a {name} that matches {pattern.pattern!r}: {n:,}")


def _note_nodes(events: Events, ledger: Ledger) -> None:
    """Note what looks wrong with nodes, and is kept."""
    names = set(events.texts("node"))
    bare = {name: name.lstrip("0") or "0" for name in names if name[:1] == "0" and name.isdigit()}
    cut = min((name for name, rest in bare.items() if rest != name and rest in names), default=None)
    if cut:
        ledger.note(f"nodes {cut!r} and {bare[cut]!r} both occur: one may have lost its leading zeros")
    silent = int((events.column("node") < 0).sum())
    if silent:
        ledger.note(f"events that name no node: {silent:,}")
    n = _n_overlapping(events)
    if n:
        ledger.note(f"outages that begin before the last one on their node has ended, each counted: {n:,}")


def _n_overlapping(events: Events) -> int:
    """Outages that begin before the one before them on their node has ended."""
    nodes, starts, ends = (events.column(name) for name in ("node", "start", "end"))
    last_end = np.full(len(events.texts("node")) + 1, OPEN)
    n = 0
    for block in blocks(events.n):
        node, start, end = nodes[block], starts[block], ends[block]
        order = np.argsort(node, kind="stable")
        order = order[node[order] >= 0]
        node, start, end = node[order], start[order], end[order]
        first = np.r_[True, node[1:] != node[:-1]][: len(node)]
        before = np.r_[OPEN, end[:-1]][: len(node)]
        before[first] = last_end[node[first]]
        n += int((start < before).sum())
        last = np.r_[node[1:] != node[:-1], True][: len(node)]
        last_end[node[last]] = end[last]
    return n


def _n_failing(events: Events) -> int:
    """Different nodes that failed."""
    codes = events.column("node")
    seen = np.zeros(len(events.texts("node")) + 1, dtype=bool)
    for block in blocks(events.n):
        seen[codes[block]] = True
    return int(seen[:-1].sum())


# --------------------------------------------------------------------------- what was watched


def _window(events: Events, exposure: Exposure, given: Given, ledger: Ledger) -> tuple[int, int]:
    first, last = given.first_us, given.last_us
    if exposure.window:
        if first is None or last is None:
            part = "window" if first is None and last is None else "one end of the window"
            ledger.note(
                f"{part} not given: taken from the first to the last stamp in the log; quiet time before and after is "
                "missing, so that the rate is an upper estimate"
            )
        first = exposure.window[0] if first is None else first
        last = exposure.window[1] if last is None else last
    if first is None or last is None:
        seen = _span(events, ledger.calendar)
        if seen is None:
            raise InputError(
                f"window must be given: no failure was read. Name it with --window. {_largest(ledger)}".strip()
            )
        if not ledger.calendar:
            seen = (0, seen[1])
        part = "window" if first is None and last is None else "one end of the window"
        ledger.note(
            f"{part} not given: taken from the {'first' if ledger.calendar else 'origin'} to the last time in the log; "
            "quiet time before and after is missing, so that the rate is an upper estimate"
        )
        first, last = (seen[0] if first is None else first), (seen[1] if last is None else last)
    if last <= first:
        raise InputError(
            "window must have a length: the log spans no time by itself. Name the time that was watched with --window, "
            "e.g. --window 2024-03-30/2025-03-14"
        )
    return first, last


def _span(events: Events, calendar: bool) -> tuple[int, int] | None:
    """First and last time in the log [us]; an end in the future is none."""
    if not events.n:
        return None
    start, end = events.column("start"), events.column("end")
    until = _now_us() if calendar else np.iinfo(np.int64).max
    return int(start[0]), max(int(start[-1]), int(end.max(where=end <= until, initial=OPEN)))


def _exposure(
    failing: int, exposure: Exposure, given: Given, window: tuple[int, int], source: str
) -> tuple[int, float]:
    """Nodes, and node-days."""
    n_nodes = given.options.n_nodes
    by_format = n_nodes is None
    if n_nodes is None:
        n_nodes = exposure.n_nodes
    if n_nodes is None:
        hint = f" (at least {failing:,}, which failed)" if failing else ""
        raise InputError(
            "n_nodes must be given: how many nodes were watched? Healthy ones do not appear in a log. "
            f"Give --nodes N{hint}"
        )
    if failing > n_nodes:
        raise InputError(
            f"n_nodes must be at least the nodes that failed: {failing:,} did in {source}, got {n_nodes:,}"
        )
    if by_format and exposure.node_days is not None:
        return n_nodes, exposure.node_days
    return n_nodes, n_nodes * (window[1] - window[0]) / DAY


def _check_cohorts(log: FailureLog) -> None:
    """Nodes of a cohort column fit the nodes of the log."""
    for column, nodes in log.cohort_nodes.items():
        valid = [name for name in log.events.columns if name not in LOG_COLUMNS or name == "component"]
        if column not in valid:
            raise UnknownName("cohort column", column, valid, log.source)
        if sum(nodes.values()) > log.n_nodes:
            raise InputError(
                f"cohort_nodes of {column} must sum to at most n_nodes, {log.n_nodes:,}, got {sum(nodes.values()):,}"
            )
        failing = log.events.groupby(column, observed=True)["node"].nunique()
        for value, n in nodes.items():
            if failing.get(value, 0) > n:
                raise InputError(
                    f"cohort_nodes of {column} {value} must be at least the nodes that failed, {failing[value]:,}, "
                    f"got {n:,}"
                )


def _resolution_h(start: np.ndarray) -> float:
    """The largest step that all starts share, from 1 ms to a day; a second for one instant or two. [h]"""
    if len(start) <= 2 or start[0] == start[-1]:
        return SECOND / _HOUR_US
    step = DAY
    for block in blocks(len(start)):
        steps = start[block] - start[0]
        step = int(np.gcd.reduce(np.r_[step, steps[:_FIRST_LOOK]]))
        step = int(np.gcd.reduce(np.r_[step, steps[steps % step != 0]]))
    return max(step, _MS) / _HOUR_US


# --------------------------------------------------------------------------- small things


def _now_us() -> int:
    return int(datetime.now(UTC).timestamp() * SECOND)


def _stamp(start: np.ndarray, rows: np.ndarray) -> str:
    """When the first of some rows began."""
    if not rows.any():
        return ""
    return f"start {pd.Timestamp(int(start[int(np.argmax(rows))]), unit='us'):%Y-%m-%d %H:%M:%S} UTC"


def _largest(ledger: Ledger) -> str:
    """The commonest fate of records, in words."""
    rows = ledger.to_frame().head(3).itertuples()
    return "; ".join(
        f"{row.n:,} {row.action}: {row.reason}{f' ({row.example})' if row.example else ''}" for row in rows
    )
