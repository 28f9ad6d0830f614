"""Published ETTRs and failure rates of runs and clusters, on one scale."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ettr.core.sentences import gpus, pct
from ettr.core.units import H_PER_DAY, H_PER_YEAR
from ettr.evidence.reading import columns, figure, table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


_DAYS_PER_WEEK = 7.0
SIMILAR = 1.5
"""Runs within this factor in size count as similar (assumed)."""


@dataclass(frozen=True)
class PublishedEttr:
    """A published ETTR of a run.

    Attributes
    ----------
    run, operator : str
        What it is called, and who published it.
    n_gpus : int
        Its size, about. [GPUs]
    ettr : float
        What was published.
    bound : str
        ``more than`` or ``up to`` where that is a bound; else empty.
    source : str
        Bibliography key.
    """

    run: str
    operator: str
    n_gpus: int
    ettr: float
    bound: str
    source: str

    @property
    def words(self) -> str:
        """Author and value, as a sentence without its full stop."""
        share, size = pct(self.ettr, 0), gpus(self.n_gpus)
        if self.bound:
            return f"{self.operator} published {self.bound} {share} for a run on about {size}"
        return f"{self.operator} measured {share} on a run of about {size}"

    @property
    def record(self) -> dict[str, Any]:
        """Return all attributes as plain values, with the sentence."""
        return vars(self) | {"words": self.words}


def published_rates() -> pd.DataFrame:
    """Return published failure rates on one scale [1/(1000 node-days)].

    Returns
    -------
    DataFrame
        The columns of the table ``failure_rates`` with ``node_days`` (exposure, missing without counts),
        ``rate`` and its ends ``rate_low``, ``rate_high`` [1/(1000 node-days)]. The ends show only what the
        source leaves open (a range, the length of the window), not the chance of the counts.

    Notes
    -----
    Counts give ``1000 n / (nodes days)``. A frequency per week is divided by nodes and 7 days, a share of the nodes
    per week by 7 days, a share of the GPUs per year by 365.25 days and multiplied by the GPUs of a node. GPU-hours
    or GPU-days per failure are those of one GPU, hours per failure those of the whole cluster. A rate stated as a
    range is shown by its middle.

    Examples
    --------
    >>> rates = published_rates().set_index("cluster_id")
    >>> round(float(rates.loc["llama3-unexpected", "rate"]), 3)
    3.789
    """
    return table("failure_rates").assign(**_rates(_published()))


def _published() -> dict[str, np.ndarray]:
    """Return the columns of the table."""
    import numpy as np

    return {name: np.array(values) for name, values in columns("failure_rates").items()}


def _rates(published: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns that :func:`published_rates` adds to the table."""
    import numpy as np

    def filled(values: np.ndarray, instead: np.ndarray) -> np.ndarray:
        return np.where(np.isnan(values), instead, values)

    nodes, counts = published["n_gpus"] / published["gpus_per_node"], published["n_events"]
    node_days = nodes * published["window_days"]
    per_unit = {
        "failures/week": 1000.0 / (_DAYS_PER_WEEK * nodes),
        "% of nodes/week": np.full(len(nodes), 10.0 / _DAYS_PER_WEEK),
        "GPU h/failure": 1000.0 * H_PER_DAY * published["gpus_per_node"],
        "node-days/failure": np.full(len(nodes), 1000.0),
        "GPU-days/failure": 1000.0 * published["gpus_per_node"],
        "h/failure": 1000.0 * H_PER_DAY / nodes,
        "% of GPUs/year": 10.0 * published["gpus_per_node"] * H_PER_DAY / H_PER_YEAR,
    }
    longest, shortest = (filled(published[f"window_days_{end}"], published["window_days"]) for end in ("high", "low"))
    low, high = (
        filled(published["rate_per_1000_node_days"], 1000.0 * counts / (nodes * days)) for days in (longest, shortest)
    )
    first, last = published["stated_low"], published["stated_high"]
    for unit, factor in per_unit.items():
        here = published["stated_unit"] == unit
        ends = (factor / last, factor / first) if unit.endswith("/failure") else (factor * first, factor * last)
        low, high = np.where(here, ends[0], low), np.where(here, ends[1], high)
    rate = filled(1000.0 * counts / node_days, (low + high) / 2.0)
    return {"node_days": node_days, "rate": rate, "rate_low": low, "rate_high": high}


def cluster_rates() -> pd.DataFrame:
    """Return published rates of job-stopping failures, one per cluster, sorted [1/(1000 node-days)].

    Returns
    -------
    DataFrame
        The rows of :func:`published_rates` that are marked as ``compared``: stops of jobs, one row a cluster.

    Examples
    --------
    >>> rates = cluster_rates()["rate"]
    >>> len(rates), round(float(rates.median()), 1)
    (10, 2.3)
    """
    rates = published_rates()
    return rates[rates["compared"]].sort_values("rate", ignore_index=True)


def cluster_rate_columns() -> Mapping[str, np.ndarray]:
    """Return the columns of :func:`cluster_rates` without pandas, which takes longer to load than a plan to compute.

    Examples
    --------
    >>> len(cluster_rate_columns()["rate"]), str(cluster_rate_columns()["title"][0])
    (10, 'ByteRobust, dense model')
    """
    published = _published()
    published |= _rates(published)
    order = published["rate"].argsort()
    return {name: values[order[published["compared"][order]]] for name, values in published.items()}


EFFECTIVE, GOODPUT, UTILISATION, UPTIME = (
    "effective training time of a job",
    "goodput of a cloud",
    "utilisation of a cluster",
    "hardware uptime of jobs",
)
"""Denominators of published useful shares. Only the first is an ETTR."""


def published_ettr() -> pd.DataFrame:
    """Return useful shares reported by operators, by size.

    Returns
    -------
    DataFrame
        ``run``, ``operator``, ``quantity`` (:data:`EFFECTIVE` for an ETTR), ``n_gpus`` and ``n_gpus_high`` [GPUs]
        (equal for one size, missing where none is stated), ``share``, ``bound`` (``more than``, ``up to``, or empty for
        a value), ``source``, ``status``.

    Notes
    -----
    The other quantities are no ETTR: uptime of hardware leaves out checkpoints and lost work, utilisation is one of
    all jobs of a cluster, and a cloud does not say what its goodput counts.

    Examples
    --------
    >>> reported = published_ettr().set_index("run")
    >>> float(reported.loc["NVIDIA DGX Cloud", "share"]), reported.loc["NVIDIA DGX Cloud", "quantity"]
    (0.99, 'hardware uptime of jobs')
    """
    import pandas as pd

    return pd.DataFrame(_reported())


def _reported() -> list[dict[str, Any]]:
    """Return the rows of :func:`published_ettr`."""
    rows = []
    for run, operator, quantity, sizes, key, bound in (
        ("Llama 3 405B", "Meta", EFFECTIVE, ("llama3_n_gpus",), "llama3_ettr_bound", "more than"),
        ("MegaScale", "ByteDance", EFFECTIVE, ("megascale_n_gpus",), "megascale_ettr_bound", "more than"),
        ("ByteRobust, dense", "ByteDance", EFFECTIVE, ("byterobust_n_gpus",), "byterobust_ettr", "up to"),
        ("Meta, 100,000 GPUs", "Meta", EFFECTIVE, ("fthsdp_n_gpus",), "fthsdp_ettr", ""),
        ("CoreWeave", "CoreWeave", GOODPUT, (), "coreweave_goodput", "up to"),
        ("SIGMA", "SIGMA", UTILISATION, (), "sigma_utilisation", ""),
        (
            "NVIDIA DGX Cloud",
            "NVIDIA",
            UPTIME,
            ("dgx_cloud_n_gpus_low", "dgx_cloud_n_gpus_high"),
            "dgx_cloud_downtime_bound",
            "more than",
        ),
    ):
        reported, n_gpus = figure(key), [figure(size).value for size in sizes] or [float("nan")]
        share = 1.0 - reported.value if quantity == UPTIME else reported.value
        columns = {
            "run": run,
            "operator": operator,
            "quantity": quantity,
            "n_gpus": n_gpus[0],
            "n_gpus_high": n_gpus[-1],
            "share": share,
        }
        rows.append({**columns, "bound": bound, "source": reported.source, "status": reported.status})
    return rows


@functools.cache
def published_runs() -> tuple[PublishedEttr, ...]:
    """Return the rows of :func:`published_ettr` that are an ETTR, each as a :class:`PublishedEttr`."""
    return tuple(
        PublishedEttr(row["run"], row["operator"], int(row["n_gpus"]), row["share"], row["bound"], row["source"])
        for row in _reported()
        if row["quantity"] == EFFECTIVE
    )


def published_near(n_gpus: float, times: float = SIMILAR) -> PublishedEttr | None:
    """Return the published ETTR of the run nearest in size, within a factor.

    Returns
    -------
    PublishedEttr or None
        None where no run of similar size published one.

    Examples
    --------
    >>> published_near(80_000).words
    'Meta measured 44% on a run of about 100,000 GPUs'
    >>> published_near(1024) is None
    True
    """
    nearest = min(published_runs(), key=lambda run: abs(math.log(run.n_gpus / n_gpus)))
    return nearest if abs(math.log(nearest.n_gpus / n_gpus)) <= math.log(times) else None
