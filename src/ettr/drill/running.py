"""Parent process of a drill: prepares the folder, and restarts the supervisor when it dies."""

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
ALLOWED = (".lock", "calibration")
"""Names that may be in a folder before the drill, besides unfinished files."""
_MOST_IN_VAIN = 20
"""Most supervisors in a row that may die before a step."""
_DISK_MB = 4.0
"""Size of the memory disk that faults fill. [MB]"""


def run(folder: Path, settings: Settings, on_progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """Run a drill to its end, or resume it from its folder.

    Parameters
    ----------
    folder : Path
        Folder of the drill, created if missing; a drill with the same settings is resumed.
    settings : Settings
        Settings of the drill.
    on_progress : callable
        Called with the steps done and the total.

    Raises
    ------
    InputError
        If the folder has other files, is in use, or cannot be written.
    EttrError
        If the drill cannot continue; the message states the reason.
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
    """Return True if the last step is done and its state is saved."""
    return any(event["event"] == "end" for event in events(folder)[-1:])


def settings_in(folder: Path) -> Settings | None:
    """Return the settings of the drill in a folder; None if there is none."""
    path = folder / _SETTINGS
    try:
        return Settings.of(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"{path} is damaged: it has no settings of a drill. Use a new folder") from error


def check(folder: Path, settings: Settings) -> None:
    """Raise if the folder has other files, or the system cannot run the drill."""
    if not hasattr(signal, "SIGSTOP"):
        raise InputError("a drill needs Linux or macOS: this system has no signal that stops a process")
    existing = settings_in(folder)
    others = [path for path in folder.glob("*") if path.name not in ALLOWED and path.suffix != durable.PART]
    if existing is None and others:
        raise InputError(f"{folder} contains {others[0].name} and no drill; use a new folder")
    if existing is not None and existing != settings:
        differ = [name for name, value in settings.to_dict().items() if existing.to_dict()[name] != value]
        raise InputError(f"{folder} has a drill with another {' and '.join(differ)}; use a new folder or remove it")
    if DISK in settings.kinds and not is_done(folder):
        error = checkpoints.why_no_mount()
        if error:
            raise InputError(f"{DISK} faults need a memory disk, which cannot be mounted: {error}")


def _prepare(folder: Path, settings: Settings) -> None:
    """Check the folder, write the settings, and create the folder of the checkpoints."""
    check(folder, settings)
    if settings_in(folder) is None:
        try:
            durable.write(folder / _SETTINGS, json.dumps(settings.to_dict(), indent=1))
        except OSError as error:
            raise InputError(f"cannot write {folder / _SETTINGS}: {error.strerror or error}") from error
    checkpoint_folder = checkpoints.folder_of(folder)
    checkpoint_folder.mkdir(exist_ok=True)
    if DISK in settings.kinds and not is_done(folder):
        checkpoints.mount(checkpoint_folder, _DISK_MB)


def _supervised(folder: Path, settings: Settings, on_progress: Callable[[int, int], None]) -> None:
    """Run a supervisor until it is done or dies."""
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
            f"the drill in {folder} stopped: {why.splitlines()[-1] if why else 'the supervisor gave no reason'}"
        )
