"""Ledger of records: every record that is left out is counted with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


MERGED, DROPPED, NOT_PARSED = "merged", "dropped", "not parsed"


class Ledger:
    """Counts of records that were left out, by action and reason, with the place of the first.

    Attributes
    ----------
    notes : list of str
        Assumptions while reading, one sentence each.
    doubts : list of str
        Cautions that concern every result from the file, one sentence each.
    calendar : bool
        False if times count from an unknown origin.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._places: dict[tuple[str, str], str] = {}
        self._at_end: list[Callable[[], None]] = []
        self.notes: list[str] = []
        self.doubts: list[str] = []
        self.calendar = True

    def merged(self, reason: str, n: int = 1, place: str = "") -> None:
        """Count records of an event that is already counted."""
        self._add(MERGED, reason, n, place)

    def dropped(self, reason: str, n: int = 1, place: str = "") -> None:
        """Count records that were read but are not relevant."""
        self._add(DROPPED, reason, n, place)

    def not_parsed(self, reason: str, n: int = 1, place: str = "") -> None:
        """Count records that could not be read."""
        self._add(NOT_PARSED, reason, n, place)

    def note(self, sentence: str, first: bool = False) -> None:
        """Add an assumption, once; in front of the others if ``first``."""
        if sentence not in self.notes:
            self.notes.insert(0 if first else len(self.notes), sentence)

    def doubt(self, sentence: str) -> None:
        """Add a caution, once."""
        if sentence not in self.doubts:
            self.doubts.append(sentence)

    def at_end(self, check: Callable[[], None]) -> None:
        """Register a check to run when the whole file is read."""
        self._at_end.append(check)

    def close(self) -> None:
        """Run the registered checks."""
        while self._at_end:
            self._at_end.pop(0)()

    def total(self, action: str | None = None) -> int:
        """Return the number of records in the ledger, of one action or of all."""
        return sum(n for (taken, _), n in self._counts.items() if action in (None, taken))

    def n_of(self, *reasons: str) -> int:
        """Return the number of records in the ledger with one of these reasons."""
        return sum(n for (_, reason), n in self._counts.items() if reason in reasons)

    def to_frame(self) -> pd.DataFrame:
        """Return ``action``, ``reason``, ``n`` and ``example``, largest count first."""
        import pandas as pd

        rows = [
            {"action": action, "reason": reason, "n": n, "example": self._places[action, reason]}
            for (action, reason), n in sorted(self._counts.items(), key=lambda item: -item[1])
        ]
        return pd.DataFrame(rows, columns=["action", "reason", "n", "example"])

    def reasons(self) -> str:
        """Return the three most common reasons, in words; empty if no record was left out."""
        rows = self.to_frame().head(3).itertuples()
        return "; ".join(
            f"{row.n:,} {row.action}: {row.reason}{f' ({row.example})' if row.example else ''}" for row in rows
        )

    def _add(self, action: str, reason: str, n: int, place: str) -> None:
        if n:
            self._counts[action, reason] = self._counts.get((action, reason), 0) + n
            self._places.setdefault((action, reason), place)
