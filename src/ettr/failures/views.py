"""A fit as tables that charts and people read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy

from ettr.failures.bad_nodes import failures_apart
from ettr.failures.distributions import FAMILIES
from ettr.failures.fitting import Fit
from ettr.failures.gaps import merge_starts
from ettr.failures.outages import find_outages

_POINTS, _DOTS, _MOST_FAILURES = 80, 200, 10


def gaps_seen(fit: Fit, within_min: float = 10.0) -> pd.DataFrame:
    """Times between incidents as logged, thinned to at most 200.

    Parameters
    ----------
    fit : Fit
        From :func:`ettr.failures.fit`.
    within_min : float
        Merge rule. [min]

    Returns
    -------
    DataFrame
        ``gap_h`` (from the end of the merge window, longest last; gaps that the time stamps show as none are left out)
        [h], ``survival``: share of the gaps that last longer.
    """
    gap_h = np.sort(np.diff(merge_starts(fit.start_h, within_min / 60)) - within_min / 60)
    survival = 1 - (np.arange(gap_h.size) + 0.5) / max(gap_h.size, 1)
    rows = np.unique(np.linspace(0, gap_h.size - 1, min(gap_h.size, _DOTS)).astype(int))
    table = pd.DataFrame({"gap_h": gap_h[rows], "survival": survival[rows]})
    return table[table["gap_h"] > max(fit.log.resolution_h / 2, 1e-9)].reset_index(drop=True)


def gaps_fitted(fit: Fit, within_min: float = 10.0) -> pd.DataFrame:
    """Curves of the fitted distributions over the times between incidents.

    Parameters
    ----------
    fit, within_min
        As for :func:`gaps_seen`.

    Returns
    -------
    DataFrame
        ``distribution``, ``gap_h`` [h], ``survival``. Empty where nothing was fitted.
    """
    seen = gaps_seen(fit, within_min)["gap_h"]
    fitted = next((one.table for one in fit.gaps if one.within_min == within_min), pd.DataFrame())
    if seen.empty or fitted.empty:
        return pd.DataFrame(columns=["distribution", "gap_h", "survival"])
    grid = np.geomspace(seen.min(), seen.max(), _POINTS)
    curves = []
    for row in fitted.itertuples():
        law = FAMILIES[row.distribution].law(row.shape, row.scale_h)
        curves.append(pd.DataFrame({"distribution": row.distribution, "gap_h": grid, "survival": law.sf(grid)}))
    return pd.concat(curves, ignore_index=True)


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


def lives_after_repair(fit: Fit) -> pd.DataFrame:
    """Share of repairs that hold longer than a time, thinned to at most 200 steps.

    Returns
    -------
    DataFrame
        ``time_d`` [d], ``survival``, ``low``, ``high``, ``at_risk`` [count]: the Kaplan-Meier estimate of the time in
        service from a repair to the next failure of the node. Empty where no repair is known.
    """
    columns = ["time_d", "survival", "low", "high", "at_risk"]
    if fit.nodes is None or len(fit.nodes.survival) < 2:
        return pd.DataFrame(columns=columns)
    table = fit.nodes.survival
    places = np.unique(np.linspace(0, len(table) - 1, min(len(table), _DOTS)).astype(int))
    return table.iloc[places].assign(time_d=lambda rows: rows["time_h"] / 24)[columns].reset_index(drop=True)
