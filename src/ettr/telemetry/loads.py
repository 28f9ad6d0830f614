"""A load of matrix products with a duty cycle, in a process of its own, so that its end frees the GPU.

Run as a program, with the index of the GPU, it takes duties on standard input, a line each, and ends with its input.
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
"""``none`` watches what runs anyway."""
PERIOD_S = 0.05
"""One cycle of work and rest: shorter than power sensors average over, longer than a matrix product."""
_SIZE = 8192
_READY = "ready"
_READY_WITHIN_S = 120.0


class LoadFailed(EttrError):
    """The load ended while it was needed."""


class Load(Protocol):
    """What a recording drives."""

    def duty(self, share: float | None) -> None:
        """Work for this share of the time from now on; None: leave the GPU."""

    def close(self) -> None:
        """Leave the GPU for good."""


def checked(name: str) -> str:
    """The name of a load that this machine can run.

    Raises
    ------
    InputError
        No such load, or its library is not installed.
    """
    if name not in LOADS:
        raise UnknownName("load", name, LOADS, "--load")
    if name == "torch" and importlib.util.find_spec("torch") is None:
        raise InputError(
            "--load torch needs torch, which is not installed here; with --load none what runs anyway is recorded"
        )
    return name


class ProcessLoad:
    """The load in a child process, started when first needed and ended when the GPU is to be left.

    Parameters
    ----------
    gpu : int
        Index of the GPU among those that the library sees.
    command : list of str or None
        Another program that takes duties on standard input, for tests.
    """

    def __init__(self, gpu: int, command: list[str] | None = None) -> None:
        self._command = command or [sys.executable, "-m", "ettr.telemetry.loads", str(gpu)]
        self._child: subprocess.Popen[str] | None = None

    def duty(self, share: float | None) -> None:
        """Work for this share of the time; None ends the process."""
        if share is None:
            return self.close()
        child = self._child or self._started()
        try:
            assert child.stdin is not None
            child.stdin.write(f"{share:.6f}\n")
            child.stdin.flush()
        except OSError as error:
            raise LoadFailed(f"the load ended by itself, with status {child.poll()}") from error
        return None

    def close(self) -> None:
        """End the process; killed if it does not end by itself."""
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
            raise LoadFailed(f"the load did not start; it ended with status {status}")
        return child


def cycle(
    work: Callable[[], Any],
    duties: Iterable[float | None],
    clock: Callable[[], float] = time.perf_counter,
    rest: Callable[[float], None] = time.sleep,
) -> None:
    """Work and rest in turns.

    Parameters
    ----------
    work : callable
        One piece of work, which returns when it is done.
    duties : iterable
        The duty of each period; None ends it.
    clock, rest : callable
        The time, and how to wait. [s]
    """
    for duty in duties:
        if duty is None:
            break
        begin = clock()
        while duty > 0 and clock() - begin < duty * PERIOD_S:
            work()
        # a piece that ends late is paid back with rest, so that the mean is the duty
        spent = clock() - begin
        pause = spent * (1 - duty) / duty if duty > 0 and spent > 0 else PERIOD_S
        if pause > 0 and duty < 1:
            rest(pause)


def _product(gpu: int) -> Callable[[], Any]:
    """One matrix product, waited for."""
    import torch

    device = torch.device("cuda", gpu)
    a = torch.randn(_SIZE, _SIZE, dtype=torch.bfloat16, device=device)
    out = torch.empty_like(a)

    def work() -> None:
        torch.matmul(a, a, out=out)
        torch.cuda.synchronize(device)

    return work


def _latest_duties(lines: Iterable[str]) -> Iterator[float | None]:
    """The last duty read, for each period; None once the input has ended."""
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
