"""Who is told that the simulator is about to be compiled; apart from the compiler, which takes a second to import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[], None]] = []


@contextmanager
def on_compiling(call: Callable[[], None]) -> Iterator[None]:
    """Call this once, when the first kernel is about to be compiled; never if earlier processes left compiled code."""
    _listeners.append(call)
    try:
        yield
    finally:
        if call in _listeners:
            _listeners.remove(call)


def give() -> None:
    """Tell each listener, once."""
    while _listeners:
        _listeners.pop()()
