"""What is installed only if it is asked for: the extras of the package, and what needs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MappingProxyType

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


class MissingExtra(ModuleNotFoundError):
    """A package that only an extra brings is not installed; the message says how to install it.

    It is no :class:`ettr.core.errors.EttrError`: whoever takes those for the lack of an answer must not take this for
    one.

    Parameters
    ----------
    extra : str
        One of :data:`EXTRAS`.
    package : str
        The module that was not found.
    otherwise : str
        How to do without it, as what the message ends with.

    Examples
    --------
    >>> str(MissingExtra("simulate", "numba"))
    "simulation, and the smoothing of power, need numba, which is not installed: pip install 'ettr[simulate]'"
    """

    def __init__(self, extra: str, package: str, otherwise: str = "") -> None:
        text = f"{EXTRAS[extra]} {package}, which is not installed: pip install 'ettr[{extra}]'"
        super().__init__(f"{text}, {otherwise}" if otherwise else text, name=package)


@contextmanager
def needed(extra: str, otherwise: str = "") -> Iterator[None]:
    """Imports of an extra: one that finds no such package raises :class:`MissingExtra`.

    Around imports that are in such a block themselves, this extra is the one that is named: it brings the others.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "ettr":
            raise
        raise MissingExtra(extra, package, otherwise) from error
