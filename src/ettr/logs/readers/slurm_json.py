"""Slurm accounting from ``sacct --json``, by the same rules as for its text."""

from __future__ import annotations

from typing import Any

from ettr.files.formats import Format
from ettr.files.json_records import json_records
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.logs.events import Events, NodesWatched
from ettr.logs.options import Options
from ettr.logs.readers.slurm import FAILURES, Jobs, add_failures, exposure_of, take_job

_COMMAND = "sacct --allusers --duplicates --json --starttime 2025-01-01 --endtime now > jobs.json"
_SAMPLE = """{"jobs": [{"job_id": 71, "state": {"current": ["NODE_FAIL"]}, "nodes": "gpu-07", "allocation_nodes": 1,
"time": {"start": 1748772000, "end": 1748858400}}]}"""


def _sniff(head: list[str]) -> bool:
    text = "\n".join(head)
    return '"job_id"' in text and any(f'"{name}"' in text for name in ("allocation_nodes", "nodes", "tres"))


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read failures of nodes under jobs, see :mod:`ettr.logs.readers.slurm`."""
    jobs = Jobs(options, ledger)
    records, word = json_records(source, ledger)
    for number, record in records:
        place = f"{word} {number:,}"
        if not isinstance(record, dict) or "job_id" not in record:
            ledger.not_parsed("not a job", place=place)
            continue
        row = _row(record)
        take_job(jobs, row, hash(tuple(row.values())), place)
    add_failures(jobs, events)
    return exposure_of(jobs)


_MOST = 1e15
"""Upper bound of numbers in a job record."""


def _row(record: dict[str, Any]) -> dict[str, str]:
    """A job with the column names of the text."""
    time, state = record.get("time"), record.get("state", record.get("job_state"))
    time = time if isinstance(time, dict) else {}
    states = state.get("current") if isinstance(state, dict) else state
    words = [str(word).upper() for word in (states if isinstance(states, list) else [states])]
    return {
        "JobID": _job_id(record),
        "State": next((word for word in words if word in FAILURES), words[0] if words else ""),
        "Start": _epoch(time.get("start", record.get("start_time"))),
        "End": _epoch(time.get("end", record.get("end_time"))),
        "NodeList": str(record.get("nodes") or ""),
        "NNodes": str(_number(record.get("allocation_nodes")) or ""),
        "Partition": str(record.get("partition") or ""),
    }


def _job_id(record: dict[str, Any]) -> str:
    """The job number as the text has it, e.g. ``71_3`` for a task of an array."""
    for kind, sign, part in (("array", "_", "task_id"), ("het", "+", "job_offset")):
        group = record.get(kind)
        job, number = (_number(group.get(name)) for name in ("job_id", part)) if isinstance(group, dict) else (0, 0)
        if job and number is not None:
            return f"{job}{sign}{number}"
    return str(record["job_id"])


def _number(value: Any) -> int | None:
    """A number, which newer versions wrap in an object with a flag for whether it is set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST
    return int(value) if is_number else None


def _epoch(value: Any) -> str:
    """Seconds since 1970; ``Unknown`` for 0, as for a job that has not ended."""
    return str(_number(value) or "Unknown")


FORMAT = Format("slurm-json", "Slurm accounting (sacct --json)", _sniff, _read, _COMMAND, _SAMPLE)
