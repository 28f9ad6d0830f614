"""Reader of ``nvidia-smi --query-gpu=... --format=csv -l 1``, with or without units, and of ``nvidia-smi dmon``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo

import numpy as np

from ettr.core.errors import InputError
from ettr.files.clock import Stamps
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.telemetry.columns import names_in, table
from ettr.telemetry.format import AVERAGED_S
from ettr.telemetry.samples import Samples

_NAMES = {
    "time": ("timestamp",),
    "gpu": ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial", "gpu"),
    "model": ("name", "gpu_name"),
    "power_w": ("power.draw.instant", "power.draw", "power.draw.average", "pwr"),
    "temperature_c": ("temperature.gpu", "gtemp"),
    "memory_c": ("temperature.memory", "mtemp"),
    "clock_mhz": ("clocks.current.sm", "clocks.sm", "clocks.current.graphics", "clocks.gr", "pclk"),
    "utilisation": ("utilization.gpu", "sm"),
}
COMMAND = "`nvidia-smi --query-gpu=timestamp,index,power.draw,temperature.gpu,clocks.sm --format=csv -l 1 > gpus.csv`"
_NEEDED = {
    f"the column {column}: record with {COMMAND}": (quantity,)
    for column, quantity in (("timestamp", "time"), ("power.draw", "power_w"))
}
_UNITS = {"utilization.gpu": "%", "sm": "%"}
_DMON = re.compile(r"#\s*Date\b.*\bTime\b.*\bgpu\b", re.IGNORECASE)
"""Header of dmon with dates and times."""
_WITHIN, _MOST_WITHIN = 0.25, 0.02
"""Time stamps of a GPU may be closer than this share of the usual step, for at most this share of the steps."""


def _sniff(head: list[str]) -> bool:
    """True for a header with a time stamp and a quantity of nvidia-smi, or with power, or of dmon with dates."""
    names, quantities = names_in(head), ("power.draw", "temperature.", "clocks.", "utilization.")
    needed = quantities if "timestamp" in names else quantities[:1]
    return any(name.startswith(needed) for name in names) or any(map(_DMON.match, head))


def _dmon(source: Source, ledger: Ledger) -> Iterator[tuple[str, list[str]]]:
    """Header and rows of dmon, with the date and the time as one cell; units and repeated headers are left out."""
    header: list[str] = []
    for number, line in source.lines(ledger):
        date, *cells = re.split(r"[,\s]+", line.strip().lstrip("# ")) if line.strip() else [""]
        if _DMON.match(line) and cells != header:
            header = cells
            yield f"line {number:,}", ["timestamp", *cells[1:]]
        elif header and cells and not line.startswith("#"):
            yield f"line {number:,}", [f"{date[:4]}-{date[4:6]}-{date[6:]} {cells[0]}", *cells[1:]]


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """Read the rows after a header; a repeated header starts an appended recording."""
    ledger.note("nvidia-smi reports whole degrees, so temperatures are accurate to half a degree")
    stamps, named = Stamps(zone, ledger), True
    lines = _dmon(source, ledger) if any(map(_DMON.match, source.head())) else None
    for place, columns, row in table(source, ledger, _NAMES, _NEEDED, _UNITS, lines=lines):
        named = named and "gpu" in columns
        samples.power_window_s = 0.0 if columns.by_quantity["power_w"].name.endswith("instant") else AVERAGED_S
        at = stamps.read(columns.text("time", row))
        if at is None:
            ledger.not_parsed("time stamp is not a time", place=place)
            continue
        gpu = columns.text("gpu", row) or "0"
        samples.add(at, gpu, columns.values(row, place))
        samples.model(gpu, columns.text("model", row))
    steps_s = np.abs(np.diff(samples.times))
    if not named and steps_s.size and (steps_s <= _WITHIN * np.quantile(steps_s, 0.9)).mean() > _MOST_WITHIN:
        raise InputError(
            f"{source.name} has several rows at the same time and no column of the GPU, so rows cannot be assigned to "
            "GPUs. Add the column index to the nvidia-smi query"
        )


FORMAT = Format(
    "nvidia-smi",
    "nvidia-smi --query-gpu=timestamp,index,power.draw,... --format=csv -l 1, or dmon -o DT",
    _sniff,
    _read,
)
