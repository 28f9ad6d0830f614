"""The optional extras of the package, and the errors for a missing one."""

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
"""The extras of ``pyproject.toml`` that code of the package imports, and the subject of the message for each."""


class MissingExtra(ModuleNotFoundError):
    """A package of an optional extra is not installed; the message has the command that installs it.

    It does not derive from :class:`ettr.core.errors.EttrError`, so that code that handles a refused input does not
    hide a missing package.

    Parameters
    ----------
    extra : str
        One of :data:`EXTRAS`.
    package : str
        The missing module.
    otherwise : str
        A way to do without it, appended to the message.

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
    """Raise :class:`MissingExtra` for imports in this block that find no package.

    Of nested blocks, the outermost names the extra, as it includes those of the inner blocks.

    Examples
    --------
    >>> with needed("simulate"):
    ...     import math
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "ettr":
            raise
        raise MissingExtra(extra, package, otherwise) from error
