"""Slurm accounting: jobs that ended, as printed by ``sacct --parsable2``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby
from typing import Any

from ettr.core.errors import InputError
from ettr.core.sentences import duration, listed
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.node_lists import LONGEST, expand
from ettr.files.opening import Source
from ettr.files.tables import first_line, header_of
from ettr.files.times import DAY, HOUR, NoTime
from ettr.logs.bursts import WITHIN_MIN, Bursts
from ettr.logs.events import Events, NodesWatched, Span
from ettr.logs.options import Options

_NEEDED = ("JobID", "State", "Start", "End")
_USED = ("NodeList", "NNodes", "Partition")
COMMAND = (
    "sacct --allusers --duplicates --parsable2 --starttime 2025-01-01 --endtime now "
    f"--format {','.join((*_NEEDED, *_USED))},AllocTRES > jobs.txt"
)
"""Prints all jobs with their GPUs, for failure rates and for the GPU-hours of a cluster."""
_HEADER = re.compile(r"(\w+)([^\w\s]+)\w")
_JOB = re.compile(r"\d+(?:[_+]\d+)?")
_STEP = re.compile(r"\d+(?:[_+][\d\[\],%-]+)?(?:\.\w+)?")
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_PENDING_ARRAY = re.compile(r"\d+_\[[^\]]*\]?")

FAILURES = ("NODE_FAIL", "BOOT_FAIL")
_REQUEUES = ("REQUEUED", "PREEMPTED")
_MAYBE_FAILURES = ("REQUEUED", "FAILED")
"""States that a machine may or may not have caused: left out, with a caution."""
REASONS = {
    "FAILED": "FAILED: usually the job's own error",
    "COMPLETED": "COMPLETED: no failure",
    "CANCELLED": "CANCELLED: by a user or administrator",
    "TIMEOUT": "TIMEOUT: the job's time limit",
    "DEADLINE": "DEADLINE: the job's time limit",
    "OUT_OF_MEMORY": "OUT_OF_MEMORY: usually the job's own error",
    "PREEMPTED": "PREEMPTED: made room for another job",
    "REQUEUED": "REQUEUED: requeued, cause unknown",
    "RUNNING": "RUNNING: no end yet",
    "SUSPENDED": "SUSPENDED: no end yet",
    "PENDING": "PENDING: never started",
    "RESIZING": "RESIZING: no failure",
    "REVOKED": "REVOKED: moved to another cluster",
}
NO_TIME = ("", "Unknown", "None", "N/A")


@dataclass(frozen=True)
class _Layout:
    """Delimiter and columns of the file."""

    delimiter: str
    names: list[str]

    def column(self, name: str) -> int | None:
        """Return the index of a column; None if it is missing."""
        return self.names.index(name) if name in self.names else None


@dataclass
class _NodeTime:
    """Node time of jobs inside the window."""

    low_us: int
    high_us: int
    done_us: int = 0
    open_nodes: int = 0
    open_us: int = 0

    def add(self, n_nodes: int, start_us: int, end_us: int | None) -> None:
        """Add the node time of a job; None for the end of a running job."""
        start = max(start_us, self.low_us)
        if end_us is not None:
            self.done_us += n_nodes * max(0, min(end_us, self.high_us) - start)
        elif start < self.high_us:
            self.open_nodes += n_nodes
            self.open_us += n_nodes * start

    def days(self, last_us: int) -> float:
        """Return the node time up to the end of the log. [node-days]"""
        running_us = self.open_nodes * min(last_us, self.high_us) - self.open_us
        return (self.done_us + max(0, running_us)) / DAY


@dataclass(frozen=True)
class _Failure:
    """A job ended by the failure of a node; `node` only for a job on a single node."""

    end_us: int
    n_nodes: int
    node: str | None
    node_list: str
    row: dict[str, str]
    state: str
    place: str


class Jobs:
    """State while jobs are read."""

    def __init__(self, options: Options, ledger: Ledger) -> None:
        low, high = options.first_us, options.last_us
        if low is None or high is None:
            low, high = -(10**18), 10**18
        self.clock = options.clock(ledger)
        self.ledger = ledger
        self.node_time = _NodeTime(low, high)
        self.span = Span()
        self.nodes: set[str] = set()
        self.node_lists: set[int] = set()
        self.rows: set[int] = set()
        self.failed_jobs: dict[str, tuple[int, int]] = {}
        self.failures: list[_Failure] = []
        self.left_out: dict[str, list[int]] = {}
        self.unread_lists: list[str] = []
        self.n_unsized = 0


def _sniff(head: list[str]) -> bool:
    names = {name.lower() for name in re.split(r"\W+", first_line(head))}
    columns = {name.lower() for name in (*_NEEDED, *_USED)}
    return (bool(names & {"jobid", "jobidraw"}) and len(names & columns) >= 2) or _is_row(first_line(head))


def _is_row(line: str) -> bool:
    """Whether a line is a row of sacct rather than its header."""
    words = re.split(r"\s*\|\s*|\s+", line.strip())
    has_state = any(word.rstrip("+") in (*REASONS, *FAILURES) for word in words)
    has_job = any(map(_STEP.fullmatch, words if "|" in line else words[:1]))
    return has_state and has_job and any(map(_ISO_TIME.match, words))


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read failures of nodes under jobs: ``NODE_FAIL`` and ``BOOT_FAIL``, at the end of the job."""
    lines = source.records(ledger)
    first = next(lines, ("", ""))
    if options.header:
        layout, lines = _layout("|".join(options.header), header_of(first[1])[1]), chain([first], lines)
    elif _is_row(first[1]):
        raise InputError(
            f"{source.name} must have a header, and looks like the output of sacct --noheader, starting with "
            f"{first[1].strip()[:60]!r}: leave --noheader out ({COMMAND}), or name the columns in the order of "
            f"--format, e.g. `header={[*_NEEDED, *_USED]}`"
        )
    else:
        layout = _layout(first[1])
    jobs = Jobs(options, ledger)
    at = {name: layout.column(name) for name in (*_NEEDED, *_USED)}
    job = layout.names.index("JobID")
    for place, fields in _rows(lines, layout, ledger):
        if "." in fields[job]:
            ledger.merged("step of a job", place=place)
            continue
        row = {name: fields[column].strip() for name, column in at.items() if column is not None}
        take_job(jobs, row, hash("\0".join(fields)), place)
    add_failures(jobs, events)
    return exposure_of(jobs)


def _layout(header: str, rows: str = "") -> _Layout:
    """Delimiter and columns from the first row; ``rows`` is the delimiter of the others if it differs."""
    match = _HEADER.match(header.strip())
    delimiter = match[2] if match else "|"
    written = {name.lower(): name for name in (*_NEEDED, *_USED)}
    names = [written.get(name.strip().lower(), name.strip()) for name in header.strip().split(delimiter)]
    if names and not names[-1]:
        names.pop()
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise InputError(
            f"a Slurm log must have the columns {', '.join(_NEEDED)} in its first row, separated by '|'; missing: "
            f"{', '.join(missing)}; found: {', '.join(names)[:200] or 'nothing'}. To get them: {COMMAND}"
        )
    return _Layout(rows or delimiter, names)


def _rows(lines: Iterable[tuple[str, str]], layout: _Layout, ledger: Ledger) -> Iterator[tuple[str, list[str]]]:
    """Rows with as many fields as the header."""
    header = [name.lower() for name in layout.names]
    for place, line in lines:
        fields = line.split(layout.delimiter)
        if len(fields) == len(header) + 1 and not fields[-1].strip():
            fields.pop()  # --parsable ends every row with the delimiter
        if len(fields) != len(header):
            ledger.not_parsed("wrong number of fields", place=place)
        elif [field.strip().lower() for field in fields] == header:
            ledger.dropped("repeated header", place=place)
        else:
            yield place, fields


def take_job(jobs: Jobs, row: dict[str, str], digest: int, place: str) -> None:
    """Add one row: its node time, and its failure if it is one."""
    ledger, job = jobs.ledger, row["JobID"]
    state = row["State"].split(" ", 1)[0].rstrip("+").upper()
    if _PENDING_ARRAY.fullmatch(job):
        return ledger.dropped("array tasks that have not started", place=place)
    if not _JOB.fullmatch(job):
        return ledger.not_parsed("no job number", place=place)
    if state not in REASONS and state not in FAILURES:
        return ledger.not_parsed("unknown state", place=place)
    if digest in jobs.rows:
        return ledger.merged("exact duplicate row", place=place)
    jobs.rows.add(digest)
    if row["Start"] in NO_TIME:
        return ledger.dropped("never started", place=place)
    try:
        start = jobs.clock.us(row["Start"])
        end = None if row["End"] in NO_TIME else jobs.clock.us(row["End"])
    except NoTime as error:
        return ledger.not_parsed(str(error), place=place)
    if end is not None and end < start:
        return ledger.not_parsed("End before Start", place=place)
    nodes = _nodes(row)
    if nodes is None and state not in FAILURES:
        return ledger.not_parsed("NodeList in an unknown form, or too long", place=place)
    if nodes is None:
        jobs.unread_lists.append(row["NodeList"][:40])
        nodes, row["NodeList"] = (), ""
    if not (state in _REQUEUES and jobs.failed_jobs.get(row["JobID"], (None,))[0] == start):
        _take_time(jobs, row, nodes, start, end)
    return _take_state(jobs, row, state, nodes, start, end, place)


@lru_cache(maxsize=4096)
def _expanded(text: str) -> tuple[str, ...] | None:
    """The nodes in a node list; None if it cannot be read."""
    try:
        return tuple(expand(text))
    except ValueError:
        return None


def _nodes(row: dict[str, str]) -> tuple[str, ...] | None:
    """The nodes of a job; None if its node list cannot be read."""
    text = row.get("NodeList", "")
    return _expanded(text) if len(text) < 1000 else _expanded.__wrapped__(text)


def _take_time(jobs: Jobs, row: dict[str, str], nodes: tuple[str, ...], start: int, end: int | None) -> None:
    """Add the node time of a row."""
    jobs.span.take(start)
    if end is not None:
        jobs.span.take(end)
    digest = hash(row.get("NodeList"))
    if digest not in jobs.node_lists and len(jobs.nodes) < LONGEST:
        jobs.node_lists.add(digest)
        jobs.nodes.update(nodes)
    stated = row.get("NNodes", "")
    n_nodes = int(stated) if stated.isascii() and stated.isdecimal() and len(stated) < 8 else len(nodes)
    jobs.n_unsized += not n_nodes
    jobs.node_time.add(n_nodes, start, end)


def _take_state(
    jobs: Jobs, row: dict[str, str], state: str, nodes: tuple[str, ...], start: int, end: int | None, place: str
) -> None:
    """Count the row as a failure, or record the reason why it is not one."""
    job = row["JobID"]
    if state in FAILURES:
        if end is None:
            return jobs.ledger.not_parsed(f"{state} without an End", place=place)
        node = nodes[0] if len(nodes) == 1 else None
        jobs.failures.append(_Failure(end, len(nodes), node, row.get("NodeList", ""), row, state, place))
        jobs.failed_jobs[job] = start, end
        return None
    failed = jobs.failed_jobs.get(job)
    if state in _REQUEUES and failed is not None and (start == failed[0] or start < failed[1]):
        del jobs.failed_jobs[job]
        return jobs.ledger.merged("requeue after a node's failure", place=place)
    if state in _MAYBE_FAILURES and end is not None:
        jobs.left_out.setdefault(state, []).append(end)
    return jobs.ledger.dropped(REASONS[state], place=place)


def add_failures(jobs: Jobs, events: Events) -> None:
    """Add the failures to ``events``; jobs that shared the failed node count as one failure."""
    events.distinct = True
    bursts = Bursts(device="node")
    n_unnamed, added_us = 0, list[int]()
    # of jobs that end together the smallest comes first, because it narrows down the failed node most
    failures = sorted(jobs.failures, key=lambda failure: (failure.end_us, failure.n_nodes or LONGEST + 1))
    for end, together in groupby(failures, key=lambda failure: failure.end_us):
        down: set[str] = set()
        for failure in together:
            nodes = {*(_nodes({"NodeList": failure.node_list}) or ()), *_het_job(failure.row["JobID"])}
            is_repeat = failure.node is not None and bursts.seen(failure.node, "down", end)
            if is_repeat or not down.isdisjoint(nodes):
                jobs.ledger.merged(f"another job on the same node, within {WITHIN_MIN} min", place=failure.place)
                continue
            down |= nodes
            added_us.append(end)
            n_unnamed += failure.node is None
            partition = failure.row.get("Partition")
            cohorts: dict[str, Any] = {"partition": partition} if partition else {}
            events.add(end, node=failure.node, component="node", cause=failure.state, **cohorts)
    if n_unnamed:
        jobs.ledger.note(
            f"node failures under jobs on several or unnamed nodes: {n_unnamed:,} of {len(added_us):,}; which node "
            "failed is not in the log, so these failures have no node"
        )
    if jobs.unread_lists:
        jobs.ledger.note(
            f"node failures whose NodeList has an unknown form or is too long: {len(jobs.unread_lists):,}, such as "
            f"{jobs.unread_lists[0]!r}; each is counted without a node"
        )
    jobs.ledger.note("failures of nodes without a job are not in Slurm's accounting")
    _doubt_left_out(jobs, added_us)


def _doubt_left_out(jobs: Jobs, failed_us: list[int]) -> None:
    """Caution on jobs that ended for other reasons but may be failures, with the MTBF if all of them were."""
    window = jobs.span.window
    if not jobs.left_out or window is None:
        return
    low, high = max(jobs.node_time.low_us, window[0]), min(jobs.node_time.high_us, window[1])

    def n_inside(ends: list[int]) -> int:
        return sum(low <= end <= high for end in ends)

    n_left = {state: n for state in _MAYBE_FAILURES if (n := n_inside(jobs.left_out.get(state, [])))}
    if not n_left or high <= low:
        return
    hours, n_failed = (high - low) / HOUR, n_inside(failed_us)
    left_out = listed([f"{n:,} {state} ({REASONS[state].partition(': ')[2]})" for state, n in n_left.items()])
    mtbf = f"MTBF {duration(hours / n_failed)}" if n_failed else "none"
    jobs.ledger.doubt(
        f"only {' and '.join(FAILURES)} count as failures ({mtbf}); left out: {left_out}; if all of these were "
        f"failures, the MTBF would be {duration(hours / (n_failed + sum(n_left.values())))}"
    )


def _het_job(job: str) -> tuple[str, ...]:
    """A mark shared by the parts of a heterogeneous job, which stop together."""
    number, plus, _ = job.partition("+")
    return (f"job {number}",) if plus else ()


def exposure_of(jobs: Jobs) -> NodesWatched:
    """Return the nodes in the log, its first and last time, and the node time of jobs."""
    window, n_nodes = jobs.span.window, len(jobs.nodes)
    if window is None:
        return NodesWatched()
    if not n_nodes:
        return NodesWatched(window=window)
    low, high = max(jobs.node_time.low_us, window[0]), min(jobs.node_time.high_us, window[1])
    node_days, most = jobs.node_time.days(window[1]), n_nodes * max(0, high - low) / DAY
    sentence = f"exposure is the node time of jobs on {n_nodes:,} nodes; idle time and nodes without jobs do not count"
    if node_days > most:
        node_days, sentence = most, "jobs shared nodes, so exposure is the number of nodes in the log times the window"
    if jobs.n_unsized:
        sentence += f"; jobs without NNodes and NodeList add no exposure: {jobs.n_unsized:,}"
    jobs.ledger.note(sentence)
    return NodesWatched(n_nodes=n_nodes, window=window, node_days=node_days or None)


FORMAT = Format(
    "slurm",
    "Slurm accounting (sacct --parsable2)",
    _sniff,
    _read,
    COMMAND,
    "JobID|State|Start|End|NodeList|NNodes|Partition\n"
    "71|NODE_FAIL|2025-06-01T10:00:00|2025-06-02T10:00:00|gpu-07|1|big",
)
