"""Cores that a process may use, for whatever runs tests side by side."""

from __future__ import annotations

import os


def cores() -> int:
    """Those that the system grants this process, and not all that the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
