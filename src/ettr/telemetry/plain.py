"""A plain table: ``t_s,power_w`` and what else there is, in the names of this package or near them."""

from __future__ import annotations

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.recording_times import Stamps
from ettr.telemetry.cells import NAN, UNITS, Cells
from ettr.telemetry.columns import Columns, need, time_of
from ettr.telemetry.format import Format, Options
from ettr.telemetry.samples import Samples
from ettr.telemetry.table import header_line, headings_of, mark_of, rows

_NAMES = {
    "elapsed": ("t_s", "time_s", "seconds", "elapsed_s", "elapsed", "t_ms", "time_ms", "t"),
    "time": ("timestamp", "time", "datetime", "date"),
    "gpu": ("gpu", "gpu_id", "index", "gpu_index", "device", "uuid"),
    "power_w": ("power_w", "power_watts", "power", "watts", "gpu_power_w", "gpu_power", "w", "power_mw", "power_kw"),
    "temperature_c": ("temperature_c", "temp_c", "temperature", "temp", "gpu_temp", "gpu_temp_c"),
    "memory_c": ("memory_c", "memory_temp_c", "memory_temperature_c", "memory_temp", "hbm_temp_c", "hbm_c"),
    "clock_mhz": ("clock_mhz", "sm_clock_mhz", "sm_clock", "clock", "sm_mhz", "clock_ghz"),
    "utilisation": ("utilisation", "utilization", "util", "gpu_util", "utilisation_pct", "utilization_pct", "util_pct"),
    "step": ("step", "phase", "state"),
    "window": ("power_window_s",),
    "length": ("length_s",),
}
_UNITS = {
    name: unit
    for unit, names in {
        "mW": ("power_mw",),
        "kW": ("power_kw",),
        "GHz": ("clock_ghz",),
        "ms": ("t_ms", "time_ms"),
        "%": ("utilisation_pct", "utilization_pct", "util_pct", "gpu_util"),
    }.items()
    for name in names
}


def _sniff(head: list[str]) -> bool:
    line = header_line(head)
    if not line:
        return False
    names = {heading.name for heading in headings_of(line.split(mark_of(line)))}
    return bool(names & {*_NAMES["elapsed"], *_NAMES["time"]}) and bool(names & set(_NAMES["power_w"]))


class _Times:
    """The time of each row: elapsed where the table has it, else a stamp or a number."""

    def __init__(self, columns: Columns, stamps: Stamps, ledger: Ledger) -> None:
        heading = columns.by_quantity["elapsed"].heading if "elapsed" in columns.by_quantity else None
        self._unit = UNITS["t_s"].get((heading.unit or _UNITS.get(heading.name, "s")).lower(), NAN) if heading else 1.0
        self._columns, self._stamps, self._elapsed = columns, stamps, heading is not None
        self.kinds: set[bool] = set()
        self.start: float | None = None

    def read(self, row: list[str]) -> float | None:
        text = self._columns.text("elapsed" if self._elapsed else "time", row)
        time = time_of(text, self._stamps)
        if time is None:
            return None
        at, calendar = time
        if self._elapsed and not calendar:
            at *= self._unit
            self._first(row, at)
        self.kinds.add(calendar)
        return at

    def _first(self, row: list[str], at: float) -> None:
        """The instant of the first row, where a stamp stands beside the elapsed time."""
        if self.start is None and (stamp := self._columns.text("time", row)):
            time = time_of(stamp, self._stamps)
            self.start = time[0] if time and time[1] else None


def _read(source: Source, options: Options, samples: Samples, ledger: Ledger) -> None:
    """Every row after the header."""
    stamps = Stamps(options.zone, ledger)
    columns: Columns | None = None
    for place, row in rows(source, ledger):
        if columns is None:
            columns, times = _header(row, source, stamps, ledger)
            lengths = Cells("t_s", "length_s", "", ledger)
            continue
        if not columns.whole(row, place):
            continue
        at = times.read(row)
        if at is None:
            ledger.not_parsed("time is no number and no stamp", place=place)
            continue
        if window := columns.text("window", row):
            samples.power_window_s = max(lengths.read(window, place), 0.0) if window[:1].isdigit() else 0.0
        length = columns.text("length", row)
        samples.add(
            at,
            columns.text("gpu", row) or "0",
            columns.values(row, place),
            step=columns.text("step", row),
            length_s=lengths.read(length, place) if length else NAN,
        )
    if columns is not None:
        if len(times.kinds) > 1:
            raise InputError(f"times must all be dates or all count from one origin; {source.name} has both")
        samples.absolute, samples.start = times.kinds == {True}, times.start
        _check_load(samples, ledger, columns)


def _header(row: list[str], source: Source, stamps: Stamps, ledger: Ledger) -> tuple[Columns, _Times]:
    columns = Columns(row, _NAMES, ledger, _UNITS)
    need(
        {**columns.by_quantity, **({"time": 1} if "elapsed" in columns.by_quantity else {})},
        "time",
        "a time: t_s",
        source.name,
        row,
    )
    need(columns.by_quantity, "power_w", "a power: power_w", source.name, row)
    return columns, _Times(columns, stamps, ledger)


def _check_load(samples: Samples, ledger: Ledger, columns: Columns) -> None:
    """A column of per cent without the sign is told from fractions by its size."""
    heading = columns.by_quantity["utilisation"].heading if "utilisation" in columns.by_quantity else None
    if heading is None or heading.unit or heading.name in _UNITS:
        return
    if samples.largest("utilisation") > 1.5:
        samples.scale("utilisation", 0.01)
        ledger.note(f"{heading.text} is over 1 and taken as per cent")


FORMAT = Format("csv", "a table: t_s, power_w, and temperature_c, clock_mhz, gpu, ... if there are", _sniff, _read)
