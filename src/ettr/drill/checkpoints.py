"""Checkpoints on disk: written beside, synced, renamed, and read back by their digest."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import random
import subprocess
import time
from pathlib import Path

FINAL = "final"
"""Name of the state after the last step."""
_HEAD = 32
"""Bytes of the digest, which stands first."""
_FILLER = "filler"
_PIECES = 4


def folder_of(drill: Path) -> Path:
    """Where a drill keeps its checkpoints."""
    return drill / "checkpoints"


def path_of(folder: Path, step: int) -> Path:
    """The file of the state after so many steps."""
    return folder / f"step-{step:09d}"


def write(path: Path, state: bytes, write_s: float = 0.0) -> None:
    """Write a checkpoint, whole or not at all, in no less than so many seconds.

    Raises
    ------
    OSError
        It cannot be written; what was there is left.
    """
    begun_s = time.monotonic()
    content = hashlib.sha256(state).digest() + state
    size = -(-len(content) // _PIECES)
    beside = path.with_name(f".{path.name}")
    try:
        with beside.open("wb", buffering=0) as file:
            for piece in range(_PIECES):
                file.write(content[piece * size : (piece + 1) * size])
                _wait(begun_s + write_s * (piece + 1) / (_PIECES + 1))
            os.fsync(file.fileno())
        _wait(begun_s + write_s)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    handle = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _wait(until_s: float) -> None:
    time.sleep(max(0.0, until_s - time.monotonic()))


def read(path: Path) -> bytes | None:
    """The state that a file holds; None if it is not what was written."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return content[_HEAD:] if hashlib.sha256(content[_HEAD:]).digest() == content[:_HEAD] else None


def steps(folder: Path) -> list[int]:
    """The steps of all checkpoints, the newest first."""
    return sorted((int(path.name[5:]) for path in folder.glob("step-*")), reverse=True)


def newest(folder: Path, at_most: float) -> int:
    """The step of the newest whole checkpoint up to a step; 0 if there is none."""
    return next((step for step in steps(folder) if step <= at_most and read(path_of(folder, step)) is not None), 0)


def drop(folder: Path, after: float, n_kept: int) -> None:
    """Remove those after a step, and all but the newest so many."""
    there = steps(folder)
    for step in [*[one for one in there if one > after], *[one for one in there if one <= after][n_kept:]]:
        path_of(folder, step).unlink(missing_ok=True)


def corrupt(folder: Path) -> int:
    """Change one bit of the newest checkpoint, and return its step; 0 where there is none."""
    step = next(iter(steps(folder)), 0)
    if step:
        content = bytearray(path_of(folder, step).read_bytes())
        content[random.randrange(len(content))] ^= 1
        path_of(folder, step).write_bytes(content)
    return step


def mount(folder: Path, size_mb: float) -> str:
    """Put the folder, with what it holds, on a disk in memory of its own; otherwise why that is not allowed. [MB]"""
    size = f"size={1000 * size_mb:.0f}k"
    return "" if os.path.ismount(folder) else _moved(folder, "mount", "-t", "tmpfs", "-o", size, "ettr-drill")


def unmount(folder: Path) -> str:
    """Take that disk away again, and keep what it held; otherwise why that did not go."""
    free(folder)
    return _moved(folder, "umount", "--lazy") if os.path.ismount(folder) else ""


def _moved(folder: Path, *command: str) -> str:
    """Put a folder elsewhere by a command that takes it last, and its files after it."""
    content = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    try:
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    for name, data in content.items() if done.returncode == 0 else ():
        (folder / name).write_bytes(data)
    return done.stderr.strip()


def fill(folder: Path) -> None:
    """Fill the disk of a folder; only one that :func:`mount` put there."""
    if os.path.ismount(folder):
        with contextlib.suppress(OSError), (folder / _FILLER).open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))


def free(folder: Path) -> None:
    """Take away what filled it."""
    (folder / _FILLER).unlink(missing_ok=True)


def is_full(error: OSError) -> bool:
    """Whether there was no space."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
