"""A wide table: one column of times, and columns of each GPU, such as ``timestamp,GPU0,GPU1``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo

from ettr.core.errors import InputError
from ettr.files.clock import Stamps
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line, header_of, rows
from ettr.telemetry.columns import Cells, scale_of
from ettr.telemetry.plain import NAMES, UNITS, seconds
from ettr.telemetry.samples import Samples

_OF_GPU = re.compile(
    r"(?:gpu|device|card|cuda)[ _:.-]?(\d{1,3})(?:[ _:.-]+(.*?))?(?:\s*[\[(]([^\])]*)[\])])?", re.IGNORECASE
)
_IN_BRACKETS = re.compile(r"\s*[\[(]([^\])]*)[\])]$")
_TIMES = {*NAMES["t_s"], *NAMES["time"]}
_MEASURED = ("power_w", "temperature_c", "memory_c", "clock_mhz", "utilisation")
_QUANTITY = {name: quantity for quantity in _MEASURED for name in NAMES[quantity]}


def _columns(header: Sequence[str]) -> list[tuple[int, str, str, str]]:
    """Place, GPU, quantity and unit of each column of a GPU; a column that says no quantity is power."""
    found = []
    for at, cell in enumerate(header):
        match = _OF_GPU.fullmatch(cell.strip())
        name = (match[2] or "power_w").lower() if match else ""
        if match and name in _QUANTITY:
            found.append((at, match[1], _QUANTITY[name], match[3] or UNITS.get(name, "")))
    return found


def _time_at(header: Sequence[str]) -> int | None:
    return next((at for at, cell in enumerate(header) if _bare(cell) in _TIMES), None)


def _bare(cell: str) -> str:
    """A column's name without its unit in brackets."""
    return _IN_BRACKETS.sub("", cell).strip().lower()


def _sniff(head: list[str]) -> bool:
    header = header_of(first_line(head))[0]
    return _time_at(header) is not None and any(quantity == "power_w" for _, _, quantity, _ in _columns(header))


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """A sample of each GPU a row."""
    lines = rows(source, ledger)
    _, header = next(lines, ("", []))
    at = _time_at(header)
    found = _columns(header)
    if at is None or not found:
        raise InputError(f"{source.name} must have a time, and a column of each GPU, such as GPU0 or gpu0_power_w")
    by_gpu: dict[str, list[tuple[int, str, Cells]]] = {}
    for number, gpu, quantity, unit in found:
        cells = Cells(quantity, header[number].strip(), unit, ledger)
        by_gpu.setdefault(gpu, []).append((number, quantity, cells))
    ledger.note(f"columns of {len(by_gpu)} GPUs, beside the time {header[at].strip()!r}")
    stamps, kinds = Stamps(zone, ledger), set()
    told = _IN_BRACKETS.search(header[at].strip())
    scale = scale_of("t_s", told[1] if told else UNITS.get(_bare(header[at]), "s"))
    for place, row in lines:
        if len(row) < len(header):
            ledger.not_parsed("row that is too short", place=place)
            continue
        time, calendar = seconds(row[at].strip(), stamps)
        if time is None:
            ledger.not_parsed("time is no number and no stamp", place=place)
            continue
        if not calendar and scale is None:
            ledger.not_parsed("time is a number of no known unit", place=place)
            continue
        kinds.add(calendar)
        time *= 1.0 if calendar or scale is None else scale
        for gpu, columns in by_gpu.items():
            samples.add(time, gpu, {quantity: cells.read(row[column], place) for column, quantity, cells in columns})
    if len(kinds) > 1:
        raise InputError(f"times must all be dates or all count from one origin; {source.name} has both")
    samples.absolute = kinds == {True}


FORMAT = Format("wide", "a table with columns of each GPU: timestamp, GPU0, GPU1, or gpu0_power_w, ...", _sniff, _read)
