"""Classes of jobs on a cluster, from a table or from its accounting, and the run of each class."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ettr import evidence
from ettr.core.errors import InputError
from ettr.core.sentences import pct
from ettr.core.validity import above_zero, at_least_zero
from ettr.files.columns import find_roles
from ettr.files.ledger import Ledger
from ettr.files.opening import Source
from ettr.files.tables import DelimitedTable, columns_found, plain_name
from ettr.scenario import Scenario
from ettr.scenario.paths import INTERVAL, N_GPUS, PER_NODE, RATE

_WORDS = {
    "n_gpus": "gpus ngpus size jobsize",
    "share": "share gpuhshare shareofgpuhours",
    "job_share": "jobs njobs shareofjobs jobshare",
    "interval_min": "intervalmin interval checkpointintervalmin",
    "stall_s": "stalls stall checkpointstalls",
    "restart_min": "restartmin restart",
    "priority": "priority prio",
}


@dataclass(frozen=True)
class JobClass:
    """The jobs of one size.

    Attributes
    ----------
    n_gpus : int
        GPUs of a job.
    share : float
        Share of the GPU-hours of the cluster.
    job_share : float or None
        Share of the number of jobs; None if unknown.
    interval_min, stall_s, restart_min : float or None
        Checkpoint interval, stall and restart time; None for those that all classes have in common. [min], [s], [min]
    priority : float
        A failed job pre-empts jobs of lower priority when it starts again.
    low_gpus, high_gpus : int
        Smallest and largest job of the class; 0 for ``n_gpus``.
    gpus_per_node : int
        GPUs per node that the jobs have on average; 0 for those of the cluster.

    Examples
    --------
    >>> JobClass(256, share=0.2).label
    '256'
    >>> JobClass(200, share=0.2, low_gpus=129, high_gpus=256).label
    '129-256'
    """

    n_gpus: int
    share: float
    job_share: float | None = None
    interval_min: float | None = None
    stall_s: float | None = None
    restart_min: float | None = None
    priority: float = 0.0
    low_gpus: int = 0
    high_gpus: int = 0
    gpus_per_node: int = 0

    def __post_init__(self) -> None:
        if not (self.n_gpus >= 1 and self.n_gpus % 1 == 0):
            raise InputError(f"n_gpus must be a whole number >= 1, got {self.n_gpus:g}")
        object.__setattr__(self, "n_gpus", int(self.n_gpus))  # a table has floats
        if self.interval_min is not None:
            above_zero("interval_min", self.interval_min, unit="min")
        for name, unit in (("share", ""), ("job_share", ""), ("stall_s", "s"), ("restart_min", "min")):
            at_least_zero(name, getattr(self, name) or 0.0, unit=unit)

    @property
    def label(self) -> str:
        """The size in words."""
        low, high = self.low_gpus or self.n_gpus, self.high_gpus or self.n_gpus
        return f"{low:,}" if low == high else f"{low:,}-{high:,}"

    @property
    def largest(self) -> int:
        """GPUs of the largest job of the class."""
        return self.high_gpus or self.n_gpus


def presets() -> tuple[str, ...]:
    """Return the names of the published mixes of jobs in ``data/job_classes.csv``.

    Examples
    --------
    >>> presets()
    ('rsc-1',)
    """
    return tuple(dict.fromkeys(evidence.table("job_classes")["mix"]))


def preset(name: str) -> tuple[JobClass, ...]:
    """Return a published mix of jobs.

    Examples
    --------
    >>> mix = preset("rsc-1")
    >>> round(sum(jobs.share for jobs in mix), 9), mix[-1].n_gpus
    (1.0, 4096)
    """
    table = evidence.table("job_classes")
    rows = table[table["mix"] == name].itertuples()
    return tuple(JobClass(int(row.n_gpus), row.share, row.job_share, priority=row.priority) for row in rows)


def read_classes(path: str | Path, columns: Mapping[str, str] | None = None) -> tuple[JobClass, ...]:
    """Read a table of job classes.

    Parameters
    ----------
    path : str or path
        A row per class: ``gpus`` and ``share`` of the GPU-hours (fractions or percentages), and optionally ``jobs``,
        ``interval_min``, ``stall_s``, ``restart_min`` and ``priority``.
    columns : mapping of str to str or None
        The fields of :class:`JobClass` to column names of the file, if they differ.

    Returns
    -------
    tuple of JobClass
        By size, smallest first.

    Raises
    ------
    InputError
        A column is missing, a value is not a number of its range, or the shares do not sum to 100%.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "classes.csv"
    >>> _ = path.write_text("gpus,share,interval_min\\n8,25%,60\\n1024,75%,30\\n")
    >>> [(jobs.n_gpus, jobs.share, jobs.interval_min) for jobs in read_classes(path)]
    [(8, 0.25, 60.0), (1024, 0.75, 30.0)]
    """
    source, ledger = Source(path, None, "table of job classes"), Ledger()
    table = DelimitedTable(source.lines(ledger), ledger)
    roles = _roles(table.header, columns or {}, source.name)
    for role in ("n_gpus", "share"):
        if role not in roles:
            raise InputError(f"{source.name} has no column {role.removeprefix('n_')}. {columns_found(table.header)}")
    rows = table.frame()
    if ledger.total() or rows.empty:
        raise InputError(
            f"{source.name} has rows that are no job classes, or none: {ledger.reasons() or 'only a header'}"
        )
    values = {role: [_number(text) for text in rows[name]] for role, name in roles.items()}
    total = sum(values["share"])
    scale = 100.0 if total > 2 and not any("%" in text for text in rows[roles["share"]]) else 1.0
    if abs(total / scale - 1) > 0.005:  # shares are rounded
        raise InputError(
            f"the shares of the GPU-hours must sum to 100%, got {pct(total / scale)} ({source.name}, "
            f"column {roles['share']!r})"
        )
    values["share"] = [share / total for share in values["share"]]
    if "job_share" in values:
        n_jobs = sum(n for n in values["job_share"] if n > 0) or 1.0
        values["job_share"] = [n / n_jobs for n in values["job_share"]]
    classes = []
    for i, number in enumerate(rows.index):
        of_size = {role: column[i] for role, column in values.items() if not math.isnan(column[i])}
        try:
            classes.append(JobClass(**{"n_gpus": math.nan, "share": math.nan, **of_size}))  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(f"{error} ({source.name}, line {number:,})") from None
    return in_order(classes, source.name)


def is_class_table(path: str | Path, columns: Mapping[str, str]) -> bool:
    """Return whether a file has classes of jobs rather than jobs: GPUs and shares, and no start times."""
    source, ledger = Source(path, None, "table of jobs"), Ledger()
    header = DelimitedTable(source.lines(ledger), ledger).header
    names = {role: name for role, name in columns.items() if role in _WORDS}
    return "share" in _roles(header, names, source.name) and not {"start", "starttime"} & {*map(plain_name, header)}


def _roles(header: Sequence[str], columns: Mapping[str, str], name: str) -> dict[str, str]:
    words = {role: names.split() for role, names in _WORDS.items()}
    mapping = {"n_gpus" if role == "gpus" else role: column for role, column in columns.items()}
    return {role: names[0] for role, names in find_roles(header, words, mapping, name).items()}


def in_order(classes: Sequence[JobClass], name: str = "the mix") -> tuple[JobClass, ...]:
    """Return classes by size; refuse two of the same size.

    Raises
    ------
    InputError
        Two classes have the same number of GPUs.
    """
    ordered = sorted(classes, key=lambda jobs: jobs.n_gpus)
    for below, above in itertools.pairwise(ordered):
        if below.n_gpus == above.n_gpus:
            raise InputError(f"{name} must have one class for each size, got two of {below.n_gpus:,} GPUs")
    return tuple(ordered)


def _number(text: str) -> float:
    """Return the number in a cell; NaN for a blank one."""
    plain = text.strip().replace(",", "") or "nan"
    try:
        return float(plain.rstrip("% ")) / (100.0 if plain.endswith("%") else 1.0)
    except ValueError:
        raise InputError(f"a table of job classes must have numbers, got {text.strip()!r}") from None


def run_of(jobs: JobClass, common: Scenario, rate: float) -> Scenario:
    """Return the run of a class: the common scenario with the size, the times and the failure rate of the class.

    A job smaller than a node fails with its node, so its node has only the GPUs of the job.
    """
    per_node = min(jobs.gpus_per_node or common.cluster.gpus_per_node, jobs.n_gpus)
    values: dict[str, Any] = {
        N_GPUS: math.ceil(jobs.n_gpus / per_node) * per_node,
        PER_NODE: per_node,
        RATE: rate,
        INTERVAL: jobs.interval_min or common.interval_min,
    }
    values |= {"checkpoint.stall_s": jobs.stall_s} if jobs.stall_s is not None else {}
    values |= {"recovery.restart_min": jobs.restart_min} if jobs.restart_min is not None else {}
    return common.override(values)
