"""The first lines of every process of a drill: it ends when its parent does, and only then loads what it needs."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def command(role: str, *arguments: str) -> list[str]:
    """The command of a child that is a ``worker`` or a ``supervisor``."""
    return [sys.executable, "-m", "ettr.drill.process", role, str(os.getpid()), *arguments]


def die_with(parent: int) -> None:
    """End when the parent does, even if this process is stopped; Linux alone can promise that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main() -> None:
    """Be what the command says."""
    role, parent, *arguments = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command takes it
    die_with(int(parent))
    importlib.import_module(f"ettr.drill.{role}").main(*arguments)


if __name__ == "__main__":
    main()
