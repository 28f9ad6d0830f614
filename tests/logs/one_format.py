"""Reads a text with one format's reader, and mutates texts."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from hypothesis import strategies as st

from ettr.core.errors import InputError
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.logs.events import Events, NodesWatched, in_utc
from ettr.logs.options import Options
from written_files import records


@dataclass(frozen=True)
class Outcome:
    """What a reader made of a text."""

    events: pd.DataFrame
    ledger: pd.DataFrame
    exposure: NodesWatched
    notes: str
    doubts: str = ""

    @property
    def n_records(self) -> int:
        return len(self.events) + int(self.ledger["n"].sum())

    @property
    def starts(self) -> list[str]:
        return [str(start)[:19] for start in self.events["start"]]

    def n(self, action: str, reason: str) -> int:
        """Records with this action whose reason holds these words."""
        return records(self.ledger, action, reason)


def outcome(form: Format, text: str | bytes, **options) -> Outcome:
    """Read a text as if it were a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.txt")
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        ledger = Ledger()
        events = Events()
        exposure = form.read(Source(path), Options(**options), events, ledger)
        ledger.close()
    notes, doubts = "\n".join(ledger.notes), "\n".join(ledger.doubts)
    return Outcome(in_utc(events.frame()), ledger.to_frame(), exposure, notes, doubts)


def every_line_counts(form: Format, text: str, **options) -> None:
    """Any text is read, every line being a failure or in the ledger, or refused in words."""
    with suppress(InputError):
        assert outcome(form, text, **options).n_records == n_lines(text)


def us(text: str) -> int:
    return round(pd.Timestamp(text, tz="UTC").timestamp() * 1e6)


def n_lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.split("\n"))


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=30)


@st.composite
def mutated(draw, text: str) -> str:
    """The text with a few of its lines cut, doubled, moved, or spoilt."""
    lines = text.split("\n")
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(lines) - 1))
        line = lines[at]
        cut = draw(st.integers(0, len(line)))
        kind = draw(st.sampled_from(["cut", "insert", "double", "swap", "drop", "join", "digits"]))
        if kind == "cut":
            lines[at] = line[:cut]
        elif kind == "insert":
            lines[at] = line[:cut] + draw(_TEXT) + line[cut:]
        elif kind == "double":
            lines.insert(at, line)
        elif kind == "swap":
            other = draw(st.integers(0, len(lines) - 1))
            lines[at], lines[other] = lines[other], line
        elif kind == "digits":
            lines[at] = line.replace(
                str(draw(st.integers(0, 9))), draw(st.sampled_from(["", "9", "00", "-1", "99999"]))
            )
        elif kind == "drop" and len(lines) > 1:
            del lines[at]
        elif kind == "join" and at + 1 < len(lines):
            lines[at : at + 2] = [line + lines[at + 1]]
    return "\n".join(lines)
