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
from ettr.files.times import epoch_s, is_number
from ettr.telemetry.columns import NAN, Cells, Columns, Names, heading_name, names_in, scale_of, table
from ettr.telemetry.nvidia_smi import COMMAND
from ettr.telemetry.samples import LONGEST_S, Samples

_AMD = {
    "power_w": "power_usage socket_power current_socket_power average_socket_power "
    "average_graphics_package_power current_socket_graphics_package_power",
    "temperature_c": "hotspot_temperature hotspot gpu_t temperature_(sensor_junction) temperature_(sensor_edge) edge",
    "memory_c": "memory_temperature mem_temp mem_t temperature_(sensor_memory)",
    "clock_mhz": "gfx_clk gfx_clock gfx_0_clk",
    "utilisation": "gfx gfx_activity gfx_util gpu_use",
}
"""Names of amd-smi and rocm-smi."""
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
_NAMES |= {quantity: (*_NAMES[quantity], *names.split()) for quantity, names in _AMD.items()}
_OF_AMD = re.compile(r"gfx|gpu_t$|hotspot_temperature|.*socket|.*package|.*_\(sensor")
_RECORD = f"Record with {COMMAND}, or on AMD GPUs with `amd-smi monitor -ptu -w 1 --csv > gpus.csv`"
_NEEDED = {
    f"times: a column t_s or timestamp, or another named by `columns={{'time': 'NAME'}}`. {_RECORD}": ("t_s", "time"),
    "power: a column power_w, or another named by `columns={'power': 'NAME'}`": ("power_w",),
}
_OTHER_TOOLS = {
    r"(.*, *)?\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d+ *,": "has no header: write the names after --query-gpu into it",
    r"(?s).*(NVIDIA-SMI \d|NVSMI LOG|ROCm System Management)": "is a screen with one moment, not a recording",
    r"#Entity\b": "is the text of dcgmi dmon, which has no times",
    r"#.*\bpid\b": "is the text of nvidia-smi pmon, which has no power",
    r"#(.*\s)?gpu\b": "is the text of nvidia-smi dmon without dates and times; `nvidia-smi dmon -s pu -o DT` has them",
    r"[A-Z ]*\bGPU {2,}(XCP {2,})?POWER\b": "is the screen of amd-smi, not its CSV",
}
"""Start of the output of tools that no fit can use, and why."""
_PERCENT = ("utilisation_pct", "utilization_pct", "util_pct", "gpu_util", *_AMD["utilisation"].split())
_UNITS = {"power_mw": "mW", "power_kw": "kW", "clock_ghz": "GHz", "t_ms": "ms", "time_ms": "ms"}
_UNITS |= dict.fromkeys(_PERCENT, "%")
_ALIASES = {"power": "power_w", "temperature": "temperature_c", "memory": "memory_c", "clock": "clock_mhz"}
"""Short names of quantities, for the mapping of columns."""


def _sniff(head: list[str]) -> bool:
    """True for a header with a time or a power, and for the output of other tools, which is refused."""
    names = names_in(head)
    return bool(names & {*_NAMES["t_s"], *_NAMES["time"], *_NAMES["power_w"]}) or bool(_other_tool(head))


def _other_tool(head: list[str]) -> str:
    """Why the output of another tool cannot be used; empty for a table."""
    start = "\n".join([line for line in head if line.strip()][:4])
    return next((why for pattern, why in _OTHER_TOOLS.items() if re.match(pattern, start)), "")


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """Read every row after the header."""
    if why := _other_tool(source.head()):
        raise InputError(f"{source.name} {why}. {_RECORD}")
    stamps, window_s, kinds, columns = Stamps(zone, ledger), Cells("t_s", "power_window_s", "", ledger), set(), None
    names = _column_names(samples.columns, source)
    for place, columns, row in table(source, ledger, names, _NEEDED, _UNITS):
        elapsed = "t_s" in columns
        at, calendar = _seconds(columns.text("t_s" if elapsed else "time", row), stamps)
        if at is None:
            text = columns.text("t_s" if elapsed else "time", row)
            ledger.not_parsed("time is neither a number nor a time stamp", place=f"{place}, {text[:30]!r}")
            continue
        if elapsed and not calendar:
            at *= scale_of("t_s", columns.unit("t_s") or "s") or NAN
            if samples.start is None and (stamp := columns.text("time", row)):
                begin, dated = _seconds(stamp, stamps)
                samples.start = begin if dated else None
        kinds.add(calendar)
        if window := columns.text("window", row):
            samples.power_window_s = max(window_s.read(window, place), 0.0) if window[:1].isdigit() else 0.0
        samples.add(at, columns.text("gpu", row) or "0", columns.values(row, place), step=columns.text("step", row))
    if len(kinds) > 1:
        raise InputError(f"times must be either all dates or all numbers; {source.name} has both")
    samples.absolute = kinds == {True}
    if columns is not None and any(_OF_AMD.match(heading.name) for heading in columns.by_quantity.values()):
        ledger.note("columns are named as by AMD's tools, and no preset is an AMD GPU: the base GPU is an assumption")
    if columns is not None and "utilisation" in columns:
        _check_load(samples, columns)


def _column_names(mapping: Mapping[str, str], source: Source) -> Names:
    """Accepted column names of each quantity, with the user's mapping in place of the defaults."""
    header = header_of(first_line(source.head()))[0]
    names: dict[str, Sequence[str]] = dict(_NAMES)
    if "hotspot" in map(heading_name, header):  # of `amd-smi metric`; elsewhere mem is a load
        names["memory_c"] = (*_NAMES["memory_c"], "mem")
    for alias, column in mapping.items():
        quantity = _ALIASES.get(alias, alias)
        if quantity not in _NAMES:
            raise UnknownName("quantity", alias, [*_ALIASES, *_NAMES])
        match = same_name(column, [re.sub(r"\s*[\[(].*?[)\]]$", "", cell.strip()) for cell in header])
        if match is None:
            raise InputError(f"{source.name} has no column {column!r} for {alias}. {columns_found(header)}")
        names[quantity] = (heading_name(match),)
        if quantity == "time":  # the mapped column supplies the times, whether they are dates or numbers
            names["t_s"] = ()
    return names


def _seconds(text: str, stamps: Stamps) -> tuple[float | None, bool]:
    """Seconds of a time stamp or a number, None if it is neither; and True if they count from 1970."""
    if not is_number(text):
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
