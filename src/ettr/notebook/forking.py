"""The process that forks: it has imported what notebooks import, and copies itself once a notebook.

Run as ``python -m ettr.notebook.forking DESCRIPTOR``, where the descriptor is a socket. Each message on it brings the
descriptor of the pipe that a copy will serve. The process ends when the socket is closed, and
ends all its copies, and with each copy all that it started.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import pkgutil
import select
import signal
import socket
import sys
import time
from multiprocessing.connection import Connection

LIBRARIES = ("altair", "numpy.random", "pandas", "scipy.optimize", "scipy.special", "scipy.stats", "yaml")
NOT_FOR_NOTEBOOKS = ("cli", "sweep")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
"""Of prctl(2)."""
REAPED_EVERY_S = 1.0
ENDED_WITHIN_S = 5.0


def main() -> None:
    """Prepare, say so, and fork on request."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    del sys.path[0]
    sys.path.insert(sys.path.index(os.path.dirname(os.__file__)), "")  # the working folder, where a kernel has it
    from ettr.notebook import child

    adopt()
    when_parent_ends(signal.SIGCONT)  # it may be stopped, and then ends itself and its copies
    prepare()
    shell = child.new_shell()
    gc.collect()
    gc.freeze()  # so that collections in a copy leave the shared memory alone
    control.send(b"ready")
    copies: set[int] = set()
    while True:
        copies -= _ended(copies)
        _end_others(copies)
        if not select.select([control], [], [], REAPED_EVERY_S)[0]:
            continue
        message, descriptors, _, _ = socket.recv_fds(control, 16, 1)
        if not message:
            break
        os.set_inheritable(descriptors[0], False)  # programs that a notebook starts have no part in it
        try:
            copy = os.fork()
        except OSError:  # no memory, or too many processes: the one that asked sees the pipe close
            os.close(descriptors[0])
            continue
        if copy == 0:
            control.close()
            pipe = Connection(descriptors[0])
            try:
                os.setsid()  # at the head of a group of its own, which ends with this process
                adopt()
                when_parent_ends(signal.SIGKILL)
                child.serve(shell, pipe)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)  # nothing brings it back to here
        os.close(descriptors[0])
        copies.add(copy)
    for copy in copies:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(copy, signal.SIGKILL)
    until = time.monotonic() + ENDED_WITHIN_S
    while _end_others(set()) and time.monotonic() < until:
        time.sleep(0.01)


def prepare() -> None:
    """Import what notebooks use, read what all of them read, and start no thread."""
    import altair as alt

    import ettr
    from ettr import Scenario, evidence

    for name in LIBRARIES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(ettr.__path__, "ettr."):
        if not any(f"ettr.{name}" in module.name or "__main__" in module.name for name in NOT_FOR_NOTEBOOKS):
            importlib.import_module(module.name)
    alt.Chart({"values": []}).mark_point().to_dict()  # reads the schema
    for name in evidence.scenario_names():
        Scenario.load(name)


def when_parent_ends(then: signal.Signals) -> None:
    """Have this process get a signal when its parent ends; Linux alone can promise that.

    ``SIGCONT`` does nothing to a process that runs, and lets one that was stopped go on: it then sees that its parent
    is gone, and can end what it started itself.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, then)


def adopt() -> None:
    """Become the parent of processes below this one whose own parents ended; Linux alone knows how."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _ended(copies: set[int]) -> set[int]:
    """Copies that are no more, collected."""
    ended = set()
    for copy in copies:
        try:
            gone, _ = os.waitpid(copy, os.WNOHANG)
        except ChildProcessError:
            gone = copy
        if gone:
            ended.add(copy)
    return ended


def _end_others(copies: set[int]) -> bool:
    """End children that are no copies: a copy that ended left them. Whether there are some."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            others = {int(pid) for pid in file.read().split()} - copies
    except OSError:  # a kernel that does not say
        return False
    for pid in others:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    _ended(others)
    return bool(others)


if __name__ == "__main__":
    main()
