"""Files that are complete or absent after a kill or a power cut, temporary folders, and locks between processes.

An unfinished file and a temporary folder are named after this machine and the process that made them, which holds a
lock on them. If it was killed, the next process that works in the same place removes them.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import platform
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from ettr.core.errors import InputError

PART = ".ettr-part"
"""Ending of the name of an unfinished file."""
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:6]
_BEGINNING = 40
"""Characters of a file's name at the start of its unfinished name, short enough for characters of four bytes."""


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on disk.

    Raises
    ------
    OSError
        It cannot be read, or the disk did not accept it.
    """
    if os.name == "nt" and path.is_dir():  # Windows opens no folder, and keeps names itself
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) or not path.is_dir():  # some file systems sync no folder
            raise
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, and wait until their names are on disk."""
    made = [folder for folder in path.parents if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in [path, *made]:
        with contextlib.suppress(PermissionError):  # of a folder that others own, and whose names it does not show
            sync(folder.parent)


def move(source: Path, target: Path) -> None:
    """Rename a file on disk, replacing another one, and wait until the new name is on disk."""
    sync(source)
    _rename(source, target)


def _rename(source: Path, target: Path) -> None:
    os.replace(source, target)
    with contextlib.suppress(PermissionError):  # a folder may take names without showing them
        sync(target.parent)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a new file, which replaces the one at `path` once it is complete and on disk.

    An error, or Ctrl-C, leaves the old file as it was. The new one gets its permissions. A symbolic link stays a link:
    the file that it leads to is replaced. What is not a regular file, such as a pipe, a terminal or ``/dev/null``, is
    not replaced: `path` itself is yielded.

    Raises
    ------
    OSError
        The file cannot be written, or no new file can be created in its folder.
    """
    target = _replaced_by(path)
    if target is None:
        yield path
        return
    with _new_part(target) as part:
        yield part
        sync(part)
        with contextlib.suppress(FileNotFoundError):
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        _rename(part, target)


def check(path: Path) -> None:
    """Check that :func:`write` could replace a file, without changing it.

    Raises
    ------
    OSError
        The file could not be written.
    """
    target = _replaced_by(path)
    if target is not None:
        with _new_part(target):
            pass


def write(path: Path, text: str) -> None:
    """Write a file as :func:`replacing` does."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


def _replaced_by(path: Path) -> Path | None:
    """Return the file that a write to `path` replaces, behind all symbolic links; None if it is written in place."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode  # before links are resolved: /dev/stdout leads to what has no path
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        # replacing a file needs only a writable folder, so the file itself is checked as well
        if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        if not stat.S_ISREG(mode):
            return None
    return Path(os.path.realpath(path))


@contextlib.contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Yield a new folder for this user only, which is removed at the end; by default in the folder of temporary files.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    with _new_part(Path(parent or tempfile.gettempdir()) / "ettr") as part:
        folder = _folder_of(part)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _folder_of(part: Path) -> Path:
    """Temporary folder of an unfinished file."""
    return part.with_name(part.name.removeprefix(".").removesuffix(PART))


@functools.cache
def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes of this user left in a folder, once per process.

    The lock tells whether a process lives, also in another container; its id does so where locks do not work.
    """
    try:
        import fcntl
    except ImportError:  # as in :func:`_take`
        return
    for part in folder.glob(f".*.{_MACHINE}-*{PART}"):
        with contextlib.suppress(OSError, ValueError):
            if _runs(int(part.name.removesuffix(PART).split("-")[-2])):
                continue
            handle = os.open(part, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(handle).st_uid == os.geteuid():
                    shutil.rmtree(_folder_of(part), ignore_errors=True)
                    part.unlink()
            finally:
                os.close(handle)


def _runs(pid: int) -> bool:
    """True if there is a process with this id on this machine, and it has not ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        pass
    try:  # a container may have nobody who collects ended processes
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:  # not on Linux
        return True


@contextlib.contextmanager
def _new_part(target: Path) -> Iterator[Path]:
    """Yield an empty file beside another, for its owner only until it gets the permissions of an existing one.

    The name is new, and ``O_EXCL`` follows no link: in a folder that all may write, nobody can prepare it.
    """
    remove_leftovers(target.parent)
    owner = f"{_MACHINE}-{os.getpid()}-{secrets.token_hex(4)}"
    part = target.with_name(f".{target.name[:_BEGINNING]}.{owner}{PART}")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if target.exists() else 0o666)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            why = f"{error.strerror} (no new file can be created in {target.parent})"
            raise OSError(error.errno, why, str(target)) from None
        raise
    try:
        with os.fdopen(handle, "wb") as file:
            if os.name == "nt":  # an open file cannot be renamed there
                file.close()
            else:
                with contextlib.suppress(OSError):  # a file system without locks
                    _take(file, wait=True)
            yield part
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: Path, what: str, wait: bool = False, on_wait: Callable[[], None] | None = None) -> Iterator[IO[str]]:
    """Hold a lock on a file, for one process at a time; it ends with the process.

    The holder of the lock may remove the file. A child process inherits the lock.

    Parameters
    ----------
    path : Path
        The lock file; its folder is made.
    what : str
        Name of the work there, for the error.
    wait : bool
        Wait for the other process instead of refusing.
    on_wait : callable, optional
        Called before another process is waited for.

    Yields
    ------
    file
        The file, open.

    Raises
    ------
    InputError
        If the folder cannot be written, or another process is at work there and is not waited for.
    """
    while True:
        try:
            make_folder(path.parent)
            file = path.open("w")
        except OSError as error:
            raise InputError(f"cannot write to {path.parent}: {error.strerror or error}") from error
        with file:
            try:
                _take(file, wait, on_wait)
            except BlockingIOError as error:
                raise InputError(f"another {what} is at work in {path.parent}") from error
            except OSError as error:
                raise InputError(f"cannot lock {path}: {error.strerror or error}") from error
            if _is_at(file, path):
                yield file
                return


def _take(file: IO[Any], wait: bool, on_wait: Callable[[], None] | None = None) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such lock, and work there goes unguarded
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not wait:
            raise
        if on_wait:
            on_wait()
        fcntl.flock(file, fcntl.LOCK_EX)


def _is_at(file: IO[str], path: Path) -> bool:
    """Return whether the file still has its name, and was not removed and replaced by another."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
