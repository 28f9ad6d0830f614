"""Xid codes of the NVIDIA driver: their meaning, and which of them are failures of the hardware."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache

from ettr.evidence.reading import table


class XidKind(Enum):
    """Kind of an Xid; only ``HARDWARE`` counts as a failure."""

    HARDWARE = "hardware"
    APPLICATION = "application"
    INFORMATION = "information"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Xid:
    """One Xid code.

    Attributes
    ----------
    code : int
        Number in the driver's message.
    component : str
        Affected component.
    meaning : str
        Meaning in a few words; empty if it is not known.
    kind : XidKind
        Kind of cause.
    """

    code: int
    component: str
    meaning: str
    kind: XidKind

    @property
    def cause(self) -> str:
        """Code and meaning, as in a log's ``cause``."""
        return f"Xid {self.code}: {self.meaning}" if self.meaning else f"Xid {self.code}"

    @property
    def why_not(self) -> str:
        """Reason why it does not count as a failure; empty if it does."""
        return {
            XidKind.HARDWARE: "",
            XidKind.APPLICATION: f"Xid {self.code}: usually the application",
            XidKind.INFORMATION: f"Xid {self.code}: {self.meaning}, stops no job",
            XidKind.UNKNOWN: f"{self.cause} (not known to stop a job)",
        }[self.kind]


NVLINK_5 = range(144, 151)
"""Codes whose text says whether the error was fatal."""


@cache
def _codes() -> dict[int, Xid]:
    """All codes of ``data/xid_codes.csv``."""
    rows = table("xid_codes").itertuples()
    return {int(row.code): Xid(int(row.code), row.component, row.meaning, XidKind(row.kind)) for row in rows}


def xid(code: int) -> Xid:
    """Return the meaning of an Xid code; its kind is unknown if the catalogue does not list it.

    Parameters
    ----------
    code : int
        Number in the driver's message.

    Notes
    -----
    The codes are in ``data/xid_codes.csv``, by NVIDIA's Xid catalogue (https://docs.nvidia.com/deploy/xid-errors/). A
    code is a failure of the hardware if the catalogue asks for a reset, a restart of the node or a repair, or for a
    restart of the application without naming it as the cause; it is the application's if it is named as the cause; it
    is information if nothing has to be done at once.

    Examples
    --------
    >>> xid(79).cause
    'Xid 79: GPU fell off the bus'
    >>> xid(31).why_not
    'Xid 31: usually the application'
    """
    return _codes().get(code) or Xid(code, "GPU", "", XidKind.UNKNOWN)
