"""DCGM exporter: the gauge of the last Xid, as Prometheus text with time stamps or as the JSON of a range query."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ettr.core.errors import InputError
from ettr.core.numbers import number_of
from ettr.evidence.xid_codes import xid
from ettr.files.formats import Format
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.prometheus import BLANK, HOSTS, LabelledSeries, samples_in, speaks_of
from ettr.files.times import SECOND, epoch_s
from ettr.logs.bursts import WITHIN_MIN, Bursts
from ettr.logs.events import Events, NodesWatched, Span
from ettr.logs.options import Options
from ettr.logs.xids import UnknownXids

METRIC = "DCGM_FI_DEV_XID_ERRORS"
_METRICS = (METRIC, "dcgm_xid_errors")
_QUERY = (
    "the range query `curl -G http://PROMETHEUS:9090/api/v1/query_range "
    f"-d query={METRIC} -d start=2025-01-01T00:00:00Z -d end=2025-01-08T00:00:00Z -d step=60`"
)
_ADDRESS = "instance"
_GPUS = ("UUID", "uuid", "gpu", "pci_bus_id", "device")

_LARGEST = 9_999
_SAME = "same value as the sample before"
_NO_VALUE = "no value"
_OTHER = "another metric"


@dataclass
class _Gpu:
    """Changes of the gauge of one GPU, from all of its series."""

    host: str | None
    name: str | None
    changes: list[tuple[int, int]] = field(default_factory=list)

    @property
    def place(self) -> str:
        """Name of the GPU in messages."""
        return f"GPU {self.name or '?'} of {self.host or '?'}"


@dataclass
class _Gauge:
    """One gauge: samples with the same labels."""

    gpu: _Gpu
    last: int | None = None

    def change(self, at_us: int, code: int) -> None:
        """Add a change of the value."""
        self.gpu.changes.append((at_us, code))
        self.last = max(code, 0)


class _Gauges:
    """All GPUs of a log."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.unknown = ledger, UnknownXids()
        self.gpus: dict[tuple[str | None, str | None], _Gpu] = {}
        self.hosts: set[str] = set()
        self.span = Span()
        self.n_samples = 0
        self.others: dict[str, None] = {}  # the first names of other metrics

    def series(self, labels: Mapping[str, str]) -> _Gauge:
        """Return the gauge for samples with these labels."""
        host = next((labels[name] for name in HOSTS if labels.get(name)), None)
        if host is None and labels.get(_ADDRESS):
            host = labels[_ADDRESS].rpartition(":")[0] or labels[_ADDRESS]
        gpu = next((labels[name] for name in _GPUS if labels.get(name)), None)
        if host is not None:
            self.hosts.add(host)
        return _Gauge(self.gpus.setdefault((host, gpu), _Gpu(host, gpu)))

    def sample(self, series: _Gauge, at_us: int | None, text: str, place: str) -> None:
        """Add one sample; changes become failures after all series of the GPU are read."""
        self.n_samples += 1
        if at_us is None:
            return self.ledger.not_parsed("no time stamp", place=place)
        try:
            value = number_of(text)
        except ValueError:
            return self.ledger.not_parsed("value is not a number", place=place)
        self.span.take(at_us)
        if value == series.last:
            return self.ledger.dropped(_SAME, place=place)
        if math.isnan(value) or value >= BLANK:
            if series.last is not None:
                return self.ledger.dropped(_NO_VALUE, place=place)
            return series.change(at_us, -1)
        if not 0 <= value <= _LARGEST or value % 1:
            return self.ledger.not_parsed("value is not an Xid", place=place)
        return series.change(at_us, int(value))

    def add_failures(self, events: Events) -> None:
        """Turn changes into failures."""
        bursts, failures = Bursts("number", "GPU"), list[tuple[int, _Gpu, int]]()
        for gpu in self.gpus.values():
            before: int | None = None
            for at_us, code in sorted(gpu.changes, key=lambda change: change[0]):
                reason = _no_edge(before, code)
                if reason:
                    self.ledger.dropped(reason, place=gpu.place)
                elif self._begins(gpu, code, at_us, bursts):
                    failures.append((at_us, gpu, code))
                before = (before or 0) if code < 0 else code
        self.unknown.doubt(self.ledger)
        nodes = Bursts("number", "node")
        for at, gpu, code in sorted(failures, key=lambda failure: failure[0]):
            reason = nodes.seen(gpu.host, gpu.name, at) if gpu.host is not None else ""
            if reason:
                self.ledger.merged(reason, place=gpu.place)
            else:
                meaning = xid(code)
                events.add(at, node=gpu.host, component=meaning.component, cause=meaning.cause, gpu=gpu.name)

    def _begins(self, gpu: _Gpu, code: int, at_us: int, bursts: Bursts) -> bool:
        """Whether a new Xid is a failure of its GPU."""
        self.unknown.count(xid(code))
        if why_not := xid(code).why_not:
            self.ledger.dropped(why_not, place=gpu.place)
            return False
        if reason := bursts.seen((gpu.host, gpu.name), code, at_us):
            self.ledger.merged(reason, place=gpu.place)
            return False
        return True


def _no_edge(before: int | None, code: int) -> str:
    """Reason why a change is not a new Xid; empty if it is one."""
    if code < 0:
        return _NO_VALUE
    if code == 0:
        return "no Xid: the gauge is zero"
    if before is None:
        return "Xid from before the log"
    return _SAME if code == before else ""


def _us(text: str) -> int | None:
    """A time stamp of Prometheus [us since 1970 UTC]; None if it is invalid."""
    try:
        since = epoch_s(number_of(text))
    except ValueError:
        return None
    return None if since is None else round(since * SECOND)


def _take(series: LabelledSeries, sample: list[str], gauges: _Gauges) -> None:
    """Add one time and value."""
    if (metric := series.labels.get("__name__", METRIC)) not in _METRICS:
        gauges.others |= {metric[:60]: None} if len(gauges.others) < 3 else {}
        return gauges.ledger.dropped(_OTHER, place=series.place)
    if len(sample) != 2:
        return gauges.ledger.not_parsed("sample in an unknown form", place=series.place)
    if series.state is None:
        series.state = gauges.series(series.labels)
    return gauges.sample(series.state, _us(sample[0]), sample[1], series.place)


def _sniff(head: list[str]) -> bool:
    return speaks_of(head, _METRICS)


def _read(source: Source, options: Options, events: Events, ledger: Ledger) -> NodesWatched:
    """Read new values of the gauge that are hardware errors."""
    gauges = _Gauges(ledger)
    for series, sample in samples_in(source, ledger, lambda: gauges.n_samples, _QUERY, comments=True):
        _take(series, sample, gauges)
    if gauges.span.window is None:
        found = f", only of {', '.join(gauges.others)}" if gauges.others else ""
        raise InputError(
            f"{source.name} is a single scrape: its {gauges.n_samples:,} samples of {METRIC} have no time stamps. "
            f"Give {_QUERY}"
            if gauges.n_samples
            else f"{source.name} has no sample of {METRIC}{found}: let the exporter collect it, and give {_QUERY}"
        )
    gauges.add_failures(events)
    events.distinct = True
    ledger.note(
        "the gauge keeps only the last Xid: the same Xid twice in a row counts as one failure, and an Xid between two "
        "samples may be missed"
    )
    ledger.note(
        f"Xids of one GPU, or of several GPUs of one node, within {WITHIN_MIN} min count as one failure, whose cause "
        "is the first Xid"
    )
    if gauges.hosts and options.n_nodes is None:
        ledger.note(
            f"nodes are the hosts with samples: {len(gauges.hosts):,}, watched from the first to the last sample"
        )
    return NodesWatched(n_nodes=len(gauges.hosts) or None, window=gauges.span.window)


FORMAT = Format(
    "dcgm",
    "DCGM exporter: Prometheus range JSON, or text with time stamps",
    _sniff,
    _read,
    _QUERY.partition("`")[2].rstrip("`") + " > xids.json",
    f'{METRIC}{{gpu="0",Hostname="gpu-07"}} 0 1748772000000\n{METRIC}{{gpu="0",Hostname="gpu-07"}} 79 1748858400000',
)
