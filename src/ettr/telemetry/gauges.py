"""Gauges of DCGM: series told apart by their labels, and put together to samples of each GPU."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ettr.core.errors import InputError
from ettr.files.ledger import Ledger
from ettr.files.recording_times import epoch_s
from ettr.telemetry.cells import NAN
from ettr.telemetry.format import QUANTITIES
from ettr.telemetry.samples import Samples

_ENERGY = "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"
_INSTANT = "DCGM_FI_DEV_POWER_USAGE_INSTANT"
METRICS = {
    _INSTANT: ("power_w", 1.0),
    "DCGM_FI_DEV_POWER_USAGE": ("power_w", 1.0),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature_c", 1.0),
    "DCGM_FI_DEV_MEMORY_TEMP": ("memory_c", 1.0),
    "DCGM_FI_DEV_SM_CLOCK": ("clock_mhz", 1.0),
    "DCGM_FI_DEV_GPU_UTIL": ("utilisation", 0.01),
    _ENERGY: ("energy_j", 1e-3),
}
"""Of each metric what it is here, and what one of it is in ours."""

MOST_SERIES = 200_000
_HOSTS = ("Hostname", "hostname", "node", "nodename", "kubernetes_node", "instance")
_GPUS = ("gpu", "pci_bus_id", "device", "UUID", "uuid")
_UUIDS = ("UUID", "uuid", "pci_bus_id")
_PARTS = ("GPU_I_ID", "gpu_i_id")
_BLANK = 2_147_483_632
"""The smallest of the values by which DCGM says that it has none."""
_MOST_MIXED = 0.1
"""Series of one GPU that take turns at more than this share of their samples are of two GPUs."""


@dataclass
class Series:
    """Samples of one metric of one GPU, in the order of the file."""

    labels: Mapping[str, str]
    at_s: array[float] = field(default_factory=lambda: array("d"))
    read: array[float] = field(default_factory=lambda: array("d"))


@dataclass(frozen=True)
class _Gpu:
    """What names a GPU: its host, its number there, its instance if it is shared, and its own name."""

    host: str
    gpu: str
    part: str
    uuid: str

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> _Gpu:
        host, gpu, part, uuid = (
            next((labels[name] for name in names if labels.get(name)), "") for names in (_HOSTS, _GPUS, _PARTS, _UUIDS)
        )
        return cls(host, gpu or "0", part, uuid)


class Gauges:
    """All series of a file, by GPU and metric.

    Parameters
    ----------
    ledger : Ledger
        Takes counts of what is set aside.

    Attributes
    ----------
    n_samples, n_kept : int
        Samples that passed, and those of them that hold a time and a value.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.n_samples = self.n_kept = self._n_series = 0
        self._series: dict[_Gpu, dict[str, list[Series]]] = {}

    @property
    def instant(self) -> bool:
        """Whether power is that of an instant."""
        return any(_INSTANT in metrics for metrics in self._series.values())

    def series_of(self, metric: str, labels: Mapping[str, str]) -> Series:
        """A new series, of the GPU that its labels name."""
        self._n_series += 1
        if self._n_series > MOST_SERIES:
            raise InputError(f"a file may hold at most {MOST_SERIES:,} series of GPUs")
        series = Series(labels)
        self._series.setdefault(_Gpu.of(labels), {}).setdefault(metric, []).append(series)
        return series

    def sample(self, series: Series, stamp: str | None, text: str, place: str) -> None:
        """Take one sample, or say why not."""
        self.n_samples += 1
        try:
            at, value = epoch_s(float(stamp)) if stamp is not None else None, float(text)
        except ValueError:
            return self.ledger.not_parsed("sample that is no number", place=place)
        if at is None:
            return self.ledger.not_parsed("no time stamp", place=place)
        if not value > -_BLANK:  # NaN as well
            return self.ledger.dropped("no value", place=place)
        self.n_kept += 1
        series.at_s.append(at)
        series.read.append(value)
        return None

    def fill(self, samples: Samples, source: str) -> None:
        """One sample for each GPU and instant, from all of its metrics.

        Raises
        ------
        InputError
            Series that differ in value and not in the labels that name a GPU.
        """
        for gpu, name in _names(list(self._series)):
            frame = self._together(
                {metric: self._joined(series, metric, name, source) for metric, series in self._series[gpu].items()}
            )
            for model in {each.labels.get("modelName", "") for each in itertools.chain(*self._series[gpu].values())}:
                samples.model(name, model)
            columns = [column for column in (*QUANTITIES, "length_s") if column in frame]
            for row in zip(frame.index, *(frame[column] for column in columns), strict=True):
                values = dict(zip(columns, row[1:], strict=True))
                samples.add(row[0], name, values, length_s=values.pop("length_s", NAN))

    def _joined(self, series: list[Series], metric: str, gpu: str, source: str) -> pd.Series:
        """Values by time; series that follow each other, as where a pod's name is a label, become one."""
        number = np.repeat(np.arange(len(series)), [len(each.at_s) for each in series])
        at_s, value = (
            np.concatenate([np.frombuffer(getattr(each, name), dtype=float) for each in series])
            for name in ("at_s", "read")
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
                f"{source} holds several series of {metric} for GPU {gpu} at the same times, with different values"
                f"{_differ(series)}: which is of which GPU cannot be known. Ask for series with the label Hostname, "
                "UUID or GPU_I_ID, or for one host at a time"
            )
        self.ledger.dropped("another value of the same GPU at the same time", int(same.sum()), metric)
        frame = frame[~same]
        return pd.Series(frame["v"].to_numpy(), index=frame["t"].to_numpy())

    def _together(self, metrics: Mapping[str, pd.Series]) -> pd.DataFrame:
        columns: dict[str, pd.Series] = {}
        for metric, (quantity, scale) in METRICS.items():
            if metric in metrics and metrics[metric].size and quantity not in columns:
                column = metrics[metric]
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


def _names(gpus: list[_Gpu]) -> Iterator[tuple[_Gpu, str]]:
    """Each GPU with a name: its number, and whatever else sets it apart from the others."""
    hosts = len({gpu.host for gpu in gpus}) > 1
    plain = [(gpu.host, gpu.gpu, gpu.part) for gpu in gpus]
    for gpu, key in zip(gpus, plain, strict=True):
        named = [gpu.host] if hosts else []
        named.append(gpu.gpu)
        if gpu.part:
            named.append(f"instance {gpu.part}")
        if plain.count(key) > 1:
            named.append(gpu.uuid or "no UUID")
        yield gpu, "/".join(each for each in named if each)


def _differ(series: list[Series]) -> str:
    """The labels by which series differ, for a refusal."""
    names = sorted({name for each in series for name in each.labels})
    differing = [name for name in names if len({each.labels.get(name, "") for each in series}) > 1]
    return f" (they differ in {', '.join(differing[:6])})" if differing else ""
