"""Bursts: messages of a device that belong to the same failure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

WITHIN_MIN = 5
WITHIN_US = WITHIN_MIN * 60 * 1_000_000


@dataclass
class _Device:
    first_us: int
    by_code: dict[Hashable, int] = field(default_factory=dict)


class Bursts:
    """Decides which messages start a failure, and which belong to an earlier one.

    A message with the same code within 5 min of the previous one is a repeat, however long the burst lasts. A message
    with another code on the same device within 5 min of the first belongs to the same failure.

    Examples
    --------
    >>> bursts, minute = Bursts(), 60_000_000
    >>> [bursts.seen("gpu 0", code, at * minute) for code, at in ((79, 0), (79, 4), (79, 8), (48, 9))]
    ['', 'same code within 5 min of the last', 'same code within 5 min of the last', '']
    """

    def __init__(self, code: str = "code", device: str = "device") -> None:
        self.repeat = f"same {code} within {WITHIN_MIN} min of the last"
        self.same_device = f"same {device} within {WITHIN_MIN} min"
        self._devices: dict[Hashable, _Device] = {}

    def seen(self, device: Hashable, code: Hashable, at_us: int) -> str:
        """Return the reason why a message belongs to an earlier failure; empty if it starts one."""
        state = self._devices.get(device)
        if state is None:
            state = self._devices[device] = _Device(at_us)
            reason = ""
        elif (last := state.by_code.get(code)) is not None and abs(at_us - last) <= WITHIN_US:
            reason = self.repeat
        elif abs(at_us - state.first_us) <= WITHIN_US:
            reason = self.same_device
        else:
            state.first_us, reason = at_us, ""
        state.by_code[code] = at_us
        return reason
