"""Throws bytes at the readers of failure logs: each is read with every record accounted for, or refused in words.

Run it by hand: ``python tests/fuzz_logs.py -max_total_time=60``. A folder as last argument keeps what was found.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

OPTIONS = [
    {"n_nodes": 16, "window": "2024-05-01/2024-06-01", "year": 2024},
    {"n_nodes": 16, "window": "0..30"},
    {"year": 2024, "zone": "Europe/Berlin", "planned": "x"},
    {},
]


def main() -> None:
    """Fuzz until the time is over or something breaks."""
    try:
        import atheris
    except ImportError:
        print("atheris is not installed: nothing to do")
        return
    with atheris.instrument_imports(include=["ettr.logs"]):
        from ettr import logs
        from ettr.core.errors import EttrError
        from ettr.logs.reading import FORMATS

    names = [None, *FORMATS]
    path = Path(tempfile.mkdtemp()) / "log"

    def one_input(data: bytes) -> None:
        """The first byte chooses format and options, the rest is the file."""
        choice = data[0] if data else 0
        path.write_bytes(data[1:])
        try:
            log = logs.read(path, format=names[choice % len(names)], **OPTIONS[choice // len(names) % len(OPTIONS)])
        except EttrError:
            return
        assert log.n_records == len(log.events) + log.ledger["n"].sum(), "records do not add up"
        assert log.events["start"].between(*log.window).all(), "an event lies outside the window"
        assert log.events["node"].nunique() <= log.n_nodes, "more nodes failed than were watched"

    atheris.Setup([*sys.argv, seeds(names)], one_input)
    atheris.Fuzz()


def seeds(names: list[str | None]) -> str:
    """A folder with the valid samples of the tests, each with several choices of options."""
    sys.path.insert(0, str(Path(__file__).parent / "logs"))
    from test_bad_input import VALID

    folder = Path(tempfile.mkdtemp())
    for name, text in VALID.items():
        place = names.index({"json lines": "events", "prometheus": "dcgm"}.get(name, name))
        for first in (0, place, place + len(names), place + 2 * len(names)):
            (folder / f"{name.replace(' ', '-')}-{first}").write_bytes(bytes([first]) + text.encode())
    return str(folder)


if __name__ == "__main__":
    main()
