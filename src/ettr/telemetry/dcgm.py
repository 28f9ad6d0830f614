"""DCGM exporter: its gauges as Prometheus text with time stamps, or as the JSON of a range query."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import ijson
import numpy as np
import pandas as pd

from ettr.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.telemetry.cells import NAN
from ettr.telemetry.form import QUANTITIES, Format, Options
from ettr.telemetry.samples import Samples
from ettr.telemetry.stamps import epoch_s
from ettr.telemetry.table import header_line

_ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
METRICS = {
    "DCGM_FI_DEV_POWER_USAGE_INSTANT": ("power_w", 1.0),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w", 1.0),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature_c", 1.0),
    "DCGM_FI_DEV_MEMORY_TEMP": ("memory_c", 1.0),
    "DCGM_FI_DEV_SM_CLOCK": ("clock_mhz", 1.0),
    "DCGM_FI_DEV_GPU_UTIL": ("utilisation", 0.01),
    _ENERGY: ("energy_j", 1e-3),
}
"""Of each metric what it is here, and what one of it is in ours."""

_QUERY = (
    "the range query `curl -G http://PROMETHEUS:9090/api/v1/query_range --data-urlencode "
    "'query={__name__=~\"DCGM_FI_DEV_(POWER_USAGE|GPU_TEMP|MEMORY_TEMP|SM_CLOCK|GPU_UTIL)\"}' "
    "-d start=2025-01-01T00:00:00Z -d end=2025-01-01T01:00:00Z -d step=1`"
)
_HOSTS = ("Hostname", "hostname", "node", "nodename", "kubernetes_node", "instance")
_GPUS = ("gpu", "UUID", "uuid", "pci_bus_id", "device")
_LABEL = re.compile(r'\b(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', re.ASCII)
_JSON = re.compile(r'\s*(?:\[|\{\s*(?:["}]|$))')
_BLANK = 2_147_483_632
"""The smallest of the values by which DCGM says that it has none."""
_DEEPEST = 30
_BLOCK = 4096
_MOST_SERIES = 200_000
_LONGEST_LINE = 10_000
_DEEPER = {"start_map": 1, "start_array": 1, "end_map": -1, "end_array": -1}
_ANSWER = ("status", "error", "errorType", "data.resultType", "resultType")


@dataclass
class _Series:
    """Samples of one metric of one GPU."""

    at_s: array[float] = field(default_factory=lambda: array("d"))
    read: array[float] = field(default_factory=lambda: array("d"))


class _Gauges:
    """All series of a file, by GPU and metric."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.series: dict[tuple[tuple[str, str], str], _Series] = {}
        self.n_samples = 0

    def of(self, metric: str, labels: Mapping[str, str]) -> _Series:
        host = next((labels[name] for name in _HOSTS if labels.get(name)), "")
        gpu = next((labels[name] for name in _GPUS if labels.get(name)), "0")
        key = (host, gpu), metric
        if key not in self.series:
            if len(self.series) >= _MOST_SERIES:
                raise InputError(f"a file may hold at most {_MOST_SERIES:,} series of GPUs")
            self.series[key] = _Series()
        return self.series[key]

    def sample(self, series: _Series, stamp: str | None, text: str, place: str) -> None:
        self.n_samples += 1
        try:
            at, value = epoch_s(float(stamp)) if stamp is not None else None, float(text)
        except ValueError:
            return self.ledger.not_parsed("sample that is no number", place=place)
        if at is None:
            return self.ledger.not_parsed("no time stamp", place=place)
        if not value > -_BLANK:  # NaN as well
            return self.ledger.dropped("no value", place=place)
        series.at_s.append(at)
        series.read.append(value)
        return None

    def fill(self, samples: Samples) -> None:
        """One sample for each GPU and instant, from all of its metrics."""
        hosts = {host for (host, _), _ in self.series}
        for gpu in dict.fromkeys(gpu for gpu, _ in self.series):
            metrics = {metric: series for (each, metric), series in self.series.items() if each == gpu and series.at_s}
            frame = self._together(metrics)
            name = f"{gpu[0]}/{gpu[1]}" if len(hosts) > 1 else gpu[1]
            columns = [column for column in (*QUANTITIES, "length_s") if column in frame]
            for row in zip(frame.index, *(frame[column] for column in columns), strict=True):
                told = dict(zip(columns, row[1:], strict=True))
                samples.add(row[0], name, told, length_s=told.pop("length_s", NAN))

    def _together(self, metrics: Mapping[str, _Series]) -> pd.DataFrame:
        columns: dict[str, pd.Series] = {}
        for metric, (quantity, scale) in METRICS.items():
            if metric in metrics and quantity not in columns:
                column = _column(metrics[metric])
                blank = column >= _BLANK if quantity != "energy_j" else column >= 2.0**62
                self.ledger.dropped("blank of DCGM", int(blank.sum()), metric)
                columns[quantity] = column[~blank] * scale
        energy = columns.pop("energy_j", None)
        if energy is not None and "power_w" not in columns:
            power = self._powers(energy)
            columns["power_w"], columns["length_s"] = power["power_w"], power["length_s"]
        return pd.concat(columns, axis=1).sort_index() if columns else pd.DataFrame()

    def _powers(self, energy_j: pd.Series) -> pd.DataFrame:
        """Mean power between two readings of the counter, at the first of them."""
        energy_j = energy_j.sort_index()
        length = np.diff(energy_j.index.to_numpy())
        joules = np.diff(energy_j.to_numpy())
        reset = joules < 0
        self.ledger.dropped("energy counter that went back", int(reset.sum()), _ENERGY)
        self.ledger.note(f"power is the growth of {_ENERGY} over the time between its readings")
        frame = pd.DataFrame({"power_w": joules / length, "length_s": length}, index=energy_j.index[:-1])
        return frame[~reset]


def _column(series: _Series) -> pd.Series:
    """Values by time; of several at one instant the last."""
    column = pd.Series(np.frombuffer(series.read, dtype=float).copy(), index=np.round(series.at_s, 3))
    return column[~column.index.duplicated(keep="last")]


def _sniff(head: list[str]) -> bool:
    start = "\n".join(head)
    if _JSON.match(start):
        return any(word in start for word in (*METRICS, '"resultType"', '"errorType"'))
    return any(line.startswith("DCGM_FI_") or any(name in line for name in METRICS) for line in head)


def _read(source: Source, options: Options, samples: Samples, ledger: Ledger) -> None:
    gauges = _Gauges(ledger)
    if header_line(source.head()).lstrip().startswith(("{", "[")) and _JSON.match("\n".join(source.head())):
        _read_json(source, gauges, ledger)
    else:
        _read_text(source, gauges, ledger)
    if not any(series.at_s for series in gauges.series.values()):
        raise InputError(
            f"{source.name}: one scrape has no time; {gauges.n_samples:,} samples carry no time stamp. Give {_QUERY}"
            if gauges.n_samples
            else f"{source.name} holds no power or temperature of a GPU: give {_QUERY}"
        )
    instant = any(metric == "DCGM_FI_DEV_POWER_USAGE_INSTANT" for _, metric in gauges.series)
    samples.power_window_s = 0.0 if instant else 1.0
    gauges.fill(samples)


def _read_text(source: Source, gauges: _Gauges, ledger: Ledger) -> None:
    """Scrapes one after another, or a dump; each sample with its stamp."""
    known: dict[str, _Series | None] = {}
    for number, line in source.lines(ledger):
        place = f"line {number:,}"
        if not line or line.isspace() or line.startswith("#"):
            continue
        start, brace = line.find("{"), line.rfind("}")
        head = line[: brace + 1] if 0 <= start < brace else line.split(None, 1)[0]
        rest = line[len(head) :].split()
        if head not in known:
            if len(known) >= _MOST_SERIES:
                known.clear()
            known[head] = _series_of(head, gauges) if len(line) <= _LONGEST_LINE else None
        series = known[head]
        if series is None:
            ledger.dropped("another metric", place=place)
        elif not 1 <= len(rest) <= 2:
            ledger.not_parsed("sample in an unknown form", place=place)
        else:
            gauges.sample(series, rest[1] if len(rest) > 1 else None, rest[0], place)


def _series_of(head: str, gauges: _Gauges) -> _Series | None:
    labels = dict(_LABEL.findall(head))
    metric = labels.get("__name__") or head.partition("{")[0].strip()
    return gauges.of(metric, labels) if metric in METRICS else None


@dataclass
class _Item:
    """One series of a range query, while it passes."""

    labels: dict[str, str] = field(default_factory=dict)
    pair: list[str] = field(default_factory=list)
    series: _Series | None = None


def _read_json(source: Source, gauges: _Gauges, ledger: Ledger) -> None:
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


def _walk(parsed: Iterable[tuple[str, str, object]], answer: dict[str, str], gauges: _Gauges) -> None:
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


def _json_sample(item: _Item, gauges: _Gauges, place: str) -> None:
    """One ``[time, "value"]``."""
    pair, item.pair = item.pair, []
    metric = item.labels.get("__name__", "")
    if metric not in METRICS:
        reason = "another metric" if metric else "series without the name of its metric"
        return gauges.ledger.dropped(reason, place=place)
    if len(pair) != 2:
        return gauges.ledger.not_parsed("sample in an unknown form", place=place)
    if item.series is None:
        item.series = gauges.of(metric, item.labels)
    return gauges.sample(item.series, pair[0], pair[1], place)


FORMAT = Format("dcgm", "DCGM exporter: Prometheus range JSON, or text with time stamps", _sniff, _read)
