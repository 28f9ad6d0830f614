"""Reader of DCGM exporter metrics: Prometheus text with time stamps, or the JSON of a range query."""

from __future__ import annotations

import itertools
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.core.numbers import number_of
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.prometheus import BLANK, HOSTS, MOST_SERIES, LabelledSeries, samples_in, speaks_of
from ettr.files.times import epoch_s
from ettr.telemetry.format import AVERAGED_S, QUANTITIES
from ettr.telemetry.samples import Samples

_INSTANT = "DCGM_FI_DEV_POWER_USAGE_INSTANT"
METRICS = {
    _INSTANT: ("power_w", 1.0),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w", 1.0),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature_c", 1.0),
    "DCGM_FI_DEV_MEMORY_TEMP": ("memory_c", 1.0),
    "DCGM_FI_DEV_SM_CLOCK": ("clock_mhz", 1.0),
    "DCGM_FI_DEV_GPU_UTIL": ("utilisation", 0.01),
}
"""Quantity of each metric, and its scale."""

_HOSTS = (*HOSTS, "instance")
_GPUS = ("gpu", "pci_bus_id", "device", "UUID", "uuid")
_UUIDS = ("UUID", "uuid", "pci_bus_id")
_PARTS = ("GPU_I_ID", "gpu_i_id")
_MOST_MIXED = 0.1
"""Series that alternate at more than this share of their samples belong to two GPUs."""


_QUERY = (
    "the range query `curl -G http://PROMETHEUS:9090/api/v1/query_range --data-urlencode "
    "'query={__name__=~\"DCGM_FI_DEV_(POWER_USAGE|GPU_TEMP|MEMORY_TEMP|SM_CLOCK|GPU_UTIL)\"}' "
    "-d start=2025-01-01T00:00:00Z -d end=2025-01-01T01:00:00Z -d step=1`"
)

_Gpu = tuple[str, str, str, str]
"""Identity of a GPU: host, index, MIG instance, and UUID."""


def _sniff(head: list[str]) -> bool:
    """True for a file with DCGM metrics."""
    return speaks_of(head, METRICS)


def _read(source: Source, zone: tzinfo | None, samples: Samples, ledger: Ledger) -> None:
    """Read all series of a file, then merge the metrics of each GPU into samples."""
    gauges = _Gauges(ledger)
    for series, sample in samples_in(source, ledger, lambda: gauges.n_samples, _QUERY):
        gauges.take(series, sample)
    if not gauges.n_kept:
        raise InputError(
            f"{source.name}: {gauges.n_samples:,} samples have no time stamp, as in a single scrape. Use {_QUERY}"
            if gauges.n_samples
            else f"{source.name} has no power or temperature of a GPU. Use {_QUERY}"
        )
    samples.power_window_s = 0.0 if gauges.instant else AVERAGED_S
    gauges.fill(samples, source.name)


FORMAT = Format("dcgm", "DCGM exporter: Prometheus range JSON, or text with time stamps", _sniff, _read)


@dataclass
class _Series:
    """Samples of a metric of a GPU, in file order."""

    labels: Mapping[str, str]
    at_s: array[float] = field(default_factory=lambda: array("d"))
    value: array[float] = field(default_factory=lambda: array("d"))


class _Gauges:
    """All series of a file by GPU and metric, with the number of samples and of those with a time and a value."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.n_samples = self.n_kept = self._n_series = 0
        self._series: dict[_Gpu, dict[str, list[_Series]]] = {}

    @property
    def instant(self) -> bool:
        """True if power readings are instantaneous."""
        return any(_INSTANT in metrics for metrics in self._series.values())

    def take(self, series: LabelledSeries, sample: list[str]) -> None:
        """Add a time and value, or record in the ledger why they were left out."""
        metric, place = series.labels.get("__name__", ""), series.place
        if metric not in METRICS:
            return self.ledger.dropped("another metric" if metric else "series without a metric name", 1, place)
        if len(sample) != 2:
            return self.ledger.not_parsed("sample in an unknown form", place=place)
        if series.state is None:
            series.state = self._new_series(metric, series.labels)
        self.n_samples += 1
        try:
            at, value = epoch_s(number_of(sample[0])) if sample[0] else None, number_of(sample[1])
        except ValueError:
            return self.ledger.not_parsed("sample is not a number", place=place)
        if at is None:
            return self.ledger.not_parsed("no time stamp", place=place)
        if not value > -BLANK:  # NaN as well
            return self.ledger.dropped("no value", place=place)
        self.n_kept += 1
        series.state.at_s.append(at)
        series.state.value.append(value)
        return None

    def _new_series(self, metric: str, labels: Mapping[str, str]) -> _Series:
        """New series of the GPU in its labels."""
        self._n_series += 1
        if self._n_series > MOST_SERIES:
            raise InputError(f"a file must have at most {MOST_SERIES:,} series of GPUs")
        host, gpu, part, uuid = (
            next((labels[name] for name in names if labels.get(name)), "") for names in (_HOSTS, _GPUS, _PARTS, _UUIDS)
        )
        series = _Series(labels)
        self._series.setdefault((host, gpu or "0", part, uuid), {}).setdefault(metric, []).append(series)
        return series

    def fill(self, samples: Samples, source: str) -> None:
        """Add one sample per GPU and time, merged from all metrics of the GPU.

        Raises
        ------
        InputError
            If series with the same GPU labels have different values.
        """
        for gpu, name in _names(list(self._series)):
            frame = self._together(
                {metric: self._joined(series, metric, name, source) for metric, series in self._series[gpu].items()}
            )
            for model in {part.labels.get("modelName", "") for part in itertools.chain(*self._series[gpu].values())}:
                samples.model(name, model)
            columns = [column for column in QUANTITIES if column in frame]
            for row in zip(frame.index, *(frame[column] for column in columns), strict=True):
                samples.add(row[0], name, dict(zip(columns, row[1:], strict=True)))

    def _joined(self, series: list[_Series], metric: str, gpu: str, source: str) -> pd.Series:
        """Values by time; consecutive series, as with a pod name among the labels, become one."""
        number = np.repeat(np.arange(len(series)), [len(part.at_s) for part in series])
        at_s, value = (
            np.concatenate([np.frombuffer(getattr(part, name), dtype=float) for part in series])
            for name in ("at_s", "value")
        )
        at_s = np.round(at_s, 3)
        frame = pd.DataFrame({"t": at_s, "v": value, "of": number})
        again = frame.duplicated(["t", "v"])
        self.ledger.merged("the same sample twice", int(again.sum()), metric)
        frame = frame[~again]
        ordered = frame.sort_values("t", kind="stable")
        turns = int((np.diff(ordered["of"]) != 0).sum())
        same = frame["t"].duplicated(keep="last")
        if max(turns, 2 * int(same.sum())) > max(_MOST_MIXED * len(frame), 2 * len(series)):
            raise InputError(
                f"{source} has several series of {metric} for GPU {gpu} at the same times with different values"
                f"{_differ(series)}, so they cannot be assigned to GPUs. Query series with the label Hostname, UUID or "
                "GPU_I_ID, or query one host at a time"
            )
        self.ledger.dropped("another value of the same GPU at the same time", int(same.sum()), metric)
        frame = frame[~same]
        return pd.Series(frame["v"].to_numpy(), index=frame["t"].to_numpy())

    def _together(self, metrics: Mapping[str, pd.Series]) -> pd.DataFrame:
        """Metrics of a GPU as columns of quantities, without DCGM's blank values."""
        columns: dict[str, pd.Series] = {}
        for metric, (quantity, scale) in METRICS.items():
            if metric in metrics and metrics[metric].size and quantity not in columns:
                column = metrics[metric]
                blank = column >= BLANK
                self.ledger.dropped("blank of DCGM", int(blank.sum()), metric)
                columns[quantity] = column[~blank] * scale
        return pd.concat(columns, axis=1).sort_index() if columns else pd.DataFrame()


def _names(gpus: list[_Gpu]) -> Iterator[tuple[_Gpu, str]]:
    """Name of each GPU: its index, and what distinguishes it from the others."""
    several_hosts = len({host for host, *_ in gpus}) > 1
    without_uuid = Counter(identity[:3] for identity in gpus)
    for identity in gpus:
        host, gpu, part, uuid = identity
        parts = [host if several_hosts else "", gpu, f"instance {part}" if part else ""]
        if without_uuid[identity[:3]] > 1:
            parts.append(uuid or "no UUID")
        yield identity, "/".join(filter(None, parts))


def _differ(series: list[_Series]) -> str:
    """Labels by which series differ, for an error message."""
    names = sorted({name for part in series for name in part.labels})
    differing = [name for name in names if len({part.labels.get(name, "") for part in series}) > 1]
    return f" (they differ in {', '.join(differing[:6])})" if differing else ""
