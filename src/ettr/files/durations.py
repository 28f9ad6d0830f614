"""Durations as people write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ettr.files.times import END_US, UNITS

_SPELLED = {
    "s": "s sec secs second seconds",
    "min": "m min mins minute minutes",
    "h": "h hr hrs hour hours",
    "d": "d day days",
    "ms": "ms millis milliseconds",
}
_US_OF = {word: UNITS[unit] for unit, words in _SPELLED.items() for word in words.split()}
_UNIT_AT_END = re.compile(r"(?:(?<=[^A-Za-z])[A-Za-z]+|(?<=[a-z])[A-Z][a-z]*)[\s)\]]*$")
_LAST_WORD = re.compile(r"([a-z]+)[\s)\]]*$")
_COMMA_IN_NUMBER = re.compile(r"\d,\d|^,\d", re.ASCII)
_DAYS_FIRST = re.compile(r"^(\d+)-(?=\d+:)", re.ASCII)


def unit_us(name: str) -> float | None:
    """Return the unit at the end of a column's name, in microseconds; None if there is none.

    Examples
    --------
    >>> unit_us("downtime_min"), unit_us("Duration (h)"), unit_us("duration")
    (60000000.0, 3600000000.0, None)
    """
    word = _LAST_WORD.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("_", " "))
    return _US_OF.get(word[1]) if word else None


def without_unit(name: str) -> str:
    """Return a column's name without the unit at its end.

    Examples
    --------
    >>> without_unit("downtime_min"), without_unit("duration")
    ('downtime_', 'duration')
    """
    return name if unit_us(name) is None else _UNIT_AT_END.sub("", name)


def durations_us(texts: Sequence[str], unit: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Read durations: numbers of a unit, or texts such as ``1:30:00``, ``1-02:00:00`` and ``3h 20min``. [us]

    Parameters
    ----------
    texts : sequence of str
        Shape (n,).
    unit : float or None
        Unit of plain numbers, which are not read without one. [us]

    Returns
    -------
    tuple of ndarray
        Durations, int64 [us], and whether each could be read. Shape (n,).

    Examples
    --------
    >>> durations_us(["90", "1:30", "1-00:00:00", "soon", ""], 1e6)[0].tolist()
    [90000000, 5400000000, 86400000000, 0, 0]
    """
    values = pd.Series(texts, dtype=object).str.strip()
    values = values.mask(values.str.contains(_COMMA_IN_NUMBER, na=False))  # pandas leaves such commas out
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    is_number = np.abs(numbers) < END_US  # longer than any log in every unit
    spelled = values.where(~is_number).str.replace(_DAYS_FIRST, r"\1 days ", regex=True)
    spelled = spelled.str.replace(r"^(\d+:\d\d)$", r"\1:00", regex=True)
    durations = pd.to_timedelta(spelled, errors="coerce")
    us = durations.to_numpy().astype("timedelta64[us]").astype(np.int64)
    good = durations.notna().to_numpy()
    if unit is not None:
        us, good = np.where(is_number, np.where(is_number, numbers, 0.0) * unit, us), good | is_number
    good = good & (us >= 0) & (us < END_US)
    return np.where(good, us, 0).astype(np.int64), good
