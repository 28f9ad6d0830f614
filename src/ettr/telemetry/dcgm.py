"""DCGM exporter: its gauges as Prometheus text with time stamps, or as the JSON of a range query."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import ijson

from ettr.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.telemetry.form import Format, Options
from ettr.telemetry.gauges import METRICS, MOST_SERIES, Gauges, Series
from ettr.telemetry.samples import Samples
from ettr.telemetry.table import header_line

_QUERY = (
    "the range query `curl -G http://PROMETHEUS:9090/api/v1/query_range --data-urlencode "
    "'query={__name__=~\"DCGM_FI_DEV_(POWER_USAGE|GPU_TEMP|MEMORY_TEMP|SM_CLOCK|GPU_UTIL)\"}' "
    "-d start=2025-01-01T00:00:00Z -d end=2025-01-01T01:00:00Z -d step=1`"
)
_LABEL = re.compile(r'\b(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', re.ASCII)
_JSON = re.compile(r'\s*(?:\[|\{\s*(?:["}]|$))')
_DEEPEST = 30
_BLOCK = 4096
_LONGEST_LINE = 10_000
_DEEPER = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}
_ANSWER = ("status", "error", "errorType", "data.resultType", "resultType")


def _sniff(head: list[str]) -> bool:
    start = "\n".join(head)
    if _JSON.match(start):
        return any(word in start for word in (*METRICS, '"resultType"', '"errorType"'))
    return any(line.startswith("DCGM_FI_") or any(name in line for name in METRICS) for line in head)


def _read(source: Source, options: Options, samples: Samples, ledger: Ledger) -> None:
    gauges = Gauges(ledger)
    if header_line(source.head()).lstrip().startswith(("{", "[")) and _JSON.match("\n".join(source.head())):
        _read_json(source, gauges, ledger)
    else:
        _read_text(source, gauges, ledger)
    if not gauges.n_kept:
        raise InputError(
            f"{source.name}: one scrape has no time; {gauges.n_samples:,} samples carry no time stamp. Give {_QUERY}"
            if gauges.n_samples
            else f"{source.name} holds no power or temperature of a GPU: give {_QUERY}"
        )
    samples.power_window_s = 0.0 if gauges.instant else 1.0
    gauges.fill(samples, source.name)


def _read_text(source: Source, gauges: Gauges, ledger: Ledger) -> None:
    """Scrapes one after another, or a dump; each sample with its stamp."""
    known: dict[str, Series | None] = {}
    for number, line in source.lines(ledger):
        place = f"line {number:,}"
        if not line or line.isspace() or line.startswith("#"):
            continue
        start, brace = line.find("{"), line.rfind("}")
        head = line[: brace + 1] if 0 <= start < brace else line.split(None, 1)[0]
        rest = line[len(head) :].split()
        if head not in known:
            if len(known) >= MOST_SERIES:
                known.clear()
            known[head] = _series_of(head, gauges) if len(line) <= _LONGEST_LINE else None
        series = known[head]
        if series is None:
            ledger.dropped("another metric", place=place)
        elif not 1 <= len(rest) <= 2:
            ledger.not_parsed("sample in an unknown form", place=place)
        else:
            gauges.sample(series, rest[1] if len(rest) > 1 else None, rest[0], place)


def _series_of(head: str, gauges: Gauges) -> Series | None:
    labels = dict(_LABEL.findall(head))
    metric = labels.get("__name__") or head.partition("{")[0].strip()
    return gauges.series_of(metric, labels) if metric in METRICS else None


@dataclass
class _Item:
    """One series of a range query, while it passes."""

    labels: dict[str, str] = field(default_factory=dict)
    pair: list[str] = field(default_factory=list)
    series: Series | None = None


def _read_json(source: Source, gauges: Gauges, ledger: Ledger) -> None:
    """The matrix of a range query, a sample at a time; several answers may stand one after another."""
    answer: dict[str, str] = {}
    with source.binary() as stream:
        try:
            _walk(ijson.parse(stream, buf_size=_BLOCK, multiple_values=True), answer, gauges)
        except (ijson.JSONError, UnicodeDecodeError) as error:
            ledger.not_parsed("JSON that is broken, or ends too early", place=f"after {gauges.n_samples:,} samples")
            ledger.note(f"the JSON could be read up to sample {gauges.n_samples:,} only ({str(error)[:80]})")
    if answer.get("status") == "error":
        said = ": ".join(answer[name] for name in ("errorType", "error") if name in answer)
        raise InputError(f"Prometheus answered with an error, not with data: {said[:300]}")
    if answer.get("resultType", "matrix") != "matrix":
        raise InputError(f"a range of time is needed, got an instant ({answer['resultType']}): ask with {_QUERY}")


def _walk(parsed: Iterable[tuple[str, str, object]], answer: dict[str, str], gauges: Gauges) -> None:
    """Follow the JSON; ``answer`` takes what stands beside the data."""
    depth, n_items, item = 0, 0, _Item()
    for prefix, event, value in parsed:
        depth += _DEEPER.get(event, 0)
        if depth > _DEEPEST:
            raise InputError(f"the answer of a range query is nested at most {_DEEPEST} deep; this JSON is deeper")
        if prefix.endswith("values.item.item"):
            if len(item.pair) < 3:
                item.pair.append(str(value)[:40])
        elif event == "end_array" and prefix.endswith("values.item"):
            _json_sample(item, gauges, f"series {n_items:,}")
        elif event == "start_map" and (prefix == "item" or prefix.endswith("result.item")):
            item, n_items = _Item(), n_items + 1
        elif event == "string" and ".metric." in prefix:
            item.labels[prefix.rpartition(".")[2]] = str(value)
        elif event == "string" and prefix in _ANSWER:
            answer[prefix.rpartition(".")[2]] = str(value)


def _json_sample(item: _Item, gauges: Gauges, place: str) -> None:
    """One ``[time, "value"]``."""
    pair, item.pair = item.pair, []
    metric = item.labels.get("__name__", "")
    if metric not in METRICS:
        reason = "another metric" if metric else "series without the name of its metric"
        return gauges.ledger.dropped(reason, place=place)
    if len(pair) != 2:
        return gauges.ledger.not_parsed("sample in an unknown form", place=place)
    if item.series is None:
        item.series = gauges.series_of(metric, item.labels)
    return gauges.sample(item.series, pair[0], pair[1], place)


FORMAT = Format("dcgm", "DCGM exporter: Prometheus range JSON, or text with time stamps", _sniff, _read)
