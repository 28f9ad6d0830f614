"""A fit as tables that charts and people read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.failures.bad_nodes import failures_apart
from ettr.failures.fitting import Fit
from ettr.failures.outages import find_outages

_MOST_FAILURES = 10


def node_counts(fit: Fit) -> pd.DataFrame:
    """How many nodes failed how often, beside what equal nodes would show.

    Parameters
    ----------
    fit : Fit
        Of a log that names nodes.

    Returns
    -------
    DataFrame
        ``log`` (``as logged`` or ``repeats taken out``), ``failures`` (label, the last one open-ended), ``order``,
        ``nodes`` [count], ``kind`` (``seen``, or ``equal nodes``: a Poisson count with the same mean). Empty where the
        log names no nodes.
    """
    columns = ["log", "failures", "order", "nodes", "kind"]
    if fit.nodes is None:
        return pd.DataFrame(columns=columns)
    log = fit.log
    out = find_outages(fit.start_h, log.hours("end"), log.failures["node"], log.window_h, log.n_nodes)
    logged, apart = out.failures["node"].to_numpy(), failures_apart(out)
    counted = {"as logged": logged[logged >= 0], "repeats taken out": apart.loc[apart["apart"], "node"].to_numpy()}
    last = int(min(_MOST_FAILURES, max(np.bincount(counted["as logged"]).max(initial=0), 1)))
    tables = [_counts_of(node, log.n_nodes, last).assign(log=name) for name, node in counted.items()]
    return pd.concat(tables, ignore_index=True)[columns]


def _counts_of(node: np.ndarray, n_nodes: int, last: int) -> pd.DataFrame:
    per_node = np.bincount(node)
    per_node = per_node[per_node > 0]
    seen = np.bincount(np.minimum(per_node, last), minlength=last + 1).astype(float)
    seen[0] = n_nodes - per_node.size
    order = np.arange(last + 1)
    expected = n_nodes * scipy.stats.poisson.pmf(order, per_node.sum() / n_nodes)
    expected[-1] = n_nodes * scipy.stats.poisson.sf(last - 1, per_node.sum() / n_nodes)
    labels = [str(n) for n in order[:-1]] + [f"{last}+"]
    rows: dict[str, Any] = {"failures": labels, "order": order}
    return pd.concat(
        [pd.DataFrame({**rows, "nodes": n, "kind": kind}) for kind, n in (("seen", seen), ("equal nodes", expected))],
        ignore_index=True,
    )


def since_repair(fit: Fit) -> pd.DataFrame:
    """Failure rate by the time since a node's repair, with a label a row.

    Returns
    -------
    DataFrame
        The rows of ``fit.nodes.hazard`` that have exposure and a rate, with ``since`` (e.g. ``1 to 3``, or ``later``)
        and ``elsewhere`` (true for the last). Empty where the log names no nodes.
    """
    if fit.nodes is None:
        return pd.DataFrame(columns=["since", "elsewhere", "n_events", "node_days", "rate", "low", "high"])
    table = fit.nodes.hazard
    table = table[table["when"].isin(["after repair", "remaining"]) & (table["node_days"] > 0)].reset_index(drop=True)
    elsewhere = table["when"] == "remaining"
    spans = [f"{row.from_d:g} to {row.to_d:g}" for row in table.itertuples()]
    return table.assign(elsewhere=elsewhere, since=np.where(elsewhere, "later", spans))


def forecasts_made(fit: Fit) -> pd.DataFrame:
    """The forecasts that were made again from the log's own past, in days.

    Returns
    -------
    DataFrame
        ``fit.score.table`` with ``origin_d`` [d] and ``inside`` (whether what came lay in the wide interval). Empty
        where the log is too short.
    """
    if fit.score is None:
        columns = ["origin_d", "n_events", "low", "high", "poisson_low", "poisson_high", "inside"]
        return pd.DataFrame(columns=columns)
    table = fit.score.table
    return table.assign(origin_d=table["origin_h"] / 24, inside=table["hit"])
