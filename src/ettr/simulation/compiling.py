"""How the parts of a kernel are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

_Part = TypeVar("_Part", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"error_model": "numpy"}
_UNCOUNTED: dict[str, Any] = _OPTIONS | {"_nrt": False}


def inner(function: _Part) -> _Part:
    """A part of a kernel that makes no array.

    Arrays that it is given are not counted as in use while it runs, as whoever calls it holds them: counting, which
    threads must do one after another, took three quarters of a kernel's time.
    """
    compiled: _Part = njit(function, **_UNCOUNTED)
    return compiled


def maker(function: _Part) -> _Part:
    """A part of a kernel that makes arrays, such as one with more room."""
    compiled: _Part = njit(function, **_OPTIONS)
    return compiled
