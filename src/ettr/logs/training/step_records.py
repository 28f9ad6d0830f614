"""Training logs as records: Google's ml-goodput, and tables or JSON with a time and a step."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ettr.core.errors import InputError, UnknownName
from ettr.core.numbers import number_of
from ettr.files.columns import Columns, find_roles
from ettr.files.decimal_commas import cells_with_points
from ettr.files.formats import Format
from ettr.files.json_records import json_records
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import DelimitedTable, columns_found, first_line, header_of, plain_name
from ettr.files.times import SECOND, NoTime, epoch_s, joined
from ettr.logs.columns import is_start
from ettr.logs.options import Options
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
_COMMON_NAMES = {
    "time": "time timestamp date datetime walltime ts loggedat createdat",
    "step": """
        step globalstep trainerglobalstep trainglobalstep iteration iter steps trainstep numupdates updates""",
    "step_s": "step_s step_time_s seconds_per_step iteration_time_s",
}
ROLES = tuple(_COMMON_NAMES)
_NAMES = {role: tuple(names.split()) for role, names in _COMMON_NAMES.items()}
"""Names of the columns of a table of steps, in order of preference; without case and signs, but for the last."""
_OF_FAILURES = ("node", "host", "hostname", "component", "cause", "error", "kind", "event", "reason", "message")
"""A table with one of these columns is a failure log, even if it has steps."""
_A_STEP = re.compile(
    r"\b(?:(?:global_|train_|current_)?steps?|iter(?:ation)?s?(?:\(train\))?|num_updates|batch)\b[\"'\s:=/\[(]{0,4}[0-9]"
    r"|\b[0-9]+/[0-9]+ \[",
    re.IGNORECASE,
)
_A_METRIC = re.compile(
    r"loss\b|\b(?:lr|learning_rate|grad_norm|mfu|tflops?|ppl|tokens_per_\w+|tok/s|it/s|s/it)\b", re.IGNORECASE
)
_FEWEST_STEPS, _SHARE_OF_STEPS = 2, 0.2
"""Lines with a step, and lines with a metric, from which on a text is a training log, and their share of the lines."""
_MEMBER = re.compile(r'"([^"\\]{1,100})"\s*:')


def _payload(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record inside an entry of Google Cloud Logging."""
    inner = record.get("jsonPayload")
    return inner if isinstance(inner, dict) else record


def _sniff_goodput(head: list[str]) -> bool:
    text = "\n".join(head[:40])
    return text.lstrip()[:1] in ("{", "[") and any(f'"{name}"' in text for name in (_STEP_AT, _START))


def _read_goodput(source: Source, options: Options, log: StepLog, ledger: Ledger) -> None:
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


def names_in(head: list[str]) -> list[str]:
    """Return the names of the columns of a table, or of the members of the first records of JSON."""
    first = first_line(head).lstrip()
    if first.startswith(("{", "[")):
        return list(dict.fromkeys(_MEMBER.findall("\n".join(head))))
    return header_of(first)[0]


def has_steps(names: Sequence[str]) -> bool:
    """Return whether a table has a column of steps, and none that only failures have."""
    plain = {_bare(name) for name in names}
    return bool(plain & {*_NAMES["step"]}) and not plain & {*_OF_FAILURES}


def place_of_steps(head: list[str]) -> str:
    """Return the first line of a text that looks like the log of an unknown training framework; empty if none does."""
    lines = [line for line in head if line.strip()]
    measured = [line for line in lines if _A_METRIC.search(line)]
    stepping = [line for line in lines if _A_STEP.search(line) or len(set(_A_METRIC.findall(line.lower()))) > 1]
    fewest = max(_FEWEST_STEPS, _SHARE_OF_STEPS * len(lines))
    if any(map(is_start, header_of(first_line(head))[0])) or min(len(measured), len(stepping)) < fewest:
        return ""
    return f"line {head.index(stepping[0]) + 1}: {stepping[0].strip()[:60]!r}"


def _sniff_table(head: list[str]) -> bool:
    names = names_in(head)
    return has_steps(names) and any(_bare(name) in _NAMES["time"] for name in names)


def _columns(names: Sequence[str], mapping: Mapping[str, str], place: str) -> Columns:
    """Columns of the time, the step and the time of a step; several if a date and a time of day make one time."""
    for role in mapping:
        if role not in _NAMES:
            raise UnknownName("column of steps", role, _NAMES, "`columns`")
    chosen = find_roles(names, _NAMES, mapping, place, lambda role, name: _bare(name))
    for role in ("time", "step"):
        if role not in chosen:
            raise InputError(
                f"{place} must have a column of {role}s. {columns_found(names)} Name it, e.g. "
                '`columns={"time": "Wall time", "step": "Step"}`'
            )
    return chosen


def _bare(name: str) -> str:
    """A column name in the form of ``_NAMES``."""
    lower = name.strip().lower()
    return lower if lower in _NAMES["step_s"] else plain_name(name)


def _table_rows(source: Source, header: Sequence[str], ledger: Ledger) -> Iterator[tuple[str, Sequence[str]]]:
    """Names of the columns, then the cells of each row or record, with its place."""
    if first_line(source.head()).lstrip().startswith(("{", "[")):
        yield "", (names := header or names_in(source.head()))
        records, unit = json_records(source, ledger)
        for number, record in records:
            if isinstance(record, dict):
                yield f"{unit} {number:,}", [str(record.get(name, "")) for name in names]
            else:
                ledger.not_parsed("not an object", place=f"{unit} {number:,}")
        return
    table = DelimitedTable(source.lines(ledger), ledger, header)
    yield "", table.header
    for batch in table.batches():
        for number, *cells in zip(batch.numbers, *batch.columns, strict=True):
            yield f"line {number:,}", cells_with_points(cells, table.delimiter, ledger)


def _read_table(source: Source, options: Options, log: StepLog, ledger: Ledger) -> None:
    """Read one step per row; a lower step than before is a restart from an earlier step."""
    lines = _table_rows(source, options.header, ledger)
    names = next(lines)[1]
    columns = _columns(names, options.columns, source.name)
    at = {role: [names.index(name) for name in found] for role, found in columns.items()}
    clock = options.clock(ledger)
    for place, cells in lines:
        text, step = joined(*(cells[i] for i in at["time"])), cells[at["step"][0]]
        if not step.strip():  # rows of other metrics
            ledger.dropped("row without a step", place=place)
            continue
        try:
            at_s = clock.us(text) / SECOND
        except NoTime as error:
            ledger.not_parsed(f"time: {error}", place=f"{place}: {text[:40]!r}")
            continue
        done = _whole_number(step)
        if done is None:
            ledger.not_parsed("no whole number of steps", place=f"{place}: {step[:40]!r}")
            continue
        log.reached(done, at_s, _number(cells[at["step_s"][0]]) if "step_s" in at else math.nan, place)


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
        *("steps", "table or JSON of training steps: time, step, and step_s if available", _sniff_table, _read_table),
        *(
            "export time and step from W&B, TensorBoard (download CSV) or MLflow; name columns with --map",
            "time,step\n2025-06-04 08:51:58,1000\n2025-06-04 09:08:38,1100",
        ),
    ),
)
