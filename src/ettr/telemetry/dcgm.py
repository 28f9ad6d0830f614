"""DCGM exporter: its gauges as Prometheus text with time stamps, or as the JSON of a range query."""

from __future__ import annotations

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.prometheus import JSON, LABEL, RangeSeries, range_samples
from ettr.telemetry.format import Format, Options
from ettr.telemetry.gauges import METRICS, MOST_SERIES, Gauges, Series
from ettr.telemetry.samples import Samples
from ettr.telemetry.table import header_line

_QUERY = (
    "the range query `curl -G http://PROMETHEUS:9090/api/v1/query_range --data-urlencode "
    "'query={__name__=~\"DCGM_FI_DEV_(POWER_USAGE|GPU_TEMP|MEMORY_TEMP|SM_CLOCK|GPU_UTIL)\"}' "
    "-d start=2025-01-01T00:00:00Z -d end=2025-01-01T01:00:00Z -d step=1`"
)
_LONGEST_LINE = 10_000


def _sniff(head: list[str]) -> bool:
    start = "\n".join(head)
    if JSON.match(start):
        return any(word in start for word in (*METRICS, '"resultType"', '"errorType"'))
    return any(line.startswith("DCGM_FI_") or any(name in line for name in METRICS) for line in head)


def _read(source: Source, options: Options, samples: Samples, ledger: Ledger) -> None:
    gauges = Gauges(ledger)
    if header_line(source.head()).lstrip().startswith(("{", "[")) and JSON.match("\n".join(source.head())):
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
    labels = dict(LABEL.findall(head))
    metric = labels.get("__name__") or head.partition("{")[0].strip()
    return gauges.series_of(metric, labels) if metric in METRICS else None


def _read_json(source: Source, gauges: Gauges, ledger: Ledger) -> None:
    """The matrix of a range query, a sample at a time; several answers may stand one after another."""
    for series, sample in range_samples(source, ledger, lambda: gauges.n_samples, _QUERY):
        _json_sample(series, sample, gauges)


def _json_sample(series: RangeSeries, sample: list[str], gauges: Gauges) -> None:
    """One ``[time, "value"]``."""
    metric = series.labels.get("__name__", "")
    if metric not in METRICS:
        reason = "another metric" if metric else "series without the name of its metric"
        return gauges.ledger.dropped(reason, place=series.place)
    if len(sample) != 2:
        return gauges.ledger.not_parsed("sample in an unknown form", place=series.place)
    if series.known is None:
        series.known = gauges.series_of(metric, series.labels)
    return gauges.sample(series.known, sample[0], sample[1], series.place)


FORMAT = Format("dcgm", "DCGM exporter: Prometheus range JSON, or text with time stamps", _sniff, _read)
