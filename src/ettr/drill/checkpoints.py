"""Checkpoints on disk: written beside, synced, renamed, and read back by their digest."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from ettr.core.durable import sync

_HEAD = 32
"""Bytes of the digest, which stands first."""
_FILLER = "filler"


def folder_of(drill: Path) -> Path:
    """Where a drill keeps its checkpoints."""
    return drill / "checkpoints"


def final_of(folder: Path) -> Path:
    """The file of the state after the last step, beside the checkpoints."""
    return folder.with_name("final")


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
    beside = path.with_name(f".{path.name}")
    try:
        with beside.open("wb") as file:
            file.write(hashlib.sha256(state).digest() + state)
            file.flush()
            os.fsync(file.fileno())
        time.sleep(max(0.0, begun_s + write_s - time.monotonic()))
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    sync(path.parent)


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


def drop_after(folder: Path, step: int) -> None:
    """Remove those after a step."""
    for later in steps(folder):
        if later > step:
            path_of(folder, later).unlink()


def keep_newest(folder: Path, n_kept: int) -> None:
    """Remove all but the newest so many."""
    for step in steps(folder)[n_kept:]:
        path_of(folder, step).unlink()


def corrupt(folder: Path, step: int) -> None:
    """Change one bit of a checkpoint."""
    content = bytearray(path_of(folder, step).read_bytes())
    content[random.randrange(len(content))] ^= 1
    path_of(folder, step).write_bytes(content)


def mount(folder: Path, size_mb: float) -> str:
    """Put the folder on a disk in memory of its own, with what :func:`unmount` kept; or why not. [MB]"""
    if os.path.ismount(folder):
        return ""
    command = ("mount", "-t", "tmpfs", "-o", f"size={1000 * size_mb:.0f}k", "ettr-drill", str(folder))
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    if done.returncode:
        return done.stderr.strip()
    if _kept(folder).exists():
        shutil.copytree(_kept(folder), folder, dirs_exist_ok=True)
    return ""


def why_no_mount() -> str:
    """Why no such disk can be had; empty if one can."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "disk")
        folder.mkdir()
        why_not = mount(folder, 0.1)
        unmount(folder)
        return why_not


def unmount(folder: Path) -> None:
    """Take that disk away again, and keep its checkpoints beside it."""
    if os.path.ismount(folder):
        free(folder)
        shutil.rmtree(_kept(folder), ignore_errors=True)
        shutil.copytree(folder, _kept(folder))
        subprocess.run(("umount", "--lazy", str(folder)), check=False)


def _kept(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-kept")


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
