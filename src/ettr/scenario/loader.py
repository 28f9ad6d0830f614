"""Files of a scenario: detect changes, and resolve paths relative to it."""

from __future__ import annotations

from pathlib import Path


def stamp(path: str | Path) -> tuple[int, int]:
    """Return modification time and size of a file, to detect changes; zeros if it does not exist."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return 0, 0
    return status.st_mtime_ns, status.st_size


def beside(name: str, folder: str | Path) -> str:
    """Return the absolute path of a file in a folder; if there is none, the name itself."""
    path = Path(folder) / name
    try:
        return str(path.resolve()) if path.suffix and path.is_file() else name
    except (OSError, ValueError):  # too long for a name, or a null byte
        return name
