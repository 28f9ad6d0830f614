"""What is fuzzed: a reader, with inputs to begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class Target(NamedTuple):
    """Something that reads what people write."""

    read: Callable[[bytes, Path], None]
    """Reads bytes, written to the path where it reads files; lets through whatever breaks a promise."""
    seeds: Callable[[], Iterator[bytes]]
    """Inputs that are valid, to begin with."""
    rooms: tuple[str, ...]
    """Packages whose branches guide the search."""
    found: tuple[bytes, ...] = ()
    """Inputs that broke a promise once, or could."""
