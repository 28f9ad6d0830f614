"""What becomes of processes whose parent ends."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
"""Of prctl(2)."""


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
