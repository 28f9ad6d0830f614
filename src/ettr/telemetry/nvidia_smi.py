"""The CSV of ``nvidia-smi --query-gpu=... --format=csv -l 1``, with or without units in the cells."""

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
_WITHIN = 0.25
"""Rows of one round lie within this share of the time between rounds."""


def _sniff(head: list[str]) -> bool:
    names = names_in(head)
    return "timestamp" in names and any(
        name.startswith(("power.draw", "temperature.", "clocks.", "utilization.")) for name in names
    )


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """Rows after a header; a header again begins an appended recording."""
    ledger.note("temperatures of nvidia-smi are whole degrees, so a level of temperature is good to half of one")
    stamps, named = Stamps(zone, ledger), True
    for place, columns, row in table(source, ledger, _NAMES, _NEEDED, _UNITS, again="timestamp"):
        named = named and "gpu" in columns
        samples.power_window_s = 0.0 if columns.by_quantity["power_w"].name.endswith("instant") else AVERAGED_S
        at = stamps.read(columns.text("time", row))
        if at is None:
            ledger.not_parsed("stamp is no time", place=place)
            continue
        gpu = columns.text("gpu", row) or "0"
        samples.add(at, gpu, columns.values(row, place))
        samples.model(gpu, columns.text("model", row))
    if not named:
        _number_by_order(samples, source.name)


def _number_by_order(samples: Samples, name: str) -> None:
    """Where no column names the GPU, number the rows of each round: the first is GPU 0.

    Rows whose stamps are equal, or much nearer to each other than to the next ones, are one round. All rounds must
    have as many rows, but for the last, which may be cut off.

    Raises
    ------
    InputError
        Rounds of different sizes: which row is of which GPU cannot be known.
    """
    times = samples.times
    if times.size < 2:
        return
    starts = np.flatnonzero(np.concatenate([[True], _new_round(np.diff(times))]))
    sizes = np.diff(np.append(starts, times.size))
    n = int(np.median(sizes))
    if n == 1 and (sizes == 1).mean() > 0.98:  # a stamp seen twice is no second GPU
        return
    if n < 1 or (sizes[:-1] != n).any() or sizes[-1] > n:
        odd = int(sizes[sizes != n][0])
        raise InputError(
            f"{name} has no column of the GPU, and rounds of {n} rows and of {odd}: which row is of which GPU cannot "
            "be known. Ask nvidia-smi for the column index as well"
        )
    samples.ledger.note(f"rows name no GPU: {n} rows a round are taken as GPU 0 to {n - 1}, in order")
    samples.rename([str(i) for i in np.arange(times.size) - np.repeat(starts, sizes)])


def _new_round(steps: np.ndarray) -> np.ndarray:
    """Whether each row but the first begins a round."""
    forward = steps[steps > 0]
    if not forward.size:
        return np.zeros(steps.size, dtype=bool)
    large = float(np.quantile(forward, 0.9))
    small = forward[forward < _WITHIN * large]
    if not (steps == 0).any() and small.size < 0.02 * steps.size:
        return np.ones(steps.size, dtype=bool)  # one GPU, whose stamps now and then come closer
    return (steps > _WITHIN * large) | (steps < 0)


FORMAT = Format("nvidia-smi", "nvidia-smi --query-gpu=timestamp,index,power.draw,... --format=csv -l 1", _sniff, _read)
