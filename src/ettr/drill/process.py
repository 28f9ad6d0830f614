"""Entry point of the processes of a drill: tie the process to its parent, then load its role."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def command(role: str, *arguments: str) -> list[str]:
    """Return the command line of a ``worker`` or ``supervisor`` process."""
    return [sys.executable, "-m", "ettr.drill.process", role, str(os.getpid()), *arguments]


def die_with(parent: int) -> None:
    """End when the parent process ends, even if this process is stopped (guaranteed on Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main() -> None:
    """Run the role in the command line."""
    role, parent, *arguments = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    die_with(int(parent))
    importlib.import_module(f"ettr.drill.{role}").main(*arguments)


if __name__ == "__main__":
    main()
