"""Tables on where mitigations pay: by the size of the job, by its failure rate, and by the price of a GPU-hour."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from ettr import compare
from ettr.compare import RATE, SIZE, Study

_COLUMNS = ["id", "title", "value", "ettr_before", "ettr", "saved", "low", "high", "saved_usd", "state", "why"]


def worth_by_size(told: Study, ids: Iterable[str], sizes: Iterable[float], n_runs: int = 20) -> pd.DataFrame:
    """Share of time that each mitigation saves on jobs of other sizes.

    Parameters
    ----------
    told : Study
        Scenario and luck.
    ids : iterable of str
        Mitigations that were tried.
    sizes : iterable of float
        Sizes, rounded to whole nodes; the job's own is added. [GPUs]
    n_runs : int
        Runs of each.

    Returns
    -------
    DataFrame
        As from :func:`ettr.compare.along`; empty without mitigations.
    """
    chosen = tuple(ids)
    node = told.baseline.cluster.gpus_per_node
    whole = {float(max(1, round(size / node)) * node) for size in sizes} | {float(told.baseline.cluster.n_gpus)}
    if not chosen:
        return pd.DataFrame(columns=_COLUMNS)
    return compare.along(told, chosen, SIZE, sorted(whole), n_runs)


def break_even_values(
    told: Study,
    ids: Iterable[str],
    by_size: pd.DataFrame,
    rate_factors: Iterable[float] = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    n_runs: int = 20,
) -> pd.DataFrame:
    """The size, failure rate and price from which on each mitigation pays, all else as it is.

    Parameters
    ----------
    told : Study
        Scenario and luck.
    ids : iterable of str
        Mitigations that were tried.
    by_size : DataFrame
        As from :func:`worth_by_size`.
    rate_factors : iterable of float
        Times the failure rate of the scenario.
    n_runs : int
        Runs of each.

    Returns
    -------
    DataFrame
        ``id``, ``title``; ``n_gpus`` and ``size_pays`` [GPUs], ``rate`` and ``rate_pays`` [failures per 1000
        node-days], as ``break_even`` and ``pays`` of :func:`ettr.compare.break_evens` (the rate is NaN and its verdict
        ``no failures`` where the scenario has none); ``usd_per_gpu_h`` (NaN: at no price) and ``given_usd_per_gpu_h``
        [USD/(GPU h)].
    """
    chosen = tuple(ids)
    columns = ["id", "title", "n_gpus", "size_pays", "rate", "rate_pays", "usd_per_gpu_h", "given_usd_per_gpu_h"]
    if not chosen:
        return pd.DataFrame(columns=columns)
    prices = compare.at_prices(told, chosen).set_index("id")
    sizes = compare.break_evens(by_size).set_index("id")
    frame = pd.DataFrame({"id": chosen, "title": [told.catalogue[name].title for name in chosen]})
    frame["n_gpus"], frame["size_pays"] = frame["id"].map(sizes["break_even"]), frame["id"].map(sizes["pays"])
    given = told.baseline.failures.rate
    frame["rate"], frame["rate_pays"] = float("nan"), "no failures"
    if given > 0:
        moved = compare.along(told, chosen, RATE, [given * factor for factor in rate_factors], n_runs)
        rates = compare.break_evens(moved).set_index("id")
        frame["rate"], frame["rate_pays"] = frame["id"].map(rates["break_even"]), frame["id"].map(rates["pays"])
    frame["usd_per_gpu_h"] = frame["id"].map(prices["break_even_usd_per_gpu_h"])
    frame["given_usd_per_gpu_h"] = frame["id"].map(prices["given"])
    return frame[columns]
