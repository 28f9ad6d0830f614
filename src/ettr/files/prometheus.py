"""Prometheus samples: text of the DCGM exporter, or JSON of a range query."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import ijson

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source

HOSTS = ("Hostname", "hostname", "node", "nodename", "kubernetes_node")
"""Labels with the name of a host, in order of preference."""
BLANK = 2_147_483_632
"""Smallest of the values by which DCGM marks a missing value."""
MOST_SERIES = 200_000

_LABEL = re.compile(r'\b(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', re.ASCII)
_JSON = re.compile(r'\s*(?:\[|\{\s*(?:["}]|$))')
"""Start of JSON, as opposed to text."""
_TEXT = re.compile(
    r"# (?:HELP [A-Za-z_:][\w:]* |TYPE [A-Za-z_:][\w:]* \w+$|EOF$)|DCGM_(?:FI|EXP)_"
    r"|[A-Za-z_:][\w:]*\{(?:\s*\w+\s*=\s*\"(?:[^\"\\]|\\.)*\"\s*,?)+\}\s*[-+.\dNI]",
    re.ASCII,
)
"""Start of a line in Prometheus text: a comment on a metric, or a sample with labels."""
_ANSWER = ("status", "error", "errorType", "data.resultType", "resultType")


@dataclass
class LabelledSeries:
    """A series while its samples are read.

    Attributes
    ----------
    labels : dict of str to str
        Labels, including the name of the metric as ``__name__``.
    place : str
        Place of the sample, for messages.
    state : object
        State of the reader for this series, kept from sample to sample.
    """

    labels: dict[str, str] = field(default_factory=dict)
    place: str = ""
    state: Any = None


_Samples = Iterator[tuple[LabelledSeries, list[str]]]


def speaks_of(head: list[str], metrics: Iterable[str]) -> bool:
    """Return whether the first lines of a file are Prometheus text, or a range query with one of the metrics."""
    start = "\n".join(head)
    if _JSON.match(start):
        return any(word in start for word in (*metrics, '"resultType"', '"errorType"'))
    return any(_TEXT.match(line) or any(name in line for name in metrics) for line in head)


def samples_in(
    source: Source, ledger: Ledger, n_read: Callable[[], int], query: str, comments: bool = False
) -> _Samples:
    """Yield the samples of scrapes, of a dump, or of the answers to range queries.

    Parameters
    ----------
    source : Source
        The file.
    ledger : Ledger
        Records broken JSON, and lines that are too long.
    n_read : callable
        Returns the number of samples read so far, for messages.
    query : str
        The right query, for messages.
    comments : bool
        Whether comments are counted in the ledger.

    Yields
    ------
    tuple of LabelledSeries and list of str
        The series, and its sample: time (empty if missing) and value, or other texts of a malformed sample.

    Raises
    ------
    InputError
        If the answer is an error, or that of an instant query.
    """
    if not _JSON.match("\n".join(source.head())):
        yield from _of_text(source, ledger, comments)
        return
    answer: dict[str, str] = {}
    with source.binary() as stream:
        try:
            yield from _walk(ijson.parse(stream, multiple_values=True), answer)
        except (ijson.JSONError, UnicodeDecodeError, ArithmeticError) as error:  # a number that Decimal refuses
            ledger.not_parsed("JSON broken or truncated", place=f"after {n_read():,} samples")
            why = str(error).partition("\n")[0][:80]
            ledger.note(f"the JSON could be read only up to sample {n_read():,} ({why})")
    if answer.get("status") == "error":
        message = ": ".join(answer[name] for name in ("errorType", "error") if name in answer)
        raise InputError(f"the answer of Prometheus must be data, got the error {message[:300]}")
    kind = answer.get("resultType", "matrix")
    if kind != "matrix":
        raise InputError(f"the answer must be that of a range query, got an instant query ({kind}): use {query}")


def _of_text(source: Source, ledger: Ledger, comments: bool) -> _Samples:
    """Samples in lines such as ``name{labels} value stamp``."""
    series_of: dict[str, LabelledSeries] = {}
    for place, line in source.records(ledger):
        if line.startswith("#"):
            ledger.dropped("comment", int(comments), place)
            continue
        start, brace = line.find("{"), line.rfind("}")
        head = line[: brace + 1] if 0 <= start < brace else line.split(None, 1)[0]
        series = series_of.get(head)
        if series is None:
            if len(series_of) >= MOST_SERIES:
                series_of.clear()
            series = series_of[head] = LabelledSeries(
                {"__name__": head.partition("{")[0].strip(), **dict(_LABEL.findall(head))}
            )
        series.place = place
        rest = line[len(head) :].split()
        yield series, [*rest[1:], rest[0]] if len(rest) == 2 else ["", *rest]


def _walk(parsed: Iterable[tuple[str, str, object]], answer: dict[str, str]) -> _Samples:
    """Samples in JSON; ``answer`` takes the members beside the data."""
    n_series, series, sample = 0, LabelledSeries(), list[str]()
    for prefix, event, value in parsed:
        if prefix.endswith("values.item.item"):
            if len(sample) < 3:
                sample.append(str(value)[:40])
        elif event == "end_array" and prefix.endswith("values.item"):
            yield series, sample
            sample = []
        elif event == "start_map" and (prefix == "item" or prefix.endswith("result.item")):
            n_series += 1
            series, sample = LabelledSeries(place=f"series {n_series:,}"), []
        elif event == "string" and ".metric." in prefix:
            series.labels[prefix.rpartition(".")[2]] = str(value)
        elif event == "string" and prefix in _ANSWER:
            answer[prefix.rpartition(".")[2]] = str(value)
