"""Functions compiled to machine code, and the folder in which it is cached."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from ettr.core import extras

Function = TypeVar("Function", bound=Callable[..., Any])


def has_home() -> bool:
    """Return True if the user has a home folder; False for one without ``HOME`` and account, as in some containers."""
    return os.path.isabs(os.path.expanduser("~"))


def cached(function: Function, **options: Any) -> Function:
    """Return a function compiled by Numba, cached for the next process if there is a folder that can be written."""
    with extras.needed("simulate"):
        from numba import njit
    # without a home, Numba would make a folder named ~ in the working folder, and run the code that it finds there
    if has_home() or os.environ.get("NUMBA_CACHE_DIR"):
        with contextlib.suppress(RuntimeError):  # no folder can be written
            return njit(function, cache=True, **options)  # type: ignore[no-any-return]
    warnings.warn(
        "compiled code cannot be cached, so each process compiles it: set NUMBA_CACHE_DIR to a writable folder",
        RuntimeWarning,
        stacklevel=3,
    )
    return njit(function, **options)  # type: ignore[no-any-return]


def can_cache() -> bool:
    """Return True if compiled code of this package can be cached."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cached(has_home)
    return not caught
