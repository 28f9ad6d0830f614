"""Sentences on the points of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from ettr.core.sentences import count, duration, number

_NAMED = 4
_ALIKE = 1e-12
"""A spread below this share is rounding."""


def spread(name: str, values: pd.Series) -> str:
    """The range of one recorded value, as the title of its chart.

    Examples
    --------
    >>> spread("ettr", pd.Series([0.91, 0.07, 0.7]))
    'ettr: 0.07 to 0.91'
    """
    low, high = float(values.min()), float(values.max())
    if high - low <= _ALIKE * max(abs(low), abs(high)):
        return f"{name}: {number(low)} everywhere"
    return f"{name}: {number(low)} to {number(high)}"


def counts(table: pd.DataFrame) -> str:
    """How many points there are, how many failed, and how long they took together.

    Examples
    --------
    >>> counts(pd.DataFrame({"status": ["done", "failed"], "duration_s": [1800.0, 1800.0]}))
    '2 points: 1 done, 1 failed. Together they took 1 h.'
    """
    states = table["status"].value_counts()
    numbers = [f"{count(states[name])} {name}" for name in ("done", "failed", "open") if name in states]
    taken = duration(float(table["duration_s"].sum()) / 3600)
    return (
        f"{count(len(table))} point{'' if len(table) == 1 else 's'}: {', '.join(numbers)}. Together they took {taken}."
    )


def altered(files: Sequence[str]) -> str:
    """That files of a sweep were not as they were written.

    Examples
    --------
    >>> altered(["points/1a.ipynb"])
    '1 file was not as it was written, and was made anew: points/1a.ipynb.'
    """
    more = [f"{count(len(files) - _NAMED)} more"] if len(files) > _NAMED else []
    were = "file was not as it was" if len(files) == 1 else "files were not as they were"
    made = "was" if len(files) == 1 else "were"
    return f"{count(len(files))} {were} written, and {made} made anew: {', '.join([*files[:_NAMED], *more])}."


def several(written: Mapping[str, int]) -> str:
    """A warning about files that several points wrote; ``written`` is how many did, by file.

    Examples
    --------
    >>> several({"/tmp/a.csv": 3})
    'Several points wrote the same file, so what is in it depends on which was last: /tmp/a.csv (3 points).'
    """
    paths = [f"{path} ({count(n)} points)" for path, n in list(written.items())[:_NAMED]]
    more = [f"{count(len(written) - _NAMED)} more"] if len(written) > _NAMED else []
    files, them = ("the same file", "it") if len(written) == 1 else ("the same files", "them")
    return (
        f"Several points wrote {files}, so what is in {them} depends on which was last: {', '.join([*paths, *more])}."
    )
