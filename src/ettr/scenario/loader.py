"""Files that a scenario is read from and names: known again when they change, and found beside it."""

from __future__ import annotations

from pathlib import Path


def stamp(path: str | Path) -> tuple[int, int]:
    """When a file was written last and how long it is, to know again what was read; zeros if there is none."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_size


def beside(name: str, folder: str | Path) -> str:
    """The absolute path of a file in a folder; where there is none the name itself, as seen from the working folder."""
    path = Path(folder) / name
    try:
        return str(path.resolve()) if path.suffix and path.is_file() else name
    except (OSError, ValueError):  # too long for a name, or a null byte
        return name
