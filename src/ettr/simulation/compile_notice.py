"""A notice before the simulator is compiled; in a module apart from the compiler, which takes a second to import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[], None]] = []


@contextmanager
def on_compiling(call: Callable[[], None]) -> Iterator[None]:
    """Call a function once, before the first kernel is compiled; never if the kernels are in the cache already."""
    _listeners.append(call)
    try:
        yield
    finally:
        if call in _listeners:
            _listeners.remove(call)


def give() -> None:
    """Call each listener once."""
    while _listeners:
        _listeners.pop()()
