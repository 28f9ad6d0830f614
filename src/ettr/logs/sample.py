"""The first records of a table or of JSON, from which their meaning is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ettr.files.columns import Columns
from ettr.files.ledger import Ledger
from ettr.files.tables import plain_name
from ettr.logs.options import Options
from ettr.logs.rows import Batch

_ANY_TIME = ("timestamp", "datetime", "time", "date", "ts", "when", "eventtime", "lasttimestamp")
"""Names of columns of times that may be ends as well as starts."""


@dataclass(frozen=True)
class Sample:
    """The first records of a file, its columns, and the options of the user."""

    first: Batch
    present: Sequence[str]
    columns: Columns
    options: Options
    ledger: Ledger
    place: str

    def texts(self, column: str) -> Sequence[str]:
        """Return the texts of a column."""
        return self.first.columns[column]

    def counts(self, column: str) -> Counter[str]:
        """Return the number of records with each text of a column."""
        return Counter(text.strip() for text in self.texts(column) if text.strip())

    def named(self, names: Sequence[str]) -> list[str]:
        """Return the columns with one of these names, without those that the user gave another role."""
        taken = {
            column
            for role in self.options.columns
            for column in self.columns.get(role, ())
            if role not in ("state", "event")
        }
        return [name for name in self.present if plain_name(name) in names and name not in taken]

    def nodes(self) -> np.ndarray:
        """Return a number for the node of each record."""
        parts = [self.texts(column) for column in self.columns.get("node", ())]
        names = ["/".join(texts) for texts in zip(*parts, strict=True)] if parts else [""] * len(self.first.numbers)
        codes: np.ndarray = pd.factorize(np.array([*names, ""], dtype=object)[:-1])[0]
        return codes

    @property
    def starts_at_any_time(self) -> bool:
        """Whether the column of times, by its name, may contain times of any record and not only of starts."""
        return plain_name(self.columns["start"][0]) in _ANY_TIME
