"""The CSV of ``nvidia-smi --query-gpu=... --format=csv -l 1``, with or without units in the cells."""

from __future__ import annotations

from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.recording_times import Stamps
from ettr.telemetry.columns import Columns, need
from ettr.telemetry.format import Format, Options
from ettr.telemetry.gpu_by_order import by_order
from ettr.telemetry.samples import Samples
from ettr.telemetry.table import header_line, headings_of, mark_of, rows

_NAMES = {
    "time": ("timestamp",),
    "gpu": ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial"),
    "model": ("name", "gpu_name"),
    "power_w": ("power.draw.instant", "power.draw", "power.draw.average"),
    "temperature_c": ("temperature.gpu",),
    "memory_c": ("temperature.memory",),
    "clock_mhz": ("clocks.current.sm", "clocks.sm", "clocks.current.graphics", "clocks.gr"),
    "utilisation": ("utilization.gpu",),
}
_UNITS = {"utilization.gpu": "%"}
AVERAGED_S = 1.0
"""Power of NVML is the mean of the last second on Ampere and later, but for the A100."""


def _sniff(head: list[str]) -> bool:
    line = header_line(head)
    names = {heading.name for heading in headings_of(line.split(mark_of(line)))} if line else set()
    return "timestamp" in names and any(
        name.startswith(("power.draw", "temperature.", "clocks.", "utilization.")) for name in names
    )


def _read(source: Source, options: Options, samples: Samples, ledger: Ledger) -> None:
    """Rows after a header; a header again begins an appended recording."""
    stamps, columns, named = Stamps(options.zone, ledger), None, True
    for place, row in rows(source, ledger):
        if columns is None or row[0].strip().lower() == "timestamp":
            if columns is not None:
                ledger.dropped("header again", place=place)
            columns = Columns(row, _NAMES, ledger, _UNITS)
            need(columns.by_quantity, "time", "a header with the column timestamp", source.name, row)
            need(columns.by_quantity, "power_w", "the column power.draw", source.name, row)
            named = named and "gpu" in columns.by_quantity
            _say_power(columns, samples)
            continue
        if not columns.whole(row, place):
            continue
        at = stamps.read(columns.text("time", row))
        if at is None:
            ledger.not_parsed("stamp is no time", place=place)
            continue
        gpu = columns.text("gpu", row) or "0"
        samples.add(at, gpu, columns.values(row, place))
        if "model" in columns.by_quantity:
            samples.model(gpu, columns.text("model", row))
    if not named:
        by_order(samples, source.name)


def _say_power(columns: Columns, samples: Samples) -> None:
    name = columns.by_quantity["power_w"].heading.name
    samples.power_window_s = 0.0 if name.endswith("instant") else AVERAGED_S
    samples.ledger.note(
        "temperatures of nvidia-smi are whole degrees, so a level of temperature is good to half of one"
    )


FORMAT = Format("nvidia-smi", "nvidia-smi --query-gpu=timestamp,index,power.draw,... --format=csv -l 1", _sniff, _read)
