"""Reader of the CSV of ``nvidia-smi --query-gpu=... --format=csv -l 1``, with or without units in the cells."""

from __future__ import annotations

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
    "gpu": ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial"),
    "model": ("name", "gpu_name"),
    "power_w": ("power.draw.instant", "power.draw", "power.draw.average"),
    "temperature_c": ("temperature.gpu",),
    "memory_c": ("temperature.memory",),
    "clock_mhz": ("clocks.current.sm", "clocks.sm", "clocks.current.graphics", "clocks.gr"),
    "utilisation": ("utilization.gpu",),
}
_NEEDED = {"a header with the column timestamp": ("time",), "the column power.draw": ("power_w",)}
_UNITS = {"utilization.gpu": "%"}
_WITHIN, _MOST_WITHIN = 0.25, 0.02
"""Time stamps of a GPU may be closer than this share of the usual step, for at most this share of the steps."""


def _sniff(head: list[str]) -> bool:
    """True for a header with a time stamp and a quantity of nvidia-smi."""
    names = names_in(head)
    return "timestamp" in names and any(
        name.startswith(("power.draw", "temperature.", "clocks.", "utilization.")) for name in names
    )


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """Read the rows after a header; a repeated header starts an appended recording."""
    ledger.note("nvidia-smi reports whole degrees, so temperatures are accurate to half a degree")
    stamps, named = Stamps(zone, ledger), True
    for place, columns, row in table(source, ledger, _NAMES, _NEEDED, _UNITS, again="timestamp"):
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


FORMAT = Format("nvidia-smi", "nvidia-smi --query-gpu=timestamp,index,power.draw,... --format=csv -l 1", _sniff, _read)
