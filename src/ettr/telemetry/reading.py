"""From a file to a recording: one door for every format."""

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
    """Formats of telemetry that can be read.

    Returns
    -------
    DataFrame
        ``name`` (as in ``format=``) and ``title``, in the order in which they are tried.

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
    """Read a recording of power, temperature and clock, of any format that ``formats`` lists.

    Parameters
    ----------
    path : str or path
        The file, plain, ``.gz`` or ``.xz``.
    format : str or None
        Its format; found from the first lines if not named.
    zone : str, tzinfo or None
        Zone of stamps that carry none, ``"Europe/Berlin"`` or ``"+08:00"``; UTC if not given.
    columns : mapping of str to str or None
        Of a table: ``time``, ``power``, ``temperature``, ``memory``, ``clock``, ``utilisation``, ``gpu`` or ``step`` to
        the column that holds it.
    progress : callable or None
        Called now and then with the bytes read and the bytes there are.

    Returns
    -------
    Telemetry

    Raises
    ------
    UnknownName
        A format that does not exist.
    InputError
        A file that cannot be read, that holds no power, or whose temperatures are all impossible.

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
    named = format or (plain.FORMAT.name if columns else None)
    if columns and named != plain.FORMAT.name:
        raise InputError(f"--map is for tables ({plain.FORMAT.name}), not for {named}")
    source, chosen = FORMATS.open(path, named, progress)
    ledger = Ledger()
    samples = Samples(ledger, columns)
    chosen.read(source, zone_of(zone), samples, ledger)
    ledger.close()
    if source.cut:
        ledger.note(f"{source.name} {source.cut}; the rest of the recording is missing", first=True)
    return samples.telemetry(chosen.name, str(path), source.name)
