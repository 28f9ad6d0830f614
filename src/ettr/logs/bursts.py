"""Messages of one device that belong to one failure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

WITHIN_MIN = 5
_WITHIN_US = WITHIN_MIN * 60 * 1_000_000


@dataclass
class _Device:
    first_us: int
    by_code: dict[Hashable, int] = field(default_factory=dict)


class Bursts:
    """Which messages begin a failure, and which repeat one.

    A message of the same code within 5 min of the one before it is a repeat, however long the burst lasts; one of
    another code on the same device within 5 min of the first is part of the same failure.

    Examples
    --------
    >>> bursts, minute = Bursts(), 60_000_000
    >>> [bursts.seen("gpu 0", code, at * minute) for code, at in ((79, 0), (79, 4), (79, 8), (48, 9))]
    ['', 'same code within 5 min of the last', 'same code within 5 min of the last', '']
    """

    def __init__(self, what: str = "code", device: str = "device") -> None:
        self.again = f"same {what} within {WITHIN_MIN} min of the last"
        self.other = f"same {device} within {WITHIN_MIN} min"
        self._devices: dict[Hashable, _Device] = {}

    def seen(self, device: Hashable, code: Hashable, at_us: int) -> str:
        """Return why a message is no failure of its own; empty if it is one."""
        state = self._devices.get(device)
        if state is None:
            state = self._devices[device] = _Device(at_us)
            reason = ""
        elif (last := state.by_code.get(code)) is not None and abs(at_us - last) <= _WITHIN_US:
            reason = self.again
        elif abs(at_us - state.first_us) <= _WITHIN_US:
            reason = self.other
        else:
            state.first_us, reason = at_us, ""
        state.by_code[code] = at_us
        return reason
