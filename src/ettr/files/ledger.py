"""What became of every record: nothing in a file disappears without a count and a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


MERGED, DROPPED, NOT_PARSED = "merged", "dropped", "not parsed"


class Ledger:
    """Counts of records by what was done with them and why, with the first place of each.

    Attributes
    ----------
    notes : list of str
        What was assumed while reading, a sentence each.
    doubts : list of str
        What puts in doubt all that is computed from the file, a sentence each.
    calendar : bool
        False once times were counted from an origin that nobody named.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._places: dict[tuple[str, str], str] = {}
        self._at_end: list[Callable[[], None]] = []
        self.notes: list[str] = []
        self.doubts: list[str] = []
        self.calendar = True

    def merged(self, reason: str, n: int = 1, place: str = "") -> None:
        """Records that speak of an event already counted."""
        self._add(MERGED, reason, n, place)

    def dropped(self, reason: str, n: int = 1, place: str = "") -> None:
        """Records understood, and of no use here."""
        self._add(DROPPED, reason, n, place)

    def not_parsed(self, reason: str, n: int = 1, place: str = "") -> None:
        """Records not understood."""
        self._add(NOT_PARSED, reason, n, place)

    def note(self, sentence: str, first: bool = False) -> None:
        """Something that was assumed; the same sentence counts once. What outweighs all else comes first."""
        if sentence not in self.notes:
            self.notes.insert(0 if first else len(self.notes), sentence)

    def doubt(self, sentence: str) -> None:
        """Something that a reader must know before any number; the same sentence counts once."""
        if sentence not in self.doubts:
            self.doubts.append(sentence)

    def at_end(self, check: Callable[[], None]) -> None:
        """Call this when the whole file is read: what can only then be said, or refused."""
        self._at_end.append(check)

    def close(self) -> None:
        """Make the checks that waited for the end."""
        while self._at_end:
            self._at_end.pop(0)()

    def total(self, action: str | None = None) -> int:
        """Records in the ledger, of one action or of all."""
        return sum(n for (done, _), n in self._counts.items() if action in (None, done))

    def n_of(self, *reasons: str) -> int:
        """Records in the ledger for some reasons."""
        return sum(n for (_, reason), n in self._counts.items() if reason in reasons)

    def to_frame(self) -> pd.DataFrame:
        """``action``, ``reason``, ``n``, ``example``, the largest count first."""
        import pandas as pd

        rows = [
            {"action": action, "reason": reason, "n": n, "example": self._places[action, reason]}
            for (action, reason), n in sorted(self._counts.items(), key=lambda item: -item[1])
        ]
        return pd.DataFrame(rows, columns=["action", "reason", "n", "example"])

    def _add(self, action: str, reason: str, n: int, place: str) -> None:
        if n:
            self._counts[action, reason] = self._counts.get((action, reason), 0) + n
            self._places.setdefault((action, reason), place)
