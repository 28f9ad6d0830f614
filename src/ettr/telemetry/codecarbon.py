"""CodeCarbon's ``emissions.csv``: mean power over a run, or between two of its flushes."""

from __future__ import annotations

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.recording_times import Stamps
from ettr.telemetry.cells import SILENT
from ettr.telemetry.columns import Columns, need
from ettr.telemetry.format import Format, Options
from ettr.telemetry.samples import Samples
from ettr.telemetry.table import header_line, headings_of, rows

_J_PER_KWH = 3.6e6
_NAMES = {name: (name,) for name in ("timestamp", "run_id", "duration", "gpu_energy", "gpu_count")}


def _sniff(head: list[str]) -> bool:
    names = {heading.name for heading in headings_of(header_line(head).split(","))}
    return {"timestamp", "duration", "gpu_energy"} <= names


def _read(source: Source, options: Options, samples: Samples, ledger: Ledger) -> None:
    """A sample for each stretch: GPU energy over its length, divided by the GPUs."""
    stamps = Stamps(options.zone, ledger)
    columns: Columns | None = None
    before: dict[str, tuple[float, float]] = {}
    for place, row in rows(source, ledger):
        if columns is None:
            columns = Columns(row, _NAMES, ledger)
            for name in ("timestamp", "duration", "gpu_energy"):
                need(columns.by_quantity, name, f"the column {name}", source.name, row)
            continue
        if not columns.whole(row, place):
            continue
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
    if columns is None:
        raise InputError(f"{source.name} holds no header of CodeCarbon")
    ledger.note("power is the GPU energy of a stretch over its length and the number of GPUs: no swing shows in it")


def _number(text: str) -> float | None:
    if text.lower() in SILENT:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if value >= 0 and value != float("inf") else None


FORMAT = Format("codecarbon", "CodeCarbon: emissions.csv", _sniff, _read)
