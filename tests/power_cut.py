"""A disk that forgets what nobody waited for, and a power cut, for tests of what survives one.

::

    disk = Disk(folder, log)  # what is in the folder now is on disk; the log is another folder beside it
    process = subprocess.Popen(command, env=os.environ | disk.environment)
    ...
    disk.cut(random.Random(1))  # all processes die, and the folder holds what a disk may hold after that

In every Python process with this environment, and in those that it starts, ``os.fsync`` notes what it makes durable: of
a file its content, of a folder its names, both by inode. A cut kills the processes, and then decides for every name
and every content that changed since: the old one or the new one, and of a content also half of it, zeros or nothing.
What was synced stays. Linux, and a file system with hard links.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import stat
import time
from collections.abc import Collection
from pathlib import Path

LOG, ROOT, FORGETS = "ETTR_TEST_DISK_LOG", "ETTR_TEST_DISK_ROOT", "ETTR_TEST_DISK_FORGETS"
JOURNAL, BLOBS, KEPT = "journal", "blobs", "kept"


def install() -> None:
    """Note what this process syncs; called in each process by the ``sitecustomize`` that a :class:`Disk` writes."""
    log, root = Path(os.environ[LOG]), Path(os.environ[ROOT])
    forgets = os.environ.get(FORGETS, "")

    def fsync(handle) -> None:
        number = handle if isinstance(handle, int) else handle.fileno()
        place = Path(os.readlink(f"/proc/self/fd/{number}"))
        if place.is_relative_to(root) and forgets != ("folders" if place.is_dir() else "files"):
            note(log, number, place)

    os.fsync = os.fdatasync = fsync


def note(log: Path, number: int, place: Path) -> None:
    """Append to the journal what an open file, or a folder, holds now."""
    with (log / JOURNAL).open("a") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)  # until it is closed; so that snapshots come in their order
        found = os.fstat(number)
        line: dict = {"inode": found.st_ino}
        if stat.S_ISDIR(found.st_mode):
            line["names"] = listed(place)
        else:
            line["blob"] = f"{found.st_ino}-{time.monotonic_ns()}"
            (log / BLOBS / line["blob"]).write_bytes(Path(f"/proc/self/fd/{number}").read_bytes())
            with contextlib.suppress(OSError):  # it is there already, or has no name any more
                os.link(place, log / KEPT / str(found.st_ino))  # so that no other file gets this inode
        journal.write(f"\n{json.dumps(line)}\n")


def listed(folder: Path) -> dict[str, int]:
    """Names in a folder with their inodes."""
    return {entry.name: entry.inode() for entry in os.scandir(folder)}


class Disk:
    """A folder on a disk that forgets.

    Parameters
    ----------
    root : Path
        A folder that is there. All in it is taken to be on disk.
    log : Path
        Where notes are kept: outside `root`, on the same file system.
    forgets : str
        ``files`` or ``folders``, if the disk forgets contents or names that it was told to keep as well: what is seen
        then is what a program leaves that does not wait for these.

    Attributes
    ----------
    environment : dict
        Variables for the processes that use the disk.
    """

    def __init__(self, root: Path, log: Path, forgets: str = "") -> None:
        self.root, self.log = root.resolve(), log.resolve()
        hook = self.log / "hook"
        hook.mkdir(parents=True)
        (hook / "power_cut.py").symlink_to(__file__)
        (hook / "sitecustomize.py").write_text("import power_cut\npower_cut.install()\n")
        paths = [str(hook), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = {LOG: str(self.log), ROOT: str(self.root), "PYTHONPATH": os.pathsep.join(paths)}
        if forgets:
            self.environment[FORGETS] = forgets
        self._begin()

    def cut(self, chance: random.Random, spared: Collection[int] = ()) -> None:
        """Kill all processes with this environment but some, and leave in the folder what a disk may hold."""
        self.kill(spared)
        names, blobs = self._synced()
        after = self.log / "after"
        live = {path.stat().st_ino: path for path in (self.root, *self.root.rglob("*"))}
        self._survive(self.root.stat().st_ino, after, live, names, blobs, chance)
        shutil.rmtree(self.root)
        after.rename(self.root)
        self._begin()

    def kill(self, spared: Collection[int] = ()) -> None:
        """Kill all processes with this environment, until there is none."""
        mark = f"{LOG}={self.log}".encode()
        while True:
            found = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _has(pid, mark)]
            found = [pid for pid in found if pid not in spared]
            if not found:
                return
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.001)

    def _begin(self) -> None:
        """Note all that is there as synced."""
        for name in (BLOBS, KEPT):
            shutil.rmtree(self.log / name, ignore_errors=True)
            (self.log / name).mkdir()
        (self.log / JOURNAL).write_text("")
        for place, _, files in os.walk(self.root):
            for path in (Path(place), *(Path(place, name) for name in files)):
                handle = os.open(path, os.O_RDONLY)
                note(self.log, handle, path)
                os.close(handle)

    def _synced(self) -> tuple[dict[int, dict[str, int]], dict[int, bytes]]:
        """Names by the inode of a folder and contents by that of a file, as they were last synced."""
        names, blobs = {}, {}
        for text in (self.log / JOURNAL).read_text().splitlines():
            with contextlib.suppress(ValueError):  # cut off while it was written
                line = json.loads(text)
                if "names" in line:
                    names[line["inode"]] = line["names"]
                else:
                    blobs[line["inode"]] = (self.log / BLOBS / line["blob"]).read_bytes()
        return names, blobs

    def _survive(self, inode: int, after: Path, live: dict[int, Path], names, blobs, chance: random.Random) -> None:
        """Write into `after` what a folder may hold, under whatever name it is `live` now."""
        after.mkdir()
        old, new = names.get(inode, {}), listed(live[inode]) if inode in live else {}
        for name in sorted({*old, *new}):
            chosen = old.get(name) if old.get(name) == new.get(name) else chance.choice([old.get(name), new.get(name)])
            if chosen is None:
                continue
            place = live.get(chosen)
            if chosen in names or (place and place.is_dir()):
                self._survive(chosen, after / name, live, names, blobs, chance)
            else:
                (after / name).write_bytes(
                    self._content(place or self.log / KEPT / str(chosen), blobs.get(chosen), chance)
                )

    @staticmethod
    def _content(place: Path, synced: bytes | None, chance: random.Random) -> bytes:
        """What a file may hold: for sure what was synced and not changed since."""
        written = place.read_bytes() if place.exists() else b""
        if written == synced:
            return written
        return chance.choice([synced or b"", written, written[: len(written) // 2], bytes(len(written)), b""])


def _has(pid: int, mark: bytes) -> bool:
    """Whether a process that is alive was started with this variable."""
    try:
        return mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
