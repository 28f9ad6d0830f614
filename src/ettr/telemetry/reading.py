"""Reading recordings from files of any supported format."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path

import pandas as pd

from ettr.core.errors import InputError
from ettr.files.formats import Formats
from ettr.files.ledger import Ledger
from ettr.files.opening import Progress
from ettr.files.zones import zone_of
from ettr.telemetry import dcgm, nvidia_smi, plain
from ettr.telemetry.format import Telemetry
from ettr.telemetry.samples import Samples

FORMATS = Formats(
    "telemetry file",
    "A table needs a header with a time and a power, e.g. t_s,power_w,temperature_c",
    *(dcgm.FORMAT, nvidia_smi.FORMAT, plain.FORMAT),
)


def formats() -> pd.DataFrame:
    """Return the supported formats of telemetry files.

    Returns
    -------
    DataFrame
        ``name`` (for ``format=``) and ``title``, in the order in which they are tried.

    Examples
    --------
    >>> formats()["name"].tolist()
    ['dcgm', 'nvidia-smi', 'csv']
    """
    return FORMATS.table()


def read(
    path: str | Path,
    format: str | None = None,
    *,
    zone: str | tzinfo | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Telemetry:
    """Read a recording of power, temperature and clock in any format listed by ``formats``.

    Parameters
    ----------
    path : str or path
        File, uncompressed, ``.gz`` or ``.xz``.
    format : str or None
        Format; by default detected from the first lines.
    zone : str, tzinfo or None
        Zone of time stamps without one, such as ``"Europe/Berlin"`` or ``"+08:00"``; by default UTC.
    columns : mapping of str to str or None
        For CSV tables: the column of ``time``, ``power``, ``temperature``, ``memory``, ``clock``, ``utilisation``,
        ``gpu`` or ``step``.
    progress : callable or None
        Called from time to time with the bytes read and the total.

    Returns
    -------
    Telemetry

    Raises
    ------
    UnknownName
        If the format does not exist.
    InputError
        If the file cannot be read, has no power, or its temperatures are impossible.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.csv"
    >>> lines = ["timestamp, index, power.draw [W]", "2025/07/27 00:22:27.858, 0, 71.85 W"]
    >>> lines += ["2025/07/27 00:22:28.858, 0, [N/A]", "2025/07/27 00:22:29.858, 0, 72 W"]
    >>> _ = path.write_text("\\n".join(lines))
    >>> recording = read(path)
    >>> recording.format, recording.step_s, recording.samples["power_w"].tolist()
    ('nvidia-smi', 2.0, [71.85, 72.0])
    """
    format = format or (plain.FORMAT.name if columns else None)
    if columns and format != plain.FORMAT.name:
        raise InputError(f"columns can be mapped only in tables (format {plain.FORMAT.name}), got format {format}")
    source, chosen = FORMATS.open(path, format, progress)
    ledger = Ledger()
    samples = Samples(ledger, columns)
    chosen.read(source, zone_of(zone), samples, ledger)
    ledger.close()
    if source.cut:
        ledger.note(f"{source.name} {source.cut}; the rest of the recording is missing", first=True)
    return samples.telemetry(chosen.name, str(path), source.name)
