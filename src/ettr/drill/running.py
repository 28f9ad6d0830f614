"""A drill from its command's side: the folder, the supervisor that is started again when it dies, and what is left."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from ettr.core import durable
from ettr.core.durable import locked
from ettr.core.errors import EttrError, InputError
from ettr.drill import checkpoints
from ettr.drill.log import events
from ettr.drill.process import command
from ettr.drill.settings import DISK, Settings

_SETTINGS = "settings.json"
OWN = (".lock", "calibration")
"""What may be in a folder before there is a drill, besides unfinished files."""
_MOST_IN_VAIN = 20
"""Supervisors in a row that die before a step."""
_DISK_MB = 4.0
"""Size of a disk that is to be filled. [MB]"""


def run(folder: Path, settings: Settings, on_progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Bring a drill to its end, from wherever the folder says that it stands.

    Parameters
    ----------
    folder : Path
        Made if it is not there; the same settings go on in it.
    settings : Settings
        What is asked.
    on_progress : callable
        Told the steps that are done, and all.

    Raises
    ------
    InputError
        The folder holds something else, is in use, or cannot be written.
    EttrError
        The drill cannot go on, for a reason that is said.
    """
    with locked(folder / ".lock", "drill"):
        _prepare(folder, settings)
        n_before, n_in_vain = -1, 0
        try:
            while not is_done(folder):
                n_steps = sum(event["event"] == "step" for event in events(folder))
                n_in_vain = 0 if n_steps > n_before else n_in_vain + 1
                if n_in_vain == _MOST_IN_VAIN:
                    raise EttrError(f"the supervisor of the drill in {folder} died {n_in_vain} times without a step")
                n_before = n_steps
                _supervised(folder, settings, on_progress)
        finally:
            checkpoints.unmount(checkpoints.folder_of(folder))


def is_done(folder: Path) -> bool:
    """Whether the last step is done, and the state that it left is kept."""
    return any(event["event"] == "end" for event in events(folder)[-1:])


def settings_in(folder: Path) -> Settings | None:
    """What the drill in a folder was asked to do; None where there is none."""
    path = folder / _SETTINGS
    try:
        return Settings.of(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"{path} is damaged: it holds no settings of a drill. Name a new folder") from error


def check(folder: Path, settings: Settings) -> None:
    """Refuse a folder that holds something else, and a system that cannot do what is asked."""
    if not hasattr(signal, "SIGSTOP"):
        raise InputError("a drill needs Linux or macOS: this system has no signal that stops a process")
    there = settings_in(folder)
    others = [path for path in folder.glob("*") if path.name not in OWN and path.suffix != durable.PART]
    if there is None and others:
        raise InputError(f"{folder} holds {others[0].name} and no drill: name a new folder")
    if there is not None and there != settings:
        differ = [name for name, value in settings.to_dict().items() if there.to_dict()[name] != value]
        raise InputError(f"{folder} holds a drill of another {' and '.join(differ)}: name a new folder, or remove it")
    if DISK in settings.kinds and not is_done(folder):
        why_not = checkpoints.why_no_mount()
        if why_not:
            raise InputError(f"faults of the kind {DISK} need a disk of their own, and none can be made: {why_not}")


def _prepare(folder: Path, settings: Settings) -> None:
    """Check the folder, and write down what is asked."""
    check(folder, settings)
    if settings_in(folder) is None:
        try:
            durable.write(folder / _SETTINGS, json.dumps(settings.to_dict(), indent=1))
        except OSError as error:
            raise InputError(f"cannot write {folder / _SETTINGS}: {error.strerror or error}") from error
    where = checkpoints.folder_of(folder)
    where.mkdir(exist_ok=True)
    if DISK in settings.kinds and not is_done(folder):
        checkpoints.mount(where, _DISK_MB)


def _supervised(folder: Path, settings: Settings, on_progress: Callable[[int, int], None]) -> None:
    """One supervisor, until it is done or dies."""
    with subprocess.Popen(
        command("supervisor", str(folder)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            assert child.stdout
            assert child.stderr
            for line in child.stdout:
                on_progress(int(line), settings.n_steps)
            why = child.stderr.read().decode(errors="replace").strip()
        finally:
            child.kill()
    if child.returncode not in (0, -signal.SIGKILL):
        raise EttrError(
            f"the drill in {folder} stopped: {why.splitlines()[-1] if why else 'for no reason that it gave'}"
        )
