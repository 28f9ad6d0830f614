"""Training logs as records: Google's ml-goodput, and tables with a time and a step."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ettr.core.errors import InputError
from ettr.core.numbers import number_of
from ettr.files.clock import Stamps
from ettr.files.formats import Format
from ettr.files.json_records import json_records
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line, header_of, rows
from ettr.files.times import epoch_s
from ettr.logs.training.steps import StepLog

MOST_STEPS = 10**12
"""Upper bound of the steps of a run."""
_STEP, _STEP_AT = "step_count", "step_start_time"
_START, _END = "job_start_time", "job_end_time"
_PAIRS = {
    "initialising": ("tpu_init_start_time", "tpu_init_end_time"),
    "preparing": ("training_prep_start_time", "training_prep_end_time"),
    "loading data": ("data_loading_start_time", "data_loading_end_time"),
    "custom events": ("custom_badput_event_start_time", "custom_badput_event_end_time"),
}
_TIME_NAMES = ("time", "timestamp", "date", "datetime")
_STEP_NAMES = ("step", "iteration", "iter", "global_step", "steps")
_TIME_OF_STEP = ("step_s", "step_time_s", "seconds_per_step", "iteration_time_s")
_OF_FAILURES = ("node", "host", "hostname", "component", "cause", "error", "kind", "event", "reason", "message")
"""A table with one of these columns is a failure log, even if it has steps."""


def _payload(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record inside an entry of Google Cloud Logging."""
    inner = record.get("jsonPayload")
    return inner if isinstance(inner, dict) else record


def _sniff_goodput(head: list[str]) -> bool:
    text = "\n".join(head[:40])
    return text.lstrip()[:1] in ("{", "[") and any(f'"{name}"' in text for name in (_STEP_AT, _START))


def _read_goodput(source: Source, stamps: Stamps, log: StepLog, ledger: Ledger) -> None:
    """Read records in order of their times; the export has the newest first."""
    timed: list[tuple[float, int, str, Mapping[str, Any]]] = []
    records, unit = json_records(source, ledger)
    for number, record in records:
        place = f"{unit} {number:,}"
        payload = _payload(record) if isinstance(record, dict) else {}
        times = [
            epoch_s(float(value)) for name, value in payload.items() if name.endswith("_time") and _is_number(value)
        ]
        seconds = [at_s for at_s in times if at_s is not None]
        if seconds:
            timed.append((max(seconds), len(timed), place, payload))
        else:
            ledger.dropped("record without a time of the job", place=place)
    begun: dict[str, float] = {}
    for at_s, _, place, payload in sorted(timed, key=lambda item: item[:2]):
        if _STEP in payload and _STEP_AT in payload:
            # a step that starts is not done yet; the first one is the step from which the process resumes
            step = _step_count(payload[_STEP], f"{source.name} {place}")
            if not log.now.step:
                log.now.from_step = step
            log.reached(step, at_s, math.nan, place)
            continue
        log.seen(at_s)
        if _START in payload:
            log.starts()
        elif _END in payload:
            log.ends()
        else:
            _pair(payload, at_s, log, begun)


def _step_count(value: Any, place: str) -> int:
    """A number of steps, checked."""
    if _is_number(value) and 0 <= value <= MOST_STEPS and value == int(value):
        return int(value)
    got = json.dumps(value)[:40]
    raise InputError(f"{_STEP} must be a whole number from 0 to {MOST_STEPS:,} steps, got {got} ({place})")


def _pair(payload: Mapping[str, Any], at_s: float, log: StepLog, begun: dict[str, float]) -> None:
    """Add a named duration, from its start record to its end record."""
    for name, (start, end) in _PAIRS.items():
        if start in payload:
            begun[name] = at_s
        elif end in payload and name in begun:
            log.timed(name, at_s - begun.pop(name))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _sniff_table(head: list[str]) -> bool:
    names = [cell.strip().lower() for cell in header_of(first_line(head))[0]]
    return (
        any(name in names for name in _TIME_NAMES)
        and any(name in names for name in _STEP_NAMES)
        and not any(name in names for name in _OF_FAILURES)
    )


def _at(header: Sequence[str], names: tuple[str, ...]) -> int | None:
    """Index of the first column with one of these names; None if there is none."""
    lower = [cell.strip().lower() for cell in header]
    return next((lower.index(name) for name in names if name in lower), None)


def _read_table(source: Source, stamps: Stamps, log: StepLog, ledger: Ledger) -> None:
    """Read one step per row; a lower step than before is a restart from an earlier step."""
    lines = rows(source, ledger)
    _, header = next(lines, ("", []))
    time, step = _at(header, _TIME_NAMES), _at(header, _STEP_NAMES)
    seconds = _at(header, _TIME_OF_STEP)
    if time is None or step is None:
        raise InputError(f"{source.name} must have a column of times ({_TIME_NAMES[0]}) and one of steps")
    for place, row in lines:
        if len(row) <= max(time, step):
            ledger.not_parsed("row too short", place=place)
            continue
        text = row[time].strip()
        at_s = stamps.read(text if ":" in text else f"{text} 00:00:00")
        done = _whole_number(row[step])
        if at_s is None or done is None:
            ledger.not_parsed("no time, or no whole number of steps", place=place)
            continue
        step_s = math.nan if seconds is None or len(row) <= seconds else _number(row[seconds])
        log.reached(done, at_s, step_s, place)


def _whole_number(text: str) -> int | None:
    """A number of steps; None if it is invalid."""
    number = _number(text)
    return int(number) if 0 <= number <= MOST_STEPS and number == int(number) else None


def _number(text: str) -> float:
    """A finite number; NaN if it is invalid."""
    try:
        number = number_of(text)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


_GOODPUT_SAMPLE = "\n".join(
    json.dumps({"jsonPayload": {"job_name": "run", _STEP: step, _STEP_AT: at}})
    for step, at in ((100, 1748772000.0), (101, 1748772008.1))
)

FORMATS = (
    Format(
        *("goodput", "records of Google's ml-goodput-measurement", _sniff_goodput, _read_goodput),
        *("gcloud logging read 'logName:goodput' --format=json > goodput.json", _GOODPUT_SAMPLE),
    ),
    Format(
        *("steps", "training log as a table: time, step, and step_s if there is", _sniff_table, _read_table),
        *("a table of your own", "time,step\n2025-06-04 08:51:58,1000\n2025-06-04 09:08:38,1100"),
    ),
)
