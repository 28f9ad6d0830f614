"""Prepared process: it imports the libraries of notebooks, and forks once per notebook.

Run as ``python -m ettr.notebook.forking DESCRIPTOR``, where the descriptor is a socket. Each message on it brings the
descriptor of a pipe for a new fork. When the socket is closed, the process ends, with all its forks and their child
processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import pkgutil
import signal
import socket
import sys
from multiprocessing.connection import Connection

LIBRARIES = ("altair", "numpy.random", "pandas", "scipy.optimize", "scipy.special", "scipy.stats", "yaml")
NOT_FOR_NOTEBOOKS = ("cli", "sweep")
_PR_SET_PDEATHSIG = 1
"""Option of prctl(2) for the signal that a process receives when its parent ends."""


def main() -> None:
    """Prepare, report ready, and fork on request."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    del sys.path[0]
    sys.path.insert(sys.path.index(os.path.dirname(os.__file__)), "")  # the working folder, at the position of a kernel
    from ettr.notebook import child

    prepare()
    shell = child.new_shell()
    gc.collect()
    gc.freeze()  # so that collections in a copy leave the shared memory alone
    control.send(b"ready")
    copies: set[int] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 16, 1)
        if not message:
            break
        copies = {copy for copy in copies if not os.waitpid(copy, os.WNOHANG)[0]}
        os.set_inheritable(descriptors[0], False)  # not for programs that a notebook starts
        try:
            copy = os.fork()
        except OSError:  # no memory, or too many processes: the parent notices the closed pipe
            os.close(descriptors[0])
            continue
        if copy == 0:
            control.close()
            pipe = Connection(descriptors[0])
            try:
                os.setsid()  # a new process group, which can be ended as a whole
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                child.serve(shell, pipe)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)  # never return to the loop of the parent
        os.close(descriptors[0])
        copies.add(copy)
    for copy in copies:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(copy, signal.SIGKILL)


def prepare() -> None:
    """Import the libraries of notebooks and read common data, without starting a thread."""
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


if __name__ == "__main__":
    main()
