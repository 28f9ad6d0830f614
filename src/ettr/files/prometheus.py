"""Samples of Prometheus: of the text that DCGM's exporter writes, or of the JSON that answers a range query."""

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
"""Labels that may name a host, the best first."""
BLANK = 2_147_483_632
"""The smallest of the values by which DCGM says that it has none."""
MOST_SERIES = 200_000

_LABEL = re.compile(r'\b(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', re.ASCII)
_JSON = re.compile(r'\s*(?:\[|\{\s*(?:["}]|$))')
"""The beginning of JSON, which is not that of text."""
_ANSWER = ("status", "error", "errorType", "data.resultType", "resultType")


@dataclass
class LabelledSeries:
    """One series while it passes.

    Attributes
    ----------
    labels : dict of str to str
        Its labels, the metric's name among them as ``__name__``.
    place : str
        Where its sample stands, for messages.
    known : object
        What its reader makes of it, kept from sample to sample.
    """

    labels: dict[str, str] = field(default_factory=dict)
    place: str = ""
    known: Any = None


_Samples = Iterator[tuple[LabelledSeries, list[str]]]


def speaks_of(head: list[str], metrics: Iterable[str]) -> bool:
    """Whether the first lines of a file are of DCGM's exporter, or of a range query."""
    start = "\n".join(head)
    if _JSON.match(start):
        return any(word in start for word in (*metrics, '"resultType"', '"errorType"'))
    return any(line.startswith("DCGM_FI_") or any(name in line for name in metrics) for line in head)


def samples_in(
    source: Source, ledger: Ledger, n_read: Callable[[], int], query: str, comments: bool = False
) -> _Samples:
    """Yield the samples of scrapes one after another, of a dump, or of the answers of range queries.

    Parameters
    ----------
    source : Source
        The file.
    ledger : Ledger
        Told where JSON breaks off, and of lines that are too long.
    n_read : callable
        Samples that the reader has counted so far, for messages.
    query : str
        The query to ask with instead, where the answer is of another kind.
    comments : bool
        Whether the ledger counts comments.

    Yields
    ------
    tuple of LabelledSeries and list of str
        The series, and its sample: time (empty where there is none) and value, or what else stands there.

    Raises
    ------
    InputError
        An error in place of data, or the answer to a query of one instant.
    """
    if not _JSON.match("\n".join(source.head())):
        yield from _of_text(source, ledger, comments)
        return
    answer: dict[str, str] = {}
    with source.binary() as stream:
        try:
            yield from _walk(ijson.parse(stream, multiple_values=True), answer)
        except (ijson.JSONError, UnicodeDecodeError, ArithmeticError) as error:  # a number that Decimal refuses
            ledger.not_parsed("JSON that is broken, or ends too early", place=f"after {n_read():,} samples")
            why = str(error).partition("\n")[0][:80]
            ledger.note(f"the JSON could be read up to sample {n_read():,} only ({why})")
    if answer.get("status") == "error":
        message = ": ".join(answer[name] for name in ("errorType", "error") if name in answer)
        raise InputError(f"Prometheus answered with an error, not with data: {message[:300]}")
    kind = answer.get("resultType", "matrix")
    if kind != "matrix":
        raise InputError(f"a range of time is needed, got an instant ({kind}): ask with {query}")


def _of_text(source: Source, ledger: Ledger, comments: bool) -> _Samples:
    """Lines such as ``name{labels} value stamp``."""
    known: dict[str, LabelledSeries] = {}
    for place, line in source.records(ledger):
        if line.startswith("#"):
            ledger.dropped("comment", int(comments), place)
            continue
        start, brace = line.find("{"), line.rfind("}")
        head = line[: brace + 1] if 0 <= start < brace else line.split(None, 1)[0]
        series = known.get(head)
        if series is None:
            if len(known) >= MOST_SERIES:
                known.clear()
            series = known[head] = LabelledSeries(
                {"__name__": head.partition("{")[0].strip(), **dict(_LABEL.findall(head))}
            )
        series.place = place
        rest = line[len(head) :].split()
        yield series, [*rest[1:], rest[0]] if len(rest) == 2 else ["", *rest]


def _walk(parsed: Iterable[tuple[str, str, object]], answer: dict[str, str]) -> _Samples:
    """Follow the JSON; ``answer`` takes what stands beside the data."""
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
