"""What is installed only if it is asked for: the extras of the package, and what needs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType

from ettr.core.errors import EttrError

EXTRAS = MappingProxyType(
    {
        "simulate": "simulation, and the smoothing of power, need",
        "sweep": "sweeps, notebooks and charts need",
        "book": "building the book needs",
        "record": "recording a GPU needs",
        "dev": "checking the tables of data/ needs",
    }
)
"""The extras of ``pyproject.toml`` that code of the package asks for, and what needs them."""


class MissingExtra(EttrError, ModuleNotFoundError):
    """A package that only an extra brings is not installed; the message says how to install it.

    Parameters
    ----------
    extra : str
        One of :data:`EXTRAS`.
    package : str
        The module that was not found.

    Examples
    --------
    >>> str(MissingExtra("simulate", "numba"))
    "simulation, and the smoothing of power, need numba, which is not installed: pip install 'ettr[simulate]'"
    """

    def __init__(self, extra: str, package: str) -> None:
        text = f"{EXTRAS[extra]} {package}, which is not installed: pip install 'ettr[{extra}]'"
        super().__init__(text, name=package)


@contextmanager
def needed(extra: str) -> Iterator[None]:
    """Imports of an extra: one that finds no such package raises :class:`MissingExtra`.

    Around imports that are in such a block themselves, this extra is the one that is named: it brings the others.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "ettr":
            raise
        raise MissingExtra(extra, package) from error
