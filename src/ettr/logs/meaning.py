"""What the rows of somebody's own table or JSON mean: outages, states of nodes, lines of a severity, or jobs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.sentences import listed
from ettr.files.ledger import Ledger
from ettr.files.tables import columns_found, plain_name, same_name
from ettr.files.times import UNITS
from ettr.logs import states
from ettr.logs.columns import Columns, find_columns
from ettr.logs.durations import durations_us, unit_us
from ettr.logs.nodes import SYSTEMS
from ettr.logs.options import Options
from ettr.logs.rows import Batch

_ANY_TIME = ("timestamp", "datetime", "time", "date", "ts", "when", "eventtime", "lasttimestamp")
"""Columns of times that may be those of ends as well."""
_UP_NAMES = ["up", "ready", "healthy", "available", "online", "alive", "reachable", "active", "ok", "isup"]
_DOWN_NAMES = ["down", "unhealthy", "failed", "failing", "fault", "alarm", "alert", "unreachable", "offline", "isdown"]
_STATE_NAMES = (
    *("eventtype", "event", "action", "phase", "transition", "status", "state", "nodestate", "nodestatus", "newstate"),
    *(
        "newstatus",
        "reason",
        "type",
        "kind",
        "health",
        "condition",
        "result",
        "severity",
        "value",
        *_UP_NAMES,
        *_DOWN_NAMES,
    ),
)
_SEVERITY_NAMES = ("severity", "severitylevel", "sev", "loglevel", "level", "priority", "criticality", "alertlevel")
_LEVELS = frozenset({"debug", "info", "warn", "warning", "error", "err", "critical", "crit", "fatal"})
"""Of the words for severity, those that stand for nothing else."""
_ORDERED = re.compile(r"(?:p|s|sev|severity|prio|priority|level)?[\s_-]?\d{1,2}", re.IGNORECASE)
_JOB_NAMES = ("state", "status", "jobstate", "jobstatus", "result", "outcome", "conclusion", "finalstate")
_BOOLEANS = {"1": True, "10": True, "true": True, "yes": True, "0": False, "00": False, "false": False, "no": False}

_MOST_WORDS = 20
"""A column with more different texts holds no states, unless its name says so."""
_MOST, _HALF = 0.8, 0.5


@dataclass(frozen=True)
class Filter:
    """Which records count, by the text of one column.

    Attributes
    ----------
    column : str
        The file's name for it.
    why_not : callable
        Takes the text of a record and returns the reason why that record is not a failure, or an empty text.
    """

    column: str
    why_not: Callable[[str], str]


@dataclass(frozen=True)
class States:
    """A column that says whether a node went down, or is up again.

    Attributes
    ----------
    column : str
        The file's name for it.
    kind : callable
        Takes the text of a record and returns 1 for down, -1 for up, 0 for neither.
    is_event : bool
        Whether its words speak of starts and ends, each of which has a partner; a state may be said again and again.
    """

    column: str
    kind: Callable[[str], int]
    is_event: bool


@dataclass(frozen=True)
class Meaning:
    """How records are to be read.

    Attributes
    ----------
    columns : dict of str to tuple of str
        Our name to the file's.
    filters : tuple of Filter
        What a record must pass to count.
    states : States or None
        Given where two records, or more, make an outage.
    duration_us : float or None
        Unit of durations that are plain numbers. [us]
    """

    columns: Columns
    filters: tuple[Filter, ...]
    states: States | None
    duration_us: float | None

    @property
    def deciding(self) -> list[str]:
        """The file's columns that say what a record is."""
        return [part.column for part in (*self.filters, self.states) if part]


def find_meaning(first: Batch, present: Sequence[str], options: Options, ledger: Ledger, place: str) -> Meaning:
    """Find what records mean, from the first ones and what the user says.

    Parameters
    ----------
    first : Batch
        The first records, by the file's names.
    present : sequence of str
        Columns that the file has.
    options : Options
        What the user knows.
    ledger : Ledger
        Takes what was found, in sentences.
    place : str
        The file, for messages.

    Raises
    ------
    InputError
        A column that is not there, or a meaning that only the user can know.
    """
    mapping = {ours: theirs for ours, theirs in options.columns.items() if ours not in ("state", "event")}
    named = find_columns(present, mapping, place)
    taken = {column for columns in named.values() for column in columns}
    systems = {column: (column,) for column in present if plain_name(column) in SYSTEMS and column not in taken}
    look = _Look(first, present, named | systems, options, ledger, place)
    filters = [_where(column, pattern, look) for column, pattern in options.where.items()]
    columns, duration_us = _with_duration(look)
    jobs = _jobs(look)
    if jobs:
        at_end = columns.pop("end", columns["start"])
        return Meaning(columns | {"start": at_end}, (*filters, jobs), None, duration_us)
    found = _states(look)
    if not isinstance(found, States):
        filters += [filter_ for filter_ in (found, _severity(look), _says_up(look)) if filter_]
        found = None
        if not filters and look.starts_at_any_time and not {"node", "component", "cause"} & set(columns):
            ledger.doubt(f"no column of {place} says what failed, or where: every row counts as a failure")
    return Meaning(columns, tuple(filters), found, duration_us)


@dataclass(frozen=True)
class _Look:
    """The first records of a file, its columns, and what the user says about them."""

    first: Batch
    present: Sequence[str]
    columns: Columns
    options: Options
    ledger: Ledger
    place: str

    def texts(self, column: str) -> Sequence[str]:
        return self.first.columns[column]

    def counts(self, column: str) -> Counter[str]:
        return Counter(text.strip() for text in self.texts(column) if text.strip())

    def named(self, names: Sequence[str]) -> list[str]:
        """Columns of such names that are not named otherwise by the user."""
        taken = {
            c for ours in self.options.columns for c in self.columns.get(ours, ()) if ours not in ("state", "event")
        }
        return [name for name in self.present if plain_name(name) in names and name not in taken]

    def nodes(self) -> np.ndarray:
        """A number for the node of each record."""
        parts = [self.texts(column) for column in self.columns.get("node", ())]
        names = ["/".join(each) for each in zip(*parts, strict=True)] if parts else [""] * len(self.first.numbers)
        codes: np.ndarray = pd.factorize(np.array([*names, ""], dtype=object)[:-1])[0]
        return codes

    @property
    def starts_at_any_time(self) -> bool:
        """Whether times of anything may stand in the column of times, by its name, and not only those of starts."""
        return plain_name(self.columns["start"][0]) in _ANY_TIME


# --------------------------------------------------------------------------- where, jobs, severity


def _where(column: str, pattern: re.Pattern[str], look: _Look) -> Filter:
    theirs = same_name(column, look.present)
    if theirs is None:
        raise InputError(f"--where {column}: {look.place} has no column {column!r}. {columns_found(look.present)}")
    reason = f"{theirs} does not match {pattern.pattern!r}"
    return Filter(theirs, lambda text: "" if pattern.search(text) else reason)


def _jobs(look: _Look) -> Filter | None:
    """Jobs count where a machine ended them, at their end."""
    for column in look.named(_JOB_NAMES):
        by_state = Counter(states.job_state(text) for text in look.texts(column) if text.strip())
        if not states.are_job_states(by_state):
            continue
        if "end" not in look.columns and not look.starts_at_any_time:
            raise InputError(
                f"{look.place} holds jobs ({column!r}: {_some(look.counts(column))}), and must say when they ended: "
                "name the column, e.g. --map end=end_time"
            )
        failing = [state for state in states.JOB_FAILURES if state in by_state]
        if look.options.down:
            failing = [states.job_state(word) for word in look.options.down]
        elif not failing:
            failing = [*states.JOB_FAILURES, *states.OTHER_JOB_FAILURES]
            n = sum(by_state[state] for state in failing)
            if n:
                look.ledger.doubt(
                    f"{n:,} of the first {len(look.first.numbers):,} jobs failed for a reason that is not said, mostly "
                    "their own: count only those of machines with --down, or --where"
                )
        look.ledger.note(
            f"{column!r} holds states of jobs ({_some(look.counts(column))}): failures are "
            f"{_words(failing, look, column)}, at the end of the job; name others with --down"
        )
        return Filter(column, _job_filter(failing))
    return None


def _job_filter(failing: Sequence[str]) -> Callable[[str], str]:
    def why_not(text: str) -> str:
        state = states.job_state(text)
        return "" if state in failing else f"a job that is {state or 'in no state'}: no failure"

    return why_not


def _words(failing: Sequence[str], look: _Look, column: str) -> str:
    """The states that count, as the file writes them."""
    matching = [text for text in look.counts(column) if states.job_state(text) in failing]
    return (
        listed([repr(text) for text in matching[:4]]) if matching else "those that say so, of which there are none here"
    )


def _severity(look: _Look) -> Filter | None:
    """Lines count from a severity on."""
    named = look.options.failure_severity
    least = states.severity_of(named or "error")
    levels = (column for column in look.present if _are_levels(look.counts(column)))
    for column in dict.fromkeys((*look.named(_SEVERITY_NAMES), *levels)):
        counts = look.counts(column)
        n, n_known = sum(counts.values()), sum(n for text, n in counts.items() if states.severity_of(text) is not None)
        if n and n_known >= _MOST * n and least is not None:
            name = states.SEVERITIES[least][0]
            look.ledger.note(
                f"{column!r} holds severities ({_some(counts)}): failures are those of {name} and above; choose with "
                "--failure-severity"
            )
            if not any((states.severity_of(text) or 0) >= least for text in counts):
                raise InputError(
                    f"no record of {look.place} has a {column} of {name} or above; it holds {_some(counts)}. Count "
                    "those with --failure-severity, e.g. --failure-severity warning"
                )
            return Filter(column, _severity_filter(least, name))
        if len(counts) > 1 and not n_known and all(_ORDERED.fullmatch(text) for text in counts):
            look.ledger.doubt(
                f"all rows count, though {column!r} holds {_some(counts)}, in an order that is not known: choose, e.g. "
                f"--where {column}={min(counts)}"
            )
    if named is not None:
        raise InputError(
            f"--failure-severity {named}: no column of {look.place} holds severities. {columns_found(look.present)}"
        )
    return None


def _are_levels(counts: Counter[str]) -> bool:
    """Whether a column of any name holds severities: several, and no other word."""
    return 1 < len(counts) <= _MOST_WORDS and all(states.plain(text) in _LEVELS for text in counts)


def _severity_filter(least: int, name: str) -> Callable[[str], str]:
    def why_not(text: str) -> str:
        level = states.severity_of(text)
        # a text that is no severity may be one of the highest
        return "" if level is None or level >= least else f"severity below {name}: {states.SEVERITIES[level][0]}"

    return why_not


def _says_up(look: _Look) -> Filter | None:
    """In a table of states whose first rows are all of one kind, later ones that say up are no failures."""
    if "end" in look.columns or "duration" in look.columns or not look.starts_at_any_time:
        return None
    for column in look.named(("status", "state", "event", "eventtype", "health", "condition")):
        if any(states.state_of(text) > 0 for text in look.counts(column)):
            return Filter(column, lambda text: "a state that is no failure" if states.state_of(text) < 0 else "")
    return None


# --------------------------------------------------------------------------- states


def _states(look: _Look) -> States | Filter | None:
    """The column of states, if there is one; a filter where the user names no word for up."""
    if look.options.down or look.options.up:
        return _states_asked(look)
    named = look.options.columns.get("state", look.options.columns.get("event"))
    if named is not None:
        column = same_name(named, look.present)
        if column is None:
            raise InputError(f"--map state={named}: {look.place} has no such column. {columns_found(look.present)}")
        kinds = _kinds_of(column, look)
        if not {1, -1} <= set(kinds.values()):
            raise InputError(
                f"{column!r} of {look.place} must say what is down and what is up; it holds "
                f"{_some(look.counts(column))}. Name the words, e.g. --down failed --up ok"
            )
        return _found(column, kinds, look)
    if "end" in look.columns or "duration" in look.columns:
        return None
    for column in look.named(_STATE_NAMES):
        kinds = _kinds_of(column, look)
        if _are_states(kinds, look.counts(column)) and (look.starts_at_any_time or _alternate(column, kinds, look)):
            return _found(column, kinds, look)
    for column in look.present:
        counts = look.counts(column) if column not in look.columns["start"] else Counter[str]()
        if 1 < len(counts) <= _MOST_WORDS:
            kinds = {text: states.state_of(text) for text in counts}
            if _are_states(kinds, counts) and _alternate(column, kinds, look):
                return _found(column, kinds, look)
    return None


def _states_asked(look: _Look) -> States | Filter:
    """States by the user's own words; what else stands in the column is down where only words for up are named."""
    down, up = ({states.plain(word) for word in words} for words in (look.options.down, look.options.up))
    held = {
        column: sum(n for text, n in look.counts(column).items() if states.plain(text) in down | up)
        for column in look.present
        if column not in look.columns["start"]
    }
    column = max(held, key=lambda name: held[name], default="")
    if not column or not held[column]:
        words = ", ".join((*look.options.down, *look.options.up))
        raise InputError(f"--down, --up: no column of {look.place} holds {words}. {columns_found(look.present)}")
    if not up:
        return Filter(column, lambda text: "" if states.plain(text) in down else f"{column} is no word of --down")
    counts = look.counts(column)
    other = 0 if down else 1
    kinds = {text: -1 if states.plain(text) in up else 1 if states.plain(text) in down else other for text in counts}
    return _found(column, kinds, look, other)


def _found(column: str, kinds: Mapping[str, int], look: _Look, other: int | None = None) -> States:
    """States with a note of their words; ``other`` is what a text means that no first record has."""
    counts = look.counts(column)
    down, up = ({text: counts[text] for text in counts if kinds.get(text) == kind} for kind in (1, -1))
    look.ledger.note(
        f"{column!r} says when nodes go down ({_some(Counter(down))}) and are up again ({_some(Counter(up))}): an "
        "outage lasts from one to the other; name other words with --down and --up"
    )
    by_name = {states.plain(text): kind for text, kind in kinds.items()}
    return States(
        column,
        lambda text: by_name.get(states.plain(text), states.state_of(text) if other is None else other),
        all(states.is_event(text) for text in down),
    )


def _are_states(kinds: Mapping[str, int], counts: Counter[str]) -> bool:
    n_known = sum(n for text, n in counts.items() if kinds.get(text))
    return {1, -1} <= set(kinds.values()) and n_known > _HALF * sum(counts.values())


def _kinds_of(column: str, look: _Look) -> dict[str, int]:
    """What each text of a column says; of two states the other one is what the known one is not."""
    counts = look.counts(column)
    kinds = {text: states.state_of(text) for text in counts}
    booleans = {text: _BOOLEANS.get(states.plain(text)) for text in counts}
    if counts and None not in booleans.values():
        name = plain_name(column)
        if name in _UP_NAMES or name in _DOWN_NAMES:
            return {text: 1 if value == (name in _DOWN_NAMES) else -1 for text, value in booleans.items()}
        return _unknown_words(column, look)
    if len(counts) != 2 or all(kinds.values()) or not _alternate(column, dict.fromkeys(counts, 1), look):
        return kinds
    sign = sum(kinds.values())
    return {text: kind or -sign for text, kind in kinds.items()} if sign else _unknown_words(column, look)


def _unknown_words(column: str, look: _Look) -> dict[str, int]:
    """No states, and a doubt where the rows of a node go from one of two texts to the other."""
    counts = look.counts(column)
    if len(counts) == 2 and look.starts_at_any_time and _alternate(column, dict.fromkeys(counts, 1), look):
        first, second = counts
        look.ledger.doubt(
            f"every row counts, though {column!r} goes from {first!r} to {second!r} and back on each node: if one of "
            "them means down, name both with --down and --up"
        )
    return {}


def _alternate(column: str, kinds: Mapping[str, int], look: _Look) -> bool:
    """Whether the rows of a node nearly always say another thing than the row before."""
    texts, node = [text.strip() for text in look.texts(column)], look.nodes()
    chosen = np.flatnonzero([bool(kinds.get(text)) for text in texts])
    order = chosen[np.argsort(node[chosen], kind="stable")]
    same_node = node[order][1:] == node[order][:-1]
    differ = np.array([texts[a] != texts[b] for a, b in zip(order[1:], order[:-1], strict=True)], dtype=bool)
    n = int(same_node.sum())
    return n >= _HALF * len(order) / 2 and int((differ & same_node).sum()) >= _MOST * n


# --------------------------------------------------------------------------- durations, words


def _with_duration(look: _Look) -> tuple[Columns, float | None]:
    """The columns, without a duration that cannot be read, and the unit of its numbers. [us]"""
    columns = dict(look.columns)
    if "duration" not in columns:
        return columns, None
    column = columns["duration"][0]
    unit = unit_us(column)
    texts = [text for text in look.texts(column) if text.strip()]
    if unit is None and look.options.time_unit and "duration" in look.options.columns:
        unit = UNITS[look.options.time_unit]
    if texts and not durations_us(texts, unit)[1].any():
        sentence = f"durations in {column!r} have no unit: name it {column}_h, or _min, or _s"
        if "duration" in look.options.columns:
            raise InputError(f"{sentence} ({look.place})")
        look.ledger.note(f"{sentence}; they are not read")
        del columns["duration"]
    return columns, unit


def _some(counts: Counter[str]) -> str:
    """The commonest texts of a column, with their counts."""
    most = [f"{text[:40]} {n:,}" for text, n in counts.most_common(4)]
    return ", ".join([*most, "..."] if len(counts) > 4 else most)
