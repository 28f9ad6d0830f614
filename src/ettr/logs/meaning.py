"""Meaning of the records of a table or of JSON: outages, states of nodes, messages with a severity, or jobs."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ettr.core.errors import InputError
from ettr.core.sentences import listed
from ettr.files.columns import Columns, with_hours
from ettr.files.durations import durations_us, unit_us
from ettr.files.ledger import Ledger
from ettr.files.tables import columns_found, plain_name, same_name
from ettr.files.times import UNITS
from ettr.logs import states
from ettr.logs.columns import find_columns
from ettr.logs.metrics import refuse_metrics
from ettr.logs.nodes import SYSTEMS
from ettr.logs.options import Options
from ettr.logs.rows import Batch
from ettr.logs.sample import Sample
from ettr.logs.xids import why_no_failure

_UP_NAMES = ["up", "ready", "healthy", "available", "online", "alive", "reachable", "active", "ok", "isup"]
_DOWN_NAMES = ["down", "unhealthy", "failed", "failing", "fault", "alarm", "alert", "unreachable", "offline", "isdown"]
_STATES = """
    eventtype event action phase transition status state nodestate nodestatus newstate newstatus reason type kind health
    condition result severity value"""
_STATE_NAMES = (*_STATES.split(), *_UP_NAMES, *_DOWN_NAMES)
_SEVERITY_NAMES = ("severity", "severitylevel", "sev", "loglevel", "level", "priority", "criticality", "alertlevel")
_LEVELS = frozenset({"debug", "info", "warn", "warning", "error", "err", "critical", "crit", "fatal"})
"""Words for severities that have no other meaning."""
_ORDERED = re.compile(r"(?:p|s|sev|severity|prio|priority|level)?[\s_-]?\d{1,2}", re.IGNORECASE)
_JOB_NAMES = ("state", "status", "jobstate", "jobstatus", "result", "outcome", "conclusion", "finalstate")
_BOOLEANS = {"1": True, "10": True, "true": True, "yes": True, "0": False, "00": False, "false": False, "no": False}

_MOST_WORDS = 20
"""Most different texts in a column of states, unless its name is that of a state."""
_NEARLY_ALL, _HALF = 0.8, 0.5


@dataclass(frozen=True)
class Filter:
    """A filter of records by the text of one column.

    Attributes
    ----------
    column : str
        Column name in the file.
    why_not : callable
        Takes the text of a record and returns the reason why it is not a failure; empty if it may be one.
    """

    column: str
    why_not: Callable[[str], str]


@dataclass(frozen=True)
class States:
    """A column with the state of a node, down or up.

    Attributes
    ----------
    column : str
        Column name in the file.
    kind : callable
        Takes the text of a record and returns 1 for down, -1 for up, 0 for neither.
    is_event : bool
        Whether the texts are events (each start has one end) rather than states, which may be repeated.
    """

    column: str
    kind: Callable[[str], int]
    is_event: bool


@dataclass(frozen=True)
class Meaning:
    """Meaning of the records of a file.

    Attributes
    ----------
    columns : dict of str to tuple of str
        Role to column names of the file.
    filters : tuple of Filter
        Filters that a failure must pass.
    states : States or None
        Column of states, if several records make an outage.
    duration_us : float or None
        Unit of durations that are plain numbers. [us]
    """

    columns: Columns
    filters: tuple[Filter, ...]
    states: States | None
    duration_us: float | None

    @property
    def deciding(self) -> list[str]:
        """Columns of the file that decide what a record is."""
        return [part.column for part in (*self.filters, self.states) if part]


def find_meaning(first: Batch, present: Sequence[str], options: Options, ledger: Ledger, place: str) -> Meaning:
    """Find the meaning of records, from the first ones and the options of the user.

    Parameters
    ----------
    first : Batch
        The first records, by column names of the file.
    present : sequence of str
        Columns of the file.
    options : Options
        Options of the user.
    ledger : Ledger
        Takes notes on the meaning.
    place : str
        Name of the file, for messages.

    Raises
    ------
    InputError
        A column is missing, or the meaning cannot be inferred.
    """
    mapping = {role: column for role, column in options.columns.items() if role not in ("state", "event")}
    named = with_hours(find_columns(present, mapping, place), first.columns, mapping, ledger)
    taken = {column for columns in named.values() for column in columns}
    systems = {column: (column,) for column in present if plain_name(column) in SYSTEMS and column not in taken}
    sample = Sample(first, present, named | systems, options, ledger, place)
    filters = [_where_filter(column, pattern, sample) for column, pattern in options.where.items()]
    columns, duration_us = _with_duration(sample)
    jobs = _jobs(sample)
    if jobs:
        at_end = columns.pop("end", columns["start"])
        return Meaning(columns | {"start": at_end}, (*filters, jobs), None, duration_us)
    states_column = _states(sample)
    if not isinstance(states_column, States):
        filters += [filter_ for filter_ in (states_column, _severity(sample), _up_filter(sample)) if filter_]
        states_column = None
        if not filters:
            refuse_metrics(sample)
        filters += _xid_filters(sample)
        if not filters and sample.starts_at_any_time and not {"node", "component", "cause"} & set(columns):
            ledger.doubt(f"{place} has no column of nodes, components or causes: every row counts as a failure")
    return Meaning(columns, tuple(filters), states_column, duration_us)


# --------------------------------------------------------------------------- Xids


def _xid_filters(sample: Sample) -> list[Filter]:
    """Filters for columns with Xids or kernel lines of NVIDIA's driver, some of which are no failures."""
    columns = [*sample.columns.get("cause", ()), *sample.named(("xid", "xidcode", "xiderror", "xidid"))]
    filters = []
    for column in dict.fromkeys(columns):
        is_code = column not in sample.columns.get("cause", ())
        reasons = [why_no_failure(text, is_code=is_code) for text in sample.counts(column)]
        if any(reasons) or is_code:
            sample.ledger.note(f"{column!r} has Xids: those of the application, or that stop no job, are dropped")
            filters.append(Filter(column, partial(why_no_failure, is_code=is_code)))
    return filters


# --------------------------------------------------------------------------- where, jobs, severity


def _where_filter(column: str, pattern: re.Pattern[str], sample: Sample) -> Filter:
    """The filter of one pattern of the user."""
    name = same_name(column, sample.present)
    if name is None:
        raise InputError(f"`where`: {sample.place} has no column {column!r}. {columns_found(sample.present)}")
    reason = f"{name} does not match {pattern.pattern!r}"
    return Filter(name, lambda text: "" if pattern.search(text) else reason)


def _jobs(sample: Sample) -> Filter | None:
    """A filter for records that are jobs: only those ended by a machine are failures, at their end."""
    for column in sample.named(_JOB_NAMES):
        by_state = Counter(states.job_state(text) for text in sample.texts(column) if text.strip())
        if not states.are_job_states(by_state):
            continue
        if "end" not in sample.columns and not sample.starts_at_any_time:
            raise InputError(
                f"{sample.place} has jobs ({column!r}: {_examples(sample.counts(column))}) but no column with "
                'their ends: name it, e.g. `columns={"end": "end_time"}`'
            )
        failing = [state for state in states.JOB_FAILURES if state in by_state]
        if sample.options.down:
            failing = [states.job_state(word) for word in sample.options.down]
        elif not failing:
            failing = [*states.JOB_FAILURES, *states.OTHER_JOB_FAILURES]
            n = sum(by_state[state] for state in failing)
            if n:
                sample.ledger.doubt(
                    f"{n:,} of the first {len(sample.first.numbers):,} jobs failed for unknown reasons, probably "
                    "mostly their own errors: select failures of machines with `down` or `where`"
                )
        sample.ledger.note(
            f"{column!r} has states of jobs ({_examples(sample.counts(column))}): failures are "
            f"{_words(failing, sample, column)}, at the end of the job; choose others with `down`"
        )
        return Filter(column, _job_filter(failing))
    return None


def _job_filter(failing: Sequence[str]) -> Callable[[str], str]:
    """Reasons why jobs are not failures."""

    def why_not(text: str) -> str:
        state = states.job_state(text)
        return "" if state in failing else f"job {state or 'without a state'}: no failure"

    return why_not


def _words(failing: Sequence[str], sample: Sample, column: str) -> str:
    """The states that count as failures, as the file writes them."""
    matching = [text for text in sample.counts(column) if states.job_state(text) in failing]
    return (
        listed([repr(text) for text in matching[:4]])
        if matching
        else "jobs with such a state, none in this file so far"
    )


def _severity(sample: Sample) -> Filter | None:
    """A filter for records with a severity: those of at least ``failure_severity`` are failures."""
    threshold = sample.options.failure_severity
    least = states.severity_of(threshold or "error")
    levels = (column for column in sample.present if _are_levels(sample.counts(column)))
    for column in dict.fromkeys((*sample.named(_SEVERITY_NAMES), *levels)):
        counts = sample.counts(column)
        n = sum(counts.values())
        n_severities = sum(n for text, n in counts.items() if states.severity_of(text) is not None)
        if n and n_severities >= _NEARLY_ALL * n and least is not None:
            name = states.SEVERITIES[least][0]
            sample.ledger.note(
                f"{column!r} has severities ({_examples(counts)}): failures are those of {name} and above; choose "
                "another with `failure_severity`"
            )
            if not any((states.severity_of(text) or 0) >= least for text in counts):
                raise InputError(
                    f"no record of {sample.place} has a {column} of {name} or above; it has {_examples(counts)}. "
                    'Choose a lower one, e.g. `failure_severity="warning"`'
                )
            return Filter(column, _severity_filter(least, name))
        if len(counts) > 1 and not n_severities and all(_ORDERED.fullmatch(text) for text in counts):
            sample.ledger.doubt(
                f"all rows count as failures, though {column!r} has {_examples(counts)}, whose order is not known: "
                f'select, e.g. `where={{"{column}": "{min(counts)}"}}`'
            )
    if threshold is not None:
        raise InputError(
            f'`failure_severity="{threshold}"`: no column of {sample.place} has severities. '
            f"{columns_found(sample.present)}"
        )
    return None


def _are_levels(counts: Counter[str]) -> bool:
    """Whether a column of any name has severities: several different ones, and no other text."""
    return 1 < len(counts) <= _MOST_WORDS and all(states.plain(text) in _LEVELS for text in counts)


def _severity_filter(least: int, name: str) -> Callable[[str], str]:
    """Reasons why records of a lower severity are not failures."""

    def why_not(text: str) -> str:
        level = states.severity_of(text)
        # an unknown text may be a high severity
        return "" if level is None or level >= least else f"severity below {name}: {states.SEVERITIES[level][0]}"

    return why_not


def _up_filter(sample: Sample) -> Filter | None:
    """A filter against later records of nodes that are up, where the first records are all of one kind."""
    if "end" in sample.columns or "duration" in sample.columns or not sample.starts_at_any_time:
        return None
    for column in sample.named(("status", "state", "event", "eventtype", "health", "condition")):
        if any(states.state_of(text) > 0 for text in sample.counts(column)):
            return Filter(column, lambda text: "state up: no failure" if states.state_of(text) < 0 else "")
    return None


# --------------------------------------------------------------------------- states


def _states(sample: Sample) -> States | Filter | None:
    """The column of states, if there is one; a filter if the user gives no word for up."""
    if sample.options.down or sample.options.up:
        return _states_from_options(sample)
    name = sample.options.columns.get("state", sample.options.columns.get("event"))
    if name is not None:
        column = same_name(name, sample.present)
        if column is None:
            raise InputError(f"{sample.place} has no column of states {name!r}. {columns_found(sample.present)}")
        kinds = _kinds_in(column, sample)
        if not {1, -1} <= set(kinds.values()):
            raise InputError(
                f"{column!r} of {sample.place} must have words for down and for up; it has "
                f'{_examples(sample.counts(column))}. Give the words, e.g. `down="failed"` `up="ok"`'
            )
        return _states_of(column, kinds, sample)
    if "end" in sample.columns or "duration" in sample.columns:
        return None
    for column in sample.named(_STATE_NAMES):
        kinds = _kinds_in(column, sample)
        if _are_states(kinds, sample.counts(column)) and (
            sample.starts_at_any_time or _alternate(column, kinds, sample)
        ):
            return _states_of(column, kinds, sample)
    for column in sample.present:
        counts = sample.counts(column) if column not in sample.columns["start"] else Counter[str]()
        # free text differs from row to row, and its words may mean anything
        if 1 < len(counts) <= min(_MOST_WORDS, max(2, _HALF * counts.total())):
            kinds = {text: states.state_of(text) for text in counts}
            if _are_states(kinds, counts) and _alternate(column, kinds, sample):
                return _states_of(column, kinds, sample)
    return None


def _states_from_options(sample: Sample) -> States | Filter:
    """States by the words of the user; other words mean down if the user gives only words for up."""
    down, up = ({states.plain(word) for word in words} for words in (sample.options.down, sample.options.up))
    n_matching = {
        column: sum(n for text, n in sample.counts(column).items() if states.plain(text) in down | up)
        for column in sample.present
        if column not in sample.columns["start"]
    }
    column = max(n_matching, key=lambda name: n_matching[name], default="")
    if not column or not n_matching[column]:
        words = ", ".join((*sample.options.down, *sample.options.up))
        raise InputError(f"`down`, `up`: no column of {sample.place} has {words}. {columns_found(sample.present)}")
    if not up:
        return Filter(column, lambda text: "" if states.plain(text) in down else f"{column} is no word for down")
    counts = sample.counts(column)
    other = 0 if down else 1
    kinds = {text: -1 if states.plain(text) in up else 1 if states.plain(text) in down else other for text in counts}
    return _states_of(column, kinds, sample, other)


def _states_of(column: str, kinds: Mapping[str, int], sample: Sample, other: int | None = None) -> States:
    """The states of a column, with a note; ``other`` is the kind of texts not among the first records."""
    counts = sample.counts(column)
    down, up = ({text: counts[text] for text in counts if kinds.get(text) == kind} for kind in (1, -1))
    if "node" not in sample.columns:
        sample.ledger.doubt(
            f"no column of {sample.place} has nodes, so {column!r} is read as the state of a single one: name the "
            'column, e.g. `columns={"node": "host"}`'
        )
    sample.ledger.note(
        f"{column!r} has nodes going down ({_examples(Counter(down))}) and up again ({_examples(Counter(up))}): an "
        "outage lasts from one to the other; choose other words with `down` and `up`"
    )
    by_name = {states.plain(text): kind for text, kind in kinds.items()}
    return States(
        column,
        lambda text: by_name.get(states.plain(text), states.state_of(text) if other is None else other),
        all(states.is_event(text) for text in down),
    )


def _are_states(kinds: Mapping[str, int], counts: Counter[str]) -> bool:
    """Whether a column has both kinds of states, in more than half of its records."""
    n_states = sum(n for text, n in counts.items() if kinds.get(text))
    return {1, -1} <= set(kinds.values()) and n_states > _HALF * sum(counts.values())


def _kinds_in(column: str, sample: Sample) -> dict[str, int]:
    """The kind of each text of a column; of two alternating texts, an unknown one is the opposite of the known one."""
    counts = sample.counts(column)
    kinds = {text: states.state_of(text) for text in counts}
    booleans = {text: _BOOLEANS.get(states.plain(text)) for text in counts}
    if counts and None not in booleans.values():
        name = plain_name(column)
        if name in _UP_NAMES or name in _DOWN_NAMES:
            return {text: 1 if value == (name in _DOWN_NAMES) else -1 for text, value in booleans.items()}
        return _unknown_words(column, sample)
    if len(counts) != 2 or all(kinds.values()) or not _alternate(column, dict.fromkeys(counts, 1), sample):
        return kinds
    if any(not kind and states.severity_of(text) is not None for text, kind in kinds.items()):
        return kinds  # Warning beside Critical is a lower severity, not the end of an outage
    sign = sum(kinds.values())
    return {text: kind or -sign for text, kind in kinds.items()} if sign else _unknown_words(column, sample)


def _unknown_words(column: str, sample: Sample) -> dict[str, int]:
    """No states, with a caution if the records of a node alternate between two unknown texts."""
    counts = sample.counts(column)
    if len(counts) == 2 and sample.starts_at_any_time and _alternate(column, dict.fromkeys(counts, 1), sample):
        first, second = counts
        sample.ledger.doubt(
            f"every row counts as a failure, though {column!r} alternates between {first!r} and {second!r} on each "
            "node: if one of the two means down, give both with `down` and `up`"
        )
    return {}


def _alternate(column: str, kinds: Mapping[str, int], sample: Sample) -> bool:
    """Whether consecutive records of a node nearly always differ: in kind if both kinds occur, else in text."""
    texts, node = [text.strip() for text in sample.texts(column)], sample.nodes()
    chosen = np.flatnonzero([bool(kinds.get(text)) for text in texts])
    order = chosen[np.argsort(node[chosen], kind="stable")]
    same_node = node[order][1:] == node[order][:-1]
    marks = [kinds[texts[row]] if {1, -1} <= set(kinds.values()) else texts[row] for row in order]
    differ = np.array([one != other for one, other in itertools.pairwise(marks)], dtype=bool)
    n = int(same_node.sum())
    return n >= _HALF * len(order) / 2 and int((differ & same_node).sum()) >= _NEARLY_ALL * n


# --------------------------------------------------------------------------- durations, words


def _with_duration(sample: Sample) -> tuple[Columns, float | None]:
    """The columns, without durations that cannot be read, and the unit of durations. [us]"""
    columns = dict(sample.columns)
    if "duration" not in columns:
        return columns, None
    column = columns["duration"][0]
    unit = unit_us(column)
    texts = [text for text in sample.texts(column) if text.strip()]
    if unit is None and sample.options.time_unit and "duration" in sample.options.columns:
        unit = UNITS[sample.options.time_unit]
    if texts and not durations_us(texts, unit)[1].any():
        sentence = f"durations in {column!r} have no unit: rename the column to {column}_h, _min or _s"
        if "duration" in sample.options.columns:
            raise InputError(f"{sentence} ({sample.place})")
        sample.ledger.note(f"{sentence}; durations are not read")
        del columns["duration"]
    return columns, unit


def _examples(counts: Counter[str]) -> str:
    """The most common texts of a column, with their counts."""
    most = [f"{text[:40]} {n:,}" for text, n in counts.most_common(4)]
    return ", ".join([*most, "..."] if len(counts) > 4 else most)
