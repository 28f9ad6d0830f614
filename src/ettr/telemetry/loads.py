"""GPU load of matrix products with a duty cycle, in a separate process, so that ending it frees the GPU.

Run as a program with the index of the GPU, it reads one duty cycle per line from standard input, until the input ends.
"""

from __future__ import annotations

import importlib.util
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Protocol

from ettr.core.errors import EttrError, InputError, UnknownName

LOADS = ("torch", "none")
"""``none`` adds no load and records whatever runs already."""
PERIOD_S = 0.05
"""Cycle of work and rest: shorter than the averaging time of power sensors, longer than a matrix product. [s]"""
_SIZE = 8192
_READY = "ready"
_READY_WITHIN_S = 120.0


class LoadFailed(EttrError):
    """The load process ended during a recording."""


class Load(Protocol):
    """Load that a recording controls."""

    def duty(self, share: float | None) -> None:
        """Work for this share of the time from now on; None releases the GPU."""

    def close(self) -> None:
        """Release the GPU for good."""


def checked(name: str) -> str:
    """Return the name of a load, if this machine can run it.

    Raises
    ------
    InputError
        If there is no such load, or its library is not installed.
    """
    if name not in LOADS:
        raise UnknownName("load", name, LOADS)
    if name == "torch" and importlib.util.find_spec("torch") is None:
        raise InputError("load torch needs torch, which is not installed; use load none to record without a load")
    return name


class ProcessLoad:
    """Load in a child process, started when first needed and ended to release the GPU.

    Parameters
    ----------
    gpu : int
        Index of the GPU among those visible to the library.
    command : list of str or None
        Another program that reads duty cycles from standard input, for tests.
    """

    def __init__(self, gpu: int, command: list[str] | None = None) -> None:
        self._command = command or [sys.executable, "-m", "ettr.telemetry.loads", str(gpu)]
        self._child: subprocess.Popen[str] | None = None

    def duty(self, share: float | None) -> None:
        """Work for this share of the time; None ends the process and releases the GPU."""
        if share is None:
            return self.close()
        child = self._child or self._started()
        try:
            assert child.stdin is not None
            child.stdin.write(f"{share:.6f}\n")
            child.stdin.flush()
        except OSError as error:
            raise LoadFailed(f"the load process ended unexpectedly, with status {child.poll()}") from error
        return None

    def close(self) -> None:
        """End the process; kill it if it does not end within 10 s."""
        child, self._child = self._child, None
        if child is None:
            return
        with suppress(OSError):
            assert child.stdin is not None
            child.stdin.close()
        try:
            child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdout is not None:
            child.stdout.close()

    def _started(self) -> subprocess.Popen[str]:
        """Start the process and wait until it is ready."""
        child = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._child = child
        timer = threading.Timer(_READY_WITHIN_S, child.kill)
        timer.start()
        assert child.stdout is not None
        line = child.stdout.readline().strip()
        timer.cancel()
        if line != _READY:
            status = child.wait()
            self.close()
            raise LoadFailed(f"the load process did not start; it ended with status {status}")
        return child


def cycle(
    work: Callable[[], Any],
    duties: Iterable[float | None],
    clock: Callable[[], float] = time.perf_counter,
    rest: Callable[[float], None] = time.sleep,
) -> None:
    """Alternate work and rest.

    Parameters
    ----------
    work : callable
        Unit of work, which returns when it is done.
    duties : iterable
        Duty cycle of each period; None ends the loop.
    clock, rest : callable
        Functions that return the time and that wait. [s]
    """
    for duty in duties:
        if duty is None:
            break
        begin = clock()
        while duty > 0 and clock() - begin < duty * PERIOD_S:
            work()
        # work that ends late is followed by a longer rest, so that the mean is the duty cycle
        spent = clock() - begin
        pause = spent * (1 - duty) / duty if duty > 0 and spent > 0 else PERIOD_S
        if pause > 0 and duty < 1:
            rest(pause)


def _product(gpu: int) -> Callable[[], Any]:
    """Function that computes a matrix product and waits for it."""
    import torch

    device = torch.device("cuda", gpu)
    a = torch.randn(_SIZE, _SIZE, dtype=torch.bfloat16, device=device)
    out = torch.empty_like(a)

    def work() -> None:
        torch.matmul(a, a, out=out)
        torch.cuda.synchronize(device)

    return work


def _latest_duties(lines: Iterable[str]) -> Iterator[float | None]:
    """Latest duty cycle read, for each period; None once the input has ended."""
    waiting: queue.SimpleQueue[float | None] = queue.SimpleQueue()

    def listen() -> None:
        for line in lines:
            waiting.put(float(line))
        waiting.put(None)

    threading.Thread(target=listen, daemon=True).start()
    duty: float | None = 0.0
    while True:
        while not waiting.empty():
            duty = waiting.get()
        yield duty


def main() -> None:
    """Run the load until standard input ends."""
    work = _product(int(sys.argv[1]))
    work()
    sys.stdout.write(f"{_READY}\n")
    sys.stdout.flush()
    cycle(work, _latest_duties(sys.stdin))


if __name__ == "__main__":
    main()
