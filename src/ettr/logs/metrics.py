"""Tables of metrics, which are no failures."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.tables import plain_name
from ettr.files.times import DAY
from ettr.logs.sample import Sample

_HALF = 0.5
_MEASUREMENT = re.compile(
    r"([-+]?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)(?:\s*[%°]?|\s+[a-z%°/]{1,10}(?: [a-z]{1,4})?)", re.IGNORECASE
)
_COMMA = re.compile(r"[-+]?[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})")
_FEWEST_SAMPLES, _EQUAL = 5, 0.1
"""Rows from which on a table may be one of metrics, and by how much equal intervals differ."""


def refuse_metrics(sample: Sample) -> None:
    """Refuse a table of metrics, whose every row would count as a failure.

    Its rows have numbers at equal intervals, or numbers with decimals and no column of causes or components. In a table
    with causes, days are no equal intervals, because they may be the dates of failures.

    Raises
    ------
    InputError
        The first records are such a table.
    """
    names = {plain_name(name) for name in sample.present}
    if sample.options.columns or ({"end", "duration"} & set(sample.columns) and not {"value", "measurement"} <= names):
        return
    taken = {column for columns in sample.columns.values() for column in columns}
    numbers = {
        column: values
        for column in sample.present
        if column not in taken
        and (values := _numbers(sample.texts(column))).size > _HALF * sample.counts(column).total()
    }
    measured = [column for column, values in numbers.items() if (values % 1 != 0).mean() > _HALF]
    if len(sample.first.numbers) < _FEWEST_SAMPLES or not numbers:
        return
    has_causes = bool({"cause", "component"} & set(sample.columns))
    is_regular = 0 < _equal_interval(sample) < (DAY if has_causes else np.inf)
    if not is_regular and (has_causes or not measured):
        return
    first = (measured or list(numbers))[0]
    example = next(text.strip() for text in sample.texts(first) if text.strip())
    raise InputError(
        f"the rows of {sample.place} look like samples of metrics, not failures: they have numbers in {first!r}, such "
        f"as {example[:40]!r}. If they are failures, name the columns, e.g. "
        f'`columns={{"start": "{sample.columns["start"][0]}"}}`; a table of training steps needs a time and a step '
        "(see `ettr formats steps`), and readings of GPUs go to `ettr telemetry`"
    )


def _numbers(texts: Sequence[str]) -> np.ndarray:
    """The numbers in a column, also before a unit and with decimal commas or commas between thousands."""
    found = filter(None, (_MEASUREMENT.fullmatch(text.strip()) for text in texts))
    return np.array([float(match[1].replace(",", "." if _COMMA.fullmatch(match[1]) else "")) for match in found])


def _equal_interval(sample: Sample) -> float:
    """The time after which most records of a node follow the one before, to 10%; 0 without one. [us]"""
    us, good = sample.options.clock(Ledger()).us_series(
        pd.Series(sample.texts(sample.columns["start"][0]), dtype=object)
    )
    frame = pd.DataFrame({"node": sample.nodes(), "us": us})[good].sort_values(["node", "us"])
    steps = frame.groupby("node")["us"].diff().dropna()
    steps = steps[steps > 0]
    if len(steps) < _FEWEST_SAMPLES - 1 or ((steps / steps.median() - 1).abs() < _EQUAL).mean() <= _HALF:
        return 0.0
    return float(steps.median())
