"""Zeus: the log of its monitor's windows, with the energy of each."""

from __future__ import annotations

import math
import re
from datetime import tzinfo

from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.time_numbers import epoch_s
from ettr.telemetry.columns import Cells, names_in, table
from ettr.telemetry.samples import Samples

_ENERGY = re.compile(r"gpu(\d+)_energy")
_SLACK = 0.01
"""Windows may overlap by this share of their length."""
_WINDOWS = ("start_time", "window_name", "elapsed_time")


def _sniff(head: list[str]) -> bool:
    return set(_WINDOWS) <= names_in(head)


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """A sample for each window and GPU: its energy over its length."""
    gpus = {name: match[1] for name in sorted(names_in(source.head())) if (match := _ENERGY.fullmatch(name))}
    names = {name: (name,) for name in (*_WINDOWS, *gpus)}
    needed = {f"the column {name}": [name] for name in _WINDOWS} | {"a column gpu0_energy, gpu1_energy, ...": [*gpus]}
    number, joule = Cells("t_s", "time", "", ledger), Cells("energy_j", "energy", "", ledger)
    windows = []
    for place, columns, row in table(source, ledger, names, needed):
        start_s, length_s = (number.read(columns.text(name, row), place) for name in ("start_time", "elapsed_time"))
        if math.isnan(start_s) or not 0 < length_s < math.inf:
            ledger.not_parsed("window without a start or a length", place=place)
            continue
        power_w = {gpu: joule.read(columns.text(name, row), place) / length_s for name, gpu in gpus.items()}
        windows.append((start_s + length_s, length_s, place, power_w))
    last_s = -math.inf
    for end_s, length_s, place, power_w in sorted(windows, key=lambda window: window[:2]):
        start_s = end_s - length_s
        if start_s < last_s - _SLACK * length_s:  # of windows that are nested, the finer ones end first
            ledger.dropped("window that overlaps finer ones", place=place)
            continue
        last_s = end_s
        since_s = epoch_s(start_s)
        samples.absolute = samples.absolute and since_s is not None
        for gpu, watts in power_w.items():
            samples.add(since_s or start_s, gpu, {"power_w": watts}, length_s=length_s)
    ledger.note("power is the energy of a window over its length: swings within a window do not show")


FORMAT = Format("zeus", "Zeus: the log of windows of its monitor", _sniff, _read)
