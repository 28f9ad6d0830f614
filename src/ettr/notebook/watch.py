"""Watches where a notebook writes: nowhere into the results of its own sweep, and elsewhere it is noted."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.truncate", "os.mkdir", "os.link", "os.symlink", "shutil.rmtree"}
_NOT_NOTED = ("/dev/", "/proc/", "/sys/")
_CACHES = ("__pycache__", ".cache", ".ipython", ".config", ".jupyter")


class Watch:
    """Hears of every file that this process opens through Python, from here to its end.

    It guards against mistakes: programs that the notebook starts, and libraries that write past Python, are not heard.

    Parameters
    ----------
    kept_out : str
        A folder in which nothing may be changed; empty for none.
    """

    def __init__(self, kept_out: str) -> None:
        self._kept_out = os.path.join(os.path.realpath(kept_out), "") if kept_out else ""
        self._temporary = os.path.join(os.path.realpath(tempfile.gettempdir()), "")
        self._written: dict[str, None] = {}
        self._owner = os.getpid()
        sys.addaudithook(self._hear)

    def written(self) -> list[str]:
        """Files that were opened for writing since the last time, without temporary ones and caches."""
        written, self._written = self._written, {}
        return list(written)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = isinstance(mode, str) and any(letter in mode for letter in "wax+")
            if not writes and not (mode is None and isinstance(flags, int) and flags & _WRITING):
                return
            self._judge(path, note=True)
        elif event in _CHANGES:
            for path in arguments[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
                self._judge(path, note=False)

    def _judge(self, path: Any, note: bool) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        place = os.path.realpath(os.fsdecode(path))
        if self._kept_out and os.path.join(place, "").startswith(self._kept_out):
            raise PermissionError(
                errno.EACCES, "a point may not change the results of its sweep; ettr.record keeps values", place
            )
        temporary = os.path.join(place, "").startswith((self._temporary, *_NOT_NOTED))
        harmless = temporary or not set(_CACHES).isdisjoint(Path(place).parts)
        if note and not harmless and os.getpid() == self._owner:
            self._written[place] = None
