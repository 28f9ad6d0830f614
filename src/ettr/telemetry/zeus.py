"""Zeus: the log of its monitor's windows, with the energy of each."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo

from ettr.core.errors import InputError
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import rows
from ettr.files.time_numbers import epoch_s
from ettr.telemetry.columns import Cells, check_once, names_in
from ettr.telemetry.samples import Samples

_ENERGY = re.compile(r"gpu(\d+)_energy")
_WINDOWS = ("start_time", "window_name", "elapsed_time")


@dataclass(frozen=True)
class _Window:
    start_s: float
    length_s: float
    name: str
    joules: tuple[float, ...]
    place: str


def _sniff(head: list[str]) -> bool:
    return set(_WINDOWS) <= names_in(head)


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """A sample for each window and GPU: its energy over its length."""
    gpus: list[str] = []
    windows = list(_windows(source, gpus, ledger))
    calendar = {epoch_s(window.start_s) is not None for window in windows}
    samples.absolute = calendar == {True}
    name = Counter(window.name for window in windows).most_common(1)[0][0] if windows else ""
    for window in sorted(windows, key=lambda each: each.start_s):
        if window.name != name:  # windows are nested, as steps in an epoch: those that are most count
            ledger.dropped(f"window of another name than {name[:20]!r}", place=window.place)
            continue
        for gpu, joules in zip(gpus, window.joules, strict=True):
            samples.add(window.start_s, gpu, {"power_w": joules / window.length_s}, length_s=window.length_s)
    ledger.note("power is the energy of a window over its length: swings within a window do not show")


def _windows(source: Source, gpus: list[str], ledger: Ledger) -> Iterator[_Window]:
    names: list[str] = []
    at: dict[str, int] = {}
    energies: list[int] = []
    number, joule = Cells("t_s", "time", "", ledger), Cells("energy_j", "energy", "", ledger)
    for place, row in rows(source, ledger):
        if not names:
            names = [cell.strip().lower() for cell in row]
            check_once([name for name in names if name in _WINDOWS or _ENERGY.fullmatch(name)])
            at = {name: i for i, name in enumerate(names)}
            if not set(_WINDOWS) <= set(at):
                raise InputError(f"{source.name} must have the columns {', '.join(_WINDOWS)}, as Zeus writes them")
            gpu_numbers = {name: match[1] for name in at if (match := _ENERGY.fullmatch(name))}
            if not gpu_numbers:
                raise InputError(f"{source.name} must have a column gpu0_energy, gpu1_energy, ...")
            gpus.extend(gpu_numbers.values())
            energies = [at[name] for name in gpu_numbers]
            continue
        if len(row) < len(names):
            ledger.not_parsed("row that is too short", place=place)
            continue
        start_s, length_s = (number.read(row[at[name]], place) for name in ("start_time", "elapsed_time"))
        if math.isnan(start_s) or not 0 < length_s < math.inf:
            ledger.not_parsed("window without a start or a length", place=place)
            continue
        joules = tuple(joule.read(row[i], place) for i in energies)
        yield _Window(epoch_s(start_s) or start_s, length_s, row[at["window_name"]].strip(), joules, place)


FORMAT = Format("zeus", "Zeus: the log of windows of its monitor", _sniff, _read)
