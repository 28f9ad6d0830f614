"""Storage for checkpoints: the bandwidth and capacity that a plan needs, and the cost of a slower store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ettr.budget.intervals import at_best
from ettr.checkpoint import needed_gb_s
from ettr.core.errors import InputError
from ettr.core.report import Note, Report, Table
from ettr.core.sentences import about, count, duration, limit, number, pct, usd
from ettr.core.units import H_PER_MONTH, MIN_PER_H
from ettr.mitigation.applying import n_replicas
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, PERSIST

_WRITE, _READ = "checkpoint.store.write_gb_s", "checkpoint.store.read_gb_s"
_FACTORS = (0.25, 0.5, 1.0, 2.0)
"""Bandwidths that are compared, relative to the store's."""
_SIZES = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_CANNOT_RUN = "cannot run"


@dataclass(frozen=True)
class Needed:
    """The write bandwidth that an interval needs.

    Attributes
    ----------
    interval : {"current", "best"}
        Which interval of the run.
    interval_min : float
        The interval. [min]
    write_gb_s : float
        Bandwidth that writes a checkpoint within it. [GB/s]
    """

    interval: str
    interval_min: float
    write_gb_s: float

    def __str__(self) -> str:
        return f"{self.interval} interval of {duration(self.interval_min / MIN_PER_H)}"


@dataclass(frozen=True)
class StoreSpeed:
    """The job with a store of another bandwidth.

    Attributes
    ----------
    write_gb_s : float
        Write bandwidth; the read bandwidth changes by the same factor. [GB/s]
    write_h : float or None
        Write time of a checkpoint; None where the scenario refuses the bandwidth. [h]
    interval_min, ettr, lost_usd_per_month : float or None
        Best interval, the ETTR at it, and the cost of the time lost; None where the job cannot run. [min], [USD]
    """

    write_gb_s: float
    write_h: float | None = None
    interval_min: float | None = None
    ettr: float | None = None
    lost_usd_per_month: float | None = None


@dataclass(frozen=True)
class Storage:
    """The storage that the checkpoints of a run need.

    Attributes
    ----------
    n_bytes, bytes_kept : float
        Size of a checkpoint as written, and of the whole state, in which each kept checkpoint is stored. [B]
    needed : tuple of Needed
        Bandwidth that the current and the best interval need; without the best one for a job that never fails.
    write_gb_s, write_h : float or None
        Write bandwidth of the store, and write time; None if the scenario does not give it. [GB/s], [h]
    n_kept : int or None
        Checkpoints kept; None if unknown.
    load_h, contended_load_h : float
        Load time at a restart if the state is read once, and if each data-parallel replica reads its own copy; 0
        without ``read_gb_s``. [h]
    n_replicas : int
        Data-parallel replicas.
    replicas_assumed : bool
        Whether their number is assumed, because the job has no layout.
    speeds : tuple of StoreSpeed
        The job with a quarter, half, all and twice of the store's bandwidth, or of the needed one.

    Examples
    --------
    >>> run = Scenario.load("llama3-405b").override({"checkpoint.store.n_parameters": 405e9})
    >>> storage_of(run, 7.7, 10.0).needed[0].write_gb_s  # 405e9 x 12 B in 600 s
    8.1
    """

    n_bytes: float
    bytes_kept: float
    needed: tuple[Needed, ...]
    write_gb_s: float | None
    write_h: float | None
    n_kept: int | None
    load_h: float
    contended_load_h: float
    n_replicas: int
    replicas_assumed: bool
    speeds: tuple[StoreSpeed, ...]

    @property
    def words(self) -> str:
        """The size of a checkpoint and the bandwidth that it needs, as a sentence."""
        needs = [f"{_gb_s(needed.write_gb_s)} at the {needed}" for needed in self.needed]
        least = f"at least {' and '.join(needs)}" if needs else "no bandwidth"
        return f"A checkpoint has {_size(self.n_bytes)}; writing it needs {least}."

    def report(self) -> Report:
        """Return the bandwidth, capacity and load time, and the cost of a slower store."""
        columns = ("store bandwidth", "write time", "best interval", "ETTR", "lost per month")
        sections: Report = [Table(("Checkpoint storage", ""), [*self._rows()])]
        if self.speeds:
            sections.append(Table(columns, [_row(speed) for speed in self.speeds]))
        if self.speeds and self.write_gb_s is None:
            text = (
                f"Multiples of the bandwidth that the {self.needed[0]} needs, as checkpoint.store.write_gb_s is not "
                "set: the plan above takes the write to last checkpoint.persist_s."
            )
            sections.append(Note(text, dim=True))
        return sections

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield "size of a checkpoint as written", _size(self.n_bytes)
        for needed in self.needed:
            yield f"write bandwidth needed at the {needed}", _gb_s(needed.write_gb_s)
        if self.write_gb_s and self.write_h:
            yield "write bandwidth of the store", _gb_s(self.write_gb_s)
            yield "write time", duration(self.write_h)
        kept = "per kept checkpoint" if self.n_kept is None else f"for {count(self.n_kept)} kept, each in full"
        yield f"capacity {kept}", _size(self.bytes_kept * (self.n_kept or 1))
        replicas = f"{count(self.n_replicas)}{' (assumed)' if self.replicas_assumed else ''} replicas"
        needs = "needs checkpoint.store.read_gb_s"
        yield "load time at a restart, read once", duration(self.load_h) if self.load_h else needs
        if self.load_h:
            yield f"load time if each of {replicas} reads its own copy", duration(self.contended_load_h)


def _row(speed: StoreSpeed) -> list[str]:
    """Return the cells of a store."""
    cells = [_gb_s(speed.write_gb_s), _CANNOT_RUN if speed.write_h is None else duration(speed.write_h)]
    if speed.interval_min is None or speed.ettr is None or speed.lost_usd_per_month is None:
        return [*cells, *[_CANNOT_RUN] * 3]
    return [*cells, duration(speed.interval_min / MIN_PER_H), pct(speed.ettr), usd(about(speed.lost_usd_per_month))]


def storage_of(
    scenario: Scenario, best_min: float | None, current_min: float | None = None, n_kept: int | None = None
) -> Storage | None:
    """Return the storage that the checkpoints of a run need; None if it does not know their size.

    Parameters
    ----------
    scenario : Scenario
        A run that the analytical model covers, with ``checkpoint.store``.
    best_min, current_min : float, optional
        Best and current interval; None for a job that never fails, and without a current one. [min]
    n_kept : int, optional
        Checkpoints to keep.

    Notes
    -----
    The needed bandwidth is the size of a checkpoint as written, divided by the interval. Kept checkpoints and loads
    have the whole state. Replicas that read their own copies share the read bandwidth of the store.
    """
    store = scenario.store
    if store is None:
        return None
    n_bytes, replicas = float(store.bytes_written()), n_replicas(scenario)
    needed = [
        Needed(interval, minutes, float(needed_gb_s(n_bytes, minutes / MIN_PER_H)))
        for interval, minutes in (("current", current_min), ("best", best_min))
        if minutes is not None
    ]
    reference = store.write_gb_s or (needed[0].write_gb_s if needed else None)
    return Storage(
        n_bytes=n_bytes,
        bytes_kept=float(store.bytes_kept()),
        needed=tuple(needed),
        write_gb_s=store.write_gb_s,
        write_h=scenario.persist_h if store.write_gb_s else None,
        n_kept=n_kept,
        load_h=float(store.load_h(scenario.n_nodes)),
        contended_load_h=float(store.load_h(scenario.n_nodes, copies=replicas)),
        n_replicas=replicas,
        replicas_assumed=scenario.layout_of_job is None,
        speeds=tuple(_speed(scenario, factor, reference) for factor in _FACTORS if reference),
    )


def _speed(scenario: Scenario, factor: float, reference: float) -> StoreSpeed:
    """Return the job with a multiple of the bandwidths."""
    read = scenario.store.read_gb_s if scenario.store else None
    changes = {_WRITE: factor * reference, _READ: factor * read if read else None, PERSIST: None, INTERVAL: "best"}
    try:
        run = scenario.override(changes)
    except InputError:  # such as a write that is shorter than that of a faster tier
        return StoreSpeed(factor * reference)
    best = at_best(run)
    if not best.ettr:  # where the model is not valid
        return StoreSpeed(factor * reference, run.persist_h)
    lost_usd = (1 - float(best.ettr)) * run.usd_per_h * H_PER_MONTH
    return StoreSpeed(factor * reference, run.persist_h, float(best.interval_min), float(best.ettr), lost_usd)


def _size(n_bytes: float) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> _size(4.86e12), _size(12.0)
    ('4.86 TB', '12 B')
    """
    size, unit = next(((size, unit) for size, unit in _SIZES if n_bytes >= size * 0.9995), _SIZES[-1])
    return f"{number(n_bytes / size)} {unit}"


def _gb_s(bandwidth: float) -> str:
    return f"{limit(bandwidth, 'at least')} GB/s"
