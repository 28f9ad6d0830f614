"""CodeCarbon's ``emissions.csv``: mean power over a run, or between two of its flushes."""

from __future__ import annotations

from datetime import tzinfo

from ettr.core.errors import InputError
from ettr.core.numbers import number_of
from ettr.files.clock import Stamps
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import first_line
from ettr.telemetry.columns import names_in, table
from ettr.telemetry.samples import Samples

_J_PER_KWH = 3.6e6
_NEEDED = {f"the column {name}": (name,) for name in ("timestamp", "duration", "gpu_energy")}
_NAMES = {name: (name,) for name in ("timestamp", "run_id", "duration", "gpu_energy", "gpu_count")}


def _sniff(head: list[str]) -> bool:
    return {"timestamp", "duration", "gpu_energy"} <= names_in(head)


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """A sample for each stretch: GPU energy over its length, divided by the GPUs."""
    if not first_line(source.head()):
        raise InputError(f"{source.name} holds no header of CodeCarbon")
    stamps = Stamps(zone, ledger)
    before: dict[str, tuple[float, float]] = {}
    for place, columns, row in table(source, ledger, _NAMES, _NEEDED):
        end = stamps.read(columns.text("timestamp", row))
        length, energy = (_number(columns.text(name, row)) for name in ("duration", "gpu_energy"))
        if end is None or length is None or energy is None:
            ledger.not_parsed("row without a stamp, a duration or a GPU energy", place=place)
            continue
        run = columns.text("run_id", row)
        first_s, first_kwh = before.get(run, (0.0, 0.0))
        if length <= first_s or energy < first_kwh:
            ledger.dropped("run that does not go on", place=place)
            continue
        before[run] = (length, energy)
        n_gpus = max(int(_number(columns.text("gpu_count", row)) or 1), 1)
        mean_w = (energy - first_kwh) * _J_PER_KWH / (length - first_s) / n_gpus
        samples.add(end - (length - first_s), "mean", {"power_w": mean_w}, length_s=length - first_s)
    ledger.note("power is the GPU energy of a stretch over its length and the number of GPUs: no swing shows in it")


def _number(text: str) -> float | None:
    try:
        value = number_of(text)
    except ValueError:
        return None
    return value if value >= 0 and value != float("inf") else None


FORMAT = Format("codecarbon", "CodeCarbon: emissions.csv", _sniff, _read)
