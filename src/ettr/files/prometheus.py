"""What Prometheus answers to a range query, a sample at a time, and the labels of its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import ijson

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source

LABEL = re.compile(r'\b(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', re.ASCII)
"""One label of a series in text, its name and its value."""
JSON = re.compile(r'\s*(?:\[|\{\s*(?:["}]|$))')
"""The beginning of JSON, which is not that of text."""

_DEEPEST = 30
_BLOCK = 4096
"""Bytes parsed at once: a block of nothing but brackets makes a path as long as itself for each of them."""
_DEEPER = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}
_ANSWER = ("status", "error", "errorType", "data.resultType", "resultType")


@dataclass
class RangeSeries:
    """One series of a range query, while it passes.

    Attributes
    ----------
    labels : dict of str to str
        Its labels, the metric's name among them.
    place : str
        Where it stands, for messages.
    known : object
        What its reader makes of it, kept from sample to sample.
    """

    labels: dict[str, str] = field(default_factory=dict)
    place: str = ""
    known: Any = None


def range_samples(
    source: Source, ledger: Ledger, n_read: Callable[[], int], query: str
) -> Iterator[tuple[RangeSeries, list[str]]]:
    """Yield the samples of a range query's JSON; several answers may stand one after another.

    Parameters
    ----------
    source : Source
        The file.
    ledger : Ledger
        Told where JSON breaks off.
    n_read : callable
        Samples that the reader has counted so far, for messages.
    query : str
        The query to ask with instead, where the answer is of another kind.

    Yields
    ------
    tuple of RangeSeries and list of str
        The series, and its sample: time and value, or what else stands there.

    Raises
    ------
    InputError
        An error in place of data, the answer to a query of one instant, or JSON nested too deeply.
    """
    answer: dict[str, str] = {}
    with source.binary() as stream:
        try:
            yield from _walk(ijson.parse(stream, buf_size=_BLOCK, multiple_values=True), answer)
        except (ijson.JSONError, UnicodeDecodeError) as error:
            ledger.not_parsed("JSON that is broken, or ends too early", place=f"after {n_read():,} samples")
            ledger.note(f"the JSON could be read up to sample {n_read():,} only ({str(error).splitlines()[0][:80]})")
    if answer.get("status") == "error":
        message = ": ".join(answer[name] for name in ("errorType", "error") if name in answer)
        raise InputError(f"Prometheus answered with an error, not with data: {message[:300]}")
    kind = answer.get("resultType", "matrix")
    if kind != "matrix":
        raise InputError(f"a range of time is needed, got an instant ({kind}): ask with {query}")


def _walk(parsed: Iterable[tuple[str, str, object]], answer: dict[str, str]) -> Iterator[tuple[RangeSeries, list[str]]]:
    """Follow the JSON; ``answer`` takes what stands beside the data."""
    depth, n_series, series, sample = 0, 0, RangeSeries(), list[str]()
    for prefix, event, value in parsed:
        depth += _DEEPER.get(event, 0)
        if depth > _DEEPEST:
            raise InputError(f"the answer of a range query is nested at most {_DEEPEST} deep; this JSON is deeper")
        if prefix.endswith("values.item.item"):
            if len(sample) < 3:
                sample.append(str(value)[:40])
        elif event == "end_array" and prefix.endswith("values.item"):
            yield series, sample
            sample = []
        elif event == "start_map" and (prefix == "item" or prefix.endswith("result.item")):
            n_series += 1
            series, sample = RangeSeries(place=f"series {n_series:,}"), []
        elif event == "string" and ".metric." in prefix:
            series.labels[prefix.rpartition(".")[2]] = str(value)
        elif event == "string" and prefix in _ANSWER:
            answer[prefix.rpartition(".")[2]] = str(value)
