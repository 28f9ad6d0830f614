"""Checkpoints on disk: written to a temporary file, synced, renamed, and verified by a digest when read."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

from ettr.core import durable
from ettr.core.durable import sync

_HEAD = 32
"""Bytes of the digest at the start of a checkpoint."""
_FILLER = "filler"


def folder_of(drill: Path) -> Path:
    """Return the folder of the checkpoints of a drill."""
    return drill / "checkpoints"


def final_of(folder: Path) -> Path:
    """Return the file of the state after the last step."""
    return folder.with_name("final")


def path_of(folder: Path, step: int) -> Path:
    """Return the file of the state after a step."""
    return folder / f"step-{step:09d}"


def write(path: Path, state: bytes, write_s: float = 0.0) -> None:
    """Write a checkpoint atomically, in at least ``write_s`` seconds.

    Raises
    ------
    OSError
        If it cannot be written; an existing checkpoint is kept.
    """
    begun_s = time.monotonic()
    temporary = path.with_name(f".{path.name}")
    try:
        with temporary.open("wb") as file:
            file.write(hashlib.sha256(state).digest() + state)
            file.flush()
            os.fsync(file.fileno())
        time.sleep(max(0.0, begun_s + write_s - time.monotonic()))
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def read(path: Path) -> bytes | None:
    """Return the state in a file; None if it is missing or its digest is wrong."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return content[_HEAD:] if hashlib.sha256(content[_HEAD:]).digest() == content[:_HEAD] else None


def steps(folder: Path) -> list[int]:
    """Return the steps of all checkpoints, newest first."""
    return sorted((int(path.name[5:]) for path in folder.glob("step-*")), reverse=True)


def newest(folder: Path, at_most: float) -> int:
    """Return the step of the newest intact checkpoint up to a step; 0 if there is none."""
    return next((step for step in steps(folder) if step <= at_most and read(path_of(folder, step)) is not None), 0)


def drop_after(folder: Path, step: int) -> None:
    """Remove the checkpoints after a step."""
    for later in steps(folder):
        if later > step:
            path_of(folder, later).unlink()


def keep_newest(folder: Path, n_kept: int) -> None:
    """Remove all but the newest checkpoints, and unfinished ones of killed workers."""
    for step in steps(folder)[n_kept:]:
        path_of(folder, step).unlink()
    for unfinished in folder.glob(".step-*"):
        unfinished.unlink()


def corrupt(folder: Path, step: int) -> None:
    """Flip a bit of a checkpoint."""
    content = bytearray(path_of(folder, step).read_bytes())
    content[random.randrange(len(content))] ^= 1
    path_of(folder, step).write_bytes(content)


def mount(folder: Path, size_mb: float) -> str:
    """Mount a memory disk on the folder, restore the files saved by :func:`unmount`, and return an error or "". [MB]"""
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
    """Return the reason why no memory disk can be mounted; empty if one can."""
    with durable.temporary_folder() as parent:
        folder = parent / "disk"
        folder.mkdir()
        error = mount(folder, 0.1)
        unmount(folder)
        return error


def unmount(folder: Path) -> None:
    """Unmount the memory disk, and save its checkpoints."""
    if os.path.ismount(folder):
        free(folder)
        shutil.rmtree(_kept(folder), ignore_errors=True)
        shutil.copytree(folder, _kept(folder))
        subprocess.run(("umount", "--lazy", str(folder)), check=False)


def _kept(folder: Path) -> Path:
    """Folder for the checkpoints of an unmounted memory disk."""
    return folder.with_name(f"{folder.name}-kept")


def fill(folder: Path) -> None:
    """Fill the memory disk of a folder; does nothing on any other disk."""
    if os.path.ismount(folder):
        with contextlib.suppress(OSError), (folder / _FILLER).open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))


def free(folder: Path) -> None:
    """Remove the file that fills the disk."""
    (folder / _FILLER).unlink(missing_ok=True)


def is_full(error: OSError) -> bool:
    """Return True if the disk is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)
