"""Prepared process: it imports the libraries of notebooks, and forks once per notebook.

Run as ``python -m ettr.notebook.forking DESCRIPTOR``, where the descriptor is a socket. A message on it brings the
descriptor of a pipe for a new fork, or asks with a process id for the exit status of a fork. When the socket is closed,
the process ends, with all its forks and their child processes.
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
import time
from multiprocessing.connection import Connection

from ettr.notebook.chart_process import PR_SET_PDEATHSIG, ChartProcess

LIBRARIES = ("altair", "numpy.random", "pandas", "scipy.optimize", "scipy.special", "scipy.stats", "yaml")
NOT_FOR_NOTEBOOKS = ("cli", "sweep")
ENDED_WITHIN_S = 1.0
"""Longest wait for the end of a copy whose pipe is closed; one that lives on closed it itself."""


def main() -> None:
    """Prepare, report ready, and fork on request."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    del sys.path[0]
    sys.path.insert(sys.path.index(os.path.dirname(os.__file__)), "")  # the working folder, at the position of a kernel
    from ettr.notebook import child, rendering

    charts = ChartProcess()
    rendering.draw_by(charts.svg_of)
    prepare()
    shell = child.new_shell()
    gc.collect()
    gc.freeze()  # so that collections in a copy leave the shared memory alone
    control.send(b"ready")
    copies: set[int] = set()
    exit_codes: dict[int, int] = {}
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 16, 1)
        if not message:
            break
        if not descriptors:
            control.send(str(_exit_code(int(message), copies, exit_codes)).encode())
            continue
        _collect(copies, exit_codes)
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
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                child.serve(shell, pipe)
            finally:
                os.kill(os.getpid(), signal.SIGKILL)  # never return to the loop of the parent
        os.close(descriptors[0])
        copies.add(copy)
        exit_codes.pop(copy, None)
    for copy in copies:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(copy, signal.SIGKILL)
    charts.close()


def _collect(copies: set[int], exit_codes: dict[int, int]) -> None:
    """Move the copies that have ended from one collection to the other."""
    for copy in list(copies):
        pid, status = os.waitpid(copy, os.WNOHANG)
        if pid:
            copies.remove(copy)
            exit_codes[copy] = os.waitstatus_to_exitcode(status)


def _exit_code(copy: int, copies: set[int], exit_codes: dict[int, int]) -> int:
    """Exit status of a copy that has ended, negative for a signal; 0 if it runs."""
    until = time.monotonic() + ENDED_WITHIN_S
    while copy not in exit_codes and time.monotonic() < until:
        _collect(copies, exit_codes)
        time.sleep(0.01)
    return exit_codes.get(copy, 0)


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
