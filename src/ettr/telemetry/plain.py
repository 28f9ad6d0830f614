"""Reader of CSV tables with ``t_s,power_w`` and further columns, under the names of this package or similar ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import tzinfo

from ettr.core.errors import InputError, UnknownName
from ettr.files.clock import Stamps
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import columns_found, first_line, header_of, same_name
from ettr.files.times import epoch_s
from ettr.telemetry.columns import NAN, Cells, Columns, Names, names_in, scale_of, table
from ettr.telemetry.samples import LONGEST_S, Samples

_NAMES = {
    "t_s": ("t_s", "time_s", "seconds", "elapsed_s", "elapsed", "t_ms", "time_ms", "t"),
    "time": ("timestamp", "time", "datetime", "date"),
    "gpu": ("gpu", "gpu_id", "index", "gpu_index", "device", "uuid"),
    "power_w": ("power_w", "power_watts", "power", "watts", "gpu_power_w", "gpu_power", "w", "power_mw", "power_kw"),
    "temperature_c": ("temperature_c", "temp_c", "temperature", "temp", "gpu_temp", "gpu_temp_c"),
    "memory_c": ("memory_c", "memory_temp_c", "memory_temperature_c", "memory_temp", "hbm_temp_c", "hbm_c"),
    "clock_mhz": ("clock_mhz", "sm_clock_mhz", "sm_clock", "clock", "sm_mhz", "clock_ghz"),
    "utilisation": ("utilisation", "utilization", "util", "gpu_util", "utilisation_pct", "utilization_pct", "util_pct"),
    "step": ("step", "phase", "state"),
    "window": ("power_window_s",),
}
_NEEDED = {"a time column (t_s)": ("t_s", "time"), "a power column (power_w)": ("power_w",)}
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
_ALIASES = {"power": "power_w", "temperature": "temperature_c", "memory": "memory_c", "clock": "clock_mhz"}
"""Short names of quantities, for the mapping of columns."""
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def _sniff(head: list[str]) -> bool:
    """True for a header with a time and a power."""
    names = names_in(head)
    return bool(names & {*_NAMES["t_s"], *_NAMES["time"]}) and bool(names & set(_NAMES["power_w"]))


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """Read every row after the header."""
    stamps, window_s, kinds, columns = Stamps(zone, ledger), Cells("t_s", "power_window_s", "", ledger), set(), None
    names = _column_names(samples.columns, source)
    for place, columns, row in table(source, ledger, names, _NEEDED, _UNITS):
        elapsed = "t_s" in columns
        at, calendar = _seconds(columns.text("t_s" if elapsed else "time", row), stamps)
        if at is None:
            ledger.not_parsed("time is neither a number nor a time stamp", place=place)
            continue
        if elapsed and not calendar:
            at *= scale_of("t_s", columns.unit("t_s") or "s") or NAN
            if samples.start is None and (stamp := columns.text("time", row)):
                begin, dated = _seconds(stamp, stamps)
                samples.start = begin if dated else None
        kinds.add(calendar)
        if window := columns.text("window", row):
            samples.power_window_s = max(window_s.read(window, place), 0.0) if window[:1].isdigit() else 0.0
        samples.add(
            at,
            columns.text("gpu", row) or "0",
            columns.values(row, place),
            step=columns.text("step", row),
        )
    if len(kinds) > 1:
        raise InputError(f"times must be either all dates or all numbers; {source.name} has both")
    samples.absolute = kinds == {True}
    if columns is not None and "utilisation" in columns:
        _check_load(samples, columns)


def _column_names(mapping: Mapping[str, str], source: Source) -> Names:
    """Accepted column names of each quantity, with the user's mapping in place of the defaults."""
    header = header_of(first_line(source.head()))[0]
    names: dict[str, Sequence[str]] = dict(_NAMES)
    for alias, column in mapping.items():
        quantity = _ALIASES.get(alias, alias)
        if quantity not in _NAMES:
            raise UnknownName("quantity", alias, [*_ALIASES, *_NAMES])
        match = same_name(column, [re.sub(r"\s*[\[(].*?[)\]]$", "", cell.strip()) for cell in header])
        if match is None:
            raise InputError(f"{source.name} has no column {column!r} for {alias}. {columns_found(header)}")
        names[quantity] = (match.lower(),)
        if quantity == "time":  # the mapped column supplies the times, whether they are dates or numbers
            names["t_s"] = ()
    return names


def _seconds(text: str, stamps: Stamps) -> tuple[float | None, bool]:
    """Seconds of a time stamp or a number, None if it is neither; and True if they count from 1970."""
    if not _NUMBER.fullmatch(text):
        return stamps.read(text), True
    number = float(text)
    since = epoch_s(number)
    if since is None and abs(number) < LONGEST_S:
        return number, False
    return since, True


def _check_load(samples: Samples, columns: Columns) -> None:
    """Convert a utilisation without a unit from percent, if it exceeds 1."""
    if not columns.unit("utilisation") and samples.largest("utilisation") > 1.5:
        samples.scale("utilisation", 0.01)
        samples.ledger.note(f"{columns.by_quantity['utilisation'].text} exceeds 1 and is assumed to be in percent")


FORMAT = Format("csv", "table: t_s, power_w, optionally temperature_c, clock_mhz, gpu, ...", _sniff, _read)
