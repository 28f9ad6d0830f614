"""Meaning of the NVIDIA driver's Xid numbers, and which of them count as failures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class XidKind(Enum):
    """Kind of cause of an Xid."""

    HARDWARE = "hardware"
    APPLICATION = "application"
    INFORMATION = "information"


@dataclass(frozen=True)
class Xid:
    """One Xid number.

    Attributes
    ----------
    code : int
        Xid number.
    component : str
        Affected component.
    meaning : str
        Meaning in a few words.
    kind : XidKind
        Only ``HARDWARE`` counts as a failure.
    """

    code: int
    component: str
    meaning: str
    kind: XidKind

    @property
    def cause(self) -> str:
        """Number and meaning, as in a log's ``cause``."""
        return f"Xid {self.code}: {self.meaning}" if self.meaning else f"Xid {self.code}"

    @property
    def why_not(self) -> str:
        """Reason why it does not count as a failure; empty if it does."""
        return {
            XidKind.HARDWARE: "",
            XidKind.APPLICATION: f"Xid {self.code}: usually the application",
            XidKind.INFORMATION: f"Xid {self.code}: {self.meaning}, stops no job",
        }[self.kind]


_TABLE = {
    XidKind.HARDWARE: {
        "GPU": {
            8: "GPU stopped processing",
            46: "GPU stopped processing",
            56: "display engine error",
            61: "micro-controller breakpoint",
            62: "micro-controller halt",
            79: "GPU fell off the bus",
            109: "context switch timed out",
            110: "security fault",
            119: "GSP did not answer in time",
            120: "GSP error",
            143: "GPU initialization failed",
        },
        "GPU memory": {
            48: "uncorrectable ECC error",
            57: "memory interface error",
            64: "row remapping failed",
            94: "contained memory error",
            95: "uncontained memory error",
            140: "unrecovered ECC error",
        },
        "PCIe": {32: "corrupted push buffer stream"},
        "NVLink": {
            74: "NVLink error",
            144: "NVLink SAW error",
            145: "NVLink RLW error",
            146: "NVLink TLW error",
            147: "NVLink TREX error",
            148: "NVLink NVLPW error",
            149: "NVLink NETIR error",
            150: "NVLink MSE error",
        },
    },
    XidKind.APPLICATION: {
        "GPU": {
            13: "graphics engine exception",
            31: "memory page fault",
            43: "channel stopped after a software fault",
            45: "clean-up after a program ended",
            68: "video decoder exception",
            69: "graphics engine class error",
            73: "video encoder error",
        },
    },
    XidKind.INFORMATION: {
        "GPU": {38: "firmware watchdog", 154: "recovery action changed"},
        "GPU memory": {63: "row remapped or page retired", 92: "many corrected ECC errors"},
        "NVLink": {121: "corrected C2C errors"},
    },
}
_CODES = {
    code: Xid(code, component, meaning, kind)
    for kind, components in _TABLE.items()
    for component, codes in components.items()
    for code, meaning in codes.items()
}
NVLINK_5 = range(144, 151)
"""Codes whose text says whether the error was fatal."""


def xid(code: int) -> Xid:
    """Meaning of an Xid number; one that is not in the table is taken as a failure of the GPU.

    Parameters
    ----------
    code : int
        The number in the driver's message.

    Notes
    -----
    Follows NVIDIA's public Xid catalogue (https://docs.nvidia.com/deploy/xid-errors/). A number is a failure where the
    catalogue asks for a reset or restart that the program did not bring about; it is the application's where the
    catalogue calls programs its usual origin; it is information where nothing has to be done for the job to go on.

    Examples
    --------
    >>> xid(79).cause
    'Xid 79: GPU fell off the bus'
    >>> xid(31).why_not
    'Xid 31: usually the application'
    """
    return _CODES.get(code) or Xid(code, "GPU", "", XidKind.HARDWARE)
